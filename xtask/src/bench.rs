//! `cargo xtask bench`: builds the server and the program that measures it, and runs that.
//!
//! Invariant: both are built as they are released; what stands behind `bench` is the program's.
//! Not known here: what is measured; `crates/kokuban-bench` is.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Command, ExitCode};

use anyhow::Context as _;

pub(crate) fn run(root: &Path, args: impl Iterator<Item = OsString>) -> anyhow::Result<ExitCode> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut build = Command::new(&cargo);
    build.args(["build", "--release", "-p", "kokuban", "-p", "kokuban-bench"]).current_dir(root);
    if !build.status().context("starting cargo")?.success() {
        return Ok(ExitCode::FAILURE);
    }
    let mut bench = Command::new(&cargo);
    bench.args(["run", "--quiet", "--release", "--manifest-path"]).arg(root.join("Cargo.toml"));
    let status = bench.args(["-p", "kokuban-bench", "--"]).args(args).status().context("starting cargo")?;
    Ok(status.code().and_then(|code| u8::try_from(code).ok()).map_or(ExitCode::FAILURE, ExitCode::from))
}
