//! The bytes of a commit: a hashed head in JSON, and the values beside it; and the chunks of a snapshot.
//!
//! Layout: `K` `1`, u32 length of the head, the head, then for each payload in order a u32 length and the canonical
//! text; the length `u32::MAX` stands for a value that was erased. All numbers little endian.
//! Invariant: dropping values never changes the head, so the chain of hashes survives an erasure.
//! Not known here: where records are kept.

use bytes::Bytes;
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::entry::Payload;
use crate::event::{Commit, Payloads};
use crate::ids::{ChainHash, Sha256};
use crate::json::Json;

const MAGIC: [u8; 2] = *b"K1";
const ERASED: u32 = u32::MAX;

/// A record that does not decode, or does not say what its hash says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Damage {
    /// Too short, an unknown format, or lengths that do not add up.
    Framing,
    Head(String),
    /// The value at this index does not have the hash that the head gives it.
    Value(usize),
    /// The head does not follow from the record before it.
    Chain,
    /// The chunks of a snapshot do not match their hash.
    Snapshot,
}

impl std::fmt::Display for Damage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Framing => f.write_str("the record is cut off or of an unknown format"),
            Self::Head(why) => write!(f, "the head of the record cannot be read: {why}"),
            Self::Value(index) => write!(f, "value {index} of the record does not match its hash"),
            Self::Chain => f.write_str("the record does not continue the hash chain"),
            Self::Snapshot => f.write_str("the snapshot does not match its hash"),
        }
    }
}

impl std::error::Error for Damage {}

/// Encodes `content`; the head alone is what the chain covers.
pub fn encode<T: Serialize + Payloads>(content: &T) -> Encoded {
    let head = serde_json::to_vec(content).expect("events hold only texts, numbers and maps with text keys");
    let mut size = MAGIC.len() + 4 + head.len();
    content.payloads(&mut |payload| size += 4 + payload.json.as_ref().map_or(0, Json::len));
    let mut out = Vec::with_capacity(size);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&length(head.len()));
    let start = out.len();
    out.extend_from_slice(&head);
    let end = out.len();
    content.payloads(&mut |payload| put_text(&mut out, payload.json.as_ref().map(Json::bytes)));
    Encoded { bytes: out.into(), head: start..end }
}

fn put_text(out: &mut Vec<u8>, text: Option<&[u8]>) {
    match text {
        Some(text) => {
            out.extend_from_slice(&length(text.len()));
            out.extend_from_slice(text);
        }
        None => out.extend_from_slice(&ERASED.to_le_bytes()),
    }
}

fn length(n: usize) -> [u8; 4] {
    // Bounded far below by the limits on bodies and blueprints.
    u32::try_from(n).expect("no part of a record reaches 4 GiB").to_le_bytes()
}

/// An encoded record.
#[derive(Debug, Clone)]
pub struct Encoded {
    pub bytes: Bytes,
    head: std::ops::Range<usize>,
}

impl Encoded {
    #[must_use]
    pub fn head(&self) -> &[u8] {
        &self.bytes[self.head.clone()]
    }

    /// The hash of the chain after this record.
    #[must_use]
    pub fn chain_after(&self, previous: ChainHash) -> ChainHash {
        previous.extend(self.head())
    }
}

/// A decoded record with the bytes of its head, for the chain.
#[derive(Debug)]
pub struct Decoded<T> {
    pub content: T,
    pub head: Bytes,
}

/// Decodes a record and checks every value against its hash.
///
/// # Errors
/// What is wrong with the bytes.
pub fn decode<T: DeserializeOwned + Payloads>(bytes: &Bytes) -> Result<Decoded<T>, Damage> {
    let mut rest = Cursor { bytes, at: 0 };
    let head = rest.head()?;
    let mut content: T = read_head(&head)?;
    let mut index = 0;
    let mut outcome = Ok(());
    content.payloads_mut(&mut |payload| {
        if outcome.is_ok() {
            outcome = rest.value(payload, index);
            index += 1;
        }
    });
    outcome?;
    if rest.at == bytes.len() { Ok(Decoded { content, head }) } else { Err(Damage::Framing) }
}

