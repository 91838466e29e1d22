//! The order within each layer, with few crossings.
//!
//! **Invariant**: the same items for the same ladder, in the same order; what is found is never worse than what was
//! there. Known ways: each item goes to the mean place of its neighbours, layer by layer, down and up, then neighbours
//! change places where that helps.
//! Not known here: coordinates.

use super::layers::{Item, Ladder};

/// Sweeps over all layers; the best of them counts, and few are ever needed.
const SWEEPS: usize = 24;
/// Rounds in which neighbours change places.
const SWAPS: usize = 16;

pub(super) fn reduce_crossings(ladder: &mut Ladder) {
    let mut order = Order::of(ladder);
    let mut least = order.crossings();
    let mut best = order.layers.clone();
    for sweep in 0..SWEEPS {
        if least == 0 {
            break;
        }
        let n_layers = order.layers.len();
        if sweep % 2 == 0 {
            (1..n_layers).for_each(|n| order.sort(n, |item| &item.above));
        } else {
            (0..n_layers - 1).rev().for_each(|n| order.sort(n, |item| &item.below));
        }
        order.swap_neighbours();
        let found = order.crossings();
        if found < least {
            least = found;
            best.clone_from(&order.layers);
        }
    }
    ladder.layers = best;
}

struct Order<'l> {
    items: &'l [Item],
    layers: Vec<Vec<usize>>,
    /// Of each item in its layer.
    places: Vec<usize>,
}

impl<'l> Order<'l> {
    fn of(ladder: &'l Ladder) -> Self {
        let layers = ladder.layers.clone();
        let mut order = Self { items: &ladder.items, layers, places: vec![0; ladder.items.len()] };
        (0..order.layers.len()).for_each(|n| order.note_places(n));
        order
    }

    fn note_places(&mut self, layer: usize) {
        for (place, item) in self.layers[layer].iter().enumerate() {
            self.places[*item] = place;
        }
    }

    /// Sorts a layer by the mean places of the neighbours of its items.
    fn sort(&mut self, layer: usize, neighbours: impl Fn(&'l Item) -> &'l Vec<usize>) {
        let number = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
        let wanted = |item: &usize| {
            let of = neighbours(&self.items[*item]);
            let sum: usize = of.iter().map(|neighbour| self.places[*neighbour]).sum();
            let mean = if of.is_empty() { number(self.places[*item]) } else { number(sum) / number(of.len()) };
            (mean, *item)
        };
        let mut wanted: Vec<_> = self.layers[layer].iter().map(wanted).collect();
        wanted.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        self.layers[layer] = wanted.into_iter().map(|(_, item)| item).collect();
        self.note_places(layer);
    }

    fn swap_neighbours(&mut self) {
        for _ in 0..SWAPS {
            let mut better = false;
            for n in 0..self.layers.len() {
                for place in 1..self.layers[n].len() {
                    let (left, right) = (self.layers[n][place - 1], self.layers[n][place]);
                    if self.cost(right, left) < self.cost(left, right) {
                        self.layers[n].swap(place - 1, place);
                        self.places.swap(left, right);
                        better = true;
                    }
                }
            }
            if !better {
                break;
            }
        }
    }

    /// Crossings between the segments of an item and those of the one right of it.
    fn cost(&self, left: usize, right: usize) -> usize {
        let (left, right) = (&self.items[left], &self.items[right]);
        let over = |left: &[usize], right: &[usize]| -> usize {
            let left_of = |one: &usize| right.iter().filter(|other| self.places[**other] < self.places[*one]).count();
            left.iter().map(left_of).sum()
        };
        over(&left.above, &right.above) + over(&left.below, &right.below)
    }

    fn crossings(&self) -> usize {
        let between = |pair: &[Vec<usize>]| {
            let mut ends = Vec::new();
            for item in &pair[0] {
                let mut of: Vec<_> = self.items[*item].below.iter().map(|below| self.places[*below]).collect();
                of.sort_unstable();
                ends.extend(of);
            }
            inversions(&ends, pair[1].len())
        };
        self.layers.windows(2).map(between).sum()
    }
}

/// How many pairs of numbers below `end` stand the wrong way round, by a tree of counts.
fn inversions(numbers: &[usize], end: usize) -> usize {
    let mut counts = vec![0; end + 1];
    let mut found = 0;
    for (seen, number) in numbers.iter().enumerate() {
        let mut not_larger = 0;
        let mut at = number + 1;
        while at > 0 {
            not_larger += counts[at];
            at &= at - 1;
        }
        found += seen - not_larger;
        at = number + 1;
        while at <= end {
            counts[at] += 1;
            at += at & at.wrapping_neg();
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::{Link, Size};
    use super::*;

    #[test]
    fn inversions_are_counted() {
        assert_eq!(inversions(&[0, 1, 2], 3), 0);
        assert_eq!(inversions(&[2, 1, 0], 3), 3);
        assert_eq!(inversions(&[1, 1, 0, 2], 3), 2);
    }

    #[test]
    fn links_that_can_be_drawn_without_crossing_are() {
        // 0 leads to 2, 3 and 4; 1 leads to 5; given so that the first order crosses.
        let plain = |from, to| Link { from, to, label: None };
        let links = [plain(1, 2), plain(0, 3), plain(0, 4), plain(1, 5)];
        let mut ladder = Ladder::new(&[Size::default(); 6], &links);
        assert!(Order::of(&ladder).crossings() > 0);
        reduce_crossings(&mut ladder);
        assert_eq!(Order::of(&ladder).crossings(), 0);
    }
}
