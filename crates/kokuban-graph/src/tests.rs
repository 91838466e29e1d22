//! Pictures of real blueprints and of an odd one, as they are kept beside them, and of many random ones.

use std::fs;
use std::path::{Path, PathBuf};

use kokuban_core::blueprint::{Blueprint, builtin};
use proptest::prelude::*;

use super::*;
use crate::layout::{Layout, Link, Placed, Point, Size, lay_out};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn blueprint(path: &str) -> Blueprint {
    Blueprint::from_toml(&read(path)).unwrap_or_else(|flaws| panic!("{path}: {flaws:?}"))
}

/// Compares with the file that is kept; `KOKUBAN_BLESS=1` writes it.
fn is_kept(path: &str, picture: &str) {
    if std::env::var_os("KOKUBAN_BLESS").is_some() {
        fs::write(root().join(path), picture).unwrap();
    }
    assert!(
        read(path) == picture,
        "{path} is not what is drawn now: look at it, then `KOKUBAN_BLESS=1` or `cargo xtask docs`"
    );
}

#[test]
fn the_pictures_of_the_documents_are_up_to_date() {
    let files = fs::read_dir(root().join("config/blueprints")).unwrap().map(|file| file.unwrap().path());
    let names: Vec<_> = files.map(|path| path.file_stem().unwrap().to_str().unwrap().to_owned()).collect();
    assert!(["default", "pipeline", "requirements"].iter().all(|known| names.contains(&(*known).to_owned())));
    for name in names {
        let blueprint = blueprint(&format!("config/blueprints/{name}.toml"));
        is_kept(&format!("docs/pictures/{name}.svg"), &svg(&blueprint, &charts(&blueprint, None)));
    }
}

#[test]
fn all_forms_of_an_odd_blueprint_are_as_they_are_kept() {
    let folder = "crates/kokuban-graph/golden";
    let odd = blueprint(&format!("{folder}/odd.toml"));
    let all = charts(&odd, None);
    is_kept(&format!("{folder}/odd.svg"), &svg(&odd, &all));
    is_kept(&format!("{folder}/odd.dot"), &dot(&odd, &all));
    is_kept(&format!("{folder}/odd.mmd"), &mermaid(&odd, &all));
}

#[test]
fn a_picture_is_whole_xml_that_names_everything_and_loads_nothing() {
    let odd = blueprint("crates/kokuban-graph/golden/odd.toml");
    let all = charts(&odd, None);
    let picture = svg(&odd, &all);
    let xml = roxmltree::Document::parse(&picture).expect("it is XML");
    let text_of = |name| xml.root_element().children().find(|node| node.has_tag_name(name)).unwrap().text().unwrap();
    assert_eq!(text_of("title"), "Lifecycles of the blueprint odd: <b>&\"x\"");
    let description = text_of("desc");
    for chart in &all {
        for state in &chart.states {
            assert!(description.contains(&state.name), "{}", state.name);
        }
        for arrow in &chart.arrows {
            assert!(description.contains(&chart.sentence(arrow)), "{arrow:?}");
            let tip = xml.descendants().any(|node| node.text() == Some(&chart.sentence(arrow)));
            assert!(tip, "the pointer does not tell {arrow:?}");
        }
    }
    for word in ["href", "url(", "@import", "<script", "<image", "<foreignObject"] {
        assert!(!picture.contains(word), "{word}");
    }
}

#[test]
fn one_lifecycle_is_drawn_if_one_is_asked_for() {
    let pipeline = builtin("pipeline").unwrap();
    let name = pipeline.lifecycles.keys().next().unwrap();
    let one = charts(&pipeline, Some(name));
    assert_eq!((one.len(), one[0].name.as_str()), (1, "approval"));
    assert!(!svg(&pipeline, &one).contains("intake"));
}

#[test]
fn the_fullest_table_is_drawn_with_every_move() {
    let name = |n: usize| format!("{}{n}", "界".repeat(30));
    let statuses: Vec<_> = (0..64).map(name).collect();
    let pairs = (0..64).flat_map(|from| (0..64).map(move |to| (from, to))).filter(|(from, to)| from != to);
    let rows: Vec<_> = pairs
        .filter(|(from, to)| (from * 7 + to * 3) % 4 == 0)
        .take(1_000)
        .map(|(from, to)| format!("{{from=\"{}\",to=\"{}\"}}", statuses[from], statuses[to]))
        .collect();
    let text = format!(
        "name=\"full\"\n[lifecycles.full]\ninitial=[\"{}\"]\ntransitions=[{}]\n[zones.z]\nlifecycle=\"full\"\n",
        statuses[0],
        rows.join(",\n")
    );
    let full = Blueprint::from_toml(&text).expect("within the bounds of blueprints");
    let picture = svg(&full, &charts(&full, None));
    assert!(roxmltree::Document::parse(&picture).is_ok());
    assert_eq!(picture.matches("class=\"line\"").count(), rows.len() + 2, "each move, one start, one in the legend");
}

