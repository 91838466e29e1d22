//! One line of the result: what was measured, what it must and should reach, and whether it does.
//!
//! Invariant: a verdict follows from figure and bounds alone.
//! Not known here: how anything is measured, or shown.

use std::fmt;

use serde::Serialize;

use crate::stats::Sampled;

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Unit {
    /// A ratio to something measured in the same run.
    Times,
    PerSecond,
    Millis,
    Seconds,
    Bytes,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Better {
    Higher,
    Lower,
}

/// What a figure has to reach.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub(crate) struct Bounds {
    pub(crate) better: Better,
    pub(crate) must: f64,
    pub(crate) aim: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Aim,
    Must,
    Missed,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    /// The number of the goal; for what has none, what it belongs to.
    pub(crate) goal: &'static str,
    pub(crate) what: String,
    pub(crate) unit: Unit,
    pub(crate) value: Sampled,
    pub(crate) bounds: Option<Bounds>,
    /// What helps to judge it, such as the rates behind a ratio.
    pub(crate) beside: String,
}

impl Bounds {
    pub(crate) const fn at_least(must: f64, aim: f64) -> Self {
        Self { better: Better::Higher, must, aim }
    }

    pub(crate) const fn at_most(must: f64, aim: f64) -> Self {
        Self { better: Better::Lower, must, aim }
    }

    fn verdict(self, value: f64) -> Verdict {
        let reaches = |bound| match self.better {
            Better::Higher => value >= bound,
            Better::Lower => value <= bound,
        };
        match (reaches(self.aim), reaches(self.must)) {
            (true, _) => Verdict::Aim,
            (false, true) => Verdict::Must,
            (false, false) => Verdict::Missed,
        }
    }
}

impl Figure {
    pub(crate) fn verdict(&self) -> Option<Verdict> {
        self.bounds.map(|bounds| bounds.verdict(self.value.median()))
    }
}

impl Unit {
    /// With as many digits as mean something.
    pub(crate) fn shown(self, value: f64) -> String {
        const KIB: f64 = 1024.0;
        match self {
            Self::Times if value.abs() < 10.0 => format!("{value:.2}x"),
            Self::Times => format!("{value:.1}x"),
            Self::PerSecond => format!("{value:.0}/s"),
            Self::Millis => format!("{value:.2} ms"),
            Self::Seconds => format!("{value:.2} s"),
            Self::Bytes if value.abs() < KIB => format!("{value:.0} B"),
            Self::Bytes if value.abs() < KIB * KIB => format!("{:.1} KiB", value / KIB),
            Self::Bytes => format!("{:.1} MiB", value / KIB / KIB),
        }
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Aim => "aim",
            Self::Must => "must",
            Self::Missed => "MISSED",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_knows_which_way_is_better() {
        let rate = Bounds::at_least(0.5, 0.65);
        assert_eq!([0.7, 0.65, 0.5, 0.49].map(|value| rate.verdict(value)), {
            use Verdict::{Aim, Missed, Must};
            [Aim, Aim, Must, Missed]
        });
        let size = Bounds::at_most(400.0, 250.0);
        assert_eq!([200.0, 300.0, 401.0].map(|value| size.verdict(value)), {
            use Verdict::{Aim, Missed, Must};
            [Aim, Must, Missed]
        });
    }

    #[test]
    fn figures_are_shown_in_their_unit() {
        assert_eq!(Unit::Times.shown(0.5), "0.50x");
        assert_eq!(Unit::PerSecond.shown(12_345.6), "12346/s");
        assert_eq!(Unit::Millis.shown(-0.054), "-0.05 ms");
        assert_eq!(Unit::Bytes.shown(512.0), "512 B");
        assert_eq!(Unit::Bytes.shown(1536.0), "1.5 KiB");
        assert_eq!(Unit::Bytes.shown(12.0 * 1024.0 * 1024.0), "12.0 MiB");
    }
}
