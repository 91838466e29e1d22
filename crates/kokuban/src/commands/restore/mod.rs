//! `kokuban restore`: a data directory made of a backup.
//!
//! Invariants: nothing is touched before all of the backup has been checked. The directory holds the old data or the
//! new, whole, at every moment; old data is kept. Nothing that was given after the backup is given again.
//! Not known here: how a file takes the place of another (`Rebuild`), what a restore does to a board (`core`).

mod import;
mod lineage;
mod plan;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, anyhow};
use kokuban_core::ids::{BoardName, Revision, Timestamp};
use kokuban_journal::sqlite::{self, Rebuild};
use kokuban_journal::{Error, Journal as _, Sqlite};
use serde::Serialize;

use self::lineage::Lineage;
use self::plan::Plan;
use super::backup::Damaged;
use crate::args::{Form, RestoreArgs};
use crate::failure::{Failure, Outcome};
use crate::output::{Output, complain, print, safe};

/// A board that was brought back.
#[derive(Debug, Serialize)]
struct Restored {
    board: BoardName,
    /// Where it stands in the backup.
    was: Revision,
    /// Where it goes on.
    revision: Revision,
}

#[derive(Debug, Serialize)]
struct Done {
    data: PathBuf,
    taken: Timestamp,
    boards: Vec<Restored>,
    /// Boards that did not come back whole.
    damaged: Vec<Damaged>,
    /// Where the old data is now.
    replaced: Option<PathBuf>,
    /// New boards begin after this revision.
    base: Revision,
}

pub(crate) fn run(args: &RestoreArgs, out: Output) -> Outcome {
    let file = || File::open(&args.file).map_err(|error| Failure::usage(format!("{}: {error}", args.file.display())));
    file()?;
    let options = sqlite::Options::new(&args.data);
    let rebuild = Rebuild::begin(&options).map_err(|error| not_begun(&args.data, error))?;
    let replaces = rebuild.holds_data().map_err(anyhow::Error::from)?;
    if replaces && !args.replace {
        return Err(Failure::usage(format!(
            "{} holds data already; name another directory, or give --replace, which keeps the old data beside the new",
            args.data.display()
        )));
    }
    let plan = Plan::of(file()?).with_context(|| format!("{} is not restored", args.file.display()))?;
    refuse_damage(&plan, args)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let done = runtime.block_on(build(rebuild, replaces, file()?, plan, &args.data))?;
    shown(&done, out)
}

fn not_begun(data: &Path, error: Error) -> Failure {
    match error {
        Error::InUse(_) => Failure::Other(anyhow!(
            "a server is running on {}\n  next: stop it; what it keeps can be copied before with `kokuban backup`",
            data.display()
        )),
        other => Failure::Other(other.into()),
    }
}

fn refuse_damage(plan: &Plan, args: &RestoreArgs) -> Outcome {
    if plan.damaged.is_empty() || args.salvage {
        return Ok(());
    }
    let mut said = format!("{} boards are damaged in {}:", plan.damaged.len(), args.file.display());
    plan.damaged.iter().for_each(|damaged| said += &format!("\n  {}", damaged.line()));
    said += "\n  next: take a backup in which they are whole, or bring back what is whole with --salvage";
    Err(Failure::Other(anyhow!(said)))
}

async fn build(rebuild: Rebuild, replaces: bool, file: File, plan: Plan, data: &Path) -> anyhow::Result<Done> {
    let old = replaces.then(|| rebuild.open_old()).transpose().with_context(|| {
        format!(
            "what is in {} cannot be read, so nobody knows how far its revisions went; move it away and restore into \
             an empty directory",
            data.display()
        )
    })?;
    let found = async {
        let lineage = Lineage::of(&plan, old.as_ref(), now()).await?;
        let new = rebuild.open_new(lineage.base)?;
        let boards = import::all(&file, &plan, &lineage, &new).await;
        new.close().await?;
        Ok::<_, anyhow::Error>((boards?, lineage.base))
    }
    .await;
    if let Some(old) = old {
        Sqlite::close(&old).await?;
    }
    let (boards, base) = found?;
    let replaced = rebuild.finish()?;
    let data = data.to_owned();
    Ok(Done { data, taken: plan.begin.taken, boards, damaged: plan.damaged, replaced, base })
}

fn shown(done: &Done, out: Output) -> Outcome {
    if out.form() != Form::Table {
        return Ok(out.one(done, |_| String::new())?);
    }
    for Restored { board, was, revision } in &done.boards {
        print(&safe(&format!("{board}: restored as of revision {was}, goes on at {revision}")))?;
    }
    for damaged in &done.damaged {
        complain(&format!("not whole: {}", damaged.line()));
    }
    let (n, taken, data) = (done.boards.len(), done.taken, done.data.display());
    print(&format!("{n} boards of {taken} are in {data}, under new epochs"))?;
    if let Some(replaced) = &done.replaced {
        print(&format!("the old data is kept in {}; delete it when you no longer need it", replaced.display()))?;
    }
    Ok(())
}

/// The wall clock.
pub(crate) fn now() -> Timestamp {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
}
