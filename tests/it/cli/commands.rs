//! Every command stands in a transcript, as it looks on a terminal and in a pipe.
//!
//! Not known here: commands by name; the program lists them itself.

use std::collections::BTreeSet;
use std::process::Command;

use kokuban_tests::server_binary;

use super::session::Step;
use super::sessions;

/// The commands that the help below `words` lists; those that have commands themselves are followed.
fn listed(words: &[String]) -> BTreeSet<String> {
    let help = Command::new(server_binary()).args(words).arg("--help").output().expect("the program starts");
    let help = String::from_utf8(help.stdout).expect("help is text");
    let up_to_options = help.split("Options:").next().expect("a split has a first part");
    let is_name =
        |name: &str| !name.is_empty() && name != "help" && name.chars().all(|c| c.is_ascii_lowercase() || c == '-');
    let names = up_to_options.lines().filter(|_| words.is_empty() || help.contains("Commands:"));
    let names = names.filter_map(|line| line.strip_prefix("  ")?.split_once("  ")).map(|(name, _)| name.trim());
    let mut all = BTreeSet::new();
    for name in names.filter(|name| is_name(name)) {
        let words: Vec<_> = words.iter().cloned().chain([name.to_owned()]).collect();
        let below = listed(&words);
        if below.is_empty() {
            all.insert(words.join(" "));
        }
        all.extend(below);
    }
    all
}

/// The commands that a step runs: the words after `kokuban` up to the first that is none.
fn run_by(step: &Step, known: &BTreeSet<String>) -> BTreeSet<String> {
    let calls = step.command.split("kokuban ").skip(1);
    let names = calls.filter_map(|call| {
        let words: Vec<_> = call.split_whitespace().take_while(|word| !word.starts_with('-')).collect();
        (1..=words.len()).rev().map(|n| words[..n].join(" ")).find(|name| known.contains(name))
    });
    names.collect()
}

#[test]
fn every_command_has_a_transcript_on_a_terminal_and_in_a_pipe() {
    let known = listed(&[]);
    assert!(known.contains("put") && known.contains("board create") && known.contains("token new"), "{known:?}");
    let shown = |step: &Step| {
        let says = |lines: &[String]| lines.iter().any(|line| !line.is_empty());
        says(&step.terminal) && (says(&step.pipe) || says(&step.pipe_stderr))
    };
    let sessions = sessions();
    let steps = sessions.iter().flat_map(|(_, session)| &session.steps).filter(|step| shown(step));
    let found: BTreeSet<_> = steps.flat_map(|step| run_by(step, &known)).collect();
    let missing: Vec<_> = known.difference(&found).collect();
    assert!(missing.is_empty(), "these commands stand in no transcript of tests/it/cli: {missing:?}");
}

#[test]
fn every_exit_code_of_the_contract_stands_in_a_transcript() {
    let sessions = sessions();
    let found: BTreeSet<_> = sessions.iter().flat_map(|(_, session)| &session.steps).map(|step| step.code).collect();
    for code in 0..=5 {
        assert!(found.contains(&code), "no transcript ends with {code}: {found:?}");
    }
}
