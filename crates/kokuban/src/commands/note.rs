//! `kokuban note …`.

use kokuban_api::answers::Note;
use kokuban_api::bodies::NoteBody;
use kokuban_client::Board;
use kokuban_core::ids::Version;
use serde_json::json;

use super::show;
use crate::args::NoteCommand;
use crate::failure::{Attempt, Failure, Outcome};
use crate::output::{Columns, Last, Output, safe};

/// A board keeps at most 100 a piece.
const NOTES_MAX: usize = 1_000;

const NOTES: Columns<Note, 5> =
    Columns { head: ["id", "by", "at", "version", "text"], row, last: Last::Wrapped, none: "no open notes" };

pub(crate) async fn run(command: NoteCommand, board: &Board, out: Output) -> Outcome {
    match command {
        NoteCommand::Add { entry, text, version } => {
            let note = NoteBody { text, refers_to_version: version.map(Version) };
            let added =
                board.add_note(&entry, &note).await.map_err(Failure::trying(Attempt::on("note add", &entry)))?;
            Ok(out.one(&added, |created| format!("note {}", safe(&created.id)))?)
        }
        NoteCommand::List { entry } => {
            let listed = out.many(board.notes(&entry)?, NOTES_MAX, &NOTES).await;
            listed.map_err(|failure| failure.of(Some(Attempt::on("note list", &entry))))
        }
        NoteCommand::Close { entry, id } => {
            let closed = board.close_note(&entry, &id).await;
            closed.map_err(Failure::trying(Attempt::on("note close", &entry)))?;
            Ok(out.one(&json!({"closed": id}), |_| format!("closed {}", safe(&id)))?)
        }
    }
}

fn row(note: &Note) -> [String; 5] {
    [
        note.id.clone(),
        note.by.to_string(),
        note.at.to_string(),
        show::option(note.refers_to_version.as_ref()),
        safe(&note.text).into_owned(),
    ]
}
