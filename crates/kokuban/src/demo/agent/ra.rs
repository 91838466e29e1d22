//! RA, requirements: takes the confirmed request apart, and answers remarks on what it wrote.

use kokuban_api::ChangeKind;
use kokuban_api::answers::Entry;
use kokuban_api::bodies::{Put, Terms, Transaction, TransactionWrite, WriteItem};
use kokuban_client::{Board, Change, Error};
use kokuban_core::ids::Version;
use serde_json::{Value, json};

use super::Ears;
use crate::demo::remark;
use crate::demo::script::{MARKET, REQUEST, REQUIREMENTS, is_at, place, status, status_after, think};

pub(super) async fn play(board: &Board) -> Result<(), Error> {
    let mut ears = Ears::on(board);
    let (mut in_review, mut remarked, mut answered) = (false, false, false);
    while let Some(change) = ears.next().await? {
        if is_at(&change, REQUEST) && status_after(&change) == Some("confirmed") {
            take_apart(board).await?;
        }
        if is_at(&change, REQUIREMENTS) {
            remarked |= change.kind == ChangeKind::Noted;
            in_review |= status_after(&change) == Some("pending_review");
        }
        if in_review && remarked && !answered {
            answered = true;
            answer(board).await?;
        }
    }
    Ok(())
}

async fn take_apart(board: &Board) -> Result<(), Error> {
    think(150).await;
    remark::says("the request is confirmed: three features, and a task for whoever is free");
    let features = json!({"features": [
        {"name": "bookkeeping"}, {"name": "reminders"}, {"name": "sync between devices"},
    ]});
    let task = json!({"question": "which bookkeeping apps remind their users, and how?"});
    let writes = vec![new(REQUIREMENTS, features, "processing"), new(MARKET, task, "raw")];
    match board.transaction(&Transaction { checks: Vec::new(), writes }).await {
        // Both or none, so this agent, or one of its name, was here before.
        Err(error) if error.is_version_conflict() => Ok(()),
        outcome => outcome.map(drop),
    }
}

fn new(at: &str, value: Value, initial: &str) -> TransactionWrite {
    let terms = Terms { status: Some(status(initial)), ..Terms::at_version(Version::ZERO) };
    let put = Put { terms, ..Put::new(value) };
    TransactionWrite { id: place(at), write: WriteItem::Put(Box::new(put)) }
}

async fn answer(board: &Board) -> Result<(), Error> {
    let mut notes = board.notes(REQUIREMENTS)?.collect_up_to(10).await?;
    let Some(note) = notes.pop() else { return Ok(()) };
    think(100).await;
    remark::says(format!("{} remarks “{}”: right, reminders get priorities", note.by, note.text));
    board.update(REQUIREMENTS, 5, |entry| entry.map_or(Change::Leave, with_priorities)).await.map(drop)
}

fn with_priorities(entry: &Entry) -> Change {
    let mut value = entry.value.as_ref().map(kokuban_core::json::Json::to_value).unwrap_or_default();
    let features = value.get_mut("features").and_then(Value::as_array_mut);
    for feature in features.into_iter().flatten().filter(|feature| feature["name"] == "reminders") {
        feature["priorities"] = json!(["due today", "this week", "someday"]);
    }
    Change::Put(Put {
        terms: Terms { reason: Some("answers the review".into()), ..Terms::default() },
        ..Put::new(value)
    })
}
