//! Pictures of the lifecycles of a blueprint: which statuses there are, which moves, and who may make them.
//!
//! **Invariant**: a picture is a function of the blueprint alone, the same to the byte on every machine; it names
//! every status and every move once, and no text in it can end what it stands in.
//! Not known here: files and servers. Start at `Chart`, which all three forms draw; `svg` places it by `layout`.

mod chart;
mod dot;
mod layout;
mod mermaid;
mod svg;
mod text;

#[cfg(test)]
mod tests;

use kokuban_core::blueprint::Blueprint;

pub use chart::{Chart, charts};

/// A picture as SVG, for documents and browsers: light or dark as the reader's screen is.
#[must_use]
pub fn svg(blueprint: &Blueprint, charts: &[Chart]) -> String {
    svg::draw(blueprint, charts)
}

/// The same in the language of Graphviz.
#[must_use]
pub fn dot(blueprint: &Blueprint, charts: &[Chart]) -> String {
    dot::write(blueprint, charts)
}

/// The same as a flowchart of Mermaid.
#[must_use]
pub fn mermaid(blueprint: &Blueprint, charts: &[Chart]) -> String {
    mermaid::write(blueprint, charts)
}
