//! Properties of random histories: the board does what the model does, and every way to the same state gives it.
//!
//! Invariant: a case is a list of small numbers; tokens and versions are picked from what stands at that moment, so
//! that right, stale and foreign ones all occur often.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

use super::model::{Ask, If, Model, Put, RULES};
use super::{
    Draft, Outcome, START_MS, Stage, acquire, bytes_of, claim, create, delete, id, put, release, renew, revoke,
    transact,
};
use crate::board::Board;
use crate::command::{Command, Delete};

const AGENTS: [&str; 3] = ["ra", "rb", "rv"];
const PLACES: [&str; 4] = ["held/a", "held/b", "work/a", "work/b"];
const STATUSES: [&str; 3] = ["raw", "processing", "done"];

/// What somebody asks, before it is known what stands.
#[derive(Debug, Clone)]
enum Wish {
    Put(WishedPut),
    Both(WishedPut, WishedPut),
    Delete { place: usize, condition: Pick, token: Pick },
    Acquire { place: usize, ttl: u64, takeover: bool },
    Renew { place: usize, token: Pick, ttl: u64 },
    Release { place: usize, token: Pick },
    Revoke { place: usize },
    Claim { zone: usize, ttl: u64, work: bool },
    Again,
}

#[derive(Debug, Clone)]
struct WishedPut {
    place: usize,
    value: u8,
    condition: Pick,
    token: Pick,
    ttl: Option<u64>,
    status: Option<usize>,
}

#[derive(Debug, Clone, Copy)]
enum Pick {
    None,
    /// What stands now.
    Right,
    /// A number from anywhere.
    Number(u64),
    Any,
}

fn pick() -> impl Strategy<Value = Pick> {
    prop_oneof![
        1 => Just(Pick::None),
        8 => Just(Pick::Right),
        1 => (0..30_u64).prop_map(Pick::Number),
        1 => Just(Pick::Any),
    ]
}

fn ttl() -> impl Strategy<Value = u64> {
    100..400_u64
}

fn wished_put() -> impl Strategy<Value = WishedPut> {
    (0..PLACES.len(), 0..3_u8, pick(), pick(), option::weighted(0.3, ttl()), option::weighted(0.4, 0..3_usize))
        .prop_map(|(place, value, condition, token, ttl, status)| WishedPut {
            place,
            value,
            condition,
            token,
            ttl,
            status,
        })
}

fn wish() -> impl Strategy<Value = Wish> {
    let place = || 0..PLACES.len();
    prop_oneof![
        20 => wished_put().prop_map(Wish::Put),
        5 => (wished_put(), wished_put()).prop_map(|(one, other)| Wish::Both(one, other)),
        3 => (place(), pick(), pick()).prop_map(|(place, condition, token)| Wish::Delete { place, condition, token }),
        4 => (place(), ttl(), any::<bool>()).prop_map(|(place, ttl, takeover)| Wish::Acquire { place, ttl, takeover }),
        3 => (place(), pick(), ttl()).prop_map(|(place, token, ttl)| Wish::Renew { place, token, ttl }),
        3 => (place(), pick()).prop_map(|(place, token)| Wish::Release { place, token }),
        2 => place().prop_map(|place| Wish::Revoke { place }),
        5 => (0..2_usize, ttl(), any::<bool>()).prop_map(|(zone, ttl, work)| Wish::Claim { zone, ttl, work }),
        1 => Just(Wish::Again),
    ]
}

/// Who, how long after the one before, and what.
type Step = (usize, u64, Wish);

fn history(most: usize) -> impl Strategy<Value = Vec<Step>> {
    vec((0..AGENTS.len(), prop_oneof![4 => Just(0), 3 => 0..60_u64, 1 => 0..400_u64], wish()), 1..most)
}

fn condition(stage: &Stage, place: &str, pick: Pick) -> If {
    match pick {
        Pick::None => If::Nothing,
        Pick::Right => If::Version(stage.board.entry(&id(place)).map_or(0, |entry| entry.version.0)),
        Pick::Number(0) => If::NoneMatchAny,
        Pick::Number(version) => If::Version(version),
        Pick::Any => If::MatchAny,
    }
}

