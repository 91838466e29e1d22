//! A small deterministic generator, so that a failing run can be repeated from its seed.
//!
//! **Invariant**: the same seed gives the same numbers on every machine.
//! Not known here: what is drawn.

/// `SplitMix64`: 64 bits of state, good enough to pick from.
#[derive(Debug, Clone)]
pub struct Random(u64);

impl Random {
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// A number below `end`, which is above 0.
    pub fn below(&mut self, end: u64) -> u64 {
        self.next_u64() % end
    }

    /// An index of a slice of this length.
    ///
    /// # Panics
    /// When there is nothing to pick from.
    pub fn index(&mut self, len: usize) -> usize {
        let len = u64::try_from(len).expect("lengths fit");
        usize::try_from(self.below(len)).expect("below a length")
    }
}
