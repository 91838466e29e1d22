//! `kokuban serve` and `kokuban dev`: the flags, handed to the server.
//!
//! Invariant: the thinnest seam there is; what a setting means, and where files and variables come in, is known to
//! `kokuban_server::config` alone.

use std::path::Path;

use anyhow::anyhow;

use crate::args::ServeArgs;
use crate::failure::{Failure, Outcome};

/// Which defaults apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Serve,
    /// In memory, boards made by their first write, a banner.
    Dev,
}

pub(crate) fn serve(args: &ServeArgs, mode: Mode) -> Outcome {
    Err(Failure::Other(anyhow!("this build cannot serve yet ({mode:?}, {args:?})")))
}

/// The flaws of a server's configuration file.
pub(crate) fn check_config(path: &Path) -> Result<(), Vec<String>> {
    Err(vec![format!("{}: this build cannot check a configuration yet", path.display())])
}
