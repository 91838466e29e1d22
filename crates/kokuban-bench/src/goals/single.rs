//! Goal 6: what a durable write over HTTP takes longer than the disk alone, for a writer who has nobody to wait with.

use anyhow::Context as _;

use super::{Bench, Side};
use crate::figure::{Bounds, Figure, Unit};
use crate::server::Durability;
use crate::stats::Sampled;

pub(super) fn measure(bench: &mut Bench) -> anyhow::Result<Vec<Figure>> {
    let server = bench.setup("single", Durability::Disk).start()?;
    bench.keys("single", &server, bench.scale.keys, bench.scale.value_bytes)?;
    bench.fill("single")?;
    let file = bench.dir.path().join("single").join("synced");
    let sides = [Side::Write { name: "single", lanes: 1 }, Side::Sync { file: &file, bytes: bench.scale.value_bytes }];
    // Short slices: what the disk can do changes within a second.
    let slices = bench.alternate_for(&sides, 2 * bench.scale.slices, bench.scale.slice_ms / 4)?;
    bench.verify("single")?;
    let ms = |ns: u64| ns as f64 / 1e6;
    let pairs = slices[0].iter().zip(&slices[1]);
    let more = Sampled::of(pairs.map(|(own, disk)| ms(own.p50_ns) - ms(disk.p50_ns))).context("no slices")?;
    let p50 = |n: usize| Sampled::of(slices[n].iter().map(|slice| ms(slice.p50_ns))).context("no slices");
    let beside = format!(
        "p50 {:.3} ms over HTTP, {:.3} ms for write and fdatasync of {} bytes in a file of zeros on the same file system",
        p50(0)?.median(),
        p50(1)?.median(),
        bench.scale.value_bytes
    );
    Ok(vec![Figure {
        goal: "6",
        what: "one writer, over write + fdatasync".to_owned(),
        unit: Unit::Millis,
        value: more,
        bounds: Some(Bounds::at_most(0.35, 0.2)),
        beside,
    }])
}