/// Sizes of boxes, and links between them.
fn diagrams() -> impl Strategy<Value = (Vec<Size>, Vec<Link>)> {
    let size = (10.0..200.0, 10.0..60.0).prop_map(|(width, height)| Size { width, height });
    let label = proptest::option::weighted(0.8, size.clone());
    proptest::collection::vec(size, 1..12).prop_flat_map(move |boxes| {
        let n = boxes.len();
        let link = (0..n, 0..n, label.clone()).prop_filter_map("a link joins two boxes", |(from, to, label)| {
            (from != to).then_some(Link { from, to, label })
        });
        let links = if n > 1 { proptest::collection::vec(link, 0..24).boxed() } else { Just(Vec::new()).boxed() };
        (Just(boxes), links)
    })
}

fn overlap(one: &Placed, other: &Placed) -> bool {
    let (dx, dy) = (one.middle.x - other.middle.x, one.middle.y - other.middle.y);
    let (width, height) = (one.size.width + other.size.width, one.size.height + other.size.height);
    dx.abs() * 2.0 < width - 0.01 && dy.abs() * 2.0 < height - 0.01
}

/// Whether an upright line enters the inside of a box.
fn cuts(placed: &Placed, from: Point, to: Point) -> bool {
    let (top, bottom) = (from.y.min(to.y), from.y.max(to.y));
    let across = (placed.middle.x - from.x).abs() * 2.0 < placed.size.width - 0.01;
    let along = placed.middle.y - placed.size.height / 2.0 < bottom - 0.01
        && top + 0.01 < placed.middle.y + placed.size.height / 2.0;
    across && along
}

fn check(sizes: &[Size], links: &[Link]) -> Result<(), TestCaseError> {
    let Layout { size, boxes, routes } = lay_out(sizes, links);
    prop_assert_eq!((boxes.len(), routes.len()), (sizes.len(), links.len()));
    let labels: Vec<_> = links.iter().zip(&routes).map(|(link, route)| placed(link.label, route.label)).collect();
    let all: Vec<_> = boxes.iter().copied().chain(labels.iter().copied().flatten()).collect();
    for (n, one) in all.iter().enumerate() {
        prop_assert!(all[n + 1..].iter().all(|other| !overlap(one, other)), "{one:?} lies under another");
        let (half_width, half_height) = (one.size.width / 2.0, one.size.height / 2.0);
        let inside = |at: f64, half: f64, end: f64| at - half > -0.01 && at + half < end + 0.01;
        prop_assert!(inside(one.middle.x, half_width, size.width) && inside(one.middle.y, half_height, size.height));
    }
    for (n, (link, route)) in links.iter().zip(&routes).enumerate() {
        prop_assert_eq!(link.label.is_some(), route.label.is_some());
        let ends = [(link.from, route.points[0]), (link.to, *route.points.last().unwrap())];
        for (end, point) in ends {
            let placed = &boxes[end];
            let to_border = ((point.y - placed.middle.y).abs() - placed.size.height / 2.0).abs();
            prop_assert!(to_border < 0.01 && (point.x - placed.middle.x).abs() * 2.0 <= placed.size.width + 0.01);
        }
        for pair in route.points.chunks(2) {
            prop_assert!((pair[0].x - pair[1].x).abs() < 0.01, "straight through a layer");
            let others =
                labels.iter().enumerate().filter(|(other, _)| *other != n).filter_map(|(_, label)| label.as_ref());
            let all = boxes.iter().chain(others);
            prop_assert!(all.copied().all(|placed| !cuts(&placed, pair[0], pair[1])), "a link cuts a box or a label");
        }
    }
    Ok(())
}

fn placed(size: Option<Size>, middle: Option<Point>) -> Option<Placed> {
    Some(Placed { middle: middle?, size: size? })
}

proptest! {
    #[test]
    fn nothing_overlaps_and_no_link_cuts_a_box((sizes, links) in diagrams()) {
        check(&sizes, &links)?;
    }
}
