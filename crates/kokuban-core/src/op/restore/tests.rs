//! Scenarios of restores: what was lost is never given again, and what stood in the backup goes on.

use serde_json::json;

use crate::board::Board;
use crate::command::Command;
use crate::entry::LeaseEnd;
use crate::event::Event;
use crate::ids::{Epoch, LeaseToken, Revision, Version};
use crate::rejection::Rejection;
use crate::scenario::{Outcome, Stage, acquire, agent, create, delete, id, put, renew, status, touch};

const RULES: &str = r#"
[lifecycles.task]
initial = ["raw"]
transitions = [{ from = "raw", to = "processing" }]
on_lease_expired = { processing = "raw" }
[zones.work]
lifecycle = "task"
[zones.free]
"#;

/// `free/a` at version 2 of revision 3; then the place of the backup.
fn stage() -> (Stage, usize) {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("free/a", json!(1)));
    stage.ok("ra", put("free/a", json!(2)).version(1));
    let backup = stage.n_records();
    (stage, backup)
}

#[test]
fn a_board_goes_on_behind_all_that_was_lost_under_a_new_epoch() {
    let (mut stage, backup) = stage();
    let epoch = stage.board.position().expect("exists").epoch;
    for version in 2..9 {
        stage.ok("ra", put("free/a", json!({"lost": version})).version(version));
    }
    let lost = stage.board.revision();
    let events = stage.restore(backup);
    assert!(matches!(&events[..], [Event::BoardRestored(restored)] if restored.floor.0 == lost.0), "{events:?}");
    assert_eq!(stage.board.revision(), lost.next());
    assert_ne!(stage.board.position().expect("exists").epoch, epoch);
    assert_eq!((stage.value("free/a"), stage.entry("free/a").version), (json!(2), Version(2)));
}

#[test]
fn the_version_of_the_backup_admits_a_write_and_the_next_one_is_behind_all_that_were_lost() {
    let (mut stage, backup) = stage();
    stage.ok("ra", put("free/a", json!("lost")).version(2));
    stage.ok("ra", put("free/a", json!("lost too")).version(3));
    stage.restore(backup);
    for lost in [3, 4] {
        let refused = stage.refused("ra", put("free/a", json!(3)).version(lost));
        assert!(matches!(refused, Rejection::VersionConflict { .. }), "{lost}: {refused:?}");
    }
    let (floor, done) = (stage.board.revision().0 - 1, stage.ok("ra", put("free/a", json!(3)).version(2)));
    assert_eq!(done.version(), floor + 1);
    assert_eq!(stage.ok("ra", put("free/a", json!(4)).version(floor + 1)).version(), floor + 2);
    assert_eq!(stage.ok("ra", put("free/new", json!(1))).version(), floor + 1);
}

#[test]
fn a_tag_of_before_never_fits_again() {
    let (mut stage, backup) = stage();
    let epoch = stage.board.position().expect("exists").epoch.0;
    stage.restore(backup);
    let refused = stage.refused("ra", put("free/a", json!(3)).if_match(&[(2, epoch)]));
    assert!(matches!(refused, Rejection::VersionConflict { .. }), "{refused:?}");
    let epoch = stage.board.position().expect("exists").epoch.0;
    stage.ok("ra", put("free/a", json!(3)).if_match(&[(2, epoch)]));
}

#[test]
fn keys_that_were_deleted_and_keys_that_were_not_there_yet_count_on() {
    let (mut stage, _) = stage();
    stage.ok("ra", delete("free/a").version(2));
    let backup = stage.n_records();
    stage.ok("ra", put("free/a", json!("lost")));
    stage.ok("ra", put("free/b", json!("lost")));
    let lost = stage.board.revision().0;
    stage.restore(backup);
    assert_eq!(stage.ok("ra", put("free/a", json!(1))).version(), lost + 1);
    assert_eq!(stage.ok("ra", put("free/b", json!(1))).version(), lost + 1);
}

#[test]
fn no_lease_outlives_a_restore_and_work_that_was_leased_is_free_again() {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("work/t", json!(1)));
    let token = stage.ok("wa", acquire("work/t", 60_000)).token();
    stage.ok("wa", touch("work/t").version(1).status("processing").token(token));
    let backup = stage.n_records();
    let events = stage.restore(backup);
    let expired = events.iter().filter(|event| matches!(event, Event::LeaseExpired { .. })).count();
    assert_eq!((expired, stage.holder("work/t"), stage.status("work/t").as_deref()), (1, None, Some("raw")));
    let lost = Rejection::LeaseLost { token: LeaseToken(token), reason: LeaseEnd::Expired, held_by: None };
    assert_eq!(stage.refused("wa", renew("work/t", token, 1_000)), lost);
    let version = stage.entry("work/t").version;
    assert!(version.0 > 2 && stage.entry("work/t").status == Some(status("raw")));
}

#[test]
fn a_token_that_was_given_after_the_backup_is_nobodys() {
    let mut stage = Stage::with(RULES);
    stage.ok("ra", put("free/a", json!(1)));
    let backup = stage.n_records();
    let token = stage.ok("wa", acquire("free/a", 60_000)).token();
    stage.restore(backup);
    let held_by = stage.ok("wb", acquire("free/a", 60_000));
    assert!(held_by.token() > token);
    let lost = |reason| Rejection::LeaseLost { token: LeaseToken(token), reason, held_by: Some(agent("wb")) };
    let refused = stage.refused("wa", put("free/a", json!(2)).version(1).token(token));
    assert_eq!(refused, lost(LeaseEnd::NeverHeld));
}

