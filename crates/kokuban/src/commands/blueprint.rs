//! `kokuban blueprint graph`, and how every command reads a blueprint from a file.
//!
//! Invariant: a flawed file is refused with all its flaws and their lines; what is drawn is what a server would enforce.
//! Not known here: how it is drawn; `kokuban_graph` does that.

use std::path::Path;
use std::sync::Arc;

use kokuban_core::blueprint::{Blueprint, builtin, builtin_names};
use kokuban_core::ids::LifecycleName;

use super::value::{self, Kind};
use crate::args::{BlueprintCommand, ClientArgs, GraphForm};
use crate::caller;
use crate::failure::{Failure, Outcome};
use crate::output::print;

pub(crate) async fn run(command: BlueprintCommand, client: &ClientArgs) -> Outcome {
    let BlueprintCommand::Graph { source, lifecycle, format } = command;
    let blueprint = match source {
        Some(source) => named(&source)?,
        None if client.board.is_some() => Arc::new(of_board(client).await?),
        None => return Err(Failure::usage(format!("which blueprint? {}, or --board for that of a board", known()))),
    };
    let charts = kokuban_graph::charts(&blueprint, lifecycle_of(&blueprint, lifecycle.as_deref())?.as_ref());
    let picture = match format {
        GraphForm::Svg => kokuban_graph::svg,
        GraphForm::Dot => kokuban_graph::dot,
        GraphForm::Mermaid => kokuban_graph::mermaid,
    };
    Ok(print(&picture(&blueprint, &charts))?)
}

/// A blueprint in a file of TOML, or of JSON where its name ends so.
pub(super) fn of_file(path: &str) -> Result<Blueprint, Failure> {
    let flawed = |flaws: Vec<String>| {
        let lines: Vec<_> = flaws.iter().map(|flaw| format!("{path}: {flaw}")).collect();
        Failure::usage(lines.join("\n"))
    };
    if path.to_ascii_lowercase().ends_with(".json") {
        let value = value::read(&format!("@{path}"), Kind::Json)?;
        return Blueprint::from_value(&value).map_err(|f| flawed(f.iter().map(ToString::to_string).collect()));
    }
    let text = std::fs::read_to_string(path).map_err(|e| Failure::usage(format!("{path}: {e}")))?;
    Blueprint::from_toml(&text).map_err(|f| flawed(f.iter().map(ToString::to_string).collect()))
}

/// One that every server has, or a file, with `@` before it or not.
fn named(source: &str) -> Result<Arc<Blueprint>, Failure> {
    if let Some(path) = source.strip_prefix('@') {
        return of_file(path).map(Arc::new);
    }
    match builtin(source) {
        Some(blueprint) => Ok(blueprint),
        None if Path::new(source).exists() => of_file(source).map(Arc::new),
        None => Err(Failure::usage(format!("`{source}` is no file, and no blueprint that is built in: {}", known()))),
    }
}

fn known() -> String {
    let names: Vec<_> = builtin_names().iter().map(|name| format!("`{name}`")).collect();
    format!("{} or a file", names.join(", "))
}

async fn of_board(client: &ClientArgs) -> Result<Blueprint, Failure> {
    let value = caller::board(client)?.blueprint().await?;
    Blueprint::from_value(&value).map_err(|flaws| {
        Failure::usage(format!("this version of kokuban does not know all of its rules: {}", flaws[0]))
    })
}

fn lifecycle_of(blueprint: &Blueprint, wanted: Option<&str>) -> Result<Option<LifecycleName>, Failure> {
    let there: Vec<_> = blueprint.lifecycles.keys().map(|name| format!("`{name}`")).collect();
    if there.is_empty() {
        let why = "has no lifecycle: its entries have no status, so there is nothing to draw";
        return Err(Failure::usage(format!("the blueprint `{}` {why}", blueprint.name)));
    }
    let Some(wanted) = wanted else { return Ok(None) };
    match blueprint.lifecycles.keys().find(|name| name.as_str() == wanted) {
        Some(name) => Ok(Some(name.clone())),
        None => Err(Failure::usage(format!("there is no lifecycle `{wanted}`; there is {}", there.join(", ")))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_drawn_is_told_with_what_could() {
        let refused = |source: &str| named(source).expect_err(source).to_string();
        assert!(refused("defualt").contains("`default`, `pipeline` or a file"));
        assert!(refused("@/no/such/file.toml").contains("/no/such/file.toml"));
        let pipeline = named("pipeline").expect("built in");
        assert!(lifecycle_of(&pipeline, Some("review")).expect("there").is_some());
        let refused = lifecycle_of(&pipeline, Some("reveiw")).expect_err("not there").to_string();
        assert!(refused.contains("`approval`, `intake`, `review`"), "{refused}");
        let bare = Blueprint::from_toml("name = \"x\"\n[zones.a]\n").expect("valid");
        assert!(lifecycle_of(&bare, None).expect_err("nothing to draw").to_string().contains("no lifecycle"));
    }
}
