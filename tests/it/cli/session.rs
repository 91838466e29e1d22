//! The files: commands, and what they say to whom.
//!
//! `# …` says what follows · `@config LINE`, `@columns N` at the top · `@until TEXT` interrupts the next command once it
//! has said that · `$ …`, `> …` is a command and its further lines · `-- terminal`, `-- pipe`, `-- pipe stderr` begin
//! what it says · `-- exit N` is its code, where it is not 0 · `\\` before a line of what it says makes it no directive.
//! **Invariant**: what is read and written again is the same text.

use std::fs;
use std::path::Path;

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Session {
    /// Up to the first step.
    head: Vec<String>,
    pub(super) steps: Vec<Step>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Step {
    /// Of the file, counted from 1.
    pub(super) line: usize,
    before: Vec<String>,
    pub(super) until: Option<String>,
    pub(super) command: String,
    pub(super) terminal: Vec<String>,
    pub(super) pipe: Vec<String>,
    pub(super) pipe_stderr: Vec<String>,
    pub(super) code: i32,
}

impl Step {
    /// One program, whose output goes where that of the command goes.
    pub(super) fn is_simple(&self) -> bool {
        !self.command.contains(['|', '>', '\n', ';', '&'])
    }
}

impl Session {
    pub(super) fn read(path: &Path) -> Self {
        let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        Self::parse(&text)
    }

    fn parse(text: &str) -> Self {
        let mut session = Self { head: Vec::new(), steps: Vec::new() };
        let mut before = Vec::new();
        let mut until = None;
        let mut section: Option<&str> = None;
        for (line, number) in text.lines().zip(1..) {
            if let Some(command) = line.strip_prefix("$ ") {
                if session.steps.is_empty() {
                    session.head = std::mem::take(&mut before);
                }
                let (before, until) = (std::mem::take(&mut before), until.take());
                session.steps.push(Step {
                    line: number,
                    before,
                    until,
                    command: command.to_owned(),
                    ..Step::default()
                });
                section = None;
                continue;
            }
            let step = session.steps.last_mut();
            match (line.strip_prefix("-- "), line.strip_prefix("> "), step) {
                (Some(heading), _, Some(step)) => {
                    if let Some(code) = heading.strip_prefix("exit ") {
                        step.code = code.parse().unwrap_or_else(|_| panic!("line {number}: `-- exit N`"));
                    }
                    section = Some(heading);
                }
                (_, Some(more), Some(step)) if section.is_none() => step.command += &format!("\n{more}"),
                (None, _, step) => {
                    if line.starts_with("# ") || line.starts_with("@until ") {
                        section = Some("");
                    }
                    match (section, step) {
                        (Some("terminal"), Some(step)) => step.terminal.push(plain(line)),
                        (Some("pipe"), Some(step)) => step.pipe.push(plain(line)),
                        (Some("pipe stderr"), Some(step)) => step.pipe_stderr.push(plain(line)),
                        _ => match line.strip_prefix("@until ") {
                            Some(text) => until = Some(text.to_owned()),
                            None if line.is_empty() => {}
                            None => before.push(line.to_owned()),
                        },
                    }
                }
                (Some(_), _, None) => panic!("line {number}: a command comes first"),
            }
        }
        session
    }

    pub(super) fn directives<'s>(&'s self, name: &str) -> impl Iterator<Item = &'s str> {
        let before = format!("@{name} ");
        self.head.iter().filter_map(move |line| line.strip_prefix(before.as_str()))
    }

    pub(super) fn directive<'s>(&'s self, name: &str) -> Option<&'s str> {
        self.directives(name).next()
    }

    pub(super) fn to_text(&self) -> String {
        let mut lines = self.head.clone();
        for step in &self.steps {
            lines.push(String::new());
            lines.extend(step.before.iter().cloned());
            lines.extend(step.until.iter().map(|text| format!("@until {text}")));
            lines.push(format!("$ {}", step.command.replace('\n', "\n> ")));
            let sections = [("terminal", &step.terminal), ("pipe", &step.pipe), ("pipe stderr", &step.pipe_stderr)];
            for (heading, said) in sections {
                let end = said.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |last| last + 1);
                if end > 0 {
                    lines.push(format!("-- {heading}"));
                    lines.extend(said[..end].iter().map(|line| told(line)));
                }
            }
            if step.code != 0 {
                lines.push(format!("-- exit {}", step.code));
            }
        }
        lines.join("\n") + "\n"
    }
}

/// What begins a directive, where nothing stands before it.
const MARKS: [&str; 6] = ["# ", "$ ", "> ", "@until ", "-- ", "\\"];

fn told(line: &str) -> String {
    if MARKS.iter().any(|mark| line.starts_with(mark)) { format!("\\{line}") } else { line.to_owned() }
}

fn plain(line: &str) -> String {
    line.strip_prefix('\\').unwrap_or(line).to_owned()
}

#[test]
fn what_is_read_is_written_as_it_was() {
    let text = "# What it is.\n@columns 60\n\n$ one\n> two\n-- terminal\na\n\n\\# b\n-- pipe\n{}\n-- pipe stderr\nerror\n\
        -- exit 3\n\n# Then.\n@until x\n$ three\n";
    let session = Session::parse(text);
    assert_eq!(session.to_text(), text);
    assert_eq!(session.directive("columns"), Some("60"));
    let [first, second] = &session.steps[..] else { panic!("two steps: {session:?}") };
    assert_eq!((first.command.as_str(), first.line, first.code), ("one\ntwo", 4, 3));
    assert_eq!(first.terminal[..3], ["a", "", "# b"]);
    assert_eq!((second.until.as_deref(), second.before.as_slice()), (Some("x"), &["# Then.".to_owned()][..]));
}
