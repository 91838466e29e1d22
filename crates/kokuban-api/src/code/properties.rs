//! What each code implies: status, whether to try again, whether something happened, what to do next.
//!
//! Invariant: every property that a caller meets is an exhaustive match, so a new code asks for all of them.

use serde::{Deserialize, Serialize};

use super::ErrorCode;

/// Whether a refused request may have changed something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SideEffects {
    None,
    Unknown,
}

/// What a caller that was refused should do next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NextAction {
    Reread,
    Wait,
    Propose,
    Comment,
    Yield,
    Escalate,
    FixRequest,
    Authenticate,
    Stop,
}

impl NextAction {
    /// As it stands on the wire.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Reread => "reread",
            Self::Wait => "wait",
            Self::Propose => "propose",
            Self::Comment => "comment",
            Self::Yield => "yield",
            Self::Escalate => "escalate",
            Self::FixRequest => "fix_request",
            Self::Authenticate => "authenticate",
            Self::Stop => "stop",
        }
    }
}

impl ErrorCode {
    /// The HTTP status, where the place of the mistake does not ask for another one: a failed
    /// header condition is 412, a patch that makes a value too complex 422.
    #[must_use]
    pub fn status(self) -> u16 {
        use ErrorCode::*;
        match self {
            Malformed | DuplicateMember | TooComplex | UnknownMember | ReservedMember | InvalidValue | InvalidName
            | InvalidPath | InvalidQuery | DuplicateKey | AgentRequired => 400,
            Unauthenticated => 401,
            Forbidden | ZoneRestricted | ArbiterOnly | TicketScope | OriginRefused => 403,
            NotFound | BoardNotFound | ZoneNotFound => 404,
            MethodNotAllowed => 405,
            Timeout => 408,
            VersionConflict | BoardExists | IllegalTransition | Locked | LeaseHeld | LeaseTokenRequired | LeaseLost
            | LowerConfidence | InArbitration | ProposalStale | ProposalClosed | ProducerMismatch | UntrustedSource
            | StaleSource | TestFailed | PathNotFound | UnknownEpoch | FuturePosition => 409,
            Compacted => 410,
            BodyTooLarge | ValueTooLarge => 413,
            UnsupportedMediaType => 415,
            WrongHost => 421,
            LimitReached
            | SchemaViolation
            | WrongKind
            | NumberNotRepresentable
            | UnknownSlot
            | UnknownStatus
            | NullGuarded
            | ListFull
            | StateFull
            | BlobNotFound
            | SourceNotFound
            | IdempotencyMismatch
            | InvalidBlueprint => 422,
            PreconditionRequired => 428,
            RateLimited => 429,
            Internal => 500,
            Overloaded | Behind | Unavailable | OutcomeUnknown | Quarantined => 503,
            StorageFull => 507,
        }
    }

    /// The other status that the code may have, depending on where the mistake is.
    #[must_use]
    pub fn other_status(self) -> Option<u16> {
        match self {
            Self::VersionConflict => Some(412),
            Self::TooComplex => Some(422),
            _ => None,
        }
    }

