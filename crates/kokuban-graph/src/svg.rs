//! The picture as SVG: one panel for each lifecycle, a legend of what occurs in it.
//!
//! **Invariant**: it needs nothing from elsewhere, neither fonts nor scripts nor styles, and is readable on light and
//! dark; whoever cannot see it has all of it in `<desc>`.
//! Not known here: where things go within a panel; `layout` says that.

mod legend;
mod panel;

use std::fmt::Write as _;

use kokuban_core::blueprint::Blueprint;

use self::legend::Legend;
use self::panel::Panel;
use crate::chart::Chart;
use crate::text::xml;

const STYLE: &str = include_str!("svg/style.css");
const MARGIN: f64 = 20.0;
const GAP: f64 = 36.0;
/// Panels stand side by side up to this width, which pages show without scrolling.
const ROW_WIDTH: f64 = 1000.0;

pub(crate) fn draw(blueprint: &Blueprint, charts: &[Chart]) -> String {
    let panels: Vec<_> = charts.iter().map(Panel::new).collect();
    let legend = Legend::new(charts);
    let (places, width, height) = rows(&panels);
    let width = width.max(legend.width()) + 2.0 * MARGIN;
    let legend_y = MARGIN + height + if panels.is_empty() { 0.0 } else { GAP / 2.0 };
    let height = legend_y + legend.height() + MARGIN;
    let title = match &blueprint.title {
        Some(title) => format!("Lifecycles of the blueprint {}: {title}", blueprint.name),
        None => format!("Lifecycles of the blueprint {}", blueprint.name),
    };
    let description: Vec<_> = charts.iter().map(Chart::description).collect();
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\">\n\
         <title>{}</title>\n<desc>{}</desc>\n<style>\n{STYLE}</style>\n\
         <rect class=\"paper\" x=\"0.5\" y=\"0.5\" width=\"{:.0}\" height=\"{:.0}\" rx=\"8\"/>\n",
        xml(&title),
        xml(&description.join(" ")),
        width - 1.0,
        height - 1.0,
    );
    for (panel, (x, y)) in panels.iter().zip(places) {
        write_group(&mut svg, MARGIN + x, MARGIN + y, &panel.draw());
    }
    write_group(&mut svg, MARGIN, legend_y, &legend.draw());
    svg.push_str("</svg>\n");
    svg
}

fn write_group(svg: &mut String, x: f64, y: f64, content: &str) {
    write!(svg, "<g transform=\"translate({x:.0} {y:.0})\">\n{content}</g>\n").expect("a String takes everything");
}

/// The place of each panel, and the width and height of all.
fn rows(panels: &[Panel<'_>]) -> (Vec<(f64, f64)>, f64, f64) {
    let (mut places, mut width, mut bottom) = (Vec::new(), 0.0_f64, 0.0_f64);
    let (mut x, mut y) = (0.0, 0.0);
    for panel in panels {
        let size = panel.size();
        if x > 0.0 && x + size.width > ROW_WIDTH {
            (x, y) = (0.0, bottom + GAP);
        }
        places.push((x, y));
        width = width.max(x + size.width);
        bottom = bottom.max(y + size.height);
        x += size.width + GAP;
    }
    (places, width, bottom)
}
