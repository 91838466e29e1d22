//! Goal 4: a compare-and-set write over HTTP, durable and in memory, against a bare route that parses and echoes.

use super::{Bench, KeySize, Side, compared};
use crate::figure::{Bounds, Figure};
use crate::server::{Durability, Server};

pub(super) fn measure(bench: &mut Bench) -> anyhow::Result<Vec<Figure>> {
    let (n_keys, value_bytes, lanes) = (bench.scale.keys, bench.scale.value_bytes, bench.scale.lanes);
    let disk = bench.setup("writes", Durability::Disk).start()?;
    let memory = bench.setup("writes-memory", Durability::Memory).start()?;
    let yardstick = Server::yardstick(None)?;
    for (name, server) in [("disk", &disk), ("memory", &memory)] {
        bench.keys(name, server, n_keys, value_bytes)?;
        bench.fill(name)?;
    }
    bench.key_set("bare", &yardstick, KeySize { n_boards: 1, n_keys, value_bytes, version: 1 })?;
    let side = |name| Side::Write { name, lanes };
    let slices = bench.alternate(&[side("disk"), side("memory"), side("bare")])?;
    bench.verify("disk")?;
    bench.verify("memory")?;
    let durable =
        compared("4", "durable write / bare route", Some(Bounds::at_least(0.5, 0.65)), (&slices[0], &slices[2]))?;
    let memory =
        compared("4", "write in memory / bare route", Some(Bounds::at_least(0.8, 0.9)), (&slices[1], &slices[2]))?;
    Ok(durable.into_iter().chain(memory).collect())
}
