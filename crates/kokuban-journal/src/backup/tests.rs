//! Backups: what is written is read, and whatever happened to the bytes is found where it happened.

use bytes::Bytes;
use kokuban_core::ids::{BoardName, ChainHash, Revision, Timestamp};
use proptest::prelude::*;

use super::*;
use crate::conformance::Author;

fn begin() -> Frame {
    Frame::Note(Note::Begin(Begin { server: "1".to_owned(), taken: Timestamp(7), base: Revision(3) }))
}

fn board(name: &str) -> Frame {
    Frame::Note(Note::Board { board: BoardName::new(name).unwrap(), oldest: Revision(1) })
}

fn close() -> Frame {
    Frame::Note(Note::Close { revision: Revision(9), chain: ChainHash([9; 16]) })
}

fn state(n_chunks: usize) -> Frame {
    Frame::Note(Note::State { revision: Revision(1), chain: ChainHash::GENESIS, n_chunks })
}

fn end(boards: u64, records: u64) -> Frame {
    Frame::Note(Note::End(Totals { boards, records }))
}

fn chunk() -> Frame {
    Frame::Chunk(Bytes::from_static(b"a part of a state"))
}

fn record(body: impl Into<Bytes>) -> Frame {
    let mut commit = Author::of("b").commit(body);
    commit.deadline = Some(kokuban_core::ids::BoardTime(5));
    Frame::Record(commit)
}

fn frames() -> Vec<Frame> {
    let why = Frame::Note(Note::Unreadable { revision: None, why: "\u{1b}".to_owned() });
    vec![begin(), board("a"), state(2), chunk(), chunk(), record("x"), record(vec![]), why, close(), end(1, 2)]
}

fn bytes(frames: &[Frame]) -> Vec<u8> {
    let (mut writer, mut out) = (Writer::new(), Vec::new());
    frames.iter().for_each(|frame| writer.write(frame, &mut out));
    out
}

/// The frames of the bytes, fed in pieces of `step`, and the flaw that ends them.
fn parsed(bytes: &[u8], step: usize) -> (Vec<Frame>, Option<Flaw>) {
    let (mut parser, mut found) = (Parser::new(), Vec::new());
    for piece in bytes.chunks(step) {
        parser.feed(piece);
        loop {
            match parser.next_frame() {
                Ok(Some(frame)) => found.push(frame),
                Ok(None) => break,
                Err(flaw) => return (found, Some(flaw)),
            }
        }
    }
    (found, parser.has_rest().then(|| parser.cut_off()))
}

/// What is not due, if anything.
fn checked(frames: &[Frame]) -> Result<(), String> {
    let mut check = Check::new();
    frames.iter().try_for_each(|frame| check.take(frame).map(drop))?;
    if check.has_ended() { Ok(()) } else { Err("no end".to_owned()) }
}

#[test]
fn frames_are_read_as_they_were_written_however_they_come() {
    let bytes = bytes(&frames());
    for step in [1, 2, 7, 4096] {
        assert_eq!(parsed(&bytes, step), (frames(), None), "{step}");
    }
    assert!(Parser::knows(&bytes) && !Parser::knows(b"{\"format\":\"kokuban.export.1\""));
}

#[test]
fn a_flipped_bit_anywhere_is_found_in_its_frame() {
    let (whole, all) = (bytes(&frames()), frames());
    let starts: Vec<usize> = (0..=all.len()).map(|n| bytes(&all[..n]).len()).collect();
    for bit in 0..whole.len() * 8 {
        let mut damaged = whole.clone();
        damaged[bit / 8] ^= 1 << (bit % 8);
        let (found, flaw) = parsed(&damaged, 4096);
        let flaw = flaw.unwrap_or_else(|| panic!("bit {bit} was not missed"));
        // The magic bytes stand before the first frame, and belong to it.
        let frame = starts.iter().rposition(|start| *start <= bit / 8).unwrap();
        assert_eq!(found, all[..frame], "bit {bit}");
        let expected = if bit / 8 < MAGIC.len() { 0 } else { starts[frame].max(MAGIC.len()) };
        assert_eq!(flaw.offset, expected as u64, "bit {bit}");
    }
}

