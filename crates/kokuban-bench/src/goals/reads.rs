//! Goal 5: reading an entry over HTTP, against a bare route that answers with as many bytes.

use super::{Bench, KeySize, Side, compared};
use crate::figure::{Bounds, Figure};
use crate::server::{Durability, Server};

pub(super) fn measure(bench: &mut Bench) -> anyhow::Result<Vec<Figure>> {
    let (n_keys, value_bytes, lanes) = (bench.scale.keys, bench.scale.value_bytes, bench.scale.lanes);
    let server = bench.setup("reads", Durability::Disk).start()?;
    bench.keys("read", &server, n_keys, value_bytes)?;
    bench.fill("read")?;
    let entry = "/v1/boards/read-00000/entries/working/k0000000";
    let yardstick = Server::yardstick(Some((&server, entry)))?;
    bench.key_set("bare", &yardstick, KeySize { n_boards: 1, n_keys, value_bytes, version: 1 })?;
    let slices = bench.alternate(&[Side::Read { name: "read", lanes }, Side::Read { name: "bare", lanes }])?;
    let read = compared("5", "read / bare route", Some(Bounds::at_least(0.85, 0.95)), (&slices[0], &slices[1]))?;
    Ok(read.into())
}
