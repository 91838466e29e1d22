//! One lifecycle: statuses as boxes, moves as arrows.
//!
//! **Invariant**: what a picture shows is drawn in three coats, lines, labels, boxes, so that no line hides a text.
//! Not known here: other panels.

use std::fmt::Write as _;

use super::legend;
use crate::chart::{Arrow, Cause, Chart, Start};
use crate::layout::{self, Layout, Link, Placed, Point, Route, Size};
use crate::text::{list, width, wrap, xml};

/// Of a letter, by the size of the font; a little more than fonts need.
const COLUMN: f64 = 8.6;
const SMALL_COLUMN: f64 = 7.4;
const LINE: f64 = 18.0;
const SMALL_LINE: f64 = 15.0;
const HEAD: f64 = 48.0;
const STATE_COLUMNS_MAX: usize = 24;
const LABEL_COLUMNS_MAX: usize = 30;
const LABEL_LINES_MAX: usize = 4;
const ZONES_COLUMNS_MAX: usize = 44;
const ZONES_LINES_MAX: usize = 3;
const DOT: f64 = 14.0;

#[derive(Debug)]
pub(super) struct Panel<'c> {
    chart: &'c Chart,
    names: Vec<Vec<String>>,
    labels: Vec<Vec<String>>,
    /// Boxes of the statuses, then the dots where new entries begin; links of those dots, then the arrows.
    layout: Layout,
    zones: Vec<String>,
    head: f64,
}

impl<'c> Panel<'c> {
    pub(super) fn new(chart: &'c Chart) -> Self {
        let names: Vec<_> = chart.states.iter().map(|state| wrap(&state.name, STATE_COLUMNS_MAX)).collect();
        let labels: Vec<_> =
            chart.arrows.iter().map(|arrow| list(&arrow.words, LABEL_COLUMNS_MAX, LABEL_LINES_MAX)).collect();
        let mut sizes: Vec<_> =
            names.iter().zip(&chart.states).map(|(lines, state)| state_size(lines, state.locked)).collect();
        let starts = chart.states.iter().enumerate().filter(|(_, state)| state.start.is_some());
        let mut links = Vec::new();
        for (n, _) in starts {
            links.push(Link { from: sizes.len(), to: n, label: None });
            sizes.push(Size { width: DOT, height: DOT });
        }
        links.extend(chart.arrows.iter().zip(&labels).map(|(arrow, lines)| Link {
            from: arrow.from,
            to: arrow.to,
            label: Some(text_size(lines, SMALL_COLUMN, SMALL_LINE, 8.0)),
        }));
        let zones = match &chart.zones[..] {
            [] => vec!["no zone".to_owned()],
            [zone] => wrap(&format!("zone {zone}"), ZONES_COLUMNS_MAX),
            zones => list(&prefixed(zones), ZONES_COLUMNS_MAX, ZONES_LINES_MAX),
        };
        let head = HEAD + SMALL_LINE * number(zones.len() - 1);
        Self { chart, names, labels, layout: layout::lay_out(&sizes, &links), zones, head }
    }

    pub(super) fn size(&self) -> Size {
        let title = number(width(&self.chart.name)) * COLUMN;
        let zones = self.zones.iter().map(|line| number(width(line)) * SMALL_COLUMN).fold(title, f64::max);
        Size { width: self.layout.size.width.max(zones), height: self.head + self.layout.size.height }
    }

    pub(super) fn draw(&self) -> String {
        let mut svg = format!("<text class=\"head\" x=\"0\" y=\"14\">{}</text>\n", xml(&self.chart.name));
        for (n, line) in self.zones.iter().enumerate() {
            let y = 31.0 + SMALL_LINE * number(n);
            push(&mut svg, format_args!("<text class=\"small\" x=\"0\" y=\"{y:.0}\">{}</text>\n", xml(line)));
        }
        push(&mut svg, format_args!("<g transform=\"translate(0 {:.0})\">\n", self.head));
        let n_starts = self.layout.routes.len() - self.chart.arrows.len();
        let (starts, arrows) = self.layout.routes.split_at(n_starts);
        for route in starts {
            push(&mut svg, format_args!("<g>{}</g>\n", line(route)));
        }
        for (arrow, route) in self.chart.arrows.iter().zip(arrows) {
            push(&mut svg, format_args!("<g{}>{}</g>\n", class(arrow.cause), line(route)));
        }
        for ((arrow, lines), route) in self.chart.arrows.iter().zip(&self.labels).zip(arrows) {
            if let Some(middle) = route.label {
                svg.push_str(&self.label(arrow, lines, middle));
            }
        }
        let (states, dots) = self.layout.boxes.split_at(self.chart.states.len());
        for ((state, lines), placed) in self.chart.states.iter().zip(&self.names).zip(states) {
            svg.push_str(&draw_state(lines, state.locked, placed));
        }
        let starts = self.chart.states.iter().filter_map(|state| state.start);
        for (start, placed) in starts.zip(dots) {
            svg.push_str(&draw_start(start, placed.middle));
        }
        svg.push_str("</g>\n");
        svg
    }