    /// Whether the same bytes may succeed later.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        use ErrorCode::*;
        match self {
            LeaseHeld | InArbitration | Timeout | RateLimited | Overloaded | Behind | Unavailable | OutcomeUnknown
            | StorageFull => true,
            Malformed
            | DuplicateMember
            | TooComplex
            | UnknownMember
            | ReservedMember
            | InvalidValue
            | InvalidName
            | InvalidPath
            | InvalidQuery
            | DuplicateKey
            | AgentRequired
            | Unauthenticated
            | Forbidden
            | ZoneRestricted
            | ArbiterOnly
            | TicketScope
            | OriginRefused
            | NotFound
            | BoardNotFound
            | ZoneNotFound
            | MethodNotAllowed
            | VersionConflict
            | BoardExists
            | IllegalTransition
            | Locked
            | LeaseTokenRequired
            | LeaseLost
            | LowerConfidence
            | ProposalStale
            | ProposalClosed
            | ProducerMismatch
            | UntrustedSource
            | StaleSource
            | TestFailed
            | PathNotFound
            | UnknownEpoch
            | FuturePosition
            | Compacted
            | BodyTooLarge
            | ValueTooLarge
            | UnsupportedMediaType
            | WrongHost
            | LimitReached
            | SchemaViolation
            | WrongKind
            | NumberNotRepresentable
            | UnknownSlot
            | UnknownStatus
            | NullGuarded
            | ListFull
            | StateFull
            | BlobNotFound
            | SourceNotFound
            | IdempotencyMismatch
            | InvalidBlueprint
            | PreconditionRequired
            | Internal
            | Quarantined => false,
        }
    }

    /// Whether the request may have changed something all the same.
    #[must_use]
    pub fn side_effects(self) -> SideEffects {
        use ErrorCode::*;
        match self {
            Internal | OutcomeUnknown => SideEffects::Unknown,
            Malformed
            | DuplicateMember
            | TooComplex
            | UnknownMember
            | ReservedMember
            | InvalidValue
            | InvalidName
            | InvalidPath
            | InvalidQuery
            | DuplicateKey
            | AgentRequired
            | Unauthenticated
            | Forbidden
            | ZoneRestricted
            | ArbiterOnly
            | TicketScope
            | OriginRefused
            | NotFound
            | BoardNotFound
            | ZoneNotFound
            | MethodNotAllowed
            | VersionConflict
            | BoardExists
            | IllegalTransition
            | Locked
            | LeaseHeld
            | LeaseTokenRequired
            | LeaseLost
            | LowerConfidence
            | InArbitration
            | ProposalStale
            | ProposalClosed
            | ProducerMismatch
            | UntrustedSource
            | StaleSource
            | TestFailed
            | PathNotFound
            | UnknownEpoch
            | FuturePosition
            | Compacted
            | BodyTooLarge
            | ValueTooLarge
            | UnsupportedMediaType
            | WrongHost
            | Timeout
            | LimitReached
            | SchemaViolation
            | WrongKind
            | NumberNotRepresentable
            | UnknownSlot
            | UnknownStatus
            | NullGuarded
            | ListFull
            | StateFull
            | BlobNotFound
            | SourceNotFound
            | IdempotencyMismatch
            | InvalidBlueprint
            | PreconditionRequired
            | RateLimited
            | Overloaded
            | Behind
            | Unavailable
            | Quarantined
            | StorageFull => SideEffects::None,
        }
    }

    /// Whether no rule of this version leads to it: it belongs to what is not there yet, and is listed so that programs
    /// know it before it occurs. A new code does occur, so it stands here only if it is named.
    #[must_use]
    pub fn comes_later(self) -> bool {
        use ErrorCode::*;
        matches!(
            self,
            TicketScope
                | LowerConfidence
                | InArbitration
                | ProposalStale
                | ProposalClosed
                | ProducerMismatch
                | UntrustedSource
                | StaleSource
                | TestFailed
                | UnknownSlot
                | ListFull
                | BlobNotFound
                | SourceNotFound
        )
    }

    /// What the caller should do next, where nothing better is known. Never an action whose call
    /// this server does not have: proposing, yielding and escalating are named by those who offer them.
    #[must_use]
    pub fn default_action(self) -> NextAction {
        use ErrorCode::*;
        match self {
            VersionConflict | BoardExists | IllegalTransition | LeaseLost | ProposalStale | StaleSource
            | TestFailed | PathNotFound | UnknownEpoch | FuturePosition | Compacted | PreconditionRequired
            | Internal | OutcomeUnknown => NextAction::Reread,
            LeaseHeld | InArbitration | Timeout | RateLimited | Overloaded | Behind | Unavailable | StorageFull => {
                NextAction::Wait
            }
            ZoneRestricted | ArbiterOnly | Locked | LowerConfidence | UntrustedSource => NextAction::Comment,
            Unauthenticated => NextAction::Authenticate,
            Forbidden | TicketScope | OriginRefused | ProposalClosed | Quarantined => NextAction::Stop,
            Malformed
            | DuplicateMember
            | TooComplex
            | UnknownMember
            | ReservedMember
            | InvalidValue
            | InvalidName
            | InvalidPath
            | InvalidQuery
            | DuplicateKey
            | AgentRequired
            | NotFound
            | BoardNotFound
            | ZoneNotFound
            | MethodNotAllowed
            | LeaseTokenRequired
            | ProducerMismatch
            | BodyTooLarge
            | ValueTooLarge
            | UnsupportedMediaType
            | WrongHost
            | LimitReached
            | SchemaViolation
            | WrongKind
            | NumberNotRepresentable
            | UnknownSlot
            | UnknownStatus
            | NullGuarded
            | ListFull
            | StateFull
            | BlobNotFound
            | SourceNotFound
            | IdempotencyMismatch
            | InvalidBlueprint => NextAction::FixRequest,
        }
    }
}
