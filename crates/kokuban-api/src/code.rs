//! The closed list of problem codes, and what each means to a caller.
//!
//! Invariant: a code is API. It is never renamed and never takes another meaning; titles and
//! explanations may change. Every property is an exhaustive match, so a new code asks for all of them.
//! Not known here: which rule of a board leads to which code.

mod properties;
mod wire;

pub use properties::{NextAction, SideEffects};
pub use wire::{Code, UnknownCode};

macro_rules! codes {
    ($($(#[doc = $explain:literal])+ $variant:ident = $name:literal, $title:literal;)+) => {
        /// Why a request was not done. The documentation of a variant is its line in the table of codes.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum ErrorCode {
            $($(#[doc = $explain])+ $variant,)+
        }

        impl ErrorCode {
            /// Every code, in the order of the contract.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];

            /// The code as it stands on the wire.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $name,)+ }
            }

            /// A few words for people.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $(Self::$variant => $title,)+ }
            }

            /// What it means and what the caller should do: the source of the table in the documentation.
            #[must_use]
            pub fn explain(self) -> &'static str {
                match self { $(Self::$variant => concat!($($explain,)+).trim_ascii_start(),)+ }
            }
        }
    };
}

codes! {
    /// The body is not JSON in UTF-8, or the request line or a header cannot be read. Correct it; the detail says where.
    Malformed = "malformed", "Malformed request";
    /// An object of the body names a member twice. Send each member once.
    DuplicateMember = "duplicate_member", "Duplicate member";
    /// A value is too deep, has too many nodes or a member name that is too long. Split it (422 when a patch would make it so).
    TooComplex = "too_complex", "Value too complex";
    /// The body has a member that this call does not know. Remove it, or take the nearest known name.
    UnknownMember = "unknown_member", "Unknown member";
    /// A member that only the server sets differs from the current one. Leave it out or read the entry again.
    ReservedMember = "reserved_member", "Member set by the server";
    /// A member or header has the wrong type or is out of range. The detail names what is allowed.
    InvalidValue = "invalid_value", "Invalid value";
    /// A name breaks a rule for names. The detail gives the rule and, where there is one, the right form.
    InvalidName = "invalid_name", "Invalid name";
    /// A path into a value cannot be read. Write a JSON Pointer or a dotted path without empty segments.
    InvalidPath = "invalid_path", "Invalid path";
    /// The query has a member that this call does not know, or one that cannot be read. The detail names the known ones.
    InvalidQuery = "invalid_query", "Invalid query";
    /// One transaction writes the same entry twice. Join the two writes into one.
    DuplicateKey = "duplicate_key", "Entry written twice";
    /// The call needs a named caller. Send the header Kokuban-Agent.
    AgentRequired = "agent_required", "Agent name required";
    /// No valid credential was sent. Authenticate and send the request again.
    Unauthenticated = "unauthenticated", "Not authenticated";
    /// The caller may not do this, whatever the state of the board. Stop, or ask whoever runs the server.
    Forbidden = "forbidden", "Forbidden";
    /// Only owners of the zone write here, or replace what an owner wrote. Leave a comment on the entry instead.
    ZoneRestricted = "zone_restricted", "Zone reserved to its owners";
    /// Only an arbiter may do this. Leave a comment on the entry for one.
    ArbiterOnly = "arbiter_only", "Reserved to arbiters";
    /// The ticket does not cover this call. Stop, or ask for a wider ticket.
    TicketScope = "ticket_scope", "Outside the scope of the ticket";
    /// The request came from a web origin that is not configured. Allow the origin in the configuration of the server.
    OriginRefused = "origin_refused", "Origin refused";
    /// There is nothing at this address. Check the address; list the zone to see what exists.
    NotFound = "not_found", "Not found";
    /// There is no such board, or the caller may not see it. Check the name, or create the board.
    BoardNotFound = "board_not_found", "Board not found";
    /// The board has no such zone, or the caller may not read it. Check the name against the blueprint.
    ZoneNotFound = "zone_not_found", "Zone not found";
    /// The address exists but not for this method. Use one of the methods of the header Allow.
    MethodNotAllowed = "method_not_allowed", "Method not allowed";
    /// The condition of the request does not hold: someone wrote in between. Read `current`, decide again, and send its version
    /// (409 for a condition in body or query, 412 for one in a header).
    VersionConflict = "version_conflict", "Version conflict";
    /// A board of this name exists with another blueprint. Take it as it is, or choose another name.
    BoardExists = "board_exists", "Board exists";
    /// The lifecycle has no such move for this caller from the current status. Choose one of `allowed`.
    IllegalTransition = "illegal_transition", "Illegal transition";
    /// The status of the entry refuses changes of its value. Leave a comment, or have an arbiter write.
    Locked = "locked", "Locked by its status";
    /// Someone else holds the lease. Wait `remaining_ms`, or work on something else.
    LeaseHeld = "lease_held", "Leased by another";
    /// The caller holds the lease but did not show its token. Add `lease_token`.
    LeaseTokenRequired = "lease_token_required", "Lease token required";
    /// The lease token is not live, for the given `reason`. Stop writing under it, read the entry again, and lease anew if still needed.
    LeaseLost = "lease_lost", "Lease lost";
    /// The value in place has a higher confidence. Leave it, or leave a comment.
    LowerConfidence = "lower_confidence", "Lower confidence than the value in place";
    /// The entry is locked while its candidates are being decided. Wait for the decision.
    InArbitration = "in_arbitration", "In arbitration";
    /// What the proposal would change has changed meanwhile. Look at the difference and propose anew.
    ProposalStale = "proposal_stale", "Proposal is stale";
    /// The proposal was decided, withdrawn or has expired. Nothing is left to do.
    ProposalClosed = "proposal_closed", "Proposal is closed";
    /// The entry belongs to another producer. Write the one whose last segment is your name.
    ProducerMismatch = "producer_mismatch", "Another producer's entry";
    /// The place takes only trusted values, and this one is not. Have a user or arbiter vouch for it.
    UntrustedSource = "untrusted_source", "Untrusted source";
    /// An entry named in `derived_from` has a newer version. Read it and derive again.
    StaleSource = "stale_source", "Stale source";
    /// A `test` of the patch does not hold. Read the entry and make the patch again.
    TestFailed = "test_failed", "Test of the patch failed";
    /// The patch names a path that the value does not have. Read the entry and make the patch again.
    PathNotFound = "path_not_found", "Path not found";
    /// The position is from another life of the board. Start from a position of the current one.
    UnknownEpoch = "unknown_epoch", "Unknown epoch";
    /// The position is ahead of everything the board has. Start from its head.
    FuturePosition = "future_position", "Position in the future";
    /// What was asked for is no longer kept. Start again from a snapshot or the first page.
    Compacted = "compacted", "No longer available";
    /// The request body is over the limit. Send less.
    BodyTooLarge = "body_too_large", "Request body too large";
    /// The value is over the limit for entries. Keep the bulk elsewhere and write a pointer to it.
    ValueTooLarge = "value_too_large", "Value too large";
    /// The content type is not one that this call takes. Send the header that the detail names.
    UnsupportedMediaType = "unsupported_media_type", "Unsupported media type";
    /// The header Host names another server. Address this one by a configured name.
    WrongHost = "wrong_host", "Wrong host";
    /// The request took too long to arrive. Send it again.
    Timeout = "timeout", "Request timed out";
    /// A bound is reached; `limit` names it. Send less, or make room.
    LimitReached = "limit_reached", "Limit reached";
    /// The value fails the schema of its slot. Correct what the errors point at.
    SchemaViolation = "schema_violation", "Schema violation";
    /// The operation or value does not fit what stands at the path. Choose another operation.
    WrongKind = "wrong_kind", "Wrong kind of value";
    /// A number cannot be kept exactly. Send it as text or in a smaller unit.
    NumberNotRepresentable = "number_not_representable", "Number not representable";
    /// The zone takes only declared slots, and this key is none. Choose a declared key.
    UnknownSlot = "unknown_slot", "Unknown slot";
    /// The lifecycle of the zone has no such status. Choose one of `allowed`.
    UnknownStatus = "unknown_status", "Unknown status";
    /// The write would wipe content with nothing. Leave the member out, or say `replace: true`.
    NullGuarded = "null_guarded", "Content guarded against null";
    /// The list or set has all the items it may have. Remove some first.
    ListFull = "list_full", "List is full";
    /// The board has all the state it may have. Shorten or delete the largest entries.
    StateFull = "state_full", "Board state is full";
    /// The value points at a blob that is not there. Upload it first.
    BlobNotFound = "blob_not_found", "Blob not found";
    /// A version named in `derived_from` never existed. Name the versions that were read.
    SourceNotFound = "source_not_found", "Source not found";
    /// The Idempotency-Key was used for another request. Take a new key for a new request.
    IdempotencyMismatch = "idempotency_mismatch", "Idempotency key used for another request";
    /// The blueprint has a mistake. Correct what the errors point at.
    InvalidBlueprint = "invalid_blueprint", "Invalid blueprint";
    /// The write of an existing entry needs a condition. Read `current` and send its version.
    PreconditionRequired = "precondition_required", "Condition required";
    /// The caller sends too much at once. Wait `retry_after_ms`.
    RateLimited = "rate_limited", "Too many requests";
    /// The server made a mistake. Read again what was written, and report the request id.
    Internal = "internal", "Internal error";
    /// The server has more to do than it takes on. Nothing happened; wait `retry_after_ms` and send it again.
    Overloaded = "overloaded", "Overloaded";
    /// This server has not yet reached the position asked for. Wait and read again.
    Behind = "behind", "Behind the position asked for";
    /// The storage does not answer or the server is stopping. Nothing happened; wait and send it again.
    Unavailable = "unavailable", "Unavailable";
    /// The server does not know whether the write landed. Send it again with the same Idempotency-Key, or read first.
    OutcomeUnknown = "outcome_unknown", "Outcome unknown";
    /// The records of this board are damaged and it was set aside. Have whoever runs the server look; other boards are served.
    Quarantined = "quarantined", "Board set aside";
    /// The disk is full. Reads go on; wait until there is room again.
    StorageFull = "storage_full", "Storage full";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_reads_back_from_its_name_and_no_name_is_used_twice() {
        for code in ErrorCode::ALL {
            assert_eq!(code.as_str().parse(), Ok(*code));
        }
        let mut names: Vec<_> = ErrorCode::ALL.iter().map(|code| code.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ErrorCode::ALL.len());
    }

    #[test]
    fn every_code_says_what_it_means() {
        for code in ErrorCode::ALL {
            assert!(!code.title().is_empty() && code.explain().ends_with('.'), "{code}");
            assert!(!code.explain().starts_with(' '), "{code}");
            assert_ne!(code.other_status(), Some(code.status()), "{code}");
        }
    }

    #[test]
    fn no_default_action_needs_a_call_that_this_server_does_not_have() {
        for code in ErrorCode::ALL {
            let action = code.default_action();
            assert!(!matches!(action, NextAction::Propose | NextAction::Yield | NextAction::Escalate), "{code}");
        }
    }

    #[test]
    fn an_unknown_code_of_a_newer_server_is_kept_as_it_is() {
        let code: Code = serde_json::from_str("\"from_the_future\"").expect("any text");
        assert_eq!((code.as_str(), code.known()), ("from_the_future", None));
        assert_eq!(Code::from(ErrorCode::Locked), ErrorCode::Locked);
        assert!(serde_json::from_str::<ErrorCode>("\"from_the_future\"").is_err());
    }
}
