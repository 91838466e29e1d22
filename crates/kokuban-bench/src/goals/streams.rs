//! Streams to many readers of one board: how much is delivered when writers go as fast as readers follow, and how late
//! an event is when they do not.

use super::Bench;
use crate::figure::{Figure, Unit};
use crate::load::{Order, Pace, Slice};
use crate::server::Durability;
use crate::stats::Sampled;

/// Writers beside each other, so that writing is not what delivering waits for.
const WRITERS: usize = 4;
/// Commits that the slowest stream may be behind before the next is written.
const BEHIND: u64 = 4;
const CALM_PER_SECOND: f64 = 10.0;

pub(super) fn measure(bench: &mut Bench) -> anyhow::Result<Vec<Figure>> {
    let server = bench.setup("fan-out", Durability::Disk).start()?;
    bench.keys("streams", &server, WRITERS, bench.scale.value_bytes)?;
    bench.fill("streams")?;
    let mut figures = Vec::new();
    for n in bench.scale.streams {
        let mut run = |pace| {
            let ms = bench.scale.stream_ms;
            let name = "streams".to_owned();
            bench.order(Order::FanOut { name, n, ms, pace })
        };
        let fast = (0..3).map(|_| run(Pace::Behind(BEHIND))).collect::<anyhow::Result<Vec<_>>>()?;
        let calm = (0..3).map(|_| run(Pace::PerSecond(CALM_PER_SECOND))).collect::<anyhow::Result<Vec<_>>>()?;
        figures.push(delivered(n, &fast)?);
        figures.extend(late(n, &calm)?);
    }
    bench.verify("streams")?;
    Ok(figures)
}

fn delivered(n: usize, slices: &[Slice]) -> anyhow::Result<Figure> {
    let median = |of: fn(&Slice) -> f64| super::sampled(slices, of).map(|sampled| sampled.median());
    let beside = format!(
        "none lost; {:.0} commits/s; {:.1} µs of the server and {:.1} µs of the readers per event; p50 {:.1} ms, p99 {:.1} ms",
        median(Slice::per_second)? / n as f64,
        median(Slice::server_cpu_us)?,
        median(Slice::own_cpu_us)?,
        median(|slice| slice.p50_ns as f64 / 1e6)?,
        median(|slice| slice.p99_ns as f64 / 1e6)?
    );
    let value = super::sampled(slices, Slice::per_second)?;
    let what = format!("events to {n} streams");
    Ok(Figure { goal: "sse", what, unit: Unit::PerSecond, value, bounds: None, beside })
}

fn late(n: usize, slices: &[Slice]) -> anyhow::Result<[Figure; 2]> {
    let figure = |percent: &str, value: Sampled| Figure {
        goal: "sse",
        what: format!("{percent} from request to event, {n} streams"),
        unit: Unit::Millis,
        value,
        bounds: None,
        beside: String::new(),
    };
    Ok([
        figure("p50", super::sampled(slices, |slice| slice.p50_ns as f64 / 1e6)?),
        figure("p99", super::sampled(slices, |slice| slice.p99_ns as f64 / 1e6)?),
    ])
}
