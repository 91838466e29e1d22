//! Looks through SQLite's write-ahead log before SQLite does.
//!
//! SQLite takes the first frame whose checksum does not fit for the end of the log and forgets what follows. After a
//! loss of power that is right: what was never synced may be torn. After a flipped bit it would lose synced groups
//! in silence. The two look different only by what follows the bad frame: a group is written when the one before is
//! synced, so at most the last group can be torn.
//! Invariant: never writes. Follows the format description at sqlite.org/fileformat2.html, section 4.
//! Known limit: damage inside the last group cannot be told from a torn one; nor can damage that wipes the header of
//! the frame which ends the group before it.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::path::Path;

const HEADER_BYTES: usize = 32;
const FRAME_HEADER_BYTES: usize = 24;
const MAGIC: u32 = 0x377f_0682;

/// What the log looks like.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Log {
    /// Every frame of the current generation is sound.
    Sound,
    /// The last group is cut off or was never complete; SQLite drops it.
    Torn { offset: u64 },
    /// SQLite would drop groups that were synced.
    Damaged { offset: u64, detail: String },
}

/// Looks through the log at `path`; no file is a sound log.
pub(super) fn scan(path: &Path, page_bytes: usize) -> io::Result<Log> {
    let file = match File::open(path) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Log::Sound),
        Err(error) => return Err(error),
    };
    let mut file = BufReader::with_capacity(1 << 18, file);
    let mut head = [0; HEADER_BYTES];
    if !read_all(&mut file, &mut head)? {
        return Ok(Log::Sound);
    }
    match Header::parse(&head) {
        Some(header) => header.scan(&mut file),
        None => without_header(&mut file, page_bytes),
    }
}

/// Whether `buffer` could be filled.
fn read_all(file: &mut impl Read, buffer: &mut [u8]) -> io::Result<bool> {
    match file.read_exact(buffer) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// A bad header makes SQLite forget the whole log. It is synced before the first frame is written, so any group
/// behind a bad one was once reachable.
fn without_header(file: &mut impl Read, page_bytes: usize) -> io::Result<Log> {
    let mut frame = vec![0; FRAME_HEADER_BYTES + page_bytes];
    while read_all(file, &mut frame)? {
        if word(&frame, 0) != 0 && word(&frame, 4) != 0 {
            return Ok(Log::Damaged { offset: 0, detail: "the header of the log is damaged and groups follow".into() });
        }
    }
    Ok(Log::Sound)
}

struct Header {
    page_bytes: usize,
    big_endian: bool,
    salts: [u8; 8],
    sum: Sum,
}

impl Header {
    fn parse(head: &[u8; HEADER_BYTES]) -> Option<Self> {
        let magic = word(head, 0);
        let page_bytes = usize::try_from(word(head, 8)).ok()?;
        if magic & !1 != MAGIC || !page_bytes.is_power_of_two() || !(512..=65536).contains(&page_bytes) {
            return None;
        }
        let big_endian = magic & 1 == 1;
        let sum = Sum::default().over(&head[..24], big_endian);
        let salts = head[16..24].try_into().ok()?;
        (sum == Sum::stored(head, 24)).then_some(Self { page_bytes, big_endian, salts, sum })
    }

    fn scan<R: Read + Seek>(&self, file: &mut R) -> io::Result<Log> {
        let mut frame = vec![0; FRAME_HEADER_BYTES + self.page_bytes];
        let mut offset = 32_u64;
        let mut sum = self.sum;
        let mut group_open = None;
        loop {
            if !read_all(file, &mut frame)? {
                break;
            }
            match self.follows(&frame, sum) {
                Some(next) => sum = next,
                None => return self.beyond(file, offset, sum, &frame),
            }
            group_open = if is_commit(&frame) { None } else { group_open.or(Some(offset)) };
            offset += frame_bytes(&frame);
        }
        // The file ends inside a group, or inside a frame.
        let end = file.seek(SeekFrom::End(0))?;
        Ok(match group_open {
            Some(offset) => Log::Torn { offset },
            None if end > offset => Log::Torn { offset },
            None => Log::Sound,
        })
    }

    /// The checksum after the frame, if it continues `sum`.
    fn follows(&self, frame: &[u8], sum: Sum) -> Option<Sum> {
        let next = sum.over(&frame[..8], self.big_endian).over(&frame[FRAME_HEADER_BYTES..], self.big_endian);
        let fits = frame[8..16] == self.salts && word(frame, 0) != 0 && next == Sum::stored(frame, 16);
        fits.then_some(next)
    }

    /// Judges the first bad frame, at `offset`, by what follows it.
    fn beyond(&self, file: &mut impl Read, offset: u64, sum: Sum, bad: &[u8]) -> io::Result<Log> {
        let mut frame = vec![0; bad.len()];
        let mut n_groups = 0_u64;
        let mut ours = bad[8..16] == self.salts;
        while read_all(file, &mut frame)? {
            let same = frame[8..16] == self.salts;
            ours |= same;
            n_groups += u64::from(same && is_commit(&frame));
        }
        // The first group that ends behind the bad frame is the one the frame is part of, unless it ended that.
        let lost_synced = n_groups >= 2 || (n_groups == 1 && self.ended_group(bad, sum));
        Ok(if lost_synced {
            let detail = format!("a frame is damaged and {n_groups} complete groups follow it");
            Log::Damaged { offset, detail }
        } else if ours {
            Log::Torn { offset }
        } else {
            // What is left of an older generation of the log, or the zeros it was grown with.
            Log::Sound
        })
    }

    /// Whether the bad frame was the last of a group, as far as one flipped bit can hide that.
    fn ended_group(&self, bad: &[u8], sum: Sum) -> bool {
        if bad[8..16] == self.salts && is_commit(bad) {
            return true;
        }
        let mut repaired = bad.to_vec();
        repaired[8..16].copy_from_slice(&self.salts);
        if is_commit(bad) {
            return self.follows(&repaired, sum).is_some();
        }
        (0..32).any(|bit| {
            repaired[4..8].copy_from_slice(&(1_u32 << bit).to_be_bytes());
            self.follows(&repaired, sum).is_some()
        })
    }
}

/// The frame's header has the size of the database after the group, which only the last frame of a group has.
fn is_commit(frame: &[u8]) -> bool {
    word(frame, 4) != 0
}

fn frame_bytes(frame: &[u8]) -> u64 {
    u64::try_from(frame.len()).expect("a frame has at most 64 KiB")
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four bytes"))
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Sum(u32, u32);

impl Sum {
    fn stored(bytes: &[u8], at: usize) -> Self {
        Self(word(bytes, at), word(bytes, at + 4))
    }

    fn over(self, bytes: &[u8], big_endian: bool) -> Self {
        let number = |word: &[u8]| {
            let word: [u8; 4] = word.try_into().expect("chunks of eight are two of four");
            if big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) }
        };
        bytes.chunks_exact(8).fold(self, |Self(first, second), pair| {
            let first = first.wrapping_add(number(&pair[..4])).wrapping_add(second);
            Self(first, second.wrapping_add(number(&pair[4..])).wrapping_add(first))
        })
    }
}
