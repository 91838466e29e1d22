//! Figures from samples: medians, percentiles, and how far slices lie apart.
//!
//! Invariant: a figure of no samples is no figure (`None`), never 0.

/// A number that was measured several times.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Sampled {
    samples: Vec<f64>,
}

impl Sampled {
    /// `None` without samples, or where one of them is no number.
    pub(crate) fn of(samples: impl IntoIterator<Item = f64>) -> Option<Self> {
        let samples: Vec<f64> = samples.into_iter().collect();
        let sound = !samples.is_empty() && samples.iter().all(|sample| sample.is_finite());
        sound.then_some(Self { samples })
    }

    pub(crate) fn samples(&self) -> &[f64] {
        &self.samples
    }

    pub(crate) fn median(&self) -> f64 {
        let sorted = self.sorted();
        let middle = sorted.len() / 2;
        if sorted.len() % 2 == 1 { sorted[middle] } else { f64::midpoint(sorted[middle - 1], sorted[middle]) }
    }

    pub(crate) fn min(&self) -> f64 {
        self.sorted()[0]
    }

    pub(crate) fn max(&self) -> f64 {
        self.sorted()[self.samples.len() - 1]
    }

    fn sorted(&self) -> Vec<f64> {
        let mut sorted = self.samples.clone();
        sorted.sort_by(f64::total_cmp);
        sorted
    }
}

/// The sample below which `percent` of all lie (nearest rank). Sorts them.
pub(crate) fn percentile(samples: &mut [u64], percent: usize) -> Option<u64> {
    samples.sort_unstable();
    let rank = (samples.len() * percent).div_ceil(100).max(1);
    samples.get(rank - 1).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_of_an_even_number_lies_between_the_two_in_the_middle() {
        let of = |samples: &[f64]| Sampled::of(samples.iter().copied()).expect("samples");
        assert!((of(&[3.0, 1.0, 2.0]).median() - 2.0).abs() < 1e-9);
        let four = of(&[4.0, 1.0, 2.0, 3.0]);
        assert!((four.median() - 2.5).abs() < 1e-9);
        assert!((four.min() - 1.0).abs() < 1e-9 && (four.max() - 4.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_and_what_is_no_number_are_no_figure() {
        assert_eq!(Sampled::of([]), None);
        assert_eq!(Sampled::of([1.0, f64::NAN]), None);
        assert_eq!(Sampled::of([1.0 / 0.0]), None);
    }

    #[test]
    fn percentiles_are_samples() {
        let mut hundred: Vec<u64> = (1..=100).rev().collect();
        assert_eq!(percentile(&mut hundred, 50), Some(50));
        assert_eq!(percentile(&mut hundred, 99), Some(99));
        assert_eq!(percentile(&mut [7], 99), Some(7));
        assert_eq!(percentile(&mut [], 50), None);
    }
}
