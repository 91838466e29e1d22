//! `kokuban backup`: a copy of all boards of a running server, checked while it arrives.
//!
//! Invariant: a file has its name only when all of it is there, has been checked and is on the disk; whatever goes
//! wrong before leaves what was there. A board that is damaged on the server is copied as it is, and told.
//! Not known here: the form of a backup, and how a server makes one.

mod reading;

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow};
use futures::StreamExt as _;
use kokuban_client::Client;
use kokuban_journal::backup::file_name;
use serde::Serialize;
use tempfile::NamedTempFile;

pub(crate) use self::reading::{Damaged, Reading, Step, Summary, each};
use crate::args::{BackupArgs, ClientArgs};
use crate::caller;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, Progress, complain, safe};

#[derive(Debug, Serialize)]
struct Done<'a> {
    file: String,
    #[serde(flatten)]
    summary: &'a Summary,
}

pub(crate) async fn run(args: &BackupArgs, client: &ClientArgs, out: Output) -> Outcome {
    let client = caller::client(client)?;
    if args.file == Path::new("-") {
        // Standard output is the backup's, so what is said about it goes elsewhere.
        let summary = taken(&client, &mut io::stdout().lock()).await?;
        complain(&text("standard output", &summary));
        return conclude(&summary);
    }
    let place = place(args)?;
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let unwritable = |error: io::Error| Failure::usage(format!("{}: {error}", folder.display()));
    let mut file = tempfile::Builder::new().prefix(".kokuban-backup-").tempfile_in(folder).map_err(unwritable)?;
    let summary = taken(&client, &mut file).await?;
    keep(file, &place, folder, args.replace)?;
    out.one(&Done { file: place.display().to_string(), summary: &summary }, |done| text(&done.file, &summary))?;
    conclude(&summary)
}

/// Where the backup is to be.
fn place(args: &BackupArgs) -> Result<PathBuf, Failure> {
    let place = if args.file.is_dir() { args.file.join(file_name(super::restore::now())) } else { args.file.clone() };
    if place.exists() && !args.replace {
        let place = place.display();
        return Err(Failure::usage(format!("{place} is there already; name another file, or give --replace")));
    }
    Ok(place)
}

/// Takes the whole backup, checking it on the way.
async fn taken(client: &Client, to: &mut impl Write) -> Result<Summary, Failure> {
    let mut chunks = client.backup().await?;
    let mut progress = Progress::bytes("copied", None);
    let mut reading = Reading::new();
    let mut summary = Summary::default();
    while let Some(chunk) = chunks.next().await {
        let chunk = chunk?;
        to.write_all(&chunk)?;
        progress.add(chunk.len() as u64);
        reading.feed(&chunk);
        while let Some(step) = reading.next()? {
            summary.take(&step);
        }
    }
    to.flush()?;
    summary.bytes = reading.finish()?;
    Ok(summary)
}

fn keep(file: NamedTempFile, place: &Path, folder: &Path, replace: bool) -> anyhow::Result<()> {
    file.as_file().sync_all().with_context(|| format!("{} cannot be synced", place.display()))?;
    let kept = if replace { file.persist(place) } else { file.persist_noclobber(place) };
    kept.map_err(|failed| failed.error).with_context(|| format!("{} cannot be made", place.display()))?;
    File::open(folder).and_then(|folder| folder.sync_all()).context("the directory cannot be synced")
}

fn text(file: &str, summary: &Summary) -> String {
    format!("{}: {}", safe(file), summary.line())
}

/// What was copied is worth keeping also where it is not whole, but nobody shall think that it is.
fn conclude(summary: &Summary) -> Outcome {
    if summary.damaged.is_empty() {
        return Ok(());
    }
    let mut said = format!("{} of {} boards are not whole in this backup:", summary.damaged.len(), summary.boards);
    summary.damaged.iter().for_each(|damaged| said += &format!("\n  {}", damaged.line()));
    said += "\n  next: keep an older backup in which they are; `kokuban restore --salvage` brings back what is whole";
    Err(Failure::Other(anyhow!(said)))
}
