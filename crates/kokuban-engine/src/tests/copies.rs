//! Copies of everything while boards go on.

use kokuban_core::ids::Timestamp;
use kokuban_core::verify::Flaw;
use kokuban_journal::backup::{Begin, Check, CheckedBoard, Found, Parser};
use kokuban_journal::{Refusal, Rewrite};

use super::*;
use crate::{Busy, Copying};

/// What a copy comes to, board by board.
struct Backup {
    begin: Begin,
    boards: Vec<CheckedBoard>,
}

impl Backup {
    fn board(&self, name: &str) -> &CheckedBoard {
        self.boards.iter().find(|checked| checked.board.as_str() == name).expect("a board")
    }

    fn state(&self, name: &str) -> bytes::Bytes {
        state(&self.board(name).outcome.kept.as_ref().expect("it can be brought back").board)
    }

    fn flaw(&self, name: &str) -> Option<&Flaw> {
        self.board(name).outcome.report.as_ref().err()
    }
}

/// Takes a copy to its end, doing something between any two parts of it.
async fn taken(mut copying: Copying, mut between: impl AsyncFnMut(usize)) -> Backup {
    let (mut parser, mut check) = (Parser::new(), Check::new());
    let (mut begin, mut boards, mut n) = (None, Vec::new(), 0);
    while let Some(part) = soon(copying.next()).await {
        parser.feed(&part.expect("a copy that does not break off"));
        while let Some(frame) = parser.next_frame().expect("whole") {
            match check.take(&frame).expect("in order") {
                Some(Found::Begin(found)) => begin = Some(found),
                Some(Found::Board(found)) => boards.push(*found),
                Some(Found::End(totals)) => assert_eq!(totals.boards, boards.len() as u64),
                None => {}
            }
        }
        between(n).await;
        n += 1;
    }
    assert!(check.has_ended() && !parser.has_rest());
    Backup { begin: begin.expect("a beginning"), boards }
}

async fn copy(bench: &Bench) -> Backup {
    taken(bench.engine.copy("1.2.3").expect("a turn"), async |_| {}).await
}

#[tokio::test]
async fn every_board_is_copied_as_it_stands_loaded_or_not() {
    let bench = Bench::with(small_snapshots()).await;
    for n in 0..100 {
        bench.put(&format!("k{n}"), text(500), 0).await;
        bench.ask(ask("ra", scratch("ra/draft", json!(n)))).await.expect("accepted");
    }
    let other = ask("lin", create(builtin("default").expect("built in")));
    soon(bench.engine.submit(&name("other"), other)).await.expect("another board");
    let expected = state(&bench.board().await.published().board);
    let bench = bench.restarted().await;
    let backup = copy(&bench).await;
    assert_eq!((backup.begin.server.as_str(), backup.begin.base), ("1.2.3", Revision::ZERO));
    assert!(backup.begin.taken > Timestamp(0));
    assert_eq!(backup.boards.len(), 2);
    assert_eq!(bench.engine.stats().boards_loaded, 0, "nothing is loaded for it");
    assert_eq!(backup.state("b"), expected);
    bench.board().await;
    assert_eq!(copy(&bench).await.state("b"), expected);
}

