//! The Python client against real servers: its own tests, and with them its examples. Its README is run as a document.
//!
//! Invariant: run with the program of this build; that pytest is missing is a failure, not a reason to pass.
//! Not known here: what the client does; `clients/python/tests` does.

use std::process::Command;

use kokuban_tests::server_binary;

#[test]
fn the_python_client_passes_its_tests() {
    let tests = concat!(env!("CARGO_MANIFEST_DIR"), "/../clients/python/tests");
    let run = Command::new("python3")
        .args(["-m", "pytest", "-q", "-p", "no:cacheprovider", tests])
        .env("KOKUBAN_BIN", server_binary())
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .output()
        .expect("python3 is installed");
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    assert!(
        !err.contains("No module named pytest"),
        "pytest is missing: apt install python3-pytest, or pip install pytest"
    );
    assert!(run.status.success(), "{out}{err}");
    let summary = out.lines().last().unwrap_or_default();
    let passed: u32 = summary.split(' ').next().and_then(|n| n.parse().ok()).unwrap_or(0);
    assert!(passed >= 29 && !summary.contains("skipped"), "{out}");
}
