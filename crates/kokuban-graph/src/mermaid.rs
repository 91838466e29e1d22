//! The picture as a flowchart of Mermaid, for pages that draw those themselves.
//!
//! **Invariant**: as in `dot`, nodes are numbered, and names stand in quotes, which none of them contains.
//! Not known here: layout; Mermaid does it.

use std::fmt::Write as _;

use kokuban_core::blueprint::Blueprint;

use crate::chart::{Arrow, Cause, Chart, Start};

pub(crate) fn write(blueprint: &Blueprint, charts: &[Chart]) -> String {
    let mut text = format!("%% blueprint {}\nflowchart TD\n", blueprint.name);
    for (n, chart) in charts.iter().enumerate() {
        subgraph(&mut text, n, chart).expect("a String takes everything");
    }
    text.push_str("  classDef locked stroke-width:3px\n  classDef start fill:#888,stroke:#888\n");
    text
}

fn subgraph(text: &mut String, n: usize, chart: &Chart) -> std::fmt::Result {
    let zones = if chart.zones.is_empty() { String::new() } else { format!(" ({})", chart.zones.join(", ")) };
    writeln!(text, "  subgraph l{n}[\"{}{zones}\"]\n    direction TB", chart.name)?;
    for (k, state) in chart.states.iter().enumerate() {
        let name = &state.name;
        let shape = if state.locked { format!("[[\"{name}\"]]:::locked") } else { format!("[\"{name}\"]") };
        writeln!(text, "    s{n}x{k}{shape}")?;
        match state.start {
            Some(Start::Default) => writeln!(text, "    i{n}x{k}((\" \")):::start --> s{n}x{k}")?,
            Some(Start::Allowed) => writeln!(text, "    i{n}x{k}((\" \")) --> s{n}x{k}")?,
            None => {}
        }
    }
    for arrow in &chart.arrows {
        writeln!(text, "    s{n}x{} {} s{n}x{}", arrow.from, line(arrow), arrow.to)?;
    }
    writeln!(text, "  end")
}

fn line(arrow: &Arrow) -> String {
    let words = arrow.words.join(", ");
    match arrow.cause {
        Cause::Move => format!("-->|\"{words}\"|"),
        Cause::LeaseExpired | Cause::Edit => format!("-.->|\"{words}\"|"),
    }
}
