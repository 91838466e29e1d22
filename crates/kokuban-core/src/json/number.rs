//! Literals of numbers, where the text itself has to be looked at.
//!
//! Invariant: outside of strings and number literals not a byte changes, and no byte moves, so the
//! places of other faults stay true. The text need not be JSON.

/// A text in which every literal that cannot be kept stands as `0` and spaces.
#[derive(Debug)]
pub(super) struct Replaced {
    pub(super) text: String,
    /// Which number, counted from 0, was the first of them.
    pub(super) first: usize,
}

/// `None` when every literal can be kept.
pub(super) fn replace_unrepresentable(text: &str) -> Option<Replaced> {
    let bytes = text.as_bytes();
    let mut out = String::new();
    let (mut copied, mut first) = (0, None);
    let (mut at, mut count) = (0, 0);
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => at = string_end(bytes, at),
            b'-' | b'0'..=b'9' => {
                let end = literal_end(bytes, at);
                if is_unrepresentable(&text[at..end]) {
                    first.get_or_insert(count);
                    out.push_str(&text[copied..at]);
                    out.push('0');
                    out.extend(std::iter::repeat_n(' ', end - at - 1));
                    copied = end;
                }
                count += 1;
                at = end;
            }
            _ => at += 1,
        }
    }
    out.push_str(&text[copied..]);
    first.map(|first| Replaced { text: out, first })
}

/// The place after the string that begins at `at`.
fn string_end(bytes: &[u8], at: usize) -> usize {
    let mut at = at + 1;
    while let Some(byte) = bytes.get(at) {
        match byte {
            b'"' => return at + 1,
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
    bytes.len()
}

fn literal_end(bytes: &[u8], at: usize) -> usize {
    let rest = &bytes[at..];
    let len = rest.iter().position(|b| !matches!(b, b'0'..=b'9' | b'-' | b'+' | b'.' | b'e' | b'E'));
    at + len.unwrap_or(rest.len())
}

/// Whether `literal` is a number of JSON that neither an integer of 64 bits nor a double can hold.
fn is_unrepresentable(literal: &str) -> bool {
    let Some(shape) = Shape::of(literal) else { return false };
    if shape.is_integer {
        return literal != "-0" && literal.parse::<i64>().is_err() && literal.parse::<u64>().is_err();
    }
    // Only a zero that is no zero, or infinity, can be wrong: anything between is the nearest double.
    let Ok(double) = literal.parse::<f64>() else { return true };
    double.is_infinite() || (double == 0.0 && shape.is_nonzero)
}

struct Shape {
    is_integer: bool,
    is_nonzero: bool,
}

impl Shape {
    /// `None` when `literal` breaks the grammar of RFC 8259.
    fn of(literal: &str) -> Option<Self> {
        let unsigned = literal.strip_prefix('-').unwrap_or(literal);
        let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
            Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
            None => (unsigned, None),
        };
        let (whole, fraction) = match mantissa.split_once('.') {
            Some((whole, fraction)) => (whole, Some(fraction)),
            None => (mantissa, None),
        };
        let exponent_digits = exponent.map(|text| text.strip_prefix(['+', '-']).unwrap_or(text));
        let grammatical = is_digits(whole)
            && (whole == "0" || !whole.starts_with('0'))
            && fraction.is_none_or(is_digits)
            && exponent_digits.is_none_or(is_digits);
        grammatical.then(|| Self {
            is_integer: fraction.is_none() && exponent.is_none(),
            is_nonzero: mantissa.bytes().any(|b| matches!(b, b'1'..=b'9')),
        })
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}
