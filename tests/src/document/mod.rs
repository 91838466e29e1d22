//! Documents as instructions: the commands that they show, with their answers, and the files that they have saved.
//!
//! Not known here: how commands are run; see the tests of the documents, and of those that need containers.

mod matching;
mod steps;

pub use matching::compare;
pub use steps::{DEMO, DONE, Step, TESTS, steps};