#[test]
fn a_backup_that_is_cut_anywhere_has_no_end() {
    let whole = bytes(&frames());
    for length in 0..whole.len() {
        let (found, _) = parsed(&whole[..length], 4096);
        assert!(checked(&found).is_err(), "{length}");
    }
    assert!(checked(&parsed(&whole, 4096).0).is_ok());
}

#[test]
fn a_frame_that_is_missing_doubled_or_moved_is_found() {
    let all = frames();
    let parts: Vec<Vec<u8>> = (0..all.len()).map(|n| bytes(&all[..=n])[bytes(&all[..n]).len()..].to_vec()).collect();
    let mut missing = parts.clone();
    missing.remove(4);
    let mut doubled = parts.clone();
    doubled.insert(4, parts[4].clone());
    let mut swapped = parts;
    swapped.swap(3, 5);
    for changed in [missing, doubled, swapped] {
        let flaw = parsed(&changed.concat(), 4096).1.expect("found");
        assert_eq!(flaw.fault, Fault::Seal);
    }
}

#[test]
fn what_is_no_backup_is_told_so_at_once() {
    assert_eq!(parsed(b"SQLite format 3", 4).1.unwrap().fault, Fault::Format);
    assert_eq!(parsed(b"kokuban.backup.2\n", 4).1.unwrap().fault, Fault::Format);
    assert_eq!(Parser::new().cut_off().fault, Fault::Format);
}

#[test]
fn frames_out_of_their_order_are_refused() {
    for (what, frames) in [
        ("no begin", vec![board("a"), close(), end(1, 0)]),
        ("two begins", vec![begin(), begin(), end(0, 0)]),
        ("a record of no board", vec![begin(), record("x"), end(0, 0)]),
        ("a board within another", vec![begin(), board("a"), board("b"), close(), end(1, 0)]),
        ("a board twice", vec![begin(), board("a"), close(), board("a"), close(), end(2, 0)]),
        ("boards out of order", vec![begin(), board("b"), close(), board("a"), close(), end(2, 0)]),
        ("a board left open", vec![begin(), board("a"), end(0, 0)]),
        ("a chunk missing", vec![begin(), board("a"), state(2), chunk(), record("x"), close(), end(1, 1)]),
        ("a chunk too many", vec![begin(), board("a"), state(0), chunk(), close(), end(1, 0)]),
        ("a chunk of nothing", vec![begin(), board("a"), chunk(), close(), end(1, 0)]),
        ("a late state", vec![begin(), board("a"), record("x"), state(0), close(), end(1, 1)]),
        ("another number of boards", vec![begin(), board("a"), close(), end(2, 0)]),
        ("another number of records", vec![begin(), board("a"), record("x"), close(), end(1, 2)]),
        ("more after the end", vec![begin(), end(0, 0), board("a")]),
    ] {
        assert!(checked(&frames).is_err(), "{what}");
    }
    assert_eq!(checked(&[begin(), end(0, 0)]), Ok(()));
}

#[test]
fn a_board_that_begins_anew_counts_once() {
    let frames = [begin(), board("a"), state(2), chunk(), board("a"), record("x"), close(), end(1, 1)];
    assert_eq!(checked(&frames), Ok(()));
    let mut check = Check::new();
    let closed = frames.iter().filter_map(|frame| check.take(frame).unwrap());
    let sections: Vec<u64> =
        closed.filter_map(|found| if let Found::Board(board) = found { Some(board.section) } else { None }).collect();
    assert_eq!(sections, [1]);
}

proptest! {
    #[test]
    fn bytes_that_were_put_in_anywhere_are_found(
        noise in proptest::collection::vec(any::<u8>(), 0..200), at in any::<prop::sample::Index>()
    ) {
        let mut whole = bytes(&frames());
        let at = at.index(whole.len() + 1);
        whole.splice(at..at, noise.clone());
        let (_, flaw) = parsed(&whole, 64);
        prop_assert_eq!(flaw.is_none(), noise.is_empty());
    }
}

#[test]
fn a_backup_is_named_after_when_it_was_taken() {
    assert_eq!(file_name(Timestamp(1_700_000_000_120)), "kokuban-20231114-221320.backup");
}