#[tokio::test]
async fn an_empty_server_gives_an_empty_backup() {
    let bench = Bench::empty(Options::default()).await;
    assert!(copy(&bench).await.boards.is_empty());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_copy_made_while_boards_are_written_is_whole_and_none_of_it_older_than_its_beginning() {
    let bench = Bench::with(small_snapshots()).await;
    for n in 0..200 {
        bench.put(&format!("k{n}"), text(300), 0).await;
    }
    let before = bench.revision().await;
    let engine = Arc::clone(&bench.engine);
    let writers = (0..4).map(|w| {
        let engine = Arc::clone(&engine);
        tokio::spawn(async move {
            for n in 0..300 {
                let write = ask("ra", put(&format!("w{w}-{n}"), json!(n), 0));
                engine.submit(&b(), write).await.expect("accepted");
                let draft = ask("ra", scratch("ra/draft", json!([w, n])));
                engine.submit(&b(), draft).await.expect("accepted");
            }
        })
    });
    let writers: Vec<_> = writers.collect();
    for _ in 0..5 {
        let backup = copy(&bench).await;
        let checked = backup.board("b");
        let report = checked.outcome.report.as_ref().unwrap_or_else(|flaw| panic!("{flaw}"));
        assert!(report.revision.0 >= before);
        let then = soon(bench.board().await.at(report.revision)).await.expect("a past");
        let kept = &checked.outcome.kept.as_ref().expect("kept").board;
        assert_eq!(kept.entries().count(), then.entries().count());
    }
    for writer in writers {
        soon(writer).await.unwrap();
    }
}

#[tokio::test]
async fn nothing_is_taken_out_of_the_log_of_a_board_while_it_is_copied() {
    let rules = "name = \"short\"\n[zones.working]\n[retention]\nrevisions = 20\n";
    let rules = Arc::new(Blueprint::from_toml(rules).expect("valid"));
    let bench = Bench::of(small_snapshots(), rules).await;
    for n in 0..100 {
        bench.put(&format!("k{n}"), text(300), 0).await;
    }
    let oldest = async || bench.journal.inner().info(b()).await.expect("readable").expect("a board").oldest;
    let board = bench.board().await;
    until(|| !board.extent().snapshotting).await;
    let before = oldest().await;
    let copying = bench.engine.copy("1").expect("a turn");
    let backup = taken(copying, async |n| {
        for i in 0..60 {
            bench.put(&format!("during-{n}-{i}"), text(300), 0).await;
        }
        if n < 2 {
            assert_eq!(oldest().await, before);
        }
    })
    .await;
    assert_eq!(backup.flaw("b"), None);
    bench.put("after", text(300), 0).await;
    until(|| !board.extent().snapshotting).await;
    assert!(oldest().await > before, "afterwards it is made up for");
}

#[tokio::test]
async fn an_erasure_in_the_midst_lets_the_board_begin_anew() {
    let bench = Bench::with(small_snapshots()).await;
    // A state of several parts: what was read ahead does not reach its end.
    for n in 0..80 {
        bench.put(&format!("k{n}"), text(100_000), 0).await;
    }
    bench.put("k0", json!("secret"), 1).await;
    bench.put("k0", json!(2), 2).await;
    let board = bench.board().await;
    until(|| !board.extent().snapshotting).await;
    let mut erased = false;
    let copying = bench.engine.copy("1").expect("a turn");
    let backup = taken(copying, async |n| {
        if n == 2 {
            let erase = Command::Erase { sha256: payload(&json!("secret")).sha256, reason: "asked".into() };
            bench.ask(ask("root", erase)).await.expect("accepted");
            erased = true;
        }
    })
    .await;
    assert!(erased);
    assert_eq!(backup.flaw("b"), None);
    let checked = backup.board("b");
    assert_eq!(checked.section, 1, "the first beginning was given up");
    assert_eq!(checked.outcome.report.as_ref().expect("whole").absent_values, 1);
}

#[tokio::test]
async fn what_is_damaged_or_cannot_be_read_is_told_and_the_rest_is_copied() {
    let bench = Bench::new().await;
    for n in 0..5 {
        bench.put(&format!("k{n}"), json!(n), 0).await;
    }
    let other = ask("lin", create(builtin("default").expect("built in")));
    soon(bench.engine.submit(&name("other"), other)).await.expect("another board");
    let records = bench.records().await;
    let mut body = records[3].body.to_vec();
    *body.last_mut().expect("bytes") ^= 1;
    let rewrite = Rewrite { revision: Revision(4), chain: records[3].chain, body: body.into() };
    bench.journal.inner().rewrite(b(), vec![rewrite]).await.expect("rewritten");
    let backup = copy(&bench).await;
    assert_eq!(backup.flaw("b").expect("damaged").revision, Some(Revision(4)));
    assert_eq!(backup.flaw("other"), None);

    let io = || kokuban_journal::Error::Refused(Refusal::Io { detail: "a bad sector".to_owned() });
    bench.journal.next_read(io());
    let backup = copy(&bench).await;
    let flaw = backup.flaw("b").expect("unreadable").to_string();
    assert!(flaw.contains("revision 4"), "the log tells more than the state that could not be read: {flaw}");
    assert_eq!(backup.flaw("other"), None);
}

#[tokio::test]
async fn a_store_that_closes_breaks_the_copy_off() {
    let bench = Bench::new().await;
    let mut copying = bench.engine.copy("1").expect("a turn");
    soon(bench.engine.close(Duration::from_secs(5))).await;
    let mut parts = Vec::new();
    while let Some(part) = soon(copying.next()).await {
        parts.push(part.is_ok());
    }
    assert_eq!(parts.last(), Some(&false), "it says that it is not whole");
}

#[tokio::test]
async fn few_copies_are_made_at_a_time_and_one_that_nobody_takes_ends() {
    let bench = Bench::new().await;
    let one = bench.engine.copy("1").expect("a turn");
    let two = bench.engine.copy("1").expect("a turn");
    settle().await;
    assert_eq!(bench.engine.copy("1").expect_err("full"), Busy);
    drop(one);
    let copies = &bench.engine.shared().copies;
    until(|| bench.engine.copy("1").is_ok()).await;
    drop(two);
    until(|| !copies.is_copied(&b())).await;
}
