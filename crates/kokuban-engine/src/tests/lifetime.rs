//! Boards coming into memory and leaving it, and the end.

use futures::future::join_all;

use super::*;

#[tokio::test(start_paused = true)]
async fn an_idle_board_leaves_memory_and_comes_back_the_same() {
    let bench = Bench::with(small_snapshots()).await;
    for n in 0..60 {
        bench.put(&format!("k{n}"), text(500), 0).await;
    }
    let before = state(&bench.board().await.published().board);
    tokio::time::sleep(Duration::from_secs(320)).await;
    assert_eq!((bench.engine.stats().boards_loaded, bench.engine.stats().evictions), (0, 1));
    assert_eq!(state(&bench.board().await.published().board), before);
    assert_eq!(bench.engine.stats().loads, 2);
    bench.put("z", json!(1), 0).await;
}

#[tokio::test(start_paused = true)]
async fn a_board_that_somebody_has_is_not_loaded_a_second_time() {
    let bench = Bench::new().await;
    let held = bench.board().await;
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    assert!(Arc::ptr_eq(&held, &bench.board().await));
    let mut cursor = held.follow(Revision(1));
    drop(held);
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    assert_eq!(bench.engine.stats().loads, 1);
    bench.put("a", json!(1), 0).await;
    assert_eq!(cursor.take().await.expect("a log").len(), 1, "the cursor is on the board that is written to");
    drop(cursor);
    tokio::time::sleep(Duration::from_secs(1_000)).await;
    assert_eq!(bench.engine.stats().boards_loaded, 0);
}

/// Two sequencers for one board would conflict in the journal.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_board_never_has_two_writers_however_often_it_comes_and_goes() {
    let bench = Bench::with(Options { idle: Duration::ZERO, ..Options::default() }).await;
    for round in 1..=20 {
        let writers =
            (0..8).map(|n| tokio::spawn(super::batches::increments(Arc::clone(&bench.engine), format!("w{n}"), 5)));
        let writers = tokio::spawn(join_all(writers));
        while !writers.is_finished() {
            bench.engine.evict_idle();
            tokio::task::yield_now().await;
        }
        soon(writers).await.unwrap().into_iter().for_each(|done| assert_eq!(done.unwrap().len(), 5));
        until(|| bench.engine.evict_idle() == 1 || bench.engine.stats().boards_loaded == 0).await;
        assert_eq!(bench.value("n").await, Some(json!(40 * round)));
    }
    let stats = bench.engine.stats();
    assert_eq!(stats.retries, 0);
    assert!(stats.evictions >= 20 && stats.loads >= 20, "{stats:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_who_ask_at_once_load_a_board_once() {
    let bench = Bench::new().await.restarted().await;
    let boards = join_all((0..50).map(|_| {
        let engine = Arc::clone(&bench.engine);
        tokio::spawn(async move { engine.board(&b()).await.unwrap().unwrap() })
    }));
    let boards: Vec<_> = soon(boards).await.into_iter().map(|board| board.unwrap()).collect();
    assert!(boards.iter().all(|board| Arc::ptr_eq(board, &boards[0])));
    assert_eq!(bench.engine.stats().loads, 1);
}

#[tokio::test(start_paused = true)]
async fn names_without_a_board_leave_nothing_in_memory() {
    let bench = Bench::empty(Options::default()).await;
    assert!(bench.engine.board(&name("none")).await.expect("readable").is_none());
    assert_eq!(rejection(bench.ask(ask("ra", put("a", json!(1), 0))).await), Rejection::BoardNotFound);
    // One that was tried, and one whose first write was refused.
    let blueprint = builtin("default").expect("built in");
    let tried = Request { dry_run: true, ..ask("ra", create(Arc::clone(&blueprint))) };
    bench.ask(tried).await.expect("a dry run");
    let refused = Request { create_with: Some(Arc::clone(&blueprint)), ..ask("ra", put("a", json!(1), 5)) };
    let refused = rejection(bench.ask(refused).await);
    assert!(matches!(refused, Rejection::VersionConflict { .. }), "{refused:?}");
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(bench.engine.stats().boards_loaded, 0);
    assert_eq!(bench.engine.registry.n_names(), 0);
    assert!(bench.engine.list(None, 10).await.expect("a list").is_empty());
    // And it can be made after all.
    bench.ask(Request { create_with: Some(blueprint), ..ask("ra", put("a", json!(1), 0)) }).await.expect("made");
    assert_eq!(bench.revision().await, 1);
}

