//! The format of a transcript, read and written.
//!
//! A preamble of comments and directives (`@config LINE`, `@env NAME=VALUE`), then exchanges. Each begins with
//! `### title`, comments and `@take N` (read N blocks of a stream, then hang up); then method and path, headers,
//! an empty line and a body; then `HTTP status [code]`, headers, an empty line and a body.
//! **Invariant**: writing what was read changes nothing but the answers.
//! Not known here: servers.

use std::path::{Path, PathBuf};

/// A file.
#[derive(Debug, Clone)]
pub struct Transcript {
    pub path: PathBuf,
    preamble: Vec<String>,
    pub exchanges: Vec<Exchange>,
}

/// A request, and the answer it must get.
#[derive(Debug, Clone, Default)]
pub struct Exchange {
    pub title: String,
    pub line: usize,
    /// Title, comments, request: kept as written.
    written: Vec<String>,
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Option<String>,
    pub take: Option<usize>,
    pub expected: Expected,
}

/// An answer, as the file has it.
#[derive(Debug, Clone, Default)]
pub struct Expected {
    pub status: u16,
    pub code: Option<String>,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Transcript {
    /// # Panics
    /// When the file is no transcript.
    #[must_use]
    pub fn read(path: &Path) -> Self {
        let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let lines: Vec<&str> = text.lines().collect();
        let starts: Vec<usize> = (0..lines.len()).filter(|at| lines[*at].starts_with("### ")).collect();
        let first = starts.first().copied().unwrap_or(lines.len());
        let preamble = lines[..first].iter().map(|line| (*line).to_owned()).collect();
        let ends = starts.iter().skip(1).copied().chain([lines.len()]);
        let exchanges = starts.iter().zip(ends).map(|(from, to)| exchange(path, *from, &lines[*from..to])).collect();
        Self { path: path.to_path_buf(), preamble, exchanges }
    }

    /// What follows a directive of the preamble, in order.
    pub fn directives(&self, name: &str) -> impl Iterator<Item = &str> {
        let prefix = format!("@{name} ");
        self.preamble.iter().filter_map(move |line| line.strip_prefix(prefix.as_str()))
    }

    #[must_use]
    pub fn name(&self) -> String {
        self.path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// The whole file.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut lines = trimmed(&self.preamble);
        for exchange in &self.exchanges {
            lines.push(String::new());
            lines.extend(trimmed(&exchange.written));
            lines.push(String::new());
            lines.extend(answer_lines(&exchange.expected));
        }
        let mut text = lines.join("\n");
        text.push('\n');
        text
    }
}

fn trimmed(lines: &[String]) -> Vec<String> {
    let end = lines.iter().rposition(|line| !line.trim().is_empty()).map_or(0, |at| at + 1);
    lines[..end].to_vec()
}

fn answer_lines(expected: &Expected) -> Vec<String> {
    let code = expected.code.as_ref().map_or_else(String::new, |code| format!(" {code}"));
    let mut lines = vec![format!("HTTP {}{code}", expected.status)];
    lines.extend(expected.headers.iter().map(|(name, value)| format!("{name}: {value}")));
    if !expected.body.is_empty() {
        lines.push(String::new());
        lines.extend(expected.body.lines().map(str::to_owned));
    }
    lines
}

fn exchange(path: &Path, from: usize, lines: &[&str]) -> Exchange {
    let here = |offset: usize| format!("{}:{}", path.display(), from + offset + 1);
    let answer = lines.iter().position(|line| line.starts_with("HTTP "));
    let answer = answer.unwrap_or_else(|| panic!("{}: no line `HTTP status`", here(0)));
    let mut exchange = Exchange {
        title: lines[0].trim_start_matches('#').trim().to_owned(),
        line: from + 1,
        written: lines[..answer].iter().map(|line| (*line).to_owned()).collect(),
        ..Exchange::default()
    };
    let mut at = 1;
    while at < answer && (lines[at].starts_with(['#', '@']) || lines[at].is_empty()) {
        if let Some(n) = lines[at].strip_prefix("@take ") {
            exchange.take = Some(n.trim().parse().unwrap_or_else(|_| panic!("{}: no number", here(at))));
        }
        at += 1;
    }
    let (method, target) = lines[at].split_once(' ').unwrap_or_else(|| panic!("{}: no request line", here(at)));
    (exchange.method, exchange.target) = (method.to_owned(), target.to_owned());
    let (headers, body) = head_and_body(&lines[at + 1..answer], &here(at));
    exchange.headers = headers;
    exchange.body = (!body.is_empty()).then_some(body);
    let mut words = lines[answer].split_whitespace().skip(1);
    let status = words.next().and_then(|word| word.parse().ok());
    exchange.expected.status = status.unwrap_or_else(|| panic!("{}: no status", here(answer)));
    exchange.expected.code = words.next().map(str::to_owned);
    (exchange.expected.headers, exchange.expected.body) = head_and_body(&lines[answer + 1..], &here(answer));
    exchange
}

fn head_and_body(lines: &[&str], here: &str) -> (Vec<(String, String)>, String) {
    let end = lines.iter().position(|line| line.is_empty()).unwrap_or(lines.len());
    let headers = lines[..end].iter().map(|line| {
        let (name, value) = line.split_once(':').unwrap_or_else(|| panic!("{here}: `{line}` is no header"));
        (name.to_owned(), value.trim().to_owned())
    });
    let body: Vec<String> = lines[end..].iter().map(|line| (*line).to_owned()).collect();
    let from = body.iter().position(|line| !line.is_empty()).unwrap_or(body.len());
    (headers.collect(), trimmed(&body[from..]).join("\n"))
}