/// The live token, seen before anything that has run out is worked off.
fn token(stage: &Stage, place: &str, pick: Pick) -> Option<u64> {
    match pick {
        Pick::None => None,
        Pick::Right => stage.board.lease(&id(place)).map(|lease| lease.token.0),
        Pick::Number(token) => Some(token),
        Pick::Any => Some(u64::MAX),
    }
}

fn asked(stage: &Stage, wish: &Wish) -> Ask {
    let write = |wish: &WishedPut| {
        let place = PLACES[wish.place];
        Put {
            place,
            value: wish.value,
            condition: condition(stage, place, wish.condition),
            token: token(stage, place, wish.token),
            ttl: wish.ttl,
            status: wish.status.map(|status| STATUSES[status]),
        }
    };
    match wish {
        Wish::Put(put) => Ask::Put(write(put)),
        Wish::Both(one, other) => Ask::Both(write(one), write(other)),
        Wish::Delete { place, condition: version, token: lease } => {
            let place = PLACES[*place];
            Ask::Delete { place, condition: condition(stage, place, *version), token: token(stage, place, *lease) }
        }
        Wish::Acquire { place, ttl, takeover } => {
            Ask::Acquire { place: PLACES[*place], ttl: *ttl, takeover: *takeover }
        }
        Wish::Renew { place, token: lease, ttl } => {
            let place = PLACES[*place];
            Ask::Renew { place, token: token(stage, place, *lease).unwrap_or(0), ttl: *ttl }
        }
        Wish::Release { place, token: lease } => {
            let place = PLACES[*place];
            Ask::Release { place, token: token(stage, place, *lease).unwrap_or(0) }
        }
        Wish::Revoke { place } => Ask::Revoke { place: PLACES[*place] },
        Wish::Claim { zone, ttl, work } => Ask::Claim { zone: ["work", "held"][*zone], ttl: *ttl, work: *work },
        Wish::Again => Ask::Again,
    }
}

fn draft(ask: &Put) -> Draft {
    let draft = put(ask.place, json!(ask.value));
    let draft = match ask.condition {
        If::Nothing => draft,
        If::Version(version) => draft.version(version),
        If::MatchAny => draft.if_match_any(),
        If::NoneMatchAny => draft.if_none_match_any(),
    };
    let draft = ask.token.into_iter().fold(draft, Draft::token);
    let draft = ask.ttl.into_iter().fold(draft, Draft::ttl);
    ask.status.into_iter().fold(draft, Draft::status)
}

fn deletion(place: &str, condition: If, token: Option<u64>) -> Delete {
    let deletion = delete(place);
    let mut deletion = match condition {
        If::Version(version) => deletion.version(version),
        _ => deletion,
    };
    deletion.conditions.if_match = (condition == If::MatchAny).then_some(crate::command::TagMatch::Any);
    deletion.conditions.if_none_match = (condition == If::NoneMatchAny).then_some(crate::command::TagMatch::Any);
    token.into_iter().fold(deletion, Delete::token)
}

fn commands(ask: &Ask) -> Vec<(Option<&'static str>, Command)> {
    let command: Command = match ask {
        Ask::Put(put) => draft(put).into(),
        Ask::Both(one, other) => transact().and(draft(one)).and(draft(other)).into(),
        Ask::Delete { place, condition, token } => deletion(place, *condition, *token).into(),
        Ask::Acquire { place, ttl, takeover: true } => acquire(place, *ttl).takeover().into(),
        Ask::Acquire { place, ttl, takeover: false } => acquire(place, *ttl).into(),
        Ask::Renew { place, token, ttl } => renew(place, *token, *ttl).into(),
        Ask::Release { place, token } => release(place, *token).into(),
        Ask::Revoke { place } => revoke(place).into(),
        Ask::Claim { zone, ttl, work: true } => claim(zone, *ttl).to("processing").into(),
        Ask::Claim { zone, ttl, work: false } => claim(zone, *ttl).into(),
        Ask::Again => return vec![(Some("admin"), Command::DeleteBoard), (Some("admin"), create(RULES).into())],
    };
    vec![(None, command)]
}

/// Whether everything was accepted.
fn act(stage: &mut Stage, agent: &'static str, ask: &Ask) -> bool {
    commands(ask)
        .into_iter()
        .all(|(by, command)| matches!(stage.decide(by.unwrap_or(agent), command), Ok(Outcome::Done(_))))
}

