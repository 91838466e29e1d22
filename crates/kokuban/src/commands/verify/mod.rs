//! `kokuban verify PATH`: does the chain of hashes of an export, a backup or a data directory hold, and what does it
//! come to?
//!
//! Invariant: the first break of each board is reported with its place. Files are only read; a data directory is
//! locked and opened as a server does at its start, so a server must not be running on it.
//! Not known here: how commits are checked and folded; `kokuban_core::verify` does it.

mod backup;

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::Path;

use anyhow::{Context as _, anyhow};
use kokuban_core::record;
use kokuban_core::verify::{Flaw, Records, Report, Verifier};
use kokuban_journal::backup::Parser;
use kokuban_journal::{BoardInfo, Error, Journal as _, ReadLimit, Sqlite, sqlite};
use serde_json::{Value, json};

use crate::args::{Form, VerifyArgs};
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Progress, complain, print, safe, unless_closed};

/// No line of an export is longer.
const LINE_BYTES_MAX: u64 = 64 << 20;
/// Records and boards read at a time.
const PAGE: usize = 1_000;

pub(crate) fn run(args: &VerifyArgs, out: Output) -> Outcome {
    let path = args.path.as_path();
    if path == Path::new("-") {
        return file("-", io::stdin().lock(), None, out);
    }
    let unreadable = |error: io::Error| Failure::usage(format!("{}: {error}", path.display()));
    let meta = std::fs::metadata(path).map_err(unreadable)?;
    if meta.is_dir() {
        return directory(path, out);
    }
    let opened = File::open(path).map_err(unreadable)?;
    file(&path.display().to_string(), BufReader::new(opened), Some(meta.len()), out)
}

/// A backup or an export, as its first bytes say.
fn file(name: &str, mut from: impl BufRead, bytes: Option<u64>, out: Output) -> Outcome {
    if Parser::knows(from.fill_buf()?) {
        return backup::check(name, from, bytes, out);
    }
    conclude(name, export(from, bytes)?, out)
}

fn conclude(name: &str, checked: Result<Report, Flaw>, out: Output) -> Outcome {
    match checked {
        Ok(report) => Ok(out.one(&members(&report), |_| line_of(&report))?),
        Err(flaw) => Err(Failure::Other(anyhow!("{name}: {flaw}"))),
    }
}

fn export(mut lines: impl BufRead, bytes: Option<u64>) -> io::Result<Result<Report, Flaw>> {
    let mut verifier = Verifier::new();
    let mut progress = Progress::bytes("verified", bytes.filter(|bytes| *bytes > 0));
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = lines.by_ref().take(LINE_BYTES_MAX).read_until(b'\n', &mut line)?;
        if line.is_empty() {
            return Ok(verifier.finish());
        }
        // What is no UTF-8 is no line of an export either, and is refused as such, with its place.
        if let Err(flaw) = verifier.line(str::from_utf8(&line).unwrap_or("not UTF-8")) {
            return Ok(Err(flaw));
        }
        progress.add(read as u64);
    }
}

fn directory(path: &Path, out: Output) -> Outcome {
    let database = path.join(sqlite::DATABASE);
    if !database.is_file() {
        return Err(Failure::usage(format!("{}: this is no data directory", path.display())));
    }
    let journal = Sqlite::open(&sqlite::Options::new(path)).map_err(|error| not_opened(path, error))?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let damaged = runtime.block_on(async {
        let damaged = boards(&journal, out).await;
        journal.close().await.context("closing the data directory")?;
        damaged
    })?;
    match damaged {
        0 => Ok(()),
        n => Err(Failure::Other(anyhow!("{n} boards are damaged"))),
    }
}

fn not_opened(path: &Path, error: Error) -> Failure {
    let Error::InUse(_) = error else { return Failure::Other(error.into()) };
    Failure::Other(anyhow!(
        "a server is running on {}, and changes it while it is read\n  next: let the server give a copy, and check \
         that\n    kokuban backup now.backup\n    kokuban verify now.backup",
        path.display()
    ))
}

/// What is said of each board: people see it as soon as it is known, programs get one document.
struct Lines {
    out: Output,
    found: Vec<Value>,
}

impl Lines {
    fn new(out: Output) -> Self {
        Self { out, found: Vec::new() }
    }

    fn take(&mut self, (line, value): (String, Value)) -> anyhow::Result<()> {
        // The verdict counts also where nobody reads to the end.
        match self.out.form() {
            Form::Table => print(&safe(&line)).or_else(unless_closed)?,
            Form::Jsonl => self.out.next(&value, |_| line).or_else(unless_closed)?,
            Form::Json => self.found.push(value),
        }
        Ok(())
    }

    fn end(self) -> anyhow::Result<()> {
        if self.out.form() == Form::Json {
            self.out.one(&self.found, |_| String::new()).or_else(unless_closed)?;
        }
        Ok(())
    }
}

async fn boards(journal: &Sqlite, out: Output) -> anyhow::Result<u64> {
    let mut progress = Progress::bytes("verified", None);
    let mut lines = Lines::new(out);
    let mut damaged = 0;
    let mut after = None;
    loop {
        let page = journal.list(after.clone(), PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.board.clone());
        for info in &page {
            let said = match board(journal, info, &mut progress).await {
                Ok(report) => (line_of(&report), members(&report)),
                Err(error) => {
                    damaged += 1;
                    let error = format!("{error:#}");
                    let line = format!("{}: DAMAGED: {error}", info.board);
                    (line, json!({"board": info.board, "ok": false, "error": error}))
                }
            };
            progress.aside(|| lines.take(said))?;
        }
    }
    lines.end()?;
    if after.is_none() && out.form() == Form::Table {
        complain("no boards");
    }
    Ok(damaged)
}

async fn board(journal: &Sqlite, info: &BoardInfo, progress: &mut Progress) -> anyhow::Result<Report> {
    let loaded = journal.load(info.board.clone()).await?.context("the board is gone")?;
    let snapshot = loaded.snapshot;
    let mut records = Records::new(info.board.clone(), info.oldest);
    loop {
        let page = journal.read(info.board.clone(), records.revision(), ReadLimit::records(PAGE)).await?;
        if page.is_empty() {
            break;
        }
        for stored in page {
            progress.add(stored.body.len() as u64);
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

fn members(report: &Report) -> Value {
    let Report { board, first, revision, hash, commits, entries, withheld, absent_values } = report;
    json!({
        "board": board, "ok": true, "first": first, "revision": revision, "hash": hash, "commits": commits,
        "entries": entries, "withheld": withheld, "absent_values": absent_values,
    })
}
