//! The list of metrics in `docs/metrics.md` is what a running server shows, no more and no less; labels have values of
//! closed lists.
//!
//! **Invariant**: the server is made to use everything that it counts before it is asked.
//! Not known here: whether figures are right, but for some.

use std::collections::{BTreeMap, BTreeSet};

use kokuban_api::ErrorCode;
use kokuban_server::docs::ROUTES;
use kokuban_tests::{EventStream, Setup, TestServer, until};
use serde_json::json;

const PAGE: &str = include_str!("../../docs/metrics.md");

const GUIDE: &str = include_str!("../../docs/operations.md");

/// What is said of a metric: type, unit, labels.
type Said = (String, String, BTreeSet<String>);

/// The rows of the document, by name.
fn documented() -> BTreeMap<String, Said> {
    let rows = PAGE.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| {
        let cells: Vec<_> = row.trim_matches('|').split('|').map(str::trim).collect();
        let [name, kind, unit, labels, meaning, _] = cells[..] else { panic!("not six cells: {row}") };
        assert!(!meaning.is_empty(), "{row}");
        let labels = labels.split_whitespace().map(|label| label.trim_matches('`').to_owned()).collect();
        (name.trim_matches('`').to_owned(), (kind.to_owned(), unit.to_owned(), labels))
    })
    .collect()
}

/// One sample: its name, its labels, its value.
fn sample(line: &str) -> (&str, Vec<(String, String)>, f64) {
    let (series, value) = line.rsplit_once(' ').expect("a sample has a value");
    let (name, labels) = series.split_once('{').map_or((series, ""), |(name, rest)| (name, rest.trim_end_matches('}')));
    let labels = labels.split("\",").filter(|label| !label.is_empty()).map(|label| {
        let (label, value) = label.split_once("=\"").unwrap_or_else(|| panic!("{line}"));
        (label.to_owned(), value.trim_end_matches('"').to_owned())
    });
    (name, labels.collect(), value.parse().unwrap_or_else(|_| panic!("{line}")))
}

/// What a server shows, by the name that samples have.
fn shown(text: &str) -> BTreeMap<String, Said> {
    let mut metrics: BTreeMap<String, Said> = BTreeMap::new();
    let mut family = String::new();
    for line in text.lines() {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "TYPE", name, kind] => {
                let end = match kind {
                    "counter" => "_total",
                    "info" => "_info",
                    _ => "",
                };
                family = format!("{name}{end}");
                metrics.insert(family.clone(), (kind.to_owned(), String::new(), BTreeSet::new()));
            }
            ["#", "UNIT", _, unit] => unit.clone_into(&mut metrics.get_mut(&family).expect("its type comes first").1),
            ["#", "HELP", _, help] => assert!(help.ends_with('.') && !help.ends_with(".."), "{line}"),
            ["#", "EOF"] => family.clear(),
            _ => {
                let (name, labels, _) = sample(line);
                assert!(name.starts_with(&family) && !family.is_empty(), "{line} stands below {family}");
                let known = &mut metrics.get_mut(&family).expect("its type comes first").2;
                known.extend(labels.into_iter().map(|(label, _)| label).filter(|label| label != "le"));
            }
        }
    }
    metrics
}

/// A server that has done something of everything, with names that would be noticed in a label.
fn busy_server() -> TestServer {
    let server = Setup::disk().start();
    let lin = server.as_agent("quartzagent");
    lin.put("/v1/boards/quartzboard", &json!({"blueprint": "default"})).must(201);
    let entry = "/v1/boards/quartzboard/entries/working/quartzkey";
    lin.put(entry, &json!({"value": "quartzvalue"})).must(201);
    lin.put(entry, &json!({"value": "quartzvalue", "version": 7})).must(409);
    lin.ask("PUT", entry).key("quartz-1").json(&json!({"value": 2, "version": 1})).send().must(200);
    lin.ask("PUT", entry).key("quartz-1").json(&json!({"value": 2, "version": 1})).send().must(200);
    lin.post("/v1/boards/quartzboard/leases/working/quartzkey", &json!({"ttl_ms": 100})).must(201);
    lin.get("/v1/boards/quartzboard/entries?prefix=quartzprefix").must(200);
    lin.ask("QUARTZ", "/quartzpath").send().must(404);
    let mut stream = EventStream::open(&lin, "/v1/boards/quartzboard/events", &[]);
    let _ = stream.next_event("hello", std::time::Duration::from_secs(10));
    let _ = server.reload();
    server
}

