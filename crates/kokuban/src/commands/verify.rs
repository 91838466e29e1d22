//! `kokuban verify PATH`: does the chain of hashes of an export or a data directory hold, and what does it come to?
//!
//! Invariant: the first break of each board is reported with its place. An export is only read; a data directory is
//! locked and opened as a server does at its start, so a server must not be running on it.
//! Not known here: how commits are checked and folded; `kokuban_core::verify` does it.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use kokuban_core::record;
use kokuban_core::verify::{Flaw, Records, Report, Verifier};
use kokuban_journal::{BoardInfo, Journal as _, ReadLimit, Sqlite, sqlite};

use crate::args::VerifyArgs;
use crate::failure::{Failure, Outcome};
use crate::output::{print, safe};

/// No line of an export is longer.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Records and boards read at a time.
const PAGE: usize = 1_000;

pub(crate) fn run(args: &VerifyArgs) -> Outcome {
    let path = args.path.as_path();
    if path == Path::new("-") {
        return conclude("-", export(io::stdin().lock())?);
    }
    let kind = std::fs::metadata(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    if kind.is_dir() {
        return directory(path);
    }
    let file = File::open(path).map_err(|error| Failure::usage(format!("{}: {error}", path.display())))?;
    conclude(&path.display().to_string(), export(BufReader::new(file))?)
}

fn conclude(name: &str, checked: Result<Report, Flaw>) -> Outcome {
    match checked {
        Ok(report) => Ok(print(&line_of(&report))?),
        Err(flaw) => Err(Failure::Other(anyhow!("{name}: {flaw}"))),
    }
}

fn export(mut lines: impl BufRead) -> io::Result<Result<Report, Flaw>> {
    let mut verifier = Verifier::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(verifier.finish());
        }
        // What is no UTF-8 is no line of an export either, and is refused as such, with its place.
        if let Err(flaw) = verifier.line(str::from_utf8(&line).unwrap_or("not UTF-8")) {
            return Ok(Err(flaw));
        }
    }
}

fn directory(path: &Path) -> Outcome {
    let database = path.join(sqlite::DATABASE);
    if !database.is_file() {
        return Err(Failure::usage(format!("{}: this is no data directory", path.display())));
    }
    let journal = Sqlite::open(&sqlite::Options::new(path)).map_err(|error| Failure::Other(error.into()))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let damaged = runtime.block_on(async {
        let damaged = boards(&journal).await;
        journal.close().await.context("closing the data directory")?;
        damaged
    })?;
    match damaged {
        0 => Ok(()),
        n => Err(Failure::Other(anyhow!("{n} boards are damaged"))),
    }
}

async fn boards(journal: &Sqlite) -> anyhow::Result<u64> {
    let mut damaged = 0;
    let mut after = None;
    loop {
        let page = journal.list(after.clone(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(damaged) };
        after = Some(last.board.clone());
        for info in &page {
            match board(journal, info).await {
                Ok(report) => print(&line_of(&report))?,
                Err(error) => {
                    damaged += 1;
                    print(&format!("{}: DAMAGED: {}", info.board, safe(&format!("{error:#}"))))?;
                }
            }
        }
    }
}

async fn board(journal: &Sqlite, info: &BoardInfo) -> anyhow::Result<Report> {
    let loaded = journal.load(info.board.clone()).await?.context("the board is gone")?;
    let snapshot = loaded.snapshot;
    let mut records = Records::new(info.board.clone(), info.oldest);
    loop {
        let page = journal.read(info.board.clone(), records.revision(), ReadLimit::records(PAGE)).await?;
        if page.is_empty() {
            break;
        }
        for stored in page {
            records.record(stored.revision, stored.chain, &stored.body)?;
            if let Some(snapshot) = snapshot.as_ref().filter(|snapshot| snapshot.head.revision == stored.revision) {
                let bytes = record::from_chunks(snapshot.chunks.clone())?;
                records.snapshot(snapshot.head.chain, &bytes)?;
            }
        }
    }
    let report = records.report();
    anyhow::ensure!(
        report.revision == info.head.revision && report.hash == info.head.chain,
        "the records end at revision {}, the head is at {}",
        report.revision,
        info.head.revision
    );
    Ok(report)
}

fn line_of(report: &Report) -> String {
    let Report { board, first, revision, hash, commits, entries, withheld, absent_values } = report;
    let mut line = format!("{board}: whole: {commits} commits, revisions {first} to {revision}, hash {hash}");
    line += &match entries {
        Some(entries) => format!(", {entries} entries"),
        None => ", links only: the state cannot be built from what is here".to_owned(),
    };
    for (n, what) in [(withheld, "commits withheld"), (absent_values, "values by hash only")] {
        if *n > 0 {
            line += &format!(", {n} {what}");
        }
    }
    line
}
