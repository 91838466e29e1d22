//! What the signs of a picture mean, below it.
//!
//! **Invariant**: a sign is explained if and only if it occurs.
//! Not known here: where the legend stands.

use std::fmt::Write as _;

use super::panel::{draw_start, number};
use crate::chart::{Cause, Chart, Start};
use crate::layout::Point;
use crate::text::width;

const ROW: f64 = 20.0;
const SIGN: f64 = 44.0;

/// What can stand in a legend, with its words.
const ROWS: &[(Sign, &str)] = &[
    (Sign::Start(Start::Default), "a new entry begins here"),
    (Sign::Start(Start::Allowed), "or here, if it says so"),
    (Sign::Locked, "locked: only an arbiter writes or deletes"),
    (Sign::Arrow(Cause::Move), "a move, and who may make it"),
    (Sign::Arrow(Cause::LeaseExpired), "the server moves it when a lease expires"),
    (Sign::Arrow(Cause::Edit), "writing the value moves it"),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sign {
    Start(Start),
    Locked,
    Arrow(Cause),
}

#[derive(Debug)]
pub(super) struct Legend {
    rows: Vec<(Sign, &'static str)>,
}

impl Legend {
    pub(super) fn new(charts: &[Chart]) -> Self {
        let occurs = |sign: Sign| {
            charts.iter().any(|chart| match sign {
                Sign::Start(start) => chart.states.iter().any(|state| state.start == Some(start)),
                Sign::Locked => chart.states.iter().any(|state| state.locked),
                Sign::Arrow(cause) => chart.arrows.iter().any(|arrow| arrow.cause == cause),
            })
        };
        Self { rows: ROWS.iter().copied().filter(|(sign, _)| occurs(*sign)).collect() }
    }

    pub(super) fn width(&self) -> f64 {
        self.rows.iter().map(|(_, words)| SIGN + 7.4 * number(width(words))).fold(0.0, f64::max)
    }

    pub(super) fn height(&self) -> f64 {
        ROW * number(self.rows.len())
    }

    pub(super) fn draw(&self) -> String {
        let mut svg = String::new();
        for (n, (sign, words)) in self.rows.iter().enumerate() {
            let y = ROW * number(n) + ROW / 2.0;
            let row =
                format!("{}<text class=\"small\" x=\"{SIGN}\" y=\"{:.0}\">{words}</text>\n", draw(*sign, y), y + 4.0);
            svg.push_str(&row);
        }
        svg
    }
}

fn draw(sign: Sign, y: f64) -> String {
    let arrow = |class: &str| {
        format!(
            "<g{class}><path class=\"line\" d=\"M4 {y:.0}H27\"/>\
             <path class=\"tip\" d=\"M34 {y:.0}l-9 -4.5v9z\"/></g>"
        )
    };
    match sign {
        Sign::Start(start) => draw_start(start, Point { x: 19.0, y }).trim_end().to_owned(),
        Sign::Locked => lock(14.0, y - 6.5),
        Sign::Arrow(Cause::Move) => arrow(""),
        Sign::Arrow(Cause::LeaseExpired) => arrow(" class=\"expires\""),
        Sign::Arrow(Cause::Edit) => arrow(" class=\"edit\""),
    }
}

/// A padlock, 10 wide and 13 high.
pub(super) fn lock(x: f64, y: f64) -> String {
    let mut svg = String::new();
    write!(
        svg,
        "<path class=\"bow\" d=\"M{:.1} {:.1}v-2.5a3 3 0 0 1 6 0v2.5\"/>\
         <rect class=\"lock\" x=\"{x:.1}\" y=\"{:.1}\" width=\"10\" height=\"7.5\" rx=\"1.5\"/>",
        x + 2.0,
        y + 5.5,
        y + 5.5,
    )
    .expect("a String takes everything");
    svg
}
