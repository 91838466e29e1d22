//! Short texts in which positions, tags and hashes are written.
//!
//! **Invariant**: ASCII, and within the capacity that the kind of text has. They stand in every answer and record, so
//! they are put together digit by digit: `write!` took ten times the instructions, a twentieth of a whole GET.
//! Not known here: what is written.

const DIGITS: &[u8; 16] = b"0123456789abcdef";

/// A text of at most `N` characters.
#[derive(Debug, Clone, Copy)]
pub struct Text<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Default for Text<N> {
    fn default() -> Self {
        Self { bytes: [0; N], len: 0 }
    }
}

impl<const N: usize> Text<N> {
    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).expect("only ASCII is written")
    }

    /// ASCII as it is.
    #[must_use]
    pub fn plain(mut self, text: &str) -> Self {
        self.bytes[self.len..self.len + text.len()].copy_from_slice(text.as_bytes());
        self.len += text.len();
        self
    }

    /// Bytes in lower-case hexadecimal.
    #[must_use]
    pub fn hex(mut self, bytes: &[u8]) -> Self {
        let place = &mut self.bytes[self.len..self.len + 2 * bytes.len()];
        for (pair, byte) in place.chunks_exact_mut(2).zip(bytes) {
            pair[0] = DIGITS[usize::from(byte >> 4)];
            pair[1] = DIGITS[usize::from(byte & 15)];
        }
        self.len += 2 * bytes.len();
        self
    }

    /// A number without leading zeros.
    #[must_use]
    pub fn decimal(mut self, mut n: u64) -> Self {
        let width = n.checked_ilog10().map_or(1, |log| log as usize + 1);
        for digit in self.bytes[self.len..self.len + width].iter_mut().rev() {
            *digit = DIGITS[usize::try_from(n % 10).expect("a digit")];
            n /= 10;
        }
        self.len += width;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_bytes_are_written_as_formatting_would() {
        for n in [0, 1, 9, 10, 99, 100, 12_345, u64::MAX - 1, u64::MAX] {
            assert_eq!(Text::<20>::default().decimal(n).as_str(), n.to_string());
            assert_eq!(Text::<16>::default().hex(&n.to_be_bytes()).as_str(), format!("{n:016x}"));
        }
        assert_eq!(Text::<5>::default().decimal(7).plain(".a").decimal(19).as_str(), "7.a19");
    }
}
