//! `kokuban get`.

use std::time::Duration;

use kokuban_client::{Board, Get};
use kokuban_core::ids::{Revision, Version};

use super::show;
use crate::args::{Form, GetArgs};
use crate::failure::{Attempt, Failure, Outcome};
use crate::output::{Output, print};

pub(crate) async fn run(args: &GetArgs, board: &Board, out: Output) -> Outcome {
    let attempt = Attempt::on("get", &args.entry);
    let entry = board.get_with(&args.entry, &query(args)).await.map_err(Failure::trying(attempt))?;
    if !args.value {
        return Ok(out.one(&entry, show::entry)?);
    }
    let Some(value) = &entry.value else { return Ok(()) };
    match out.form() {
        Form::Table => Ok(print(&show::value(value))?),
        // As it was written, to the last digit.
        Form::Json | Form::Jsonl => Ok(out.print_json(&show::json(value))?),
    }
}

fn query(args: &GetArgs) -> Get {
    let wait = Duration::from_millis(args.wait_ms);
    let mut get = Get::new();
    if args.full {
        get = get.full();
    }
    if let Some(revision) = args.at {
        get = get.at(Revision(revision));
    }
    if let Some(version) = args.version {
        get = get.version(Version(version));
    }
    if let Some(version) = args.after_version {
        get = get.after_version(Version(version), wait);
    }
    if let Some(status) = &args.until_status {
        get = get.until_status(status.clone(), wait);
    }
    get
}
