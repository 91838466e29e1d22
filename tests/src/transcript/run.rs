//! Runs a transcript against a server of its own, and rewrites it where `KOKUBAN_BLESS` is set.
//!
//! **Invariant**: blessing rewrites bodies and headers, never a status or a code: those are what the author of the
//! transcript says is right.
//! Not known here: what requests mean.

use std::io;
use std::path::Path;
use std::time::Duration;

use super::body::expand;
use super::file::{Exchange, Expected, Transcript};
use super::judge::{Boards, judge, judge_any};
use super::normal;
use super::pattern::Known;
use crate::fixture::fixture_path;
use crate::http::{Response, Wire};
use crate::server::{Setup, TestServer};

/// Headers that a blessed answer shows where it has them.
const SHOWN_HEADERS: [&str; 10] = [
    "Kokuban-Position",
    "ETag",
    "Location",
    "Allow",
    "Idempotency-Replayed",
    "Preference-Applied",
    "Retry-After",
    "WWW-Authenticate",
    "Cache-Control",
    "Vary",
];
const BLOCK_WITHIN: Duration = Duration::from_secs(20);

/// Every transcript below a folder, by name.
///
/// # Panics
/// When the folder cannot be read.
#[must_use]
pub fn read_all(folder: &Path) -> Vec<Transcript> {
    let files = std::fs::read_dir(folder).expect("a folder of transcripts");
    let mut paths: Vec<_> = files.map(|file| file.expect("readable").path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "http"));
    paths.sort();
    paths.iter().map(|path| Transcript::read(path)).collect()
}

/// Runs one file.
///
/// # Panics
/// When an answer is not the one in the file.
pub fn run(path: &Path) {
    let mut transcript = Transcript::read(path);
    let server = serve(&transcript);
    let bless = std::env::var_os("KOKUBAN_BLESS").is_some();
    let mut known = Known::new();
    let mut boards = Boards::new();
    let mut flaws = Vec::new();
    for exchange in &mut transcript.exchanges {
        let mut found = carry_out(exchange, &server, &mut known, &mut boards, bless);
        if !found.is_empty() {
            found.insert(0, format!("{}:{}: {}", path.display(), exchange.line, exchange.title));
            flaws.push(found.join("\n    "));
        }
    }
    if bless {
        std::fs::write(path, transcript.to_text()).expect("transcripts can be written");
    }
    assert!(flaws.is_empty(), "{} answers are not as expected\n{}", flaws.len(), flaws.join("\n"));
}

fn serve(transcript: &Transcript) -> TestServer {
    let blueprints = format!("blueprints = [{:?}]", fixture_path("team.toml"));
    let mut setup = Setup::memory().config(&blueprints);
    for line in transcript.directives("config") {
        setup = setup.config(line);
    }
    for pair in transcript.directives("env") {
        let (name, value) = pair.split_once('=').expect("@env NAME=VALUE");
        setup = setup.env(name, value);
    }
    setup.start()
}

fn carry_out(
    exchange: &mut Exchange,
    server: &TestServer,
    known: &mut Known,
    boards: &mut Boards,
    bless: bool,
) -> Vec<String> {
    let answer = match ask(exchange, server, known) {
        Ok(answer) => answer,
        Err(error) => return vec![format!("no answer: {error}")],
    };
    if let Some(page) = page_token(&answer) {
        known.insert("page".to_owned(), page);
    }
    let expected = &mut exchange.expected;
    let code = answer.code();
    let is_other = answer.status != expected.status || expected.code.as_deref().unwrap_or_default() != code;
    let mut flaws = judge_any(&exchange.target, &exchange.method, &answer, boards);
    // A HEAD has no body to have a code in.
    if is_other && !(exchange.method == "HEAD" && answer.status == expected.status) {
        let wanted = expected.code.clone().unwrap_or_default();
        flaws.push(format!("expected {} {wanted}, found {} {}", expected.status, answer.status, answer.text()));
        return flaws;
    }
    if bless && !expected.body.starts_with("~ ") {
        *expected = blessed(expected, &answer, known);
    } else {
        flaws.extend(judge(expected, &answer, known));
    }
    flaws
}

