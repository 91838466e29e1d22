//! Between the core and the wire: refusals become problems, entries and replies become answers, bodies commands.
//!
//! Invariant: exhaustive matches; a new rejection, reply or event does not compile until it has its form here.
//! Not known here: who may see what; the core and the edge have asked.

mod changes;
mod commands;
mod problems;
mod typed;
mod views;
mod words;

pub use changes::{changes_of, history_change, history_commit, kinds_of, message, value_in};
pub use commands::{claim, delete, inputs, patch, put, rfc, transaction};
pub use problems::{Place, flaws_problem, json_problem, point_at_operations, problem};
pub use typed::{blame, board_completeness, completeness};
pub use views::{ReceiptValue, View, claimed, entry, entry_json, lease, note, receipt, transaction_receipt, warning};
