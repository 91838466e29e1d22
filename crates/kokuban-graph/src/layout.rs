//! Where boxes and the links between them go: in layers, from the top down, as few links crossing as it takes.
//!
//! **Invariant**: a function of its arguments, without randomness; boxes and labels never overlap, links go round both;
//! everything has coordinates from 0 to `width` and `height`.
//! Not known here: what boxes and links stand for. The steps, in their order: `layers`, `order`, `place`.

mod layers;
mod order;
mod place;

use self::layers::Ladder;

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Size {
    pub(crate) width: f64,
    pub(crate) height: f64,
}

#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Point {
    pub(crate) x: f64,
    pub(crate) y: f64,
}

/// Between two different boxes. Those given first are rather drawn downwards than later ones.
#[derive(Debug, Clone)]
pub(crate) struct Link {
    pub(crate) from: usize,
    pub(crate) to: usize,
    pub(crate) label: Option<Size>,
}

#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub(crate) size: Size,
    /// As they came, or wider, where many links end at one.
    pub(crate) boxes: Vec<Placed>,
    pub(crate) routes: Vec<Route>,
}

/// A box around its middle.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Placed {
    pub(crate) middle: Point,
    pub(crate) size: Size,
}

/// The way of a link, from its first box to its second.
#[derive(Debug, Default)]
pub(crate) struct Route {
    /// Two for each layer that it touches: straight through it, then in a curve, upright at both ends, to the next one.
    pub(crate) points: Vec<Point>,
    /// The middle of its label.
    pub(crate) label: Option<Point>,
}

/// Room that a link takes where it reaches a box.
const PORT: f64 = 14.0;

/// Lays out boxes of these sizes.
pub(crate) fn lay_out(sizes: &[Size], links: &[Link]) -> Layout {
    let sizes: Vec<_> = sizes.iter().enumerate().map(|(n, size)| widened(n, *size, links)).collect();
    let mut ladder = Ladder::new(&sizes, links);
    order::reduce_crossings(&mut ladder);
    place::place(&ladder, &sizes, links)
}

fn widened(n: usize, size: Size, links: &[Link]) -> Size {
    // A link may reach a box at its top or bottom; how many do at either is known only later.
    let links = links.iter().filter(|link| link.from == n || link.to == n).count();
    let links = f64::from(u32::try_from(links).unwrap_or(u32::MAX));
    Size { width: size.width.max(PORT * links), ..size }
}
