//! How far revisions may have gone since the backup, so that none is given twice.
//!
//! Invariant: where the data that is replaced goes on from the backup, it tells; where it is gone, or is of another
//! lineage, revisions leap over more than a board can have got since.
//! Not known here: boards.

use std::collections::BTreeMap;

use kokuban_core::ids::{BoardName, Revision, Timestamp};
use kokuban_journal::{Head, Journal as _, ReadLimit, Sqlite};

use super::plan::{Part, Plan};

/// The least that is leapt over.
const LEAP_MIN: u64 = 1 << 20;
/// More commits than one board makes in a second, on average over the age of a backup.
const COMMITS_PER_S: u64 = 1 << 14;
const PAGE: usize = 1_000;

#[derive(Debug)]
pub(super) struct Lineage {
    /// No higher revision was given to the board.
    past: BTreeMap<BoardName, Revision>,
    /// Boards that are new begin after this.
    pub(super) base: Revision,
}

impl Lineage {
    /// `old`: the data that is replaced.
    pub(super) async fn of(plan: &Plan, old: Option<&Sqlite>, now: Timestamp) -> anyhow::Result<Self> {
        let leap = leap(plan.begin.taken, now);
        let heads = match old {
            Some(old) => heads(old).await?,
            None => BTreeMap::new(),
        };
        let mut past = BTreeMap::new();
        let mut all_known = old.is_some();
        for part in &plan.boards {
            let head = heads.get(&part.board).copied();
            let known = match (old, head) {
                (Some(old), Some(_)) => goes_on(old, part).await?,
                _ => false,
            };
            let gone = if known { part.to } else { Revision(part.to.0.saturating_add(leap)) };
            past.insert(part.board.clone(), gone.max(head.map_or(Revision::ZERO, |head| head.revision)));
            all_known &= known;
        }
        let begin = plan.begin.base;
        let mut base = if all_known { begin } else { Revision(begin.0.saturating_add(leap)) };
        if let Some(old) = old {
            base = base.max(old.caps().base);
        }
        // Boards that do not come back are as new ones when they are made again.
        let absent = heads.iter().filter(|(board, _)| !past.contains_key(*board)).map(|(_, head)| head.revision);
        let lost = plan.lost.iter().map(|(_, revision)| Revision(revision.0.saturating_add(leap)));
        base = absent.chain(lost).fold(base, Revision::max);
        Ok(Self { past, base })
    }

    /// The highest revision that may have been given to the board.
    pub(super) fn past(&self, board: &BoardName) -> Revision {
        self.past.get(board).copied().unwrap_or(self.base)
    }
}

fn leap(taken: Timestamp, now: Timestamp) -> u64 {
    let seconds = u64::try_from(now.0.saturating_sub(taken.0)).unwrap_or(0) / 1_000;
    seconds.saturating_mul(COMMITS_PER_S).max(LEAP_MIN)
}

async fn heads(old: &Sqlite) -> anyhow::Result<BTreeMap<BoardName, Head>> {
    let mut heads = BTreeMap::new();
    let mut after = None;
    loop {
        let page = old.list(after.clone(), PAGE).await?;
        let Some(last) = page.last() else { return Ok(heads) };
        after = Some(last.board.clone());
        heads.extend(page.into_iter().map(|info| (info.board, info.head)));
    }
}

/// Whether the old data has the last record of the backup: then it is what became of it.
async fn goes_on(old: &Sqlite, part: &Part) -> anyhow::Result<bool> {
    let before = Revision(part.to.0.saturating_sub(1));
    match old.read(part.board.clone(), before, ReadLimit::records(1)).await {
        Ok(records) => Ok(records.first().is_some_and(|r| (r.revision, r.chain) == (part.to, part.chain))),
        // What cannot be read tells nothing.
        Err(_) => Ok(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_leap_is_larger_than_what_a_board_can_have_got_since_the_backup() {
        let taken = Timestamp(1_700_000_000_000);
        let after = |seconds: i64| leap(taken, Timestamp(taken.0 + seconds * 1_000));
        assert_eq!([after(-5), after(0), after(64)], [1 << 20; 3]);
        assert_eq!(after(86_400), 86_400 << 14);
        // Ten years of backups brought back one after the other stay within what every client counts exactly.
        assert!(after(10 * 365 * 86_400) < 1 << 43);
    }
}
