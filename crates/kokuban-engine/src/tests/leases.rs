//! Leases over time, restarts and evictions. Time is paused: it moves only when everybody waits.

use tokio::time::Instant;

use super::*;

/// When the server of these tests starts for the first time.
const START_MS: u64 = 1_000_000;

async fn leased(ttl_ms: u64) -> (Bench, LeaseToken) {
    let bench = Bench::empty(Options::default()).await.restarted_at(START_MS, Options::default()).await;
    bench.ask(ask("lin", create(builtin("default").expect("built in")))).await.expect("a board");
    bench.put("a", json!(1), 0).await;
    let granted = bench.ask(ask("ra", acquire("a", ttl_ms))).await.expect("a lease");
    (bench, token(&granted))
}

/// Starts again with the wall clock at `START_MS` plus this.
async fn later(bench: Bench, ms: u64) -> Bench {
    bench.restarted_at(START_MS + ms, Options::default()).await
}

/// Deadline of the live lease, counted from the first start.
async fn deadline(bench: &Bench) -> Option<u64> {
    bench.board().await.published().board.lease(&id("a")).map(|lease| lease.deadline.0 - START_MS)
}

#[tokio::test(start_paused = true)]
async fn a_lease_expires_once_and_within_a_tenth_of_a_second() {
    let (bench, _) = leased(1_000).await;
    let granted = Instant::now();
    let board = bench.board().await;
    let mut cursor = board.follow(board.published().board.revision());
    let commits = soon(cursor.next()).await.expect("a log");
    let late = granted.elapsed().checked_sub(Duration::from_millis(1_000)).expect("not early");
    assert!(late <= Duration::from_millis(100), "{late:?}");
    assert_eq!(commits.iter().map(|logged| expiries(&logged.commit.events)).sum::<usize>(), 1);
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!(cursor.take().await.expect("a log").len(), 0);
    assert_eq!(bench.engine.stats().expiries, 1);
    assert!(!board.inbox().running, "the task of an idle board ends");
}

#[tokio::test(start_paused = true)]
async fn deadlines_are_worked_off_in_their_order_without_anybody_asking() {
    let (bench, _) = leased(3_000).await;
    bench.put("b", json!(1), 0).await;
    bench.ask(ask("ta", acquire("b", 1_000))).await.expect("a lease");
    let board = bench.board().await;
    let mut cursor = board.follow(board.published().board.revision());
    let start = Instant::now();
    let mut seen = Vec::new();
    while seen.len() < 2 {
        for logged in soon(cursor.next()).await.expect("a log") {
            seen.push((logged.commit.events[0].entry().expect("an entry").key.as_str().to_owned(), start.elapsed()));
        }
    }
    assert_eq!(seen.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(), ["b", "a"]);
    assert!(seen[0].1 <= Duration::from_millis(1_100) && seen[1].1 <= Duration::from_millis(3_100), "{seen:?}");
}

#[tokio::test(start_paused = true)]
async fn a_write_after_the_deadline_meets_the_expiry_first() {
    let (bench, token) = leased(1_000).await;
    bench.journal.hold();
    let held = bench.asking(ask("ta", put("z", json!(1), 0)));
    soon(bench.journal.n_appends(4)).await;
    tokio::time::sleep(Duration::from_millis(1_500)).await;
    let late = bench.asking(ask("ra", release("a", token)));
    settle().await;
    bench.journal.release();
    soon(held).await.unwrap().expect("accepted");
    let lost = rejection(soon(late).await.unwrap());
    assert!(matches!(lost, Rejection::LeaseLost { reason: kokuban_core::entry::LeaseEnd::Expired, .. }), "{lost:?}");
}

#[tokio::test(start_paused = true)]
async fn a_board_with_a_live_lease_stays_in_memory_and_leaves_after_it() {
    let (bench, _) = leased(600_000).await;
    tokio::time::sleep(Duration::from_secs(400)).await;
    assert_eq!(bench.engine.evict_idle(), 0);
    assert_eq!(bench.engine.stats().boards_loaded, 1);
    tokio::time::sleep(Duration::from_secs(200 + 300 + 10)).await;
    assert_eq!(bench.engine.stats().boards_loaded, 0, "the sweeper let it go");
    let board = bench.board().await.published().board.clone();
    assert_eq!((board.n_leases(), bench.engine.stats().expiries), (0, 1));
}

