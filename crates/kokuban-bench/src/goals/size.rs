//! Goal 11: whether a write costs more on a board with many entries than on one with few.

use super::{Bench, Side, compared};
use crate::figure::{Bounds, Figure};
use crate::server::Durability;

const FEW: usize = 100;

pub(super) fn measure(bench: &mut Bench) -> anyhow::Result<Vec<Figure>> {
    let (many, lanes) = (bench.scale.entries, bench.scale.lanes);
    let mut figures = Vec::new();
    for (durability, how, bounds) in
        [(Durability::Disk, "durable", Some(Bounds::at_least(0.9, 1.0))), (Durability::Memory, "in memory", None)]
    {
        let server = bench.setup(&format!("size-{how}"), durability).start()?;
        for (name, n_keys) in [("many", many), ("few", FEW)] {
            bench.keys(name, &server, n_keys, bench.scale.value_bytes)?;
            bench.fill(name)?;
        }
        let slices = bench.alternate(&[Side::Write { name: "many", lanes }, Side::Write { name: "few", lanes }])?;
        bench.verify("many")?;
        bench.verify("few")?;
        let what = format!("write at {many} entries / at {FEW}, {how}");
        figures.extend(compared("11", &what, bounds, (&slices[0], &slices[1]))?);
    }
    Ok(figures)
}
