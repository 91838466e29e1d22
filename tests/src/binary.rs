//! Where the program under test is.
//!
//! **Invariant**: built at most once in a process; what `KOKUBAN_BIN` names is taken as it is.
//! Not known here: how the program is started.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// The program `kokuban`: `$KOKUBAN_BIN`, else built now, in the profile of the tests.
///
/// # Panics
/// When it cannot be built.
pub fn server_binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| match std::env::var_os("KOKUBAN_BIN") {
        Some(path) => PathBuf::from(path),
        None => build(),
    })
}

fn build() -> PathBuf {
    // The test binary is `<target>/<profile>/deps/it-…`, so the program belongs two levels up.
    let here = std::env::current_exe().expect("a running test has a path");
    let profile = here.parent().and_then(Path::parent).expect("test binaries are in `deps`");
    let target = profile.parent().expect("a profile is in a target directory");
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.args(["build", "--quiet", "-p", "kokuban", "--target-dir"]).arg(target);
    let name = profile.file_name().expect("a profile has a name");
    if name != "debug" {
        command.arg("--profile").arg(name);
    }
    let status = command.current_dir(env!("CARGO_MANIFEST_DIR")).status().expect("cargo starts");
    assert!(status.success(), "`cargo build -p kokuban` failed");
    profile.join(format!("kokuban{}", std::env::consts::EXE_SUFFIX))
}
