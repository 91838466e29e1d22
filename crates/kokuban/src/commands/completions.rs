//! `kokuban completions SHELL`: the script that makes a shell complete commands, flags and their values.

use std::io;

use crate::args::{self, CompletionsArgs};
use crate::failure::Outcome;
use crate::output::print;

pub(crate) fn run(args: &CompletionsArgs) -> Outcome {
    let mut script = io::Cursor::new(Vec::new());
    clap_complete::generate(args.shell, &mut args::command_to_complete(), "kokuban", &mut script);
    Ok(print(&String::from_utf8_lossy(script.get_ref()))?)
}
