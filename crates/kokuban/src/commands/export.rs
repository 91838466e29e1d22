//! `kokuban board export`: a board as JSON lines on standard output.

use std::io::Write;

use futures::StreamExt;
use kokuban_client::Board;

use crate::failure::Outcome;

pub(crate) async fn run(board: &Board) -> Outcome {
    let mut chunks = board.export().await?;
    while let Some(chunk) = chunks.next().await {
        std::io::stdout().lock().write_all(&chunk?)?;
    }
    Ok(std::io::stdout().lock().flush()?)
}