#[tokio::test(start_paused = true)]
async fn a_load_that_its_caller_gave_up_leaves_nothing_in_memory() {
    let bench = Bench::new().await.restarted().await;
    let name = b();
    let mut load = Box::pin(bench.engine.board(&name));
    assert!(futures::poll!(&mut load).is_pending());
    drop(load);
    assert_eq!(bench.engine.registry.n_names(), 1);
    tokio::time::sleep(Duration::from_secs(6)).await;
    assert_eq!(bench.engine.registry.n_names(), 0);
    bench.put("a", json!(1), 0).await;
}

#[tokio::test]
async fn no_more_boards_are_made_than_there_may_be() {
    let bench = Bench::with(Options { boards_max: 2, ..Options::default() }).await;
    let make = async |board: &str| {
        let request = ask("lin", create(builtin("default").expect("built in")));
        bench.engine.submit(&name(board), request).await
    };
    make("c").await.expect("the second");
    let third = make("d").await;
    assert!(matches!(third, Err(Error::TooManyBoards { max: 2 })), "{third:?}");
    make("c").await.expect("one that is there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn what_was_acknowledged_before_the_end_is_there_after_it() {
    let dir = tempfile::tempdir().expect("a directory");
    let open = || kokuban_journal::Sqlite::open(&kokuban_journal::sqlite::Options::new(dir.path())).expect("a journal");
    let engine = Engine::start(Arc::new(open()), small_snapshots()).await.expect("a start");
    for board in ["x", "y"] {
        let request = ask("lin", create(builtin("default").expect("built in")));
        engine.submit(&name(board), request).await.expect("a board");
    }
    let writers: Vec<_> = (0..8)
        .map(|w| {
            let engine = Arc::clone(&engine);
            tokio::spawn(async move {
                let board = name(if w % 2 == 0 { "x" } else { "y" });
                let mut acknowledged = Vec::new();
                for n in 0.. {
                    let key = format!("w{w}-{n}");
                    match engine.submit(&board, ask("ra", put(&key, json!(n), 0))).await {
                        Ok(_) => acknowledged.push((board.clone(), key)),
                        Err(Error::Closing) => break,
                        Err(other) => panic!("{other}"),
                    }
                }
                acknowledged
            })
        })
        .collect();
    until(|| engine.stats().commits > 200).await;
    let start = std::time::Instant::now();
    soon(engine.close(Duration::from_secs(10))).await;
    assert!(start.elapsed() < Duration::from_secs(10));
    let acknowledged: Vec<_> = soon(join_all(writers)).await.into_iter().flat_map(|done| done.unwrap()).collect();
    assert!(acknowledged.len() >= 190, "{}", acknowledged.len());
    drop(engine);
    let engine = Engine::start(Arc::new(open()), Options::default()).await.expect("a start");
    for (board, key) in acknowledged {
        let board = engine.board(&board).await.expect("readable").expect("a board");
        assert!(board.published().board.entry(&id(&key)).is_some(), "{key}");
    }
    soon(engine.close(Duration::from_secs(10))).await;
}

#[tokio::test(start_paused = true)]
async fn the_end_comes_in_bounded_time_although_the_storage_hangs() {
    let bench = Bench::new().await;
    bench.journal.hold();
    let hangs = bench.asking(ask("ra", put("a", json!(1), 0)));
    soon(bench.journal.n_appends(2)).await;
    let start = tokio::time::Instant::now();
    bench.engine.close(Duration::from_secs(3)).await;
    assert!(start.elapsed() <= Duration::from_secs(8), "{:?}", start.elapsed());
    assert!(!hangs.is_finished(), "nobody is told what is not known");
    bench.journal.release();
    soon(hangs).await.unwrap().expect("it landed before the end");
}
