//! How files look: header, length, nothing left for later, no tests that wait for time to pass.
//!
//! Invariant: bounds only ever tighten; a pause in tests stands in `PAUSES` with its reason.
//! Not known here: what the code does.

use super::sources::{Source, Tree};
use super::{Finding, Weight};

/// Lines from which a file is remarked on, and above which it fails. Measured medians of code we like are 104 to 141.
const LINES_REMARK: usize = 500;
const LINES_MAX: usize = 700;
const HEADER_LINES_MAX: usize = 15;

/// Files whose tests may pause in real time, how often, and why.
const PAUSES: &[(&str, usize, &str)] = &[
    ("crates/kokuban-engine/src/tests.rs", 1, "asks for a condition again, within a bound"),
    ("crates/kokuban-server/src/accept/tests.rs", 1, "the slow peer is what is tested"),
    ("tests/src/wait.rs", 1, "the one place where tests over processes pause between two looks"),
    ("crates/kokuban-client/src/lease.rs", 1, "asks for a condition again, within a bound"),
    ("tests/it/hostile/slow.rs", 1, "the slow peer is what is tested"),
    ("tests/it/kills/load.rs", 1, "a client waits between two attempts; nothing is decided by it"),
    ("tests/it/kills/subscriber.rs", 1, "a client waits before it connects again; nothing is decided by it"),
    ("tests/it/streams/cases.rs", 1, "spreads writes over the life of the polls that wait for them"),
];

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in tree.rust() {
        findings.extend(header(&source));
        findings.extend(length(&source));
        findings.extend(left_for_later(&source));
        findings.extend(pauses(&source));
    }
    findings
}

fn header(source: &Source<'_>) -> Option<Finding> {
    let lines = source.text.lines().take_while(|line| line.starts_with("//!")).count();
    let why = match lines {
        0 => "begins without a `//!` header: say what the file owns, its invariant, what it does not know".to_owned(),
        n if n > HEADER_LINES_MAX => format!("its header has {n} lines; {HEADER_LINES_MAX} are enough"),
        _ => return None,
    };
    Some(Finding::new(source.path, 1, why))
}

fn length(source: &Source<'_>) -> Option<Finding> {
    let n = source.text.lines().count();
    let weight = match n {
        n if n > LINES_MAX => Weight::Fails,
        n if n > LINES_REMARK => Weight::Remark,
        _ => return None,
    };
    let why = format!("has {n} lines; split it by reason to change ({LINES_MAX} at most)");
    Some(Finding { weight, ..Finding::new(source.path, n, why) })
}

fn left_for_later(source: &Source<'_>) -> Vec<Finding> {
    // Put together, so that this file does not find itself.
    let banned = [
        (format!("#[{}", "ignore"), "a test that does not run proves nothing"),
        (format!("{}!(", "todo"), "finish it, or leave it out"),
        (format!("{}!(", "unimplemented"), "finish it, or leave it out"),
        (format!("{}!(", "dbg"), "left over from looking"),
    ];
    let mut findings = Vec::new();
    for (line, code) in source.code() {
        let found = banned.iter().filter(|(text, _)| code.contains(text.as_str()));
        findings.extend(found.map(|(text, why)| Finding::new(source.path, line, format!("`{text}…`: {why}"))));
    }
    findings
}

/// Pauses in real time. Under tokio's paused clock time jumps, so nothing waits there.
fn pauses(source: &Source<'_>) -> Vec<Finding> {
    let mut places = Vec::new();
    let mut jumps = false;
    for (line, code) in source.tests() {
        if code.contains("start_paused = true") {
            jumps = true;
        } else if code == "}" {
            jumps = false;
        } else if !jumps && sleeps(code) {
            places.push(line);
        }
    }
    let allowed = PAUSES.iter().find(|(path, ..)| *path == source.path).map_or(0, |(_, n, _)| *n);
    let why = "a test waits for a condition, not for time; or give the reason in xtask/src/tidy/shape.rs";
    places.into_iter().skip(allowed).map(|line| Finding::new(source.path, line, why)).collect()
}

/// Whether a function of this name is called, not defined and not one with a longer name.
fn sleeps(code: &str) -> bool {
    code.match_indices("sleep(").any(|(at, _)| {
        let before = code[..at].trim_end();
        let longer = code[..at].ends_with(|c: char| c.is_alphanumeric() || c == '_');
        !longer && !before.ends_with("fn")
    })
}

#[cfg(test)]
mod tests {
    use super::super::sources::tests::tree;
    use super::*;

    fn found(path: &str, text: &str) -> Vec<Finding> {
        check(&tree(&[(path, text)]))
    }

    #[test]
    fn a_file_begins_with_a_short_header() {
        assert!(found("crates/a/src/a.rs", "//! Owns a.\nfn a() {}\n").is_empty());
        assert_eq!(found("crates/a/src/a.rs", "fn a() {}\n").len(), 1);
        assert_eq!(found("crates/a/src/a.rs", &"//! Owns a.\n".repeat(16)).len(), 1);
    }

    #[test]
    fn a_long_file_is_remarked_on_and_a_longer_one_fails() {
        let weight = |n: usize| {
            let text = format!("//! Owns a.\n{}", "x\n".repeat(n - 1));
            found("crates/a/src/a.rs", &text).first().map(|finding| finding.weight)
        };
        assert_eq!(weight(LINES_REMARK), None);
        assert_eq!(weight(LINES_REMARK + 1), Some(Weight::Remark));
        assert_eq!(weight(LINES_MAX + 1), Some(Weight::Fails));
    }

    #[test]
    fn what_is_left_for_later_is_found() {
        let text = format!("//! Owns a.\n#[{}]\nfn a() {{ {}!() }}\n", "ignore", "todo");
        assert_eq!(found("crates/a/src/a.rs", &text).iter().map(|f| f.line).collect::<Vec<_>>(), [2, 3]);
    }

    #[test]
    fn a_test_does_not_sleep_but_the_product_may() {
        let text = "//! Owns a.\nfn a() { std::thread::sleep(ms) }\n";
        assert!(found("crates/a/src/a.rs", text).is_empty());
        assert_eq!(found("tests/it/a.rs", text).len(), 1);
        assert!(found("tests/it/a.rs", "//! Owns a.\nfn no_sleep() {}\n").is_empty());
    }

    #[test]
    fn where_the_clock_jumps_nothing_waits() {
        let paused = "#[tokio::test(start_paused = true)]\nasync fn a() {\n    sleep(hour).await;\n}\n";
        assert!(found("tests/it/a.rs", &format!("//! Owns a.\n{paused}")).is_empty());
        let after = format!("//! Owns a.\n{paused}async fn b() {{\n    sleep(hour).await;\n}}\n");
        assert_eq!(found("tests/it/a.rs", &after).iter().map(|f| f.line).collect::<Vec<_>>(), [7]);
    }
}
