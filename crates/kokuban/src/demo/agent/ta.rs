//! TA, technical design: designs for each feature, is too quick twice, loses the race and adapts.

use kokuban_api::ChangeKind;
use kokuban_api::bodies::{Patch, Put, Terms};
use kokuban_api::sources::DerivedFrom;
use kokuban_api::stream::Change as Seen;
use kokuban_client::{Board, Change, Error};
use kokuban_core::ids::Version;
use serde_json::{Value, json};

use super::Ears;
use crate::demo::remark;
use crate::demo::script::{DESIGN, PLAN, REQUIREMENTS, is_at, place, status, think};

pub(super) async fn play(board: &Board) -> Result<(), Error> {
    let mut ears = Ears::on(board);
    let (mut designed, mut adapted) = (false, false);
    while let Some(change) = ears.next().await? {
        if !is_at(&change, REQUIREMENTS) {
            continue;
        }
        if change.kind == ChangeKind::Created && !designed {
            design(board, &change).await?;
            try_too_much(board).await?;
            hand_in(board, change.version.unwrap_or_default()).await?;
            designed = true;
        }
        let remarked = change.kind == ChangeKind::Noted || has_remark(board).await?;
        if designed && remarked && !adapted {
            adapt(board).await?;
            adapted = true;
        }
    }
    Ok(())
}

/// On the requirements as they were when they woke this agent.
async fn design(board: &Board, requirements: &Seen) -> Result<(), Error> {
    let version = requirements.version.unwrap_or_default();
    remark::says(format!("requirements version {version} woke me: choosing a technique for each feature"));
    think(150).await;
    let value = requirements.value.as_ref().map(kokuban_core::json::Json::to_value).unwrap_or_default();
    let features = value["features"].as_array().cloned().unwrap_or_default();
    let techniques: Vec<Value> = features
        .iter()
        .map(|feature| json!({"feature": feature["name"], "with": technique(&feature["name"])}))
        .collect();
    let terms = Terms {
        status: Some(status("processing")),
        derived_from: Some(vec![DerivedFrom { id: place(REQUIREMENTS), version }]),
        ..Terms::at_version(Version::ZERO)
    };
    match board.put(DESIGN, &Put { terms, ..Put::new(json!({"techniques": techniques})) }).await {
        Err(error) if error.is_version_conflict() => Ok(()),
        outcome => outcome.map(drop),
    }
}

fn technique(feature: &Value) -> &'static str {
    match feature.as_str() {
        Some("bookkeeping") => "double entry in SQLite",
        Some("reminders") => "local notifications",
        _ => "a log of changes, merged by time",
    }
}

/// What an agent in a hurry does, and a blackboard does not let pass.
async fn try_too_much(board: &Board) -> Result<(), Error> {
    if let Err(error) = board.shift(DESIGN, &status("confirmed"), Version(1)).await {
        remark::refused(format!("move {DESIGN} from processing straight to confirmed"), error)?;
    }
    let plan = Put { terms: Terms::at_version(Version::ZERO), ..Put::new(json!("done, by ta")) };
    if let Err(error) = board.put(PLAN, &plan).await {
        remark::refused(format!("write {PLAN}, which is the arbiter's"), error)?;
    }
    Ok(())
}

/// On the version that was designed for; whoever moved the requirements meanwhile has won.
async fn hand_in(board: &Board, version: Version) -> Result<(), Error> {
    let patch = Patch {
        terms: Terms {
            status: Some(status("pending_review")),
            reason: Some("the design stands".into()),
            ..Terms::at_version(version)
        },
        ..Patch::default()
    };
    let Err(error) = board.patch(REQUIREMENTS, &patch).await else {
        remark::says("handed the requirements in");
        return Ok(());
    };
    remark::refused(format!("move {REQUIREMENTS} to pending_review on version {version}"), error)?;
    let now = board.get(REQUIREMENTS).await?;
    let state = now.status.as_ref().map_or_else(String::new, ToString::to_string);
    remark::says(format!("read again: version {}, {state}, by {}, {} note(s)", now.version, now.updated_by, now.notes));
    Ok(())
}

async fn has_remark(board: &Board) -> Result<bool, Error> {
    Ok(board.find(REQUIREMENTS).await?.is_some_and(|entry| entry.notes > 0))
}

async fn adapt(board: &Board) -> Result<(), Error> {
    let notes = board.notes(REQUIREMENTS)?.collect_up_to(10).await?;
    let text = notes.last().map_or_else(|| "a remark".to_owned(), |note| format!("“{}” by {}", note.text, note.by));
    remark::says(format!("found {text}: the design gets a rule for priorities"));
    think(100).await;
    let written = board.update(DESIGN, 5, |entry| {
        let Some(entry) = entry else { return Change::Leave };
        let mut value = entry.value.as_ref().map(kokuban_core::json::Json::to_value).unwrap_or_default();
        value["priority_rule"] = json!("due today rings, this week shows a badge, someday is a list");
        let terms = Terms { status: Some(status("pending_review")), ..Terms::default() };
        Change::Put(Put { terms, ..Put::new(value) })
    });
    written.await.map(drop)
}
