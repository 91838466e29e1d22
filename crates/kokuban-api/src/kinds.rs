//! The kinds of change that streams and history name.
//!
//! Invariant: the order of the variants is the order of precedence: of all that happened to an entry in one
//! commit, the first kind of this list is the one that is shown.
//! Not known here: which event of a board is which kind.

use std::fmt;

use serde::{Deserialize, Serialize};

macro_rules! kinds {
    ($($(#[$doc:meta])* $variant:ident = $word:literal,)+) => {
        /// What happened to an entry, or to the board.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(rename_all = "snake_case")]
        pub enum ChangeKind {
            $($(#[$doc])* $variant,)+
        }

        impl ChangeKind {
            /// Every kind, in order of precedence.
            pub const ALL: &'static [Self] = &[$(Self::$variant,)+];
            pub(crate) const WORDS: [(&'static str, Self); [$($word,)+].len()] = [$(($word, Self::$variant),)+];

            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $word,)+ }
            }
        }
    };
}

kinds! {
    Deleted = "deleted",
    Created = "created",
    /// The value, with or without the status.
    Updated = "updated",
    LeaseExpired = "lease_expired",
    LeaseRevoked = "lease_revoked",
    /// The status alone.
    Transitioned = "transitioned",
    LeaseGranted = "lease_granted",
    LeaseRenewed = "lease_renewed",
    LeaseReleased = "lease_released",
    LeaseResumed = "lease_resumed",
    Noted = "noted",
    TrustChanged = "trust_changed",
    Proposed = "proposed",
    ProposalAccepted = "proposal_accepted",
    ProposalRejected = "proposal_rejected",
    ProposalWithdrawn = "proposal_withdrawn",
    ProposalExpired = "proposal_expired",
    ConflictRaised = "conflict_raised",
    ConflictResolved = "conflict_resolved",
    Yielded = "yielded",
    Activated = "activated",
    StormStopped = "storm_stopped",
    LateMessage = "late_message",
    BoardCreated = "board_created",
    /// Brought back from a backup, under a new epoch.
    BoardRestored = "board_restored",
    BlueprintChanged = "blueprint_changed",
}

impl fmt::Display for ChangeKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kinds_are_spelt_alike_everywhere() {
        for (word, kind) in ChangeKind::WORDS {
            assert_eq!(kind.as_str(), word);
            assert_eq!(serde_json::to_string(&kind).expect("serialises"), format!("\"{word}\""));
        }
        assert_eq!(ChangeKind::ALL.len(), 26);
    }

    #[test]
    fn a_deletion_is_shown_before_all_else() {
        let happened = [ChangeKind::LeaseReleased, ChangeKind::Transitioned, ChangeKind::Deleted, ChangeKind::Updated];
        assert_eq!(happened.into_iter().min(), Some(ChangeKind::Deleted));
    }
}