fn compare(stage: &Stage, model: &Model) {
    assert_eq!(stage.board.revision().0, model.revision, "revision");
    assert_eq!(stage.board.n_entries(), model.things.len(), "entries");
    for (place, thing) in &model.things {
        let entry = stage.entry(place);
        assert_eq!(entry.version.0, thing.version, "version of {place}");
        assert_eq!(stage.value(place), json!(thing.value), "value of {place}");
        assert_eq!(stage.status(place).as_deref(), Some(thing.status), "status of {place}");
        assert_eq!(stage.owner(place).as_deref(), thing.owner(), "owner of {place}");
        assert_eq!(entry.attempts, thing.attempts, "attempts of {place}");
        let lease = stage.board.lease(&id(place));
        let held = thing.held.as_ref();
        assert_eq!(lease.map(|lease| lease.holder.as_str()), held.map(|held| held.by), "holder of {place}");
        assert_eq!(lease.map(|lease| lease.token.0), held.map(|held| held.token), "token of {place}");
        assert_eq!(lease.map(|lease| lease.deadline.0), held.map(|held| held.until), "deadline of {place}");
    }
}

fn play(stage: &mut Stage, steps: &[Step], mut after: impl FnMut(&mut Stage)) {
    for (agent, wait, wish) in steps {
        stage.at(stage.now().0 - START_MS + wait);
        let ask = asked(stage, wish);
        act(stage, AGENTS[*agent], &ask);
        after(stage);
    }
}

fn through_a_snapshot(board: &Board) -> Board {
    Board::from_snapshot(&bytes_of(board)).expect("a snapshot reads back")
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    /// Accepted if and only if the model accepts; and then everything is as the model says.
    #[test]
    fn the_board_does_what_the_model_does(steps in history(60)) {
        let mut stage = Stage::with(RULES);
        let mut model = Model::new();
        for (agent, wait, wish) in &steps {
            stage.at(stage.now().0 - START_MS + wait);
            let ask = asked(&stage, wish);
            let agent = AGENTS[*agent];
            model.expire(stage.now().0);
            let expected = model.takes(agent, &ask, stage.now().0);
            let accepted = act(&mut stage, agent, &ask);
            prop_assert_eq!(accepted, expected, "{} asks {:?}", agent, ask);
            compare(&stage, &model);
        }
    }

    /// A batch of n is n batches of one: going through storage between any two commands changes nothing.
    #[test]
    fn commands_in_one_batch_do_what_they_do_one_by_one(steps in history(40)) {
        let mut batch = Stage::with(RULES).quick();
        let published = batch.board.clone();
        let before = bytes_of(&published);
        play(&mut batch, &steps, |_| {});
        prop_assert_eq!(before, bytes_of(&published), "what readers hold stays as it is");
        let mut single = Stage::with(RULES).quick();
        play(&mut single, &steps, |stage| stage.board = through_a_snapshot(&stage.board));
        prop_assert_eq!(bytes_of(&batch.board), bytes_of(&single.board));
        prop_assert_eq!(batch.chain, single.chain);
        batch.check();
    }

    /// Brought back from a backup of any moment, and used on: the stage sees to it that no revision and no version of
    /// what was lost comes again.
    #[test]
    fn what_was_lost_is_never_given_again(
        steps in history(30), cut in any::<prop::sample::Index>(), more in history(30)
    ) {
        let mut stage = Stage::with(RULES).quick();
        play(&mut stage, &steps, |_| {});
        let backup = 1 + cut.index(stage.n_records());
        stage.restore(backup);
        prop_assert_eq!(stage.board.n_leases(), 0);
        play(&mut stage, &more, |_| {});
        stage.check();
    }

    /// A snapshot from anywhere and the records after it give the live board.
    #[test]
    fn a_snapshot_and_its_tail_are_the_board(steps in history(40), cut in any::<prop::sample::Index>()) {
        let mut stage = Stage::with(RULES).quick();
        let mut snapshots = vec![(stage.n_records(), bytes_of(&stage.board))];
        play(&mut stage, &steps, |stage| snapshots.push((stage.n_records(), bytes_of(&stage.board))));
        let (at, bytes) = &snapshots[cut.index(snapshots.len())];
        let old = Board::from_snapshot(bytes).expect("a snapshot reads back");
        let again = stage.replay_from(old, *at);
        again.check();
        prop_assert!(again == stage.board);
        prop_assert_eq!(bytes_of(&again), bytes_of(&stage.board));
    }
}
