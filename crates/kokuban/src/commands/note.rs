//! `kokuban note …`.

use kokuban_api::bodies::NoteBody;
use kokuban_client::Board;
use kokuban_core::ids::Version;

use super::show;
use crate::args::NoteCommand;
use crate::failure::Outcome;
use crate::output::{Output, print};

/// A board keeps at most 100 a piece.
const NOTES_MAX: usize = 1_000;

pub(crate) async fn run(command: NoteCommand, board: &Board, out: Output) -> Outcome {
    match command {
        NoteCommand::Add { entry, text, version } => {
            let note = NoteBody { text, refers_to_version: version.map(Version) };
            Ok(out.one(&board.add_note(&entry, &note).await?, |created| format!("note {}", created.id))?)
        }
        NoteCommand::List { entry } => {
            let notes = board.notes(&entry)?.collect_up_to(NOTES_MAX).await?;
            Ok(out.many(&notes, ["id", "by", "at", "version", "text"], |note| {
                [
                    note.id.to_string(),
                    note.by.to_string(),
                    note.at.to_string(),
                    show::option(note.refers_to_version.as_ref()),
                    note.text.to_string(),
                ]
            })?)
        }
        NoteCommand::Close { entry, id } => {
            board.close_note(&entry, &id).await?;
            Ok(print(&format!("closed {id}"))?)
        }
    }
}