#[test]
fn the_documented_list_is_what_a_server_shows() {
    let (documented, shown) = (documented(), shown(&busy_server().anonymous().get("/metrics").text()));
    for (name, said) in &shown {
        assert_eq!(documented.get(name), Some(said), "{name} as docs/metrics.md has it");
    }
    for name in documented.keys() {
        assert!(shown.contains_key(name), "docs/metrics.md has {name}, and the server has not");
    }
}

#[test]
fn the_guide_for_operators_names_no_metric_that_there_is_not() {
    let documented = documented();
    // `kokuban_(…` is a pattern of a command.
    let of_ours = |word: &&str| (word.starts_with("kokuban_") || word.starts_with("process_")) && !word.ends_with('_');
    let words = GUIDE.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).filter(of_ours);
    let named: BTreeSet<_> = words.map(|word| word.trim_end_matches("_bucket")).collect();
    assert!(named.len() > 8, "{named:?}");
    for name in named {
        assert!(name == "kokuban_server" || documented.contains_key(name), "{name}");
    }
}

#[test]
fn labels_have_values_of_closed_lists_and_none_of_a_caller() {
    let server = busy_server();
    let text = server.anonymous().get("/metrics").text();
    assert!(!text.to_lowercase().contains("quartz"), "{text}");
    let routes: BTreeSet<_> = ROUTES.iter().map(|route| route.path).chain(["none"]).collect();
    let limits = server.anonymous().get("/v1").json()["limits"].clone();
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        for (label, value) in sample(line).1 {
            let value = value.as_str();
            let is_known = match label.as_str() {
                "method" => ["GET", "HEAD", "PUT", "PATCH", "POST", "DELETE", "OPTIONS", "OTHER"].contains(&value),
                "route" => routes.contains(value),
                "status" => ["1xx", "2xx", "3xx", "4xx", "5xx"].contains(&value),
                "code" => ErrorCode::ALL.iter().any(|code| code.as_str() == value),
                "outcome" => ["taken_over", "refused"].contains(&value),
                "limit" => limits[value].is_u64(),
                "version" => value == env!("CARGO_PKG_VERSION"),
                "le" => value == "+Inf" || value.parse::<f64>().is_ok_and(|bound| bound < 1e6),
                _ => false,
            };
            assert!(is_known, "{label}={value}: {line}");
        }
    }
}

#[test]
fn figures_follow_what_happens() {
    let mut server = busy_server();
    let anyone = server.anonymous();
    let figure = |series: &str| {
        let text = anyone.get("/metrics").text();
        let found = text.lines().find(|line| line.rsplit_once(' ').is_some_and(|(name, _)| name == series));
        found.map(|line| sample(line).2)
    };
    // Decided first, durable and seen a moment later.
    until("the lease has expired", std::time::Duration::from_secs(10), || figure("kokuban_leases") == Some(0.0));
    for (series, value) in [
        ("kokuban_refusals_total{code=\"version_conflict\"}", 1.0),
        ("kokuban_http_requests_total{method=\"OTHER\",route=\"none\",status=\"4xx\"}", 1.0),
        ("kokuban_boards", 1.0),
        ("kokuban_boards_loaded", 1.0),
        ("kokuban_replays_total", 1.0),
        ("kokuban_lease_expiries_total", 1.0),
        ("kokuban_ready", 1.0),
        ("kokuban_storage_writable", 1.0),
        // The board, two writes, the lease and its end.
        ("kokuban_commits_total", 5.0),
        ("kokuban_journal_group_commits_sum", 5.0),
        ("kokuban_configuration_reloads_total{outcome=\"taken_over\"}", 1.0),
    ] {
        assert_eq!(figure(series), Some(value), "{series}");
    }
    for series in ["process_resident_memory_bytes", "kokuban_data_directory_bytes", "kokuban_data_directory_free_bytes"]
    {
        assert!(figure(series).is_some_and(|bytes| bytes > 1e5), "{series}");
    }
    assert_eq!(figure("kokuban_journal_sync_seconds_count"), figure("kokuban_journal_group_commits_count"));
    server.rewrite_config("no_such_key = 1");
    let _ = server.reload();
    assert_eq!(figure("kokuban_configuration_reloads_total{outcome=\"refused\"}"), Some(1.0));
}
