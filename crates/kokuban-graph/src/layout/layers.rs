//! Which layer each box is in, and the chains of items that stand for links in the layers between.
//!
//! **Invariant**: every segment leads from a layer to the next; a link with a label has an item for it in a layer
//! between its boxes. Links that would go round in circles are followed backwards.
//! Not known here: the order within a layer.

use super::{Link, Size};

/// What stands in a layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Box(usize),
    /// A link passes.
    Bend,
    /// The label of this link, which goes through it.
    Label(usize),
}

#[derive(Debug)]
pub(super) struct Item {
    pub(super) kind: Kind,
    pub(super) size: Size,
    /// Items of the layer above, and below, that a segment joins with this one, in the order of the links.
    pub(super) above: Vec<usize>,
    pub(super) below: Vec<usize>,
}

/// Items in layers.
#[derive(Debug)]
pub(super) struct Ladder {
    pub(super) items: Vec<Item>,
    pub(super) layers: Vec<Vec<usize>>,
    /// The items of each link, from the upper box to the lower.
    pub(super) chains: Vec<Vec<usize>>,
    /// Whether a link leads from the lower box to the upper.
    pub(super) backward: Vec<bool>,
}

impl Ladder {
    pub(super) fn new(sizes: &[Size], links: &[Link]) -> Self {
        let backward = backward(sizes.len(), links);
        let ranks = ranks(sizes.len(), links, &backward);
        let n_layers = ranks.iter().max().map_or(0, |last| last + 1);
        let mut ladder = Self { items: Vec::new(), layers: vec![Vec::new(); n_layers], chains: Vec::new(), backward };
        for (n, size) in sizes.iter().enumerate() {
            ladder.add(Kind::Box(n), *size, ranks[n]);
        }
        for (n, link) in links.iter().enumerate() {
            let (upper, lower) = ladder.ends(n, link);
            let (first, last) = (ranks[upper], ranks[lower]);
            // Boxes rather stand in every second layer, so labels have the others to themselves.
            let labelled = first + (((last - first) / 2) | 1);
            let mut chain = vec![upper];
            for layer in first + 1..last {
                let (kind, size) = match link.label {
                    Some(size) if layer == labelled => (Kind::Label(n), size),
                    _ => (Kind::Bend, Size::default()),
                };
                chain.push(ladder.add(kind, size, layer));
            }
            chain.push(lower);
            for pair in chain.windows(2) {
                ladder.items[pair[0]].below.push(pair[1]);
                ladder.items[pair[1]].above.push(pair[0]);
            }
            ladder.chains.push(chain);
        }
        ladder
    }

    /// The upper and the lower box of a link; a box is the item of its own number.
    pub(super) fn ends(&self, n: usize, link: &Link) -> (usize, usize) {
        if self.backward[n] { (link.to, link.from) } else { (link.from, link.to) }
    }

    fn add(&mut self, kind: Kind, size: Size, layer: usize) -> usize {
        self.items.push(Item { kind, size, above: Vec::new(), below: Vec::new() });
        let item = self.items.len() - 1;
        self.layers[layer].push(item);
        item
    }
}

/// Layers from one box of a link to the other at least: one between them for a label.
fn span(link: &Link) -> usize {
    if link.label.is_some() { 2 } else { 1 }
}

/// The links that lead back to a box from which one came.
fn backward(n_boxes: usize, links: &[Link]) -> Vec<bool> {
    #[derive(Clone, Copy, PartialEq)]
    enum Seen {
        Not,
        OnTheWay,
        Done,
    }
    fn visit(at: usize, links: &[Link], seen: &mut [Seen], backward: &mut [bool]) {
        seen[at] = Seen::OnTheWay;
        for (n, link) in links.iter().enumerate().filter(|(_, link)| link.from == at) {
            match seen[link.to] {
                Seen::Not => visit(link.to, links, seen, backward),
                Seen::OnTheWay => backward[n] = true,
                Seen::Done => {}
            }
        }
        seen[at] = Seen::Done;
    }
    let mut seen = vec![Seen::Not; n_boxes];
    let mut backward = vec![false; links.len()];
    for start in 0..n_boxes {
        if seen[start] == Seen::Not {
            visit(start, links, &mut seen, &mut backward);
        }
    }
    backward
}

/// As high as the links above allow; what has nothing above stands right over what it leads to.
fn ranks(n_boxes: usize, links: &[Link], backward: &[bool]) -> Vec<usize> {
    let directed = |(n, link): (usize, &Link)| {
        let (from, to) = if backward[n] { (link.to, link.from) } else { (link.from, link.to) };
        (from, to, span(link))
    };
    let directed: Vec<_> = links.iter().enumerate().map(directed).collect();
    // Without circles, as many rounds as there are boxes reach every rank.
    let mut ranks = vec![0; n_boxes];
    for _ in 0..n_boxes {
        let before = ranks.clone();
        for (from, to, span) in &directed {
            ranks[*to] = ranks[*to].max(ranks[*from] + span);
        }
        if ranks == before {
            break;
        }
    }
    for n in 0..n_boxes {
        let below = directed.iter().filter(|(from, ..)| *from == n).map(|(_, to, span)| ranks[*to] - span).min();
        let is_first = directed.iter().all(|(_, to, _)| *to != n);
        if let (true, Some(rank)) = (is_first, below) {
            ranks[n] = rank;
        }
    }
    let highest = ranks.iter().min().copied().unwrap_or(0);
    ranks.into_iter().map(|rank| rank - highest).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn link(from: usize, to: usize) -> Link {
        Link { from, to, label: Some(Size { width: 10.0, height: 10.0 }) }
    }

    #[test]
    fn what_leads_back_is_followed_backwards_and_labels_stand_between() {
        let sizes = vec![Size::default(); 3];
        let ladder = Ladder::new(&sizes, &[link(0, 1), link(1, 2), link(2, 0)]);
        assert_eq!(ladder.backward, [false, false, true]);
        let layers: Vec<usize> = ladder.layers.iter().map(Vec::len).collect();
        // Two boxes at the ends, one in the middle; the link back passes three layers, one of them with its label.
        assert_eq!(layers, [1, 2, 2, 2, 1]);
        assert_eq!(ladder.chains[2].len(), 5);
        let labels = ladder.items.iter().filter(|item| matches!(item.kind, Kind::Label(_))).count();
        assert_eq!(labels, 3);
    }

    #[test]
    fn what_nothing_leads_to_stands_right_over_its_first_goal() {
        let plain = |from, to| Link { from, to, label: None };
        let sizes = vec![Size::default(); 4];
        let ladder = Ladder::new(&sizes, &[link(0, 1), link(1, 2), plain(3, 2)]);
        assert!(ladder.layers[3].contains(&3), "{:?}", ladder.layers);
    }
}
