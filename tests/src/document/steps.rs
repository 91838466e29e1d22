//! What a document asks a reader to do: commands in blocks of `console`, files in blocks whose info string names one.
//!
//! **Invariant**: a block of `console` begins with a command; a line of it that begins with `$ ` is one, with the lines
//! after each `\` at an end, what follows is its answer. A last line `^C` means that the reader interrupts it then.
//! Not known here: how commands are run.

/// The command of the README that runs the main job.
pub const DEMO: &str = "cargo run --release -- demo";
/// The command of the README that runs the tests.
pub const TESTS: &str = "cargo test --workspace";
/// Commands that were done already where this runs, or are being done beside it.
pub const DONE: &[&str] = &[TESTS, "cargo build --release", "cargo build && python3 -m pytest clients/python/tests"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Step {
    Run {
        line: usize,
        command: String,
        answer: Vec<String>,
        interrupted: bool,
    },
    /// The reader saves a file.
    Save {
        line: usize,
        name: String,
        text: String,
    },
}

impl Step {
    /// Of the document, counted from 1.
    #[must_use]
    pub fn line(&self) -> usize {
        match self {
            Self::Run { line, .. } | Self::Save { line, .. } => *line,
        }
    }

    #[must_use]
    pub fn command(&self) -> Option<&str> {
        match self {
            Self::Run { command, .. } => Some(command),
            Self::Save { .. } => None,
        }
    }
}

/// What a document asks for, in its order.
///
/// # Panics
/// Where a block of `console` does not begin with a command, or a command does not end.
#[must_use]
pub fn steps(document: &str) -> Vec<Step> {
    let mut steps = Vec::new();
    let mut lines = document.lines().zip(1..);
    while let Some((text, line)) = lines.next() {
        let Some(info) = text.strip_prefix("```") else { continue };
        let block: Vec<_> = lines.by_ref().take_while(|(text, _)| *text != "```").collect();
        match info.split_once(' ') {
            None if info == "console" => commands(&block, &mut steps),
            Some((_, name)) => {
                let text = block.iter().map(|(text, _)| format!("{text}\n")).collect();
                steps.push(Step::Save { line, name: name.to_owned(), text });
            }
            None => {}
        }
    }
    steps
}

fn commands(block: &[(&str, usize)], steps: &mut Vec<Step>) {
    let began = steps.len();
    let mut lines = block.iter();
    while let Some((text, line)) = lines.next() {
        if let Some(first) = text.strip_prefix("$ ") {
            let mut command = first.to_owned();
            while command.ends_with('\\') {
                let (next, _) = lines.next().unwrap_or_else(|| panic!("line {line}: the command does not end"));
                command = format!("{command}\n{next}");
            }
            steps.push(Step::Run { line: *line, command, answer: Vec::new(), interrupted: false });
            continue;
        }
        let of_this_block = steps.get_mut(began..).and_then(<[Step]>::last_mut);
        let Some(Step::Run { answer, interrupted, .. }) = of_this_block else {
            panic!("line {line}: a block of `console` begins with a command");
        };
        match *text {
            "^C" => *interrupted = true,
            text => answer.push(text.to_owned()),
        }
    }
}

#[test]
fn commands_have_their_answers_and_files_their_names() {
    let document = "# a\n```console\n$ one\n1\n\n$ two\n$ three \\\n    more\n…\n^C\n```\n```toml x.toml\na = 1\n```\n```rust\nno\n```\n";
    let run = |line, command: &str, answer: &[&str], interrupted| Step::Run {
        line,
        command: command.to_owned(),
        answer: answer.iter().map(|line| (*line).to_owned()).collect(),
        interrupted,
    };
    let expected = [
        run(3, "one", &["1", ""], false),
        run(6, "two", &[], false),
        run(7, "three \\\n    more", &["…"], true),
        Step::Save { line: 12, name: "x.toml".to_owned(), text: "a = 1\n".to_owned() },
    ];
    assert_eq!(steps(document), expected);
}