fn ask(exchange: &Exchange, server: &TestServer, known: &Known) -> io::Result<Response> {
    let mut bytes = exchange.method.clone().into_bytes();
    bytes.push(b' ');
    bytes.extend(expand(&exchange.target, known));
    bytes.extend_from_slice(b" HTTP/1.1\r\n");
    let has = |name: &str| exchange.headers.iter().any(|(known, _)| known.eq_ignore_ascii_case(name));
    if !has("host") {
        bytes.extend(format!("Host: {}\r\n", server.addr()).into_bytes());
    }
    for (name, value) in exchange.headers.iter().filter(|(_, value)| value != "none") {
        bytes.extend_from_slice(name.as_bytes());
        bytes.extend_from_slice(b": ");
        bytes.extend(expand(value, known));
        bytes.extend_from_slice(b"\r\n");
    }
    let body = exchange.body.as_deref().map(|body| expand(body, known));
    if let Some(body) = &body {
        if !has("content-type") {
            bytes.extend_from_slice(b"Content-Type: application/json\r\n");
        }
        bytes.extend(format!("Content-Length: {}\r\n", body.len()).into_bytes());
    }
    bytes.extend_from_slice(b"\r\n");
    bytes.extend(body.unwrap_or_default());
    let mut wire = Wire::connect(server.addr())?;
    // A refusal may come, and the connection close, before all was read.
    let sent = wire.send(&bytes);
    let answer = match exchange.take {
        Some(n) => take_blocks(&mut wire, n),
        None => wire.read_answer(&exchange.method),
    };
    answer.or_else(|error| sent.and(Err(error)))
}

/// Reads `n` blocks of a stream, without comments, and hangs up.
fn take_blocks(wire: &mut Wire, n: usize) -> io::Result<Response> {
    let mut answer = wire.read_head()?;
    if answer.status != 200 {
        let length = answer.header("content-length").and_then(|length| length.parse().ok()).unwrap_or(0);
        while answer.body.len() < length {
            answer.body.extend(wire.read_some()?);
        }
        return Ok(answer);
    }
    wire.read_within(BLOCK_WITHIN)?;
    let mut text = Vec::new();
    while text.windows(2).filter(|pair| pair == b"\n\n").count() < n {
        let piece = wire.read_chunk()?;
        if piece.is_empty() {
            break;
        }
        text.extend(piece);
    }
    let text = String::from_utf8_lossy(&text).into_owned();
    let blocks: Vec<&str> = text.split("\n\n").take(n).collect();
    answer.body = blocks.join("\n\n").into_bytes();
    Ok(answer)
}

fn blessed(expected: &Expected, answer: &Response, known: &mut Known) -> Expected {
    // The position first: it names the epoch.
    let shown = SHOWN_HEADERS.iter().filter_map(|name| Some((*name, answer.header(name)?)));
    let mut headers: Vec<(String, String)> =
        shown.map(|(name, value)| (name.to_owned(), normal::header(name, value, known))).collect();
    let chosen = expected.headers.iter().filter(|(name, _)| !headers.iter().any(|(n, _)| n.eq_ignore_ascii_case(name)));
    let chosen: Vec<_> = chosen.filter_map(|(name, _)| Some((name.clone(), answer.header(name)?.to_owned()))).collect();
    headers.extend(chosen);
    let text = answer.text();
    let body = match serde_json::from_str(&text) {
        Ok(value) => normal::pretty(&normal::json(&value, answer.status >= 400, known)),
        Err(_) => normal::lines(text.trim_end(), known),
    };
    Expected { status: expected.status, code: expected.code.clone(), headers, body }
}

fn page_token(answer: &Response) -> Option<String> {
    let body: serde_json::Value = serde_json::from_slice(&answer.body).ok()?;
    body.get("next_page")?.as_str().map(str::to_owned)
}
