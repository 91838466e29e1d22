//! Peers that do not behave: broken requests, slow ones, endless ones, too many.
//!
//! **Invariant**: after each of them the server serves the next caller, has not panicked (its log is looked at when
//! it ends), and has answered with no 5xx that was not designed.
//! Not known here: what well-formed requests ask for.

mod broken;
mod crowds;
mod odd;
mod slow;
