//! Durable writes per second for one writer, for some and for many; and for many over a hundred boards.

use super::{Bench, KeySize, Side};
use crate::figure::{Figure, Unit};
use crate::load::Slice;
use crate::server::Durability;

const FEW: usize = 16;
const BOARDS: usize = 100;

pub(super) fn measure(bench: &mut Bench) -> anyhow::Result<Vec<Figure>> {
    let (n_keys, value_bytes, lanes) = (bench.scale.keys, bench.scale.value_bytes, bench.scale.lanes);
    let server = bench.setup("rates", Durability::Disk).start()?;
    bench.keys("one", &server, n_keys, value_bytes)?;
    bench.key_set("spread", &server, KeySize { n_boards: BOARDS, n_keys, value_bytes, version: 0 })?;
    bench.fill("one")?;
    bench.fill("spread")?;
    let few = FEW.min(lanes / 2);
    let sides = [("one", 1), ("one", few), ("one", lanes), ("spread", lanes)];
    let slices = bench.alternate_for(
        &sides.map(|(name, lanes)| Side::Write { name, lanes }),
        bench.scale.slices.div_ceil(2),
        bench.scale.slice_ms,
    )?;
    bench.verify("one")?;
    bench.verify("spread")?;
    let figures = sides.iter().zip(&slices).map(|((name, lanes), slices)| {
        let boards = if *name == "one" { "1 board" } else { "100 boards" };
        let s = if *lanes == 1 { "" } else { "s" };
        rate(format!("durable writes, {lanes} connection{s}, {boards}"), slices)
    });
    figures.collect()
}

fn rate(what: String, slices: &[Slice]) -> anyhow::Result<Figure> {
    let sampled = |of| super::sampled(slices, of);
    let median = |of| sampled(of).map(|sampled| sampled.median());
    let beside = format!(
        "p50 {:.2} ms, p99 {:.2} ms, {:.1} µs of the server per write",
        median(|slice| slice.p50_ns as f64 / 1e6)?,
        median(|slice| slice.p99_ns as f64 / 1e6)?,
        median(Slice::server_cpu_us)?
    );
    Ok(Figure { goal: "cas", what, unit: Unit::PerSecond, value: sampled(Slice::per_second)?, bounds: None, beside })
}
