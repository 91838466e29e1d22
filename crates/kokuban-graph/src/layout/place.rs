//! Coordinates: across, as straight as the order allows; down, with room for links that go far across.
//!
//! **Invariant**: items of a layer keep their order and their distance. In each layer the sum of squared distances from
//! what is wanted is the least possible, by pooling items that would overlap.
//! Not known here: drawing.

use super::layers::{Item, Kind, Ladder};
use super::{Layout, Link, PORT, Placed, Point, Route, Size};

/// Between boxes side by side, between links that pass, and between layers.
const BOX_GAP: f64 = 30.0;
const BEND_GAP: f64 = 16.0;
const LAYER_GAP: f64 = 16.0;
const LAYER_GAP_MAX: f64 = 80.0;
/// Part of the distance across that is added to the distance down.
const SLOPE: f64 = 0.16;
const ROUNDS: usize = 24;
const STRAIGHTENINGS: usize = 4;

pub(super) fn place(ladder: &Ladder, sizes: &[Size], links: &[Link]) -> Layout {
    let ports = Ports::new(ladder);
    let xs = across(ladder, &ports);
    let left = edges(ladder, &xs, -0.5).fold(f64::INFINITY, f64::min);
    let right = edges(ladder, &xs, 0.5).fold(f64::NEG_INFINITY, f64::max);
    if !left.is_finite() {
        return Layout::default();
    }
    let xs: Vec<_> = xs.into_iter().map(|x| x - left).collect();
    let bands = down(ladder, &ports, &xs);
    let height = bands.last().map_or(0.0, |band| band.1);
    let middle = |item: usize, layer: usize| Point { x: xs[item], y: f64::midpoint(bands[layer].0, bands[layer].1) };
    let mut layers = vec![0; ladder.items.len()];
    for (n, layer) in ladder.layers.iter().enumerate() {
        layer.iter().for_each(|item| layers[*item] = n);
    }
    let boxes = sizes.iter().enumerate().map(|(n, size)| Placed { middle: middle(n, layers[n]), size: *size });
    let routes = ladder.chains.iter().enumerate().map(|(n, chain)| {
        let mut points = Vec::new();
        for (k, item) in chain.iter().enumerate() {
            let (mut top, mut bottom) = bands[layers[*item]];
            let mut x = xs[*item];
            let (y, half) = (middle(*item, layers[*item]).y, ladder.items[*item].size.height / 2.0);
            if k == 0 {
                (x, top) = (x + ports.upper[n], y + half);
            }
            if k + 1 == chain.len() {
                (x, bottom) = (x + ports.lower[n], y - half);
            }
            points.extend([Point { x, y: top }, Point { x, y: bottom }]);
        }
        let label = chain.iter().find(|item| matches!(ladder.items[**item].kind, Kind::Label(_)));
        if ladder.backward[n] {
            points.reverse();
        }
        Route { points, label: label.map(|item| middle(*item, layers[*item])) }
    });
    debug_assert_eq!(links.len(), ladder.chains.len());
    Layout { size: Size { width: right - left, height }, boxes: boxes.collect(), routes: routes.collect() }
}

/// The left or right ends of all items.
fn edges<'l>(ladder: &'l Ladder, xs: &'l [f64], side: f64) -> impl Iterator<Item = f64> + 'l {
    ladder.items.iter().zip(xs).map(move |(item, x)| x + side * item.size.width)
}

/// Where along its top and bottom each box is reached by each link, from its middle.
#[derive(Debug)]
struct Ports {
    /// For each link, at its upper and at its lower box.
    upper: Vec<f64>,
    lower: Vec<f64>,
    lengths: Vec<usize>,
}