/// Decodes the commit that follows `previous`, and checks that it does.
///
/// # Errors
/// What is wrong with the bytes, or that they belong elsewhere.
pub fn decode_commit(bytes: &Bytes, previous: ChainHash, chain: ChainHash) -> Result<Commit, Damage> {
    let decoded = decode::<Commit>(bytes)?;
    if previous.extend(&decoded.head) == chain { Ok(decoded.content) } else { Err(Damage::Chain) }
}

fn read_head<T: DeserializeOwned>(head: &[u8]) -> Result<T, Damage> {
    serde_json::from_slice(head).map_err(|error| Damage::Head(error.to_string()))
}

struct Cursor<'a> {
    bytes: &'a Bytes,
    at: usize,
}

impl Cursor<'_> {
    fn take(&mut self, n: usize) -> Result<Bytes, Damage> {
        let end = self.at.checked_add(n).filter(|end| *end <= self.bytes.len()).ok_or(Damage::Framing)?;
        let part = self.bytes.slice(self.at..end);
        self.at = end;
        Ok(part)
    }

    fn length(&mut self) -> Result<u32, Damage> {
        let part = self.take(4)?;
        Ok(u32::from_le_bytes([part[0], part[1], part[2], part[3]]))
    }

    fn head(&mut self) -> Result<Bytes, Damage> {
        if self.take(MAGIC.len())?[..] != MAGIC {
            return Err(Damage::Framing);
        }
        let length = self.length()?;
        self.take(length as usize)
    }

    /// The text of the next value, unless it was erased.
    fn text(&mut self) -> Result<Option<Bytes>, Damage> {
        let length = self.length()?;
        if length == ERASED { Ok(None) } else { self.take(length as usize).map(Some) }
    }

    fn value(&mut self, payload: &mut Payload, index: usize) -> Result<(), Damage> {
        let Some(text) = self.text()? else {
            payload.json = None;
            return Ok(());
        };
        let json = Json::of_hash(&text, payload.sha256).map_err(|_| Damage::Value(index))?;
        if json.len() as u64 != payload.bytes {
            return Err(Damage::Value(index));
        }
        payload.json = Some(json);
        Ok(())
    }
}

/// Cuts a snapshot into chunks. The first is the hash of the rest: unlike a commit, a snapshot has no chain
/// that vouches for it.
#[must_use]
pub fn to_chunks(snapshot: &Bytes, chunk_bytes_max: usize) -> Vec<Bytes> {
    let mut rest = snapshot.clone();
    let mut chunks = vec![Bytes::copy_from_slice(&Sha256::of(&rest).0)];
    while rest.len() > chunk_bytes_max {
        chunks.push(rest.split_to(chunk_bytes_max));
    }
    chunks.push(rest);
    chunks
}

/// Puts the chunks of a snapshot together again.
///
/// # Errors
/// They are not those that were made.
pub fn from_chunks(chunks: Vec<Bytes>) -> Result<Bytes, Damage> {
    let mut chunks = chunks.into_iter();
    let hash = chunks.next().unwrap_or_default();
    let bytes: Bytes = match <[Bytes; 1]>::try_from(chunks.collect::<Vec<_>>()) {
        Ok([only]) => only,
        Err(chunks) => chunks.concat().into(),
    };
    if Sha256::of(&bytes).0[..] == hash[..] { Ok(bytes) } else { Err(Damage::Snapshot) }
}

/// The record without the values that `drop` names, or `None` if it has none of them. All else stays as it is, byte
/// for byte.
///
/// # Errors
/// What is wrong with the bytes.
pub fn without_values(bytes: &Bytes, drop: &dyn Fn(&Commit, Sha256) -> bool) -> Result<Option<Bytes>, Damage> {
    let mut rest = Cursor { bytes, at: 0 };
    let head = rest.head()?;
    let commit: Commit = read_head(&head)?;
    let mut out = bytes[..rest.at].to_vec();
    let mut dropped = false;
    let mut outcome = Ok(());
    commit.payloads(&mut |payload| match rest.text() {
        Ok(Some(_)) if drop(&commit, payload.sha256) => {
            out.extend_from_slice(&ERASED.to_le_bytes());
            dropped = true;
        }
        Ok(text) => put_text(&mut out, text.as_deref()),
        Err(damage) => outcome = Err(damage),
    });
    outcome?;
    if rest.at == bytes.len() { Ok(dropped.then(|| out.into())) } else { Err(Damage::Framing) }
}

#[cfg(test)]
mod tests;
