//! What an agent of the demonstration tells its audience, beside what it does on the board.
//!
//! Invariant: a remark is one line of JSON on the agent's standard output; refusals appear nowhere else, because a
//! refused write leaves nothing on the board.

use kokuban_client::Error;
use serde::{Deserialize, Serialize};

use crate::failure::advice;
use crate::output::print;

/// One line of an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(super) enum Remark {
    /// Connected to the board's stream.
    Ready,
    Says {
        text: String,
    },
    Refused {
        call: String,
        code: String,
        detail: String,
        allowed: Option<Vec<String>>,
        advice: String,
    },
}

pub(super) fn ready() {
    tell(&Remark::Ready);
}

pub(super) fn says(text: impl Into<String>) {
    tell(&Remark::Says { text: text.into() });
}

/// Tells of a refusal; anything else that went wrong is no part of the story.
///
/// # Errors
/// `error` itself, if it is no refusal.
pub(super) fn refused(call: impl Into<String>, error: Error) -> Result<(), Error> {
    let Some(problem) = error.problem() else { return Err(error) };
    tell(&Remark::Refused {
        call: call.into(),
        code: problem.code.to_string(),
        detail: problem.detail.clone(),
        allowed: problem.allowed.clone(),
        advice: advice(problem),
    });
    Ok(())
}

fn tell(remark: &Remark) {
    if let Ok(line) = serde_json::to_string(remark) {
        // Without an audience the agent still does its work.
        let _ = print(&line);
    }
}