impl Ports {
    fn new(ladder: &Ladder) -> Self {
        let mut places = vec![0; ladder.items.len()];
        for layer in &ladder.layers {
            layer.iter().enumerate().for_each(|(place, item)| places[*item] = place);
        }
        let lengths: Vec<_> = ladder.chains.iter().map(Vec::len).collect();
        let spread = |at: usize, next: usize, from_end: bool| {
            let pick = |chain: &Vec<usize>, k: usize| if from_end { chain[chain.len() - 1 - k] } else { chain[k] };
            let mut offsets = vec![0.0; ladder.chains.len()];
            for (n, item) in ladder.items.iter().enumerate() {
                let Kind::Box(_) = item.kind else { continue };
                let mut links: Vec<_> =
                    (0..ladder.chains.len()).filter(|l| pick(&ladder.chains[*l], at) == n).collect();
                links.sort_by_key(|link| (places[pick(&ladder.chains[*link], next)], *link));
                for (offset, link) in even(links.len(), item.size.width).zip(links) {
                    offsets[link] = offset;
                }
            }
            offsets
        };
        Self { upper: spread(0, 1, false), lower: spread(0, 1, true), lengths }
    }

    /// Of the item in place `k` of a chain, towards the next one.
    fn below(&self, link: usize, k: usize) -> f64 {
        if k == 0 { self.upper[link] } else { 0.0 }
    }

    /// Of the item in place `k` of a chain, towards the one before.
    fn above(&self, link: usize, k: usize) -> f64 {
        if k + 1 == self.lengths[link] { self.lower[link] } else { 0.0 }
    }
}

/// `n` places side by side around a middle.
fn even(n: usize, width: f64) -> impl Iterator<Item = f64> {
    let number = |n: usize| f64::from(u32::try_from(n).unwrap_or(u32::MAX));
    let room = number(n.saturating_sub(1)).max(1.0);
    let pitch = (2.0 * PORT).min((width - PORT) / room).max(1.0);
    (0..n).map(move |k| (number(k) - number(n - 1) / 2.0) * pitch)
}

/// What pulls an item: another one, where it would have to be for a straight segment, and how strongly.
type Pull = (usize, f64, f64);

fn across(ladder: &Ladder, ports: &Ports) -> Vec<f64> {
    let mut above: Vec<Vec<Pull>> = vec![Vec::new(); ladder.items.len()];
    let mut below = above.clone();
    for (link, chain) in ladder.chains.iter().enumerate() {
        for (k, pair) in chain.windows(2).enumerate() {
            let offset = ports.below(link, k) - ports.above(link, k + 1);
            let weight = weight(&ladder.items[pair[0]], &ladder.items[pair[1]]);
            above[pair[1]].push((pair[0], offset, weight));
            below[pair[0]].push((pair[1], -offset, weight));
        }
    }
    let mut xs = vec![0.0; ladder.items.len()];
    for layer in &ladder.layers {
        settle(ladder, layer, &mut xs, &[]);
    }
    for _ in 0..ROUNDS {
        for layer in &ladder.layers {
            settle(ladder, layer, &mut xs, &[&above]);
        }
        for layer in ladder.layers.iter().rev() {
            settle(ladder, layer, &mut xs, &[&below]);
        }
    }
    for _ in 0..ROUNDS {
        for layer in &ladder.layers {
            settle(ladder, layer, &mut xs, &[&above, &below]);
        }
    }
    for _ in 0..STRAIGHTENINGS {
        straighten(ladder, &mut xs);
    }
    xs
}

/// Takes small turns out of long links: as many items one below the other as their neighbours leave room for.
fn straighten(ladder: &Ladder, xs: &mut [f64]) {
    let mut neighbours = vec![(None, None); ladder.items.len()];
    for layer in &ladder.layers {
        for pair in layer.windows(2) {
            neighbours[pair[0]].1 = Some(pair[1]);
            neighbours[pair[1]].0 = Some(pair[0]);
        }
    }
    for chain in &ladder.chains {
        let mut run = Run::default();
        for item in &chain[1..chain.len() - 1] {
            let at = |other: usize| distance(&ladder.items[other], &ladder.items[*item]);
            let (left, right) = neighbours[*item];
            let least = left.map_or(f64::NEG_INFINITY, |left| xs[left] + at(left));
            let most = right.map_or(f64::INFINITY, |right| xs[right] - at(right));
            if run.least.max(least) > run.most.min(most) {
                run.align(xs);
                run = Run::default();
            }
            run.least = run.least.max(least);
            run.most = run.most.min(most);
            run.items.push(*item);
        }
        run.align(xs);
    }
}

