//! What every journal must do, as tests that are given the journal.
//!
//! Use: `journal_conformance!(async { Subject::… })` inside a test module expands to one test per promise.
//! Invariant: no check looks behind the trait.

pub mod appends;
pub mod reads;
pub mod upkeep;

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use futures::future::BoxFuture;
use kokuban_core::ids::{BoardName, BoardTime, ChainHash, Revision, Timestamp};

use crate::{Append, CommitId, Head, Journal, Loaded, NewRecord, Outcome};

type Reopen = Box<dyn Fn() -> BoxFuture<'static, Arc<dyn Journal>> + Send + Sync>;

/// A journal under test, and how to get it again after it was closed.
pub struct Subject {
    pub journal: Arc<dyn Journal>,
    reopen: Option<Reopen>,
}

impl fmt::Debug for Subject {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Subject").finish_non_exhaustive()
    }
}

impl Subject {
    /// A journal that forgets: it is used on where another one would be opened again.
    #[must_use]
    pub fn volatile(journal: impl Journal) -> Self {
        Self { journal: Arc::new(journal), reopen: None }
    }

    /// A journal that is found again by `reopen` after it was closed.
    #[must_use]
    pub fn durable(
        journal: impl Journal,
        reopen: impl Fn() -> BoxFuture<'static, Arc<dyn Journal>> + Send + Sync + 'static,
    ) -> Self {
        Self { journal: Arc::new(journal), reopen: Some(Box::new(reopen)) }
    }

    /// Closes the journal and opens it again.
    pub async fn reopen(&mut self) {
        if let Some(reopen) = &self.reopen {
            self.journal.close().await.expect("it closes");
            self.journal = reopen().await;
        }
    }

    pub(crate) async fn append(&self, group: Vec<Append>) -> Vec<Outcome> {
        let n = group.len();
        let outcomes = self.journal.append(group).await;
        assert_eq!(outcomes.len(), n, "one answer per item");
        outcomes
    }

    /// Appends one item that must land.
    pub(crate) async fn land(&self, item: Append) -> Head {
        let head = item.commits.last().expect("commits").head();
        assert_eq!(self.append(vec![item]).await, [Outcome::Appended(head)]);
        head
    }

    pub(crate) async fn load(&self, name: &str) -> Loaded {
        self.journal.load(board(name)).await.expect("it loads").expect("the board is there")
    }
}

pub(crate) fn board(name: &str) -> BoardName {
    BoardName::new(name).expect("a valid name")
}

/// Makes commits of one board, each following the one before.
#[derive(Debug, Clone)]
pub struct Author {
    pub board: BoardName,
    pub head: Option<Head>,
    /// Distinguishes histories that have the same revisions.
    pub life: u8,
}

impl Author {
    #[must_use]
    pub fn of(name: &str) -> Self {
        Self { board: board(name), head: None, life: 0 }
    }

    /// Another author who begins where this one is, and writes something else.
    #[must_use]
    pub fn rival(&self) -> Self {
        Self { life: self.life + 1, ..self.clone() }
    }

    /// The next commit.
    pub fn commit(&mut self, body: impl Into<Bytes>) -> NewRecord {
        let body = body.into();
        let revision = self.head.map_or(Revision::ZERO, |head| head.revision).next();
        let before = self.head.map_or(ChainHash::GENESIS, |head| head.chain);
        let chain = before.extend(&[&[self.life], &body[..]].concat());
        self.head = Some(Head { revision, chain });
        NewRecord {
            revision,
            chain,
            commit_id: CommitId(chain.0),
            at: Timestamp(1_700_000_000_000),
            board_time: BoardTime(revision.0 * 10),
            deadline: None,
            body,
        }
    }

    /// Goes on after this revision, as if those between had been lost.
    pub fn leap(&mut self, to: u64) -> Append {
        let expected = self.head;
        let chain = self.head.map_or(ChainHash::GENESIS, |head| head.chain);
        self.head = Some(Head { revision: Revision(to - 1), chain });
        Append { board: self.board.clone(), expected, commits: vec![self.commit("leap")] }
    }

    /// An append of commits with these bodies.
    pub fn append<B: Into<Bytes>>(&mut self, bodies: impl IntoIterator<Item = B>) -> Append {
        let expected = self.head;
        let commits = bodies.into_iter().map(|body| self.commit(body)).collect();
        Append { board: self.board.clone(), expected, commits }
    }

    /// An append of `n` small commits.
    pub fn append_n(&mut self, n: usize) -> Append {
        let first = self.head.map_or(0, |head| head.revision.0);
        self.append((1..=n).map(|i| format!("{}-{first}-{i}", self.life)).collect::<Vec<_>>())
    }
}

/// One test for each promise, on the subject that the expression makes anew for each.
#[macro_export]
macro_rules! journal_conformance {
    ($subject:expr) => {
        $crate::journal_conformance!(@ $subject;
            appends::an_append_follows_the_newest_record_in_revision_and_chain,
            appends::a_board_begins_once,
            appends::commits_of_one_append_land_together_or_not_at_all,
            appends::items_of_a_group_stand_by_themselves,
            appends::items_of_one_board_in_a_group_follow_each_other,
            appends::appends_handed_over_without_waiting_keep_their_order,
            appends::of_many_rivals_one_wins_each_revision,
            appends::an_append_that_cannot_be_stored_says_why,
            appends::the_fate_of_an_append_is_found_by_its_commit_id,
            appends::a_closed_journal_refuses,
            reads::what_was_appended_is_found_again,
            reads::an_absent_board_is_not_an_error_to_load,
            reads::records_are_read_in_pages_both_ways,
            reads::a_page_ends_at_its_bytes_but_is_never_empty,
            reads::boards_are_listed_by_name_in_any_script,
            reads::deadlines_and_times_are_those_of_the_newest_record,
            reads::revisions_may_leave_a_gap,
            reads::large_bodies_come_back_whole,
            reads::a_thousand_boards_keep_their_records_apart,
            reads::reads_see_only_whole_appends_while_others_write,
            upkeep::a_snapshot_shortens_the_load,
            upkeep::an_older_snapshot_does_not_replace_a_newer_one,
            upkeep::a_snapshot_of_another_history_is_refused,
            upkeep::a_snapshot_keeps_its_chunks,
            upkeep::a_snapshot_is_read_in_parts,
            upkeep::pruning_keeps_the_newest_record_and_the_tail,
            upkeep::a_pruned_board_goes_on,
            upkeep::a_rewritten_body_keeps_its_place_in_the_chain,
            upkeep::a_rewrite_of_another_history_is_refused,
            upkeep::upkeep_of_an_absent_board_says_so,
        );
    };
    (@ $subject:expr; $($group:ident :: $check:ident,)*) => {
        $(
            #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
            async fn $check() {
                $crate::conformance::$group::$check($subject).await;
            }
        )*
    };
}
