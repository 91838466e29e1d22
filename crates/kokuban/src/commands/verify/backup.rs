//! `kokuban verify` of a backup: every byte, and every board in it.

use std::io::Read;

use anyhow::anyhow;
use kokuban_journal::backup::{CheckedBoard, Found};
use serde_json::{Value, json};

use super::{Lines, line_of, members};
use crate::commands::backup::{Damaged, Summary, each};
use crate::failure::{Failure, Outcome};
use crate::output::{Output, complain};

pub(super) fn check(name: &str, from: impl Read, bytes: Option<u64>, out: Output) -> Outcome {
    let mut lines = Lines::new(out);
    let mut summary = Summary::default();
    let read = each(from, bytes, "verified", |step, progress| {
        summary.take(&step);
        match &step.found {
            Some(Found::Board(board)) => progress.aside(|| lines.take(shown(board))),
            _ => Ok(()),
        }
    });
    // What was found to be whole before the damage is worth knowing.
    lines.end()?;
    summary.bytes = read.map_err(|flaw| Failure::Other(anyhow!("{name}: {flaw:#}")))?;
    complain(&format!("{name}: {}", summary.line()));
    match summary.damaged.len() {
        0 => Ok(()),
        n => Err(Failure::Other(anyhow!("{n} boards are damaged"))),
    }
}

fn shown(board: &CheckedBoard) -> (String, Value) {
    match (&board.outcome.report, Damaged::of(board)) {
        (Ok(report), _) => (line_of(report), members(report)),
        (Err(flaw), None) => (flaw.to_string(), Value::Null),
        (Err(_), Some(damaged)) => (
            damaged.line(),
            json!({
                "board": damaged.board, "ok": false, "error": damaged.error, "whole_until": damaged.whole_until,
            }),
        ),
    }
}
