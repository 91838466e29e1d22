//! Numbers, texts and ids in as few bytes as they need: what an entry is packed with, in memory and in a stored state.
//!
//! Invariant: what was put is taken, and taking from any bytes gives something or `None`, never a panic.
//! Not known here: what the numbers and texts are.

use smol_str::SmolStr;

/// The sixteen bytes of a UUID in its usual spelling.
pub(crate) fn uuid_bytes(text: &str) -> Option<[u8; 16]> {
    let text: &[u8; 36] = text.as_bytes().try_into().ok()?;
    if [8, 13, 18, 23].iter().any(|at| text[*at] != b'-') {
        return None;
    }
    let mut uuid = [0; 16];
    for (byte, at) in uuid.iter_mut().zip(UUID_DIGITS) {
        let (high, low) = (DIGIT_VALUES[usize::from(text[at])], DIGIT_VALUES[usize::from(text[at + 1])]);
        *byte = (high << 4) | low;
        if high | low > 15 {
            return None;
        }
    }
    Some(uuid)
}

pub(crate) fn uuid_text(uuid: [u8; 16]) -> SmolStr {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = [b'-'; 36];
    for (byte, at) in uuid.into_iter().zip(UUID_DIGITS) {
        text[at] = DIGITS[usize::from(byte >> 4)];
        text[at + 1] = DIGITS[usize::from(byte & 15)];
    }
    std::str::from_utf8(&text).expect("digits and dashes").into()
}

/// Where the two digits of each byte stand.
const UUID_DIGITS: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];

/// What a byte is worth as a lower-case hexadecimal digit; 255 for all that are none.
pub(crate) const DIGIT_VALUES: [u8; 256] = {
    let mut values = [255; 256];
    let mut value = 0;
    while value < 16 {
        values[b"0123456789abcdef"[value as usize] as usize] = value;
        value += 1;
    }
    values
};

pub(crate) fn put_bytes(out: &mut Vec<u8>, bytes: &[u8]) {
    put_number(out, bytes.len() as u64);
    out.extend_from_slice(bytes);
}

/// Seven bits a byte, the lowest first.
pub(crate) fn put_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number & 0x7f) as u8 | 0x80);
        number >>= 7;
    }
    out.push((number & 0x7f) as u8);
}

pub(crate) fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (byte, others) = rest.split_first()?;
        *rest = others;
        number |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

pub(crate) fn take_bytes<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let n = usize::try_from(take_number(rest)?).ok()?;
    let (bytes, others) = rest.split_at_checked(n)?;
    *rest = others;
    Some(bytes)
}

pub(crate) fn take_text<'a>(rest: &mut &'a [u8]) -> Option<&'a str> {
    std::str::from_utf8(take_bytes(rest)?).ok()
}

pub(crate) fn take_array<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (bytes, others) = rest.split_first_chunk()?;
    *rest = others;
    Some(*bytes)
}

pub(crate) fn take_u64(rest: &mut &[u8]) -> Option<u64> {
    take_array(rest).map(u64::from_le_bytes)
}
