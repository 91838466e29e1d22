//! The completions, read by the shell they are for.
//!
//! Not known here: commands by name, beyond a few.

use std::process::Command;

use kokuban_tests::server_binary;

fn script(shell: &str) -> String {
    let output = Command::new(server_binary()).args(["completions", shell]).output().expect("the program starts");
    assert!(output.status.success(), "{shell}");
    String::from_utf8(output.stdout).expect("a script is text")
}

/// What bash offers when somebody presses tab behind `words`.
fn offered(words: &[&str]) -> Vec<String> {
    let (current, before) = words.split_last().expect("a word");
    let quoted: Vec<_> = words.iter().map(|word| format!("'{word}'")).collect();
    let previous = before.last().copied().unwrap_or_default();
    let ask = format!(
        "set -eu\nsource /dev/stdin <<'SCRIPT'\n{}\nSCRIPT\nCOMP_WORDS=({})\nCOMP_CWORD={}\n\
         $(complete -p kokuban | sed 's/.*-F \\([^ ]*\\).*/\\1/') kokuban '{current}' '{previous}'\n\
         printf '%s\\n' \"${{COMPREPLY[@]}}\"",
        script("bash"),
        quoted.join(" "),
        words.len() - 1,
    );
    let output = Command::new("bash").args(["--norc", "-c", &ask]).output().expect("bash is there");
    let said = String::from_utf8(output.stdout).expect("words");
    assert!(output.status.success(), "{words:?}: {said}{}", String::from_utf8_lossy(&output.stderr));
    said.lines().map(str::to_owned).collect()
}

#[test]
fn bash_completes_commands_flags_and_their_values() {
    let commands = offered(&["kokuban", "b"]);
    assert!(commands.contains(&"board".to_owned()), "{commands:?}");
    assert!(offered(&["kokuban", ""]).iter().all(|word| word != "demo-agent"), "what is hidden is not offered");
    assert_eq!(offered(&["kokuban", "board", "cr"]), ["create"]);
    assert_eq!(offered(&["kokuban", "put", "--lease"]), ["--lease-token"]);
    assert_eq!(offered(&["kokuban", "list", "--output", "js"]), ["json", "jsonl"]);
    assert_eq!(offered(&["kokuban", "watch", "--kind", "lease_ex"]), ["lease_expired"]);
}

#[test]
fn every_shell_gets_a_script_that_knows_the_commands() {
    for shell in ["bash", "elvish", "fish", "powershell", "zsh"] {
        let script = script(shell);
        for word in ["board", "create", "--lease-token", "completions"] {
            let word = if shell == "fish" { word.trim_start_matches("--") } else { word };
            assert!(script.contains(word), "the completions for {shell} lack {word}");
        }
    }
}