#[tokio::test(start_paused = true)]
async fn at_a_start_a_lease_gets_a_moment_three_times_at_most() {
    let (bench, _) = leased(10_000).await;
    let bench = later(bench, 2_000).await;
    assert_eq!(deadline(&bench).await, Some(10_000), "eight seconds are enough");
    let bench = later(bench, 8_000).await;
    assert_eq!(deadline(&bench).await, Some(13_000));
    let bench = later(bench, 12_000).await;
    assert_eq!(deadline(&bench).await, Some(17_000));
    let bench = later(bench, 16_000).await;
    assert_eq!(deadline(&bench).await, Some(21_000));
    let bench = later(bench, 20_000).await;
    assert_eq!(deadline(&bench).await, Some(21_000), "the fourth start gives nothing");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(deadline(&bench).await, None);
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_ran_out_while_the_server_was_down_is_resumed() {
    let (bench, token) = leased(10_000).await;
    let bench = later(bench, 60_000).await;
    assert_eq!(deadline(&bench).await, Some(65_000));
    bench.ask(ask("ra", release("a", token))).await.expect("still the holder");
    assert_eq!(bench.engine.stats().expiries, 0);
}

#[tokio::test(start_paused = true)]
async fn a_short_lease_is_topped_up_to_its_own_length_only() {
    let (bench, _) = leased(2_000).await;
    let bench = later(bench, 60_000).await;
    assert_eq!(deadline(&bench).await, Some(62_000));
}

#[tokio::test(start_paused = true)]
async fn board_time_does_not_follow_a_wall_clock_that_was_set_back() {
    let (bench, _) = leased(10_000).await;
    let before = bench.board().await.published().board.time();
    let bench = bench.restarted_at(START_MS - 900_000, Options::default()).await;
    let board = bench.board().await;
    assert!(board.now() >= before);
    assert_eq!(deadline(&bench).await, Some(10_000));
    tokio::time::sleep(Duration::from_millis(9_900)).await;
    assert_eq!(deadline(&bench).await, Some(10_000));
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(deadline(&bench).await, None);
    assert!(board.published().board.time() >= before.plus_ms(10_000));
}

#[tokio::test(start_paused = true)]
async fn loading_a_board_is_no_start_but_its_deadlines_count_from_then_on() {
    let (bench, _) = leased(10_000).await;
    let Bench { journal, engine } = bench;
    drop(engine);
    settle().await;
    // The board cannot be read when the server starts.
    journal.next_read(kokuban_journal::Error::Refused(kokuban_journal::Refusal::Io { detail: "planned".to_owned() }));
    let clock = Clock::starting_at(START_MS + 9_000);
    let engine = Engine::start_at(clock, Arc::new(journal.clone()), Options::default()).await.expect("a start");
    let bench = Bench { journal, engine };
    assert_eq!(bench.engine.stats().boards_loaded, 0);
    assert_eq!(deadline(&bench).await, Some(10_000), "not topped up");
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    assert_eq!(deadline(&bench).await, None, "ended without anybody writing");
}

#[tokio::test(start_paused = true)]
async fn a_dropped_engine_leaves_no_task_that_writes() {
    let (bench, _) = leased(1_000).await;
    let n = bench.records().await.len();
    let Bench { journal, engine } = bench;
    drop(engine);
    tokio::time::sleep(Duration::from_secs(10)).await;
    let info = journal.info(b()).await.expect("readable").expect("a board");
    assert_eq!(info.head.revision.0, n as u64);
}

#[test]
fn the_clock_of_a_board_goes_on_where_the_board_was() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
    runtime.block_on(async {
        let process = Clock::starting_at(5_000);
        let ahead = crate::clock::BoardClock::new(process, kokuban_core::ids::BoardTime(9_000));
        let behind = crate::clock::BoardClock::new(process, kokuban_core::ids::BoardTime(1_000));
        assert_eq!((ahead.now().0, behind.now().0), (9_000, 5_000));
        let due = ahead.instant_of(kokuban_core::ids::BoardTime(9_250));
        tokio::time::sleep_until(due).await;
        assert_eq!((ahead.now().0, behind.now().0), (9_250, 5_250));
        // Never, rather than a panic.
        assert!(ahead.instant_of(kokuban_core::ids::BoardTime(u64::MAX)) > Instant::now());
    });
}
