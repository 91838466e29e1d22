//! `kokuban ready`: does the server take writes? For the health check of a container, which needs no curl then.
//!
//! Invariant: one attempt; the exit code is the answer.

use crate::args::ClientArgs;
use crate::caller;
use crate::failure::Outcome;
use crate::output::print;

pub(crate) async fn run(client: &ClientArgs) -> Outcome {
    caller::client(client)?.ready().await?;
    Ok(print("ready")?)
}
