//! Readers of the log, met through the whole router: what contract §6 promises, one sentence each.

mod beginnings;
mod commits;
mod endings;
mod matches;
mod polls;
mod rights;
mod slow;
mod socket;
pub(crate) mod stage;
mod windows;
