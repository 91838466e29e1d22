//! Laws that hold whatever the operations are.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::ops::TYPED;
use crate::scenario::{Draft, Stage, patch, put};

fn item() -> impl Strategy<Value = Value> {
    prop_oneof![
        (0..4_i64).prop_map(|n| json!(n)),
        (0..4_i32).prop_map(|n| json!(f64::from(n))),
        "[ab]".prop_map(|text| json!(text)),
        Just(json!({"x": 1, "y": [2]})),
        Just(json!(true)),
    ]
}

fn items() -> impl Strategy<Value = Vec<Value>> {
    proptest::collection::vec(item(), 0..4)
}

/// One operation of many kinds, with values that are often nothing.
fn operation() -> impl Strategy<Value = fn(Draft, &[Value]) -> Draft> {
    let blank =
        |draft: Draft, items: &[Value]| draft.set("name", if items.len() > 1 { json!("  ") } else { json!(null) });
    prop_oneof![
        Just((|draft: Draft, items: &[Value]| draft.add("tags", items)) as fn(Draft, &[Value]) -> Draft),
        Just((|draft: Draft, items: &[Value]| draft.append("log", items)) as fn(Draft, &[Value]) -> Draft),
        Just(
            (|draft: Draft, items: &[Value]| draft.increment("hits", json!(items.len())))
                as fn(Draft, &[Value]) -> Draft
        ),
        Just(
            (|draft: Draft, items: &[Value]| draft.merge("o", json!({"n": items.len(), "void": null})))
                as fn(Draft, &[Value]) -> Draft
        ),
        Just(blank as fn(Draft, &[Value]) -> Draft),
    ]
}

/// Roomy enough for whatever is added.
fn fresh() -> Stage {
    let mut stage = Stage::with(&TYPED.replace("max_items = 4", "max_items = 40")).quick();
    stage.ok("ra", put("z/doc", json!({"name": "Lin", "o": {"kept": 1}})));
    stage
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn adding_and_taking_away_in_any_order_gives_the_same_set(parts in proptest::collection::vec(items(), 1..5), removes: bool) {
        let run = |parts: &[Vec<Value>]| {
            let mut stage = Stage::with(TYPED).quick();
            stage.ok("ra", put("z/tags", json!([0, 1, 2, 3, "a", "b"])));
            for part in parts {
                let draft = patch("z/tags");
                stage.ok("rb", if removes { draft.remove("", part).version(stage.entry("z/tags").version.0) } else { draft.add("", part) });
            }
            stage.value("z/tags")
        };
        let backwards: Vec<_> = parts.iter().rev().map(|part| part.iter().rev().cloned().collect()).collect();
        prop_assert_eq!(run(&parts), run(&backwards));
    }

    #[test]
    fn increments_in_any_order_give_the_same_number(mut parts in proptest::collection::vec(-1_000_i64..1_000, 1..8)) {
        let run = |parts: &[i64]| {
            let mut stage = Stage::with(TYPED).quick();
            for part in parts {
                stage.ok("ra", patch("z/hits").increment("", json!(part)));
            }
            stage.value("z/hits")
        };
        let forwards = run(&parts);
        parts.sort_unstable();
        prop_assert_eq!(&forwards, &run(&parts));
        prop_assert_eq!(forwards, json!(parts.iter().sum::<i64>()));
    }

    #[test]
    fn appends_in_any_order_give_the_same_items(parts in proptest::collection::vec(items(), 1..5)) {
        let run = |parts: &[Vec<Value>]| {
            let mut stage = Stage::with(TYPED).quick();
            stage.ok("ra", put("z/log", json!([])));
            for part in parts {
                stage.ok("rb", patch("z/log").append("", part));
            }
            let mut texts: Vec<_> = stage.value("z/log").as_array().expect("a list").iter().map(ToString::to_string).collect();
            texts.sort();
            texts
        };
        let backwards: Vec<_> = parts.iter().rev().cloned().collect();
        prop_assert_eq!(run(&parts), run(&backwards));
    }

    /// And nothing that a patch says without `unset` or `reset` wipes what stands.
    #[test]
    fn many_patches_are_one_patch_of_all_their_operations(steps in proptest::collection::vec((operation(), items()), 1..8)) {
        let mut apart = fresh();
        for (operation, items) in &steps {
            apart.ok("ra", operation(patch("z/doc"), items));
        }
        let mut together = fresh();
        together.ok("ra", steps.iter().fold(patch("z/doc"), |draft, (operation, items)| operation(draft, items)));
        prop_assert_eq!(apart.value("z/doc"), together.value("z/doc"));
        prop_assert_eq!(apart.value("z/doc")["name"].clone(), json!("Lin"));
        prop_assert_eq!(apart.value("z/doc")["o"]["kept"].clone(), json!(1));
        apart.check();
    }
}
