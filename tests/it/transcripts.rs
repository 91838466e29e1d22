//! Runs the golden transcripts. `KOKUBAN_BLESS=1` rewrites their bodies and headers from what the server says.
//!
//! **Invariant**: every file of the folder is run.
//! Not known here: what they contain.

use std::path::{Path, PathBuf};

use kokuban_tests::transcript;

pub(crate) fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("it/transcripts")
}

macro_rules! transcripts {
    ($($name:ident)+) => {
        const NAMES: &[&str] = &[$(stringify!($name)),+];
        $(
            #[test]
            fn $name() {
                transcript::run(&folder().join(concat!(stringify!($name), ".http")));
            }
        )+
    };
}

transcripts! {
    bodies boards claims conditions entries first_write history idempotency leases lifecycle limits members names notes origins
    patches server streams strict_json tokens transactions typed zones
}

#[test]
fn every_transcript_of_the_folder_is_run() {
    let files: Vec<String> = transcript::read_all(&folder()).iter().map(transcript::Transcript::name).collect();
    let mut names: Vec<&str> = NAMES.to_vec();
    names.sort_unstable();
    assert_eq!(files, names);
}
