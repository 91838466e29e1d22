//! `kokuban board create | show | export | list | delete`.

use std::collections::BTreeMap;

use kokuban_api::answers::BoardSummary;
use kokuban_api::bodies::{BlueprintRef, CreateBoard};
use kokuban_core::ids::BlueprintName;
use serde_json::json;

use super::{blueprint, export, show};
use crate::args::{BoardCommand, ClientArgs};
use crate::caller;
use crate::failure::{Failure, Outcome};
use crate::output::{Columns, Last, Output, safe};

/// No list of boards is longer than this here; the API has the rest.
const BOARDS_MAX: usize = 10_000;

const BOARDS: Columns<BoardSummary, 5> = Columns {
    head: ["board", "blueprint", "entries", "position", "title"],
    row,
    last: Last::Wrapped,
    none: "no boards",
};

pub(crate) async fn run(command: BoardCommand, client: &ClientArgs, out: Output) -> Outcome {
    match command {
        BoardCommand::List => out.many(caller::client(client)?.boards(), BOARDS_MAX, &BOARDS).await,
        BoardCommand::Create { blueprint, title, .. } => {
            let body = CreateBoard {
                blueprint: blueprint_of(&blueprint)?,
                title,
                labels: BTreeMap::new(),
                inputs: BTreeMap::new(),
            };
            let created = caller::board(client)?.create(&body).await?;
            Ok(out.one(&created, show::board)?)
        }
        BoardCommand::Show(_) => {
            let summary = caller::board(client)?.summary().await?;
            Ok(out.one(&summary, show::board)?)
        }
        BoardCommand::Export(_) => export::run(&caller::board(client)?, out).await,
        BoardCommand::Delete(_) => {
            let board = caller::board(client)?;
            board.delete_board().await?;
            let name = board.name();
            Ok(out.one(&json!({"deleted": name}), |_| format!("deleted {name}"))?)
        }
    }
}

fn row(board: &BoardSummary) -> [String; 5] {
    let entries: u64 = board.zones.values().map(|zone| zone.entries).sum();
    [
        board.board.to_string(),
        board.blueprint.to_string(),
        entries.to_string(),
        board.position.to_string(),
        board.title.as_deref().map_or_else(String::new, |title| safe(title).into_owned()),
    ]
}

/// `NAME`, or `@FILE` with TOML or JSON.
fn blueprint_of(text: &str) -> Result<BlueprintRef, Failure> {
    let Some(path) = text.strip_prefix('@') else {
        return BlueprintName::new(text).map(BlueprintRef::Name).map_err(|e| Failure::usage(e.to_string()));
    };
    Ok(BlueprintRef::Inline(blueprint::of_file(path)?.to_value()))
}
