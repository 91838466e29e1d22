//! The help: commands in groups by purpose, examples below each command, client options only where they mean something.
//!
//! Invariant: every visible command stands in one group; every command that does something has examples, and each of
//! them parses. A new command needs its variant with `examples!` and its name in [`GROUPS`]; the tests ask for both.
//! Not known here: what commands do.

use std::fmt::Write as _;

use clap::{Command, CommandFactory};

use super::Cli;

/// Headings of `kokuban --help`, and the commands below each.
const GROUPS: &[(&str, &[&str])] = &[
    ("Start here", &["dev", "demo"]),
    ("Read and write entries", &["get", "put", "patch", "move", "delete", "list"]),
    ("Work together", &["watch", "history", "note", "lease", "claim"]),
    ("Boards", &["board", "blueprint"]),
    ("Run a server", &["init", "serve", "check-config", "config", "token", "ready", "backup", "restore", "verify"]),
    ("Your shell", &["completions"]),
];
/// Commands that talk to no server, so that the options of a client mean nothing to them.
const LOCAL: &[&str] = &["serve", "dev", "init", "check-config", "config", "token", "restore", "verify", "completions"];

const HEADING: &str = "\u{1b}[1m\u{1b}[4m";
const COMMAND: &str = "\u{1b}[1m";
const END: &str = "\u{1b}[0m";

/// The lines below the heading `Examples`, for `after_help`.
macro_rules! examples {
    ($($line:literal),+ $(,)?) => {
        concat!("\u{1b}[1m\u{1b}[4mExamples:\u{1b}[0m", $("\n  ", $line),+)
    };
}
pub(super) use examples;

/// The whole command line.
pub(crate) fn command() -> Command {
    let whole = Cli::command();
    let groups = groups(&whole);
    let client: Vec<_> = whole.get_arguments().filter(|arg| arg.is_global_set()).cloned().collect();
    let whole = LOCAL.iter().fold(whole, |whole, name| {
        // Accepted there as everywhere, so that variables and habits do no harm, but not shown.
        let client = client.iter().filter(|arg| !of_local(name, arg.get_id().as_str()));
        let hidden: Vec<_> = client.map(|arg| arg.clone().hide(true)).collect();
        whole.mut_subcommand(name, |command| command.args(hidden))
    });
    whole.help_template(format!(
        "{{about-with-newline}}\n{{usage-heading}} {{usage}}\n\n{groups}{HEADING}Options:{END}\n{{options}}\n\n\
         `kokuban COMMAND --help` shows what a command takes, with examples.\n"
    ))
}

/// Without what is hidden: shells offer all that they are told of.
pub(crate) fn command_to_complete() -> Command {
    let whole = command();
    let shown = whole.get_subcommands().filter(|sub| !sub.is_hide_set()).cloned();
    Command::new("kokuban").args(whole.get_arguments().cloned()).subcommands(shown)
}

/// Whether a local command has a use for this option of clients after all.
fn of_local(command: &str, option: &str) -> bool {
    option == "output" && matches!(command, "check-config" | "config" | "token" | "restore" | "verify")
}

fn groups(whole: &Command) -> String {
    let mut text = String::new();
    for (heading, names) in GROUPS {
        let _ = writeln!(text, "{HEADING}{heading}:{END}");
        for name in *names {
            let about = whole.find_subcommand(name).and_then(Command::get_about);
            let about = about.map(ToString::to_string).unwrap_or_default();
            let _ = writeln!(text, "  {COMMAND}{name:<12}{END}  {about}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use clap::FromArgMatches as _;

    use super::*;

    /// The visible commands below `command`, with the words before each.
    fn visible(command: &Command, before: &str) -> Vec<(String, Command)> {
        let own = command.get_subcommands().filter(|sub| !sub.is_hide_set() && sub.get_name() != "help");
        own.flat_map(|sub| {
            let words = format!("{before} {}", sub.get_name());
            let mut all = visible(sub, &words);
            all.push((words, sub.clone()));
            all
        })
        .collect()
    }

    /// What a shell makes of `line` up to a pipe or redirection.
    fn words(line: &str) -> Vec<String> {
        let words = shlex::split(line).unwrap_or_else(|| panic!("a shell does not take: {line}"));
        words.into_iter().take_while(|word| !matches!(word.as_str(), "|" | ">" | ">>" | "<" | "&&")).collect()
    }

    #[test]
    fn every_visible_command_stands_in_one_group() {
        let whole = Cli::command();
        let subs = whole.get_subcommands().filter(|sub| !sub.is_hide_set()).map(|sub| sub.get_name().to_owned());
        let mut there: Vec<_> = subs.collect();
        let mut grouped: Vec<_> = GROUPS.iter().flat_map(|(_, names)| *names).map(|name| (*name).to_owned()).collect();
        there.sort();
        grouped.sort();
        assert_eq!(grouped, there);
        assert!(LOCAL.iter().all(|name| there.contains(&(*name).to_owned())));
    }

    #[test]
    fn every_command_has_examples_of_itself_and_each_of_them_parses() {
        for (name, sub) in visible(&command(), "kokuban").iter().filter(|(_, sub)| !sub.has_subcommands()) {
            let after = sub.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<_> = after.lines().filter_map(|line| line.strip_prefix("  ")).collect();
            assert!(!lines.is_empty(), "`{name}` has no examples");
            for line in lines {
                assert!(line.len() <= 80, "too long for a terminal: {line}");
                assert!(line.contains(name.as_str()), "an example below `{name}` is about something else: {line}");
                let commands = line.split(" | ").filter(|part| part.starts_with("kokuban"));
                for part in commands {
                    let parsed = command().try_get_matches_from(words(part)).and_then(|m| Cli::from_arg_matches(&m));
                    assert!(parsed.is_ok(), "{part}: {}", parsed.expect_err("refused"));
                }
            }
        }
    }

    #[test]
    fn every_argument_says_what_it_is() {
        for (name, sub) in visible(&command(), "kokuban") {
            for arg in sub.get_arguments() {
                assert!(arg.get_help().is_some(), "`{name}`: nothing is said about {}", arg.get_id());
            }
        }
    }

    #[test]
    fn every_connection_flag_has_a_variable() {
        for arg in command().get_arguments().filter(|arg| arg.is_global_set()) {
            let name = arg.get_long().expect("a client option has a long name");
            let variable = format!("KOKUBAN_{}", name.replace('-', "_").to_ascii_uppercase());
            assert_eq!(arg.get_env().and_then(|env| env.to_str()), Some(variable.as_str()));
        }
    }

    #[test]
    fn options_of_clients_are_shown_where_there_is_a_server_to_call() {
        let help = |line: &str| {
            let refused = command().try_get_matches_from(words(line)).expect_err("help is no command");
            refused.render().to_string()
        };
        assert!(help("kokuban get --help").contains("--board") && help("kokuban board list --help").contains("--url"));
        assert!(!help("kokuban serve --help").contains("--board") && !help("kokuban verify --help").contains("--url"));
        assert!(help("kokuban verify --help").contains("--output"));
    }
}