    fn label(&self, arrow: &Arrow, lines: &[String], middle: Point) -> String {
        let Size { width, height } = text_size(lines, SMALL_COLUMN, SMALL_LINE, 4.0);
        let (x, y) = (middle.x - width / 2.0, middle.y - height / 2.0);
        let mut svg = format!("<g{}><title>{}</title>", class(arrow.cause), xml(&self.chart.sentence(arrow)));
        push(
            &mut svg,
            format_args!(
                "<rect class=\"behind\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>"
            ),
        );
        svg.push_str(&text(lines, "small middle", middle, SMALL_LINE));
        svg.push_str("</g>\n");
        svg
    }
}

/// The names, the first one with what they are.
fn prefixed(zones: &[String]) -> Vec<String> {
    let mut words = zones.to_vec();
    if let Some(first) = words.first_mut() {
        first.insert_str(0, "zones ");
    }
    words
}

fn class(cause: Cause) -> &'static str {
    match cause {
        Cause::Move => "",
        Cause::LeaseExpired => " class=\"expires\"",
        Cause::Edit => " class=\"edit\"",
    }
}

fn draw_state(lines: &[String], locked: bool, placed: &Placed) -> String {
    let Placed { middle, size } = *placed;
    let (x, y) = (middle.x - size.width / 2.0, middle.y - size.height / 2.0);
    let mut svg = format!(
        "<g><rect class=\"state{}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"6\"/>",
        if locked { " locked" } else { "" },
        size.width,
        size.height,
    );
    let mut middle = middle;
    if locked {
        push(
            &mut svg,
            format_args!(
                "<rect class=\"inner\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"4\"/>",
                x + 3.0,
                y + 3.0,
                size.width - 6.0,
                size.height - 6.0,
            ),
        );
        svg.push_str(&legend::lock(x + 10.0, middle.y - 6.5));
        middle.x += LOCK / 2.0;
    }
    svg.push_str(&text(lines, "middle", middle, LINE));
    svg.push_str("</g>\n");
    svg
}

pub(super) fn draw_start(start: Start, at: Point) -> String {
    let class = if start == Start::Default { "start" } else { "start may" };
    format!("<circle class=\"{class}\" cx=\"{:.1}\" cy=\"{:.1}\" r=\"5\"/>\n", at.x, at.y)
}

/// The way of an arrow and its tip, which is upright as all ways end so.
fn line(route: &Route) -> String {
    let [from, .., to] = route.points[..] else { return String::new() };
    let before = route.points[route.points.len() - 2];
    let down = if to.y > from.y { 1.0 } else { -1.0 };
    let mut path = format!("M{:.1} {:.1}", from.x, from.y);
    for pair in route.points.windows(2).enumerate() {
        let (n, [one, other]) = pair else { continue };
        // The tip is drawn over the end.
        let end = if n + 2 == route.points.len() { other.y - 7.0 * down } else { other.y };
        if n % 2 == 0 {
            push(&mut path, format_args!("V{end:.1}"));
        } else {
            let half = f64::midpoint(one.y, other.y);
            push(
                &mut path,
                format_args!("C{:.1} {half:.1} {:.1} {half:.1} {:.1} {:.1}", one.x, other.x, other.x, other.y),
            );
        }
    }
    debug_assert!((before.x - to.x).abs() < 0.01, "it ends upright");
    let tip = format!("<path class=\"tip\" d=\"M{:.1} {:.1}l-4.5 {:.1}h9z\"/>", to.x, to.y, -9.0 * down);
    format!("<path class=\"line\" d=\"{path}\"/>{tip}")
}

fn text(lines: &[String], class: &str, middle: Point, line: f64) -> String {
    let mut svg = String::new();
    let first = middle.y - line * number(lines.len() - 1) / 2.0 + line * 0.27;
    for (n, words) in lines.iter().enumerate() {
        let y = first + line * number(n);
        push(
            &mut svg,
            format_args!("<text class=\"{class}\" x=\"{:.1}\" y=\"{y:.1}\">{}</text>", middle.x, xml(words)),
        );
    }
    svg
}

/// Room for the lock in a box.
const LOCK: f64 = 16.0;

fn state_size(lines: &[String], locked: bool) -> Size {
    let size = text_size(lines, COLUMN, LINE, 26.0);
    Size { width: size.width.max(60.0) + if locked { LOCK } else { 0.0 }, height: size.height + 16.0 }
}

fn text_size(lines: &[String], column: f64, line: f64, padding: f64) -> Size {
    let columns = lines.iter().map(|line| width(line)).max().unwrap_or(0);
    Size { width: number(columns) * column + padding, height: number(lines.len()) * line }
}

pub(super) fn number(n: usize) -> f64 {
    f64::from(u32::try_from(n).unwrap_or(u32::MAX))
}

fn push(svg: &mut String, text: std::fmt::Arguments<'_>) {
    svg.write_fmt(text).expect("a String takes everything");
}
