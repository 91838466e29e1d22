//! Goal 9: resident memory, of an empty server, of an empty board, of an entry, of a stream that waits.
//!
//! Invariant: what a server allocates once is there before the first look, so that differences are the boards',
//! entries' and streams' own; nothing is in flight while memory is looked at.
//! Not known here: what the memory is used for.

use super::{Bench, KeySize};
use crate::figure::{Bounds, Figure, Unit};
use crate::load::Order;
use crate::proc::settled_bytes;
use crate::server::{Durability, Server};
use crate::stats::Sampled;

const KIB: f64 = 1024.0;
/// Share of all entries that are there before the first look.
const FIRST_SHARE: usize = 20;
/// Streams that come and go before the first look.
const FIRST_STREAMS: usize = 50;

pub(super) fn measure(bench: &mut Bench) -> anyhow::Result<Vec<Figure>> {
    let mut figures = vec![empty_server(bench)?];
    figures.extend(empty_board(bench)?);
    figures.extend(entries(bench)?);
    figures.push(subscriber(bench)?);
    Ok(figures)
}

fn bytes(what: &str, value: f64, bounds: Bounds, beside: String) -> Figure {
    let value = Sampled::of([value]).expect("a count of bytes");
    Figure { goal: "9", what: what.to_owned(), unit: Unit::Bytes, value, bounds: Some(bounds), beside }
}

/// Of what came between two looks, the part of each.
fn each(before: u64, after: u64, n: usize) -> f64 {
    (after as f64 - before as f64) / n as f64
}

fn empty_server(bench: &mut Bench) -> anyhow::Result<Figure> {
    let server = bench.setup("empty", Durability::Disk).start()?;
    server.get("/readyz")?;
    let resident = settled_bytes(server.pid(), bench.scale.looks)?;
    let bounds = Bounds::at_most(24.0 * KIB * KIB, 12.0 * KIB * KIB);
    Ok(bytes("empty server", resident as f64, bounds, String::new()))
}

/// Just created, and loaded when somebody asks for them after a new start.
fn empty_board(bench: &mut Bench) -> anyhow::Result<[Figure; 2]> {
    let setup = bench.setup("boards", Durability::Disk);
    let (n, looks) = (bench.scale.empty_boards, bench.scale.looks);
    let sizes = [("first", n / 10 + 1), ("then", n)];
    let server = setup.start()?;
    let mut look = |server: &Server, order: fn(String, usize) -> Order| {
        let mut seen = Vec::new();
        for (name, n_boards) in sizes {
            bench.key_set(name, server, KeySize { n_boards, n_keys: 0, value_bytes: 0, version: 0 })?;
            bench.order(order(name.to_owned(), bench.scale.lanes))?;
            seen.push(settled_bytes(server.pid(), looks)?);
        }
        anyhow::Ok(each(seen[0], seen[1], n))
    };
    let created = look(&server, |name, lanes| Order::Boards { name, lanes })?;
    server.stop()?;
    let server = setup.start()?;
    let loaded = look(&server, |name, lanes| Order::Visit { name, lanes })?;
    let bounds = Bounds::at_most(KIB, 0.5 * KIB);
    Ok([
        bytes("board without entries, created", created, bounds, format!("{n} boards")),
        bytes("board without entries, loaded", loaded, bounds, format!("{n} boards, after a new start")),
    ])
}

fn entries(bench: &mut Bench) -> anyhow::Result<[Figure; 2]> {
    let (n_keys, value_bytes) = (bench.scale.entries, bench.scale.memory_value_bytes);
    let n_first = n_keys / FIRST_SHARE;
    let setup = bench.setup("entries", Durability::Disk);
    let server = setup.start()?;
    bench.keys("entries", &server, n_first, value_bytes)?;
    bench.fill("entries")?;
    let before = settled_bytes(server.pid(), bench.scale.looks)?;
    bench.order(Order::Grow { name: "entries".to_owned(), n_keys })?;
    bench.order(Order::UpTo { name: "entries".to_owned(), lanes: bench.scale.lanes, version: 1 })?;
    let live = each(before, settled_bytes(server.pid(), bench.scale.looks)?, n_keys - n_first) - value_bytes as f64;
    server.stop()?;

    let server = setup.start()?;
    let before = settled_bytes(server.pid(), bench.scale.looks)?;
    load_board(&server)?;
    let loaded = each(before, settled_bytes(server.pid(), bench.scale.looks)?, n_keys) - value_bytes as f64;
    let bounds = Bounds::at_most(400.0, 250.0);
    let beside = |how: &str, n| format!("{n} entries of {value_bytes} bytes, {how}");
    Ok([
        bytes("entry over its payload, written", live, bounds, beside("one write each", n_keys - n_first)),
        bytes("entry over its payload, loaded", loaded, bounds, beside("after a new start", n_keys)),
    ])
}

/// Boards are loaded when somebody first asks for them.
fn load_board(server: &Server) -> anyhow::Result<()> {
    server.get("/v1/boards/entries-00000/entries/working/k0000000").map(drop)
}

fn subscriber(bench: &mut Bench) -> anyhow::Result<Figure> {
    let server = bench.setup("streams", Durability::Disk).start()?;
    bench.keys("streams", &server, 1, bench.scale.value_bytes)?;
    bench.fill("streams")?;
    let n = bench.scale.subscribers;
    let mut look = |n| {
        bench.order(Order::Subscribe { name: "streams".to_owned(), n })?;
        settled_bytes(server.pid(), bench.scale.looks)
    };
    look(FIRST_STREAMS)?;
    let before = look(0)?;
    let after = look(n)?;
    let bounds = Bounds::at_most(16.0 * KIB, 10.0 * KIB);
    Ok(bytes("idle subscriber", each(before, after, n), bounds, format!("{n} streams of one board")))
}
