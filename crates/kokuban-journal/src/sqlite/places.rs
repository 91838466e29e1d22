//! Where the records of a board are in the journal table, which is in order of arrival.
//!
//! Invariant: a stretch is a run of records that follow each other both in revision and in place; the stretches of a
//! board ascend.
//! Not known here: tables. Cost: a pair of small varints per stretch, so one byte or two per record in the worst
//! case, and next to nothing for a board that writes alone.

/// `n` records from `revision` on, at the places from `seq` on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stretch {
    pub(super) revision: i64,
    pub(super) seq: i64,
    pub(super) n: i64,
}

impl Stretch {
    /// The part with `from <= revision < to`.
    pub(super) fn clip(self, from: i64, to: i64) -> Option<Self> {
        let first = self.revision.max(from);
        let end = (self.revision + self.n).min(to);
        (first < end).then_some(Self { revision: first, seq: self.seq + (first - self.revision), n: end - first })
    }

    /// The first revision after it.
    pub(super) fn end(self) -> i64 {
        self.revision + self.n
    }
}

/// Adds a record to stretches that it follows.
pub(super) fn push(stretches: &mut Vec<Stretch>, revision: i64, seq: i64) {
    match stretches.last_mut() {
        Some(last) if last.end() == revision && last.seq + last.n == seq => last.n += 1,
        _ => stretches.push(Stretch { revision, seq, n: 1 }),
    }
}

/// Stretches whose revisions leave no gap, as one row of the table `run`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Run {
    pub(super) revision: i64,
    pub(super) n: i64,
    pub(super) places: Vec<u8>,
}

impl Run {
    /// Packs stretches into as few rows as their revisions allow.
    pub(super) fn pack(stretches: &[Stretch]) -> Vec<Self> {
        stretches.chunk_by(|before, after| before.end() == after.revision).map(Self::of).collect()
    }

    fn of(stretches: &[Stretch]) -> Self {
        let mut run = Self { revision: stretches.first().map_or(0, |first| first.revision), n: 0, places: Vec::new() };
        let mut seq = 0;
        for stretch in stretches {
            put_varint(&mut run.places, stretch.seq - seq);
            put_varint(&mut run.places, stretch.n);
            seq = stretch.seq + stretch.n;
            run.n += stretch.n;
        }
        run
    }

    /// The first revision after it.
    pub(super) fn end(&self) -> i64 {
        self.revision.saturating_add(self.n)
    }

    /// `None`: the bytes are not what [`Run::of`] writes.
    pub(super) fn unpack(&self) -> Option<Vec<Stretch>> {
        let mut stretches = Vec::new();
        let (mut revision, mut seq) = (self.revision, 0_i64);
        let mut bytes = self.places.iter().copied();
        while bytes.len() > 0 {
            seq = seq.checked_add(take_varint(&mut bytes)?)?;
            let n = take_varint(&mut bytes)?;
            stretches.push(Stretch { revision, seq, n });
            (revision, seq) = (revision.checked_add(n)?, seq.checked_add(n)?);
        }
        (revision.checked_sub(self.revision) == Some(self.n)).then_some(stretches)
    }
}

fn put_varint(out: &mut Vec<u8>, number: i64) {
    let mut rest = u64::try_from(number).expect("places ascend");
    loop {
        let low = u8::try_from(rest & 0x7f).expect("seven bits");
        rest >>= 7;
        if rest == 0 {
            return out.push(low);
        }
        out.push(low | 0x80);
    }
}

fn take_varint(bytes: &mut impl Iterator<Item = u8>) -> Option<i64> {
    let mut number = 0_u64;
    for shift in (0..63).step_by(7) {
        let byte = bytes.next()?;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return i64::try_from(number).ok();
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn stretches_come_back_from_their_runs(gaps in proptest::collection::vec((1_i64..4, 1_i64..300), 1..200)) {
            let (mut revision, mut seq) = (0, 0);
            let mut stretches = Vec::new();
            let mut records = Vec::new();
            for (revisions, places) in gaps {
                revision += if revisions == 3 { 1_000_000 } else { 1 };
                seq += if places < 150 { 1 } else { places * places };
                push(&mut stretches, revision, seq);
                records.push((revision, seq));
            }
            let unpacked: Vec<Stretch> =
                Run::pack(&stretches).iter().flat_map(|run| run.unpack().expect("packed")).collect();
            let found: Vec<_> =
                unpacked.iter().flat_map(|s| (0..s.n).map(move |i| (s.revision + i, s.seq + i))).collect();
            prop_assert_eq!(found, records);
        }

        #[test]
        fn any_bytes_unpack_or_are_refused(places in proptest::collection::vec(any::<u8>(), 0..40), n in 0_i64..9) {
            let _ = Run { revision: 1, n, places }.unpack();
        }
    }

    #[test]
    fn a_board_that_writes_alone_needs_one_stretch() {
        let mut stretches = Vec::new();
        (1..=100_000).for_each(|revision| push(&mut stretches, revision, revision + 7));
        let runs = Run::pack(&stretches);
        assert_eq!((runs.len(), runs[0].places.len()), (1, 4));
    }
}
