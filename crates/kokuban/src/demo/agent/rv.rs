//! RV, review and arbiter: remarks instead of rewriting, and declares the result when everything fits.

use kokuban_api::ChangeKind;
use kokuban_api::bodies::{Check, NoteBody, Patch, Put, Terms, Transaction, TransactionWrite, WriteItem};
use kokuban_api::sources::DerivedFrom;
use kokuban_api::stream::Change as Seen;
use kokuban_client::{Board, Error};
use kokuban_core::ids::Version;
use serde_json::{Value, json};

use super::Ears;
use crate::demo::remark;
use crate::demo::script::{
    DESIGN, MARKET, PLAN, REQUEST, REQUIREMENTS, REVIEW_NOTE, is_at, place, status, status_after, think,
};

pub(super) async fn play(board: &Board) -> Result<(), Error> {
    let mut ears = Ears::on(board);
    let mut desk = Desk::default();
    let mut declared = false;
    while let Some(change) = ears.next().await? {
        desk.see(&change);
        if is_at(&change, REQUIREMENTS) && change.kind == ChangeKind::Created {
            review(board, &change).await?;
        }
        if desk.is_complete() && !declared {
            declared = declare(board, &desk).await?;
        }
    }
    Ok(())
}

/// A first look, on the requirements as they were when they woke this agent.
async fn review(board: &Board, requirements: &Seen) -> Result<(), Error> {
    let version = requirements.version.unwrap_or_default();
    remark::says(format!("requirements version {version} woke me: a first look"));
    think(120).await;
    let note = NoteBody { text: REVIEW_NOTE.into(), refers_to_version: Some(version) };
    board.add_note(REQUIREMENTS, &note).await?;
    if let Err(error) = board.shift(REQUIREMENTS, &status("pending_review"), version).await {
        remark::refused(format!("move {REQUIREMENTS} to pending_review on version {version}"), error)?;
        let now = board.get(REQUIREMENTS).await?;
        remark::says(format!("read again: {} had handed it in already, nothing to repeat", now.updated_by));
    }
    Ok(())
}

/// The entries under review as the stream told them.
#[derive(Debug, Default)]
struct Desk {
    request: Version,
    requirements: Sheet,
    design: Sheet,
    market: Sheet,
}

#[derive(Debug, Default)]
struct Sheet {
    version: Version,
    in_review: bool,
    held: bool,
    value: Value,
}

impl Desk {
    fn see(&mut self, change: &Seen) {
        if is_at(change, REQUEST) {
            self.request = change.version.unwrap_or(self.request);
        }
        let sheets = [(REQUIREMENTS, &mut self.requirements), (DESIGN, &mut self.design), (MARKET, &mut self.market)];
        for (_, sheet) in sheets.into_iter().filter(|(at, _)| is_at(change, at)) {
            sheet.see(change);
        }
    }

    /// Handed in, in nobody's hands, and the remark is answered in both places.
    fn is_complete(&self) -> bool {
        let sheets = [&self.requirements, &self.design, &self.market];
        let features = self.requirements.value["features"].as_array();
        let answered = features.is_some_and(|all| all.iter().any(|feature| feature.get("priorities").is_some()));
        sheets.iter().all(|sheet| sheet.in_review && !sheet.held)
            && answered
            && self.design.value.get("priority_rule").is_some()
            && self.market.value.get("answer").is_some()
    }
}

impl Sheet {
    fn see(&mut self, change: &Seen) {
        self.version = change.version.unwrap_or(self.version);
        if let Some(status) = status_after(change) {
            self.in_review = status == "pending_review";
        }
        if let Some(value) = &change.value {
            self.value = value.to_value();
        }
        self.held = match change.kind {
            ChangeKind::LeaseGranted => true,
            ChangeKind::LeaseReleased | ChangeKind::LeaseExpired | ChangeKind::LeaseRevoked => false,
            _ => change.held_by.is_some() || self.held,
        };
    }
}

/// Confirms what was handed in and declares the plan, all in one commit, if nothing moved meanwhile.
async fn declare(board: &Board, desk: &Desk) -> Result<bool, Error> {
    think(100).await;
    for note in board.notes(REQUIREMENTS)?.collect_up_to(10).await? {
        board.close_note(REQUIREMENTS, &note.id).await?;
    }
    remark::says("priorities everywhere: confirming three entries and declaring the plan, in one transaction");
    let sheets = [(REQUIREMENTS, &desk.requirements), (DESIGN, &desk.design), (MARKET, &desk.market)];
    let mut writes: Vec<_> = sheets.iter().map(|(at, sheet)| confirmed(at, sheet.version)).collect();
    let sources = sheets.map(|(at, sheet)| DerivedFrom { id: place(at), version: sheet.version.next() });
    let terms = Terms { reason: Some("complete and consistent".into()), ..Terms::at_version(Version::ZERO) };
    let value = json!({
        "verdict": "build it",
        "from": sources.iter().map(|source| format!("{}@{}", source.id, source.version)).collect::<Vec<_>>(),
    });
    let put = Put { terms, ..Put::new(value) };
    writes.push(TransactionWrite { id: place(PLAN), write: WriteItem::Put(Box::new(put)) });
    let checks = vec![Check { id: place(REQUEST), version: desk.request }];
    match board.transaction(&Transaction { checks, writes }).await {
        Ok(_) => Ok(true),
        // Something moved: the stream is about to tell what, and then this is judged again.
        Err(error) if error.is_conflict() => {
            remark::refused("confirm everything in one transaction", error)?;
            Ok(false)
        }
        Err(error) => Err(error),
    }
}

fn confirmed(at: &str, version: Version) -> TransactionWrite {
    let terms = Terms { status: Some(status("confirmed")), ..Terms::at_version(version) };
    let patch = Patch { terms, ..Patch::default() };
    TransactionWrite { id: place(at), write: WriteItem::Patch(Box::new(patch)) }
}