/// Items of a link that can stand one below the other, and between which places.
struct Run {
    items: Vec<usize>,
    least: f64,
    most: f64,
}

impl Default for Run {
    fn default() -> Self {
        Self { items: Vec::new(), least: f64::NEG_INFINITY, most: f64::INFINITY }
    }
}

impl Run {
    fn align(&self, xs: &mut [f64]) {
        let number = f64::from(u32::try_from(self.items.len()).unwrap_or(u32::MAX));
        let mean = self.items.iter().map(|item| xs[*item]).sum::<f64>() / number;
        for item in &self.items {
            xs[*item] = mean.max(self.least).min(self.most);
        }
    }
}

/// Long links are kept straight first.
fn weight(one: &Item, other: &Item) -> f64 {
    let boxes = [one, other].iter().filter(|item| matches!(item.kind, Kind::Box(_))).count();
    match boxes {
        0 => 8.0,
        1 => 2.0,
        _ => 1.0,
    }
}

/// Moves the items of a layer to where `pulls` want them, as far as their order and distances allow.
fn settle(ladder: &Ladder, layer: &[usize], xs: &mut [f64], pulls: &[&Vec<Vec<Pull>>]) {
    // Distances are taken away first; then no item may be left of the one before it, and neighbours that want that are
    // pooled to their common mean.
    let mut pools: Vec<(f64, f64, usize)> = Vec::new();
    let mut before = Vec::with_capacity(layer.len());
    let mut room = 0.0;
    for (place, item) in layer.iter().enumerate() {
        if place > 0 {
            room += distance(&ladder.items[layer[place - 1]], &ladder.items[*item]);
        }
        before.push(room);
        let of = pulls.iter().flat_map(|side| &side[*item]);
        let (sum, weight) = of.fold((0.0, 0.0), |(sum, weight), (other, offset, pull)| {
            (sum + (xs[*other] + offset) * pull, weight + pull)
        });
        let (wanted, weight) = if weight > 0.0 { (sum / weight, weight) } else { (xs[*item], 0.1) };
        pools.push(((wanted - room) * weight, weight, 1));
        while let [.., left, right] = pools[..] {
            if left.0 / left.1 <= right.0 / right.1 {
                break;
            }
            pools.truncate(pools.len() - 2);
            pools.push((left.0 + right.0, left.1 + right.1, left.2 + right.2));
        }
    }
    let places = pools.iter().flat_map(|(sum, weight, n)| std::iter::repeat_n(sum / weight, *n));
    for ((item, place), room) in layer.iter().zip(places).zip(before) {
        xs[*item] = place + room;
    }
}

/// Between the middles of two items side by side.
fn distance(left: &Item, right: &Item) -> f64 {
    let boxes = [left, right].iter().all(|item| matches!(item.kind, Kind::Box(_)));
    f64::midpoint(left.size.width, right.size.width) + if boxes { BOX_GAP } else { BEND_GAP }
}

/// The top and bottom of each layer.
fn down(ladder: &Ladder, ports: &Ports, xs: &[f64]) -> Vec<(f64, f64)> {
    let mut farthest = vec![0.0_f64; ladder.layers.len()];
    let mut layers = vec![0; ladder.items.len()];
    for (n, layer) in ladder.layers.iter().enumerate() {
        layer.iter().for_each(|item| layers[*item] = n);
    }
    for (link, chain) in ladder.chains.iter().enumerate() {
        for (k, pair) in chain.windows(2).enumerate() {
            let from = xs[pair[0]] + ports.below(link, k);
            let to = xs[pair[1]] + ports.above(link, k + 1);
            let layer = layers[pair[0]];
            farthest[layer] = farthest[layer].max((to - from).abs());
        }
    }
    let mut y = 0.0;
    let band = |(layer, farthest): (&Vec<usize>, &f64)| {
        let height = layer.iter().map(|item| ladder.items[*item].size.height).fold(0.0, f64::max);
        let band = (y, y + height);
        y += height + (LAYER_GAP + SLOPE * farthest).min(LAYER_GAP_MAX);
        band
    };
    ladder.layers.iter().zip(&farthest).map(band).collect()
}