#[test]
fn more_leases_than_one_commit_ends_are_all_ended() {
    let mut stage = Stage::with(RULES).quick();
    for i in 0..1_200 {
        stage.ok("ra", put(&format!("free/k{i}"), json!(1)).ttl(60_000));
    }
    let backup = stage.n_records();
    stage.restore(backup);
    assert_eq!((stage.board.n_leases(), stage.board.next_deadline()), (0, None));
    stage.check();
}

#[test]
fn a_repeat_of_before_the_backup_is_known_and_one_of_after_it_is_done_anew() {
    let (mut stage, _) = stage();
    stage.key("k1", "x").ok("ra", put("free/b", json!(1)));
    let backup = stage.n_records();
    stage.key("k2", "x").ok("ra", put("free/c", json!(1)));
    stage.restore(backup);
    let again = stage.key("k1", "x").decide("ra", put("free/b", json!(1)));
    assert!(matches!(again, Ok(Outcome::Replay(Revision(4)))), "{again:?}");
    stage.key("k2", "x").ok("ra", put("free/c", json!(1)));
}

#[test]
fn a_board_that_was_deleted_stays_so_and_is_made_again_behind_what_was_lost() {
    let (mut stage, _) = stage();
    stage.ok("admin", Command::DeleteBoard);
    let backup = stage.n_records();
    stage.ok("ra", create(RULES));
    stage.ok("ra", put("free/a", json!("lost")));
    let lost = stage.board.revision().0;
    stage.restore(backup);
    assert!(!stage.board.exists());
    stage.ok("ra", create(RULES));
    assert_eq!(stage.board.revision().0, lost + 2);
    assert_eq!(stage.ok("ra", put("free/a", json!(1))).version(), lost + 2);
}

#[test]
fn a_board_of_which_nothing_came_back_begins_behind_what_may_have_been_lost() {
    let mut stage = Stage::empty();
    stage.base = Revision(1 << 20);
    stage.ok("ra", create(RULES).input("free/a", &json!(1)));
    assert_eq!((stage.board.revision().0, stage.entry("free/a").version.0), ((1 << 20) + 1, (1 << 20) + 1));
    assert_eq!(stage.ok("ra", put("free/b", json!(1))).version(), (1 << 20) + 1);
    stage.check();
    let mut stage = Stage::empty();
    stage.base = Revision(7);
    stage.create_with = Some(crate::scenario::blueprint(RULES));
    assert_eq!(stage.ok("ra", put("free/b", json!(1))).version(), 8, "also when a first write makes it");
}

#[test]
fn a_gap_is_legal_nowhere_else() {
    let (mut stage, backup) = stage();
    stage.restore(backup);
    let mut commit = crate::event::Commit {
        board: stage.board.name().clone(),
        epoch: Epoch(1),
        revision: Revision(stage.board.revision().0 + 2),
        board_time: stage.now(),
        at: crate::ids::Timestamp(0),
        by: None,
        request_id: "q".into(),
        trace_id: None,
        events: vec![Event::BoardDeleted],
        touched: Vec::new(),
        keyed: None,
    };
    assert!(stage.board.clone().apply(&commit).is_err());
    commit.events = vec![Event::EntryDeleted { id: id("free/a"), version: Version(3), reason: None }];
    assert!(Board::absent(stage.board.name().clone()).apply(&commit).is_err());
    for back in [0, 1] {
        let restored = crate::event::BoardRestored { taken: crate::ids::Timestamp(0), floor: Version(0) };
        commit.events = vec![Event::BoardRestored(restored)];
        commit.revision = Revision(stage.board.revision().0 - back);
        assert!(stage.board.clone().apply(&commit).is_err(), "a restore never goes back");
    }
}

#[test]
fn what_is_added_to_the_log_is_what_the_commands_come_to() {
    let mut stage = Stage::with(RULES).quick();
    for i in 0..1_200 {
        stage.ok("ra", put(&format!("work/k{i}"), json!(1)).ttl(60_000));
    }
    let (board, (_, chain)) = (stage.board.clone(), stage.log().last().expect("records").clone());
    let restore = super::Restore { taken: crate::ids::Timestamp(5), past: Revision(9_000) };
    let (now, epoch) = (stage.now().plus_ms(100_000), Epoch(77));
    let added: Vec<_> = restore.additions(&board, chain, now, crate::ids::Timestamp(6), epoch).collect();
    assert_eq!(added.iter().map(|added| added.revision.0).collect::<Vec<_>>(), [9_001, 9_002, 9_003]);
    let (mut replayed, mut before) = (board, chain);
    for added in added {
        let commit = crate::record::decode_commit(&added.body, before, added.chain).expect("it continues the chain");
        replayed.apply(&commit).expect("it applies");
        assert_eq!((commit.epoch, commit.board_time, commit.by), (epoch, now, None));
        before = added.chain;
    }
    assert_eq!((replayed.n_leases(), replayed.position().expect("exists").epoch), (0, epoch));
}
