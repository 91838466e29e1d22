//! `kokuban board create | show | export | list | delete`.

use std::collections::BTreeMap;

use kokuban_api::bodies::{BlueprintRef, CreateBoard};
use kokuban_core::ids::BlueprintName;

use super::{blueprint, export};
use crate::args::{BoardCommand, ClientArgs};
use crate::caller;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, print, safe};

/// No list of boards is longer than this here; the API has the rest.
const BOARDS_MAX: usize = 10_000;

pub(crate) async fn run(command: BoardCommand, client: &ClientArgs, out: Output) -> Outcome {
    match command {
        BoardCommand::List => {
            let boards = caller::client(client)?.boards().collect_up_to(BOARDS_MAX).await?;
            Ok(out.many(&boards, ["board", "blueprint", "position"], |board| {
                [board.board.to_string(), board.blueprint.to_string(), board.position.to_string()]
            })?)
        }
        BoardCommand::Create { name, blueprint, title } => {
            let body = CreateBoard {
                blueprint: blueprint_of(&blueprint)?,
                title,
                labels: BTreeMap::new(),
                inputs: BTreeMap::new(),
            };
            let created = caller::board_named(client, &name)?.create(&body).await?;
            Ok(out.one(&created, pretty)?)
        }
        BoardCommand::Show(name) => Ok(out.one(&caller::board_named(client, &name)?.summary().await?, pretty)?),
        BoardCommand::Export(name) => export::run(&caller::board_named(client, &name)?).await,
        BoardCommand::Delete(name) => {
            let board = caller::board_named(client, &name)?;
            board.delete_board().await?;
            Ok(print(&format!("deleted {}", board.name()))?)
        }
    }
}

/// `NAME`, or `@FILE` with TOML or JSON.
fn blueprint_of(text: &str) -> Result<BlueprintRef, Failure> {
    let Some(path) = text.strip_prefix('@') else {
        return BlueprintName::new(text).map(BlueprintRef::Name).map_err(|e| Failure::usage(e.to_string()));
    };
    Ok(BlueprintRef::Inline(blueprint::of_file(path)?.to_value()))
}

/// Indented JSON, made safe line by line.
fn pretty<T: serde::Serialize>(thing: &T) -> String {
    let text = serde_json::to_string_pretty(thing).unwrap_or_default();
    text.lines().map(|line| safe(line) + "\n").collect()
}
