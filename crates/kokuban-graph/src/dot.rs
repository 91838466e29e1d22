//! The picture in the language of Graphviz, for who wants to draw it otherwise.
//!
//! **Invariant**: nodes are numbered, and names stand in quotes, which none of them contains: names have letters, digits
//! and `. _ : @ = + , ~ -`, checked when the blueprint was read.
//! Not known here: layout; Graphviz does it.

use std::fmt::Write as _;

use kokuban_core::blueprint::Blueprint;

use crate::chart::{Cause, Chart, Start};

pub(crate) fn write(blueprint: &Blueprint, charts: &[Chart]) -> String {
    let mut text = format!(
        "digraph \"{}\" {{\n  node [shape=box, style=rounded, fontname=\"monospace\"];\n  \
         edge [fontname=\"monospace\", fontsize=11];\n",
        blueprint.name
    );
    for (n, chart) in charts.iter().enumerate() {
        cluster(&mut text, n, chart).expect("a String takes everything");
    }
    text.push_str("}\n");
    text
}

fn cluster(text: &mut String, n: usize, chart: &Chart) -> std::fmt::Result {
    let zones = if chart.zones.is_empty() { String::new() } else { format!(" ({})", chart.zones.join(", ")) };
    writeln!(text, "  subgraph cluster_{n} {{\n    label=\"{}{zones}\";", chart.name)?;
    for (k, state) in chart.states.iter().enumerate() {
        let locked = if state.locked { ", peripheries=2" } else { "" };
        writeln!(text, "    s{n}_{k} [label=\"{}\"{locked}];", state.name)?;
        if let Some(start) = state.start {
            let shape = if start == Start::Default { "point" } else { "circle, label=\"\"" };
            writeln!(text, "    i{n}_{k} [shape={shape}, width=0.12];\n    i{n}_{k} -> s{n}_{k};")?;
        }
    }
    for arrow in &chart.arrows {
        let style = match arrow.cause {
            Cause::Move => "",
            Cause::LeaseExpired => ", style=dotted",
            Cause::Edit => ", style=dashed",
        };
        let label = arrow.words.join(", ");
        writeln!(text, "    s{n}_{} -> s{n}_{} [label=\"{label}\"{style}];", arrow.from, arrow.to)?;
    }
    writeln!(text, "  }}")
}
