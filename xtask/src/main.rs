//! `cargo xtask`: the chores of this repository, the same for people and for CI.
//!
//! Invariant: a chore reads and writes files of this checkout only; it needs no network. This program stays small, since
//! CI builds it first: what needs more is a crate of its own.
//! Not known here: how Kokuban works, beyond what its documentation shows of itself: problem codes and blueprints.

mod bench;
mod docs;
mod tidy;

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "\
cargo xtask tidy    check what the compiler does not: layers, purity of the core, file headers and lengths, documents
cargo xtask docs    write the generated parts of docs/ anew
cargo xtask bench   measure speed and memory beside yardsticks of the same run (--help for more)";

fn main() -> anyhow::Result<ExitCode> {
    let chore = std::env::args().nth(1);
    let mut out = std::io::stdout().lock();
    match chore.as_deref() {
        Some("tidy") => tidy::run(&root(), &mut out),
        Some("docs") => {
            let changed = docs::write(&root())?;
            changed.iter().try_for_each(|file| writeln!(out, "{file}: written anew"))?;
            writeln!(out, "docs: {} files were not up to date", changed.len())?;
            Ok(ExitCode::SUCCESS)
        }
        Some("bench") => bench::run(&root(), std::env::args_os().skip(2)),
        _ => {
            writeln!(out, "{USAGE}")?;
            Ok(ExitCode::from(2))
        }
    }
}

/// The folder of the workspace.
fn root() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.parent().expect("xtask is a folder of the workspace").to_owned()
}
