//! What the engine cannot do, as problems.
//!
//! Invariant: exhaustive: every error of the engine has its code, and none names a value.
//! Not known here: rules; their refusals are put into words by `kokuban_api::from_core`.

use kokuban_api::from_core::{self, Place};
use kokuban_api::problem::SideEffects;
use kokuban_api::{ErrorCode, Problem};
use kokuban_core::board::Board;
use kokuban_core::event::Event;
use kokuban_core::ids::{BoardName, EntryId, Position, Revision, Version};
use kokuban_core::path;
use kokuban_core::rejection::{Current, Refusal, Rejection};
use kokuban_engine::{Error, PastError};

use crate::call::Call;
use crate::error::ApiError;

const RETRY_MS: u64 = 500;
/// Pointers named in `changed`.
const CHANGED_MAX: usize = 64;
/// Commits looked through for the value that the caller had read.
const LOOK_BACK_COMMITS: usize = 200;

impl Call {
    pub(crate) fn engine_problem(&self, board: &BoardName, error: Error) -> ApiError {
        self.engine_problem_about(board, error, None)
    }

    pub(crate) fn engine_problem_about(&self, board: &BoardName, error: Error, about: Option<&EntryId>) -> ApiError {
        let problem = match error {
            Error::Refused { refusal, position, .. } => return self.refused(board, position, &refusal, about),
            Error::Overloaded => Problem::new(ErrorCode::Overloaded, "too many requests wait for this board")
                .with_retry_after_ms(RETRY_MS),
            Error::StorageFull => Problem::new(
                ErrorCode::StorageFull,
                "the disk is full: nothing was written; reads go on, and writes as soon as there is room",
            )
            .with_retry_after_ms(10 * RETRY_MS),
            Error::Unavailable => Problem::new(ErrorCode::Unavailable, "the storage failed; nothing was written")
                .with_retry_after_ms(RETRY_MS),
            Error::Closing => Problem::new(ErrorCode::Unavailable, "the server is stopping; nothing was written")
                .with_retry_after_ms(RETRY_MS),
            Error::OutcomeUnknown => Problem::new(
                ErrorCode::OutcomeUnknown,
                "it is not known whether this was recorded; repeat it with the same Idempotency-Key",
            )
            .with_side_effects(SideEffects::Unknown),
            Error::Quarantined { revision, detail } => {
                let place = revision.map(|revision| format!(" at revision {revision}")).unwrap_or_default();
                Problem::new(ErrorCode::Quarantined, format!("the records of this board are damaged{place}: {detail}"))
            }
            Error::Internal => Problem::new(ErrorCode::Internal, "the server made a mistake; nothing was written"),
            Error::TooManyBoards { max } => {
                Problem::new(ErrorCode::LimitReached, format!("the server has {max} boards and takes no more"))
                    .with_limit("boards_max", max)
            }
        };
        problem.into()
    }

    /// What a read of `board` is refused with.
    pub(crate) fn refuse(&self, board: &Board, rejection: Rejection, about: Option<&EntryId>) -> ApiError {
        self.refused(board.name(), board.position(), &Refusal::of(rejection), about)
    }

    /// What a read of an entry that is there is refused with, and the entry.
    pub(crate) fn refuse_reading(&self, board: &Board, rejection: Rejection, id: &EntryId) -> ApiError {
        let mut refusal = Refusal::of(rejection);
        refusal.current = Current::of(board, id, &self.caller.agent).map(Box::new);
        self.refused(board.name(), board.position(), &refusal, Some(id))
    }

    fn refused(
        &self,
        board: &BoardName,
        position: Option<Position>,
        refusal: &Refusal,
        about: Option<&EntryId>,
    ) -> ApiError {
        let call = about.map(|id| (self.method.as_str(), id));
        ApiError::from(from_core::problem(refusal, &Place { board, position, call })).at(position)
    }

    pub(crate) fn past_problem(&self, error: &PastError) -> ApiError {
        let problem = match error {
            PastError::Compacted => Problem::new(ErrorCode::Compacted, "the history no longer reaches back so far"),
            PastError::Future => Problem::new(ErrorCode::FuturePosition, "the board has not come so far"),
            PastError::Unavailable => {
                Problem::new(ErrorCode::Unavailable, "the storage cannot be read now").with_retry_after_ms(RETRY_MS)
            }
            PastError::Damaged { revision, detail } => Problem::new(
                ErrorCode::Quarantined,
                format!("the records of this board are damaged at revision {revision}: {detail}"),
            ),
        };
        problem.into()
    }

    /// Adds to a version conflict what changed since the version that the caller named, where that is still known.
    pub(crate) async fn tell_changes(&self, board: &BoardName, id: &EntryId, since: Version, problem: &mut Problem) {
        if !problem.is(ErrorCode::VersionConflict) || problem.current.is_none() {
            return;
        }
        let Ok(Some(handle)) = self.app.engine.board(board).await else { return };
        let published = handle.published();
        let Some(entry) = published.board.entry(id).filter(|entry| entry.version > since) else { return };
        let Some(new) = entry.value() else { return };
        let mut before = Revision(entry.revision.0 + 1);
        let mut looked = 0;
        while looked < LOOK_BACK_COMMITS {
            let Ok(page) = handle.history(before, 50).await else { return };
            let Some(last) = page.commits.last() else { return };
            before = last.revision();
            looked += page.commits.len();
            let written = page.commits.iter().flat_map(|logged| &logged.commit.events).find_map(|event| match event {
                Event::EntryWritten(written) if written.id == *id && written.version <= since => Some(written),
                _ => None,
            });
            if let Some(written) = written {
                let Some(old) = written.value.json.as_ref() else { return };
                let pointers = path::diff(&old.to_value(), &new.to_value(), CHANGED_MAX);
                problem.changed = Some(pointers.iter().map(ToString::to_string).collect());
                return;
            }
        }
    }
}
