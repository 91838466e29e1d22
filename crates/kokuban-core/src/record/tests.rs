//! Records: what is written is read, what is damaged is refused, and an erasure leaves the chain whole.

use bytes::Bytes;
use proptest::prelude::*;
use serde_json::json;

use super::{Damage, decode, decode_commit, encode, without_values};
use crate::board::Board;
use crate::event::{Commit, Payloads};
use crate::ids::{ChainHash, Sha256};
use crate::scenario::{Stage, bytes_of, claim, id, patch, payload, put, transact};

/// A stage with a bit of everything in its log.
fn stage() -> Stage {
    let mut stage = Stage::with("[zones.work]");
    stage.ok("ra", put("work/a", json!({"name": "other", "n": 117.633_313_911_400_17})).untrusted().ttl(1_000));
    stage.ok("ra", transact().and(put("work/意向国家", json!("secret"))).and(put("work/c", json!([null, {"x": []}]))));
    stage.ok("rb", patch("work/c").set("/1/x", json!(["more"])).version(1));
    stage.key("k", "claim").ok("rb", claim("work", 60_000));
    stage.at(1_000).tick();
    stage
}

fn last(stage: &Stage) -> (Bytes, ChainHash, ChainHash) {
    let log = stage.log();
    let (bytes, after) = &log[log.len() - 2];
    (bytes.clone(), log[log.len() - 3].1, *after)
}

#[test]
fn a_keyed_claim_has_its_entry_in_the_answer() {
    let stage = stage();
    let (bytes, before, after) = last(&stage);
    let commit = decode_commit(&bytes, before, after).expect("it reads back");
    let keyed = commit.keyed.expect("a key");
    let entry = keyed.reply.entry().expect("what was claimed");
    assert_eq!(entry.value, payload(&json!("secret")));
}

#[test]
fn a_record_cut_off_anywhere_is_refused() {
    for (bytes, _) in stage().log() {
        for end in 0..bytes.len() {
            assert!(decode::<Commit>(&bytes.slice(..end)).is_err(), "{end} of {}", bytes.len());
        }
        let mut longer = bytes.to_vec();
        longer.push(0);
        assert!(decode::<Commit>(&longer.into()).is_err());
    }
}

#[test]
fn a_flipped_bit_anywhere_is_refused() {
    let stage = stage();
    let mut before = ChainHash::GENESIS;
    for (bytes, after) in stage.log() {
        for at in 0..bytes.len() * 8 {
            let mut damaged = bytes.to_vec();
            damaged[at / 8] ^= 1 << (at % 8);
            let read = decode_commit(&damaged.into(), before, *after);
            // The one thing that a flipped bit may be is an erasure, which needs all 32 bits of a length.
            assert!(read.is_err(), "bit {at} of {}", bytes.len());
        }
        before = *after;
    }
}

#[test]
fn a_record_from_elsewhere_does_not_follow() {
    let stage = stage();
    let (bytes, before, after) = last(&stage);
    assert_eq!(decode_commit(&bytes, ChainHash::GENESIS, after), Err(Damage::Chain));
    assert_eq!(decode_commit(&bytes, before, ChainHash::GENESIS), Err(Damage::Chain));
}

#[test]
fn an_erased_value_leaves_its_hash_and_the_chain() {
    let stage = stage();
    let doomed = payload(&json!("secret")).sha256;
    let mut erased = 0;
    let mut before = ChainHash::GENESIS;
    let mut board = Board::absent(stage.board.name().clone());
    for (bytes, after) in stage.log() {
        let without = without_values(bytes, &|_, sha256| sha256 == doomed).expect("it reads back");
        erased += usize::from(without.is_some());
        let kept = without.unwrap_or_else(|| bytes.clone());
        assert!(!kept.windows(6).any(|window| window == b"secret"));
        let commit = decode_commit(&kept, before, *after).expect("the chain is whole");
        board.apply(&commit).expect("it applies");
        before = *after;
    }
    assert_eq!(erased, 2, "in the write and in the stored answer");
    let entry = board.entry(&id("work/意向国家")).expect("it stands");
    assert_eq!((entry.sha256, entry.bytes(), entry.value()), (doomed, 8, None));
    assert_eq!(board.bytes(), stage.board.bytes());
    board.check();
    let again = Board::from_snapshot(&bytes_of(&board)).expect("a snapshot reads back");
    assert!(again == board);
}

#[test]
fn nothing_is_rewritten_where_nothing_is_erased() {
    for (bytes, _) in stage().log() {
        assert_eq!(without_values(bytes, &|_, _| false), Ok(None));
        assert_eq!(without_values(bytes, &|_, sha256| sha256 == Sha256([7; 32])), Ok(None));
    }
}

#[test]
fn the_head_holds_no_value() {
    for (bytes, _) in stage().log() {
        let commit = decode::<Commit>(bytes).expect("it reads back").content;
        let encoded = encode(&commit);
        assert_eq!(&encoded.bytes, bytes, "one form");
        let head = std::str::from_utf8(encoded.head()).expect("JSON");
        assert!(!head.contains("secret") && !head.contains("other") && !head.contains("117.6"), "{head}");
        let mut n = 0;
        commit.payloads(&mut |payload| n += usize::from(payload.json.is_some()));
        assert!(n <= 2);
    }
}

proptest! {
    #[test]
    fn any_bytes_are_a_record_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..64)) {
        for magic in [b"K1", b"S2"] {
            let framed = Bytes::from([&magic[..], &bytes].concat());
            let _ = decode::<Commit>(&framed);
            let _ = Board::from_snapshot(&framed);
        }
        let _ = decode::<Commit>(&bytes.into());
    }
}
