//! `kokuban board export`: a board as JSON lines on standard output.

use std::io::{self, Write};

use futures::StreamExt;
use kokuban_client::Board;

use crate::failure::Outcome;
use crate::output::{Output, Progress};

pub(crate) async fn run(board: &Board, out: Output) -> Outcome {
    let mut chunks = board.export().await?;
    let mut filter = out.passing_json();
    let mut progress = Progress::bytes("exported", None).unless_shown(out.is_terminal());
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        io::stdout().lock().write_all(&filter.take(&chunk))?;
        progress.add(chunk.len() as u64);
    }
    Ok(io::stdout().lock().flush()?)
}
