//! Numbers, texts and ids in as few bytes as they need: what an entry is packed with, in memory and in a stored state.
//!
//! Invariant: what was put is taken, and taking from any bytes gives something or `None`, never a panic.
//! Not known here: what the numbers and texts are.

use smol_str::SmolStr;

/// The sixteen bytes of a UUID in its usual spelling.
pub(crate) fn uuid_bytes(text: &str) -> Option<[u8; 16]> {
    let bytes = text.as_bytes();
    if bytes.len() != 36 || [8, 13, 18, 23].iter().any(|at| bytes[*at] != b'-') {
        return None;
    }
    let mut digits = bytes.iter().filter(|byte| **byte != b'-').map(|byte| match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        _ => None,
    });
    let mut uuid = [0; 16];
    for byte in &mut uuid {
        *byte = digits.next()?? << 4 | digits.next()??;
    }
    digits.next().is_none().then_some(uuid)
}

pub(crate) fn uuid_text(uuid: [u8; 16]) -> SmolStr {
    let mut text = String::with_capacity(36);
    for (at, byte) in uuid.into_iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            text.push('-');
        }
        for digit in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[usize::from(digit)]));
        }
    }
    text.into()
}

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
