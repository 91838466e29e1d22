//! The one text of a value: RFC 8785, except where that would change a number.
//!
//! Invariant: reading the text gives an equal value whose text is the same. Integers are written in
//! full. Doubles are the shortest ECMAScript text, but with an exponent from 2^53 on in the stored form,
//! because the plain digits would be read back as an integer, perhaps one that is refused.

use std::cmp::Ordering;
use std::io::Write;

use serde_json::{Map, Number, Value};

/// From here on, doubles skip integers.
const TWO_POW_53: f64 = 9_007_199_254_740_992.0;

/// How a double of at least 2^53 is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doubles {
    /// With an exponent.
    Stored,
    /// As ECMAScript writes it, which is without one below 1e21.
    Rfc8785,
}

/// Writes the stored form of `value` behind what `out` has.
pub fn write_canonical(out: &mut Vec<u8>, value: &Value) {
    Writer { out, doubles: Doubles::Stored, forms_differ: false }.value(value);
}

/// The order of member names: by UTF-16 code units.
#[must_use]
pub fn compare_names(a: &str, b: &str) -> Ordering {
    // The order of UTF-8 bytes, but for U+E000 to U+FFFF (lead bytes EE, EF), which come after the
    // surrogate pairs of all higher characters (lead bytes F0 to F4).
    fn rank(byte: u8) -> u8 {
        if matches!(byte, 0xee | 0xef) { byte + 0x10 } else { byte }
    }
    a.bytes().map(rank).cmp(b.bytes().map(rank))
}

/// Writes parts of a text; whoever calls keeps the order of members.
#[derive(Debug)]
pub(super) struct Writer<'o> {
    pub(super) out: &'o mut Vec<u8>,
    pub(super) doubles: Doubles,
    /// A double was written on which the stored form and RFC 8785 differ.
    pub(super) forms_differ: bool,
}

impl Writer<'_> {
    pub(super) fn value(&mut self, value: &Value) {
        match value {
            Value::Null => self.out.extend_from_slice(b"null"),
            Value::Bool(true) => self.out.extend_from_slice(b"true"),
            Value::Bool(false) => self.out.extend_from_slice(b"false"),
            Value::Number(number) => self.number(number),
            Value::String(text) => self.string(text),
            Value::Array(items) => {
                self.out.push(b'[');
                for (index, item) in items.iter().enumerate() {
                    self.comma(index);
                    self.value(item);
                }
                self.out.push(b']');
            }
            Value::Object(members) => self.object(members),
        }
    }

    fn object(&mut self, members: &Map<String, Value>) {
        self.out.push(b'{');
        if members.keys().is_sorted_by(|a, b| compare_names(a, b).is_lt()) {
            members.iter().enumerate().for_each(|(index, member)| self.member(index, member));
        } else {
            let mut sorted: Vec<_> = members.iter().collect();
            sorted.sort_unstable_by(|a, b| compare_names(a.0, b.0));
            sorted.into_iter().enumerate().for_each(|(index, member)| self.member(index, member));
        }
        self.out.push(b'}');
    }

    fn member(&mut self, index: usize, (name, value): (&String, &Value)) {
        self.comma(index);
        self.string(name);
        self.out.push(b':');
        self.value(value);
    }

    pub(super) fn comma(&mut self, index: usize) {
        if index > 0 {
            self.out.push(b',');
        }
    }

    /// serde_json escapes exactly what RFC 8785 wants escaped, in the same way.
    pub(super) fn string(&mut self, text: &str) {
        serde_json::to_writer(&mut *self.out, text).expect("memory takes every write");
    }

    fn number(&mut self, number: &Number) {
        if let Some(integer) = number.as_u64() {
            self.unsigned(integer);
        } else if let Some(integer) = number.as_i64() {
            self.signed(integer);
        } else {
            self.double(number.as_f64().expect("a number that is no integer is a double"));
        }
    }

    pub(super) fn unsigned(&mut self, integer: u64) {
        serde_json::to_writer(&mut *self.out, &integer).expect("memory takes every write");
    }

    pub(super) fn signed(&mut self, integer: i64) {
        serde_json::to_writer(&mut *self.out, &integer).expect("memory takes every write");
    }

    /// `double` is finite.
    pub(super) fn double(&mut self, double: f64) {
        let mut buffer = ryu_js::Buffer::new();
        let text = buffer.format_finite(double);
        if double.abs() < TWO_POW_53 || text.contains('e') {
            self.out.extend_from_slice(text.as_bytes());
            return;
        }
        self.forms_differ = true;
        match self.doubles {
            Doubles::Rfc8785 => self.out.extend_from_slice(text.as_bytes()),
            Doubles::Stored => self.with_exponent(text),
        }
    }

    /// `text` is an integer of at least 16 digits.
    fn with_exponent(&mut self, text: &str) {
        let (sign, digits) = text.strip_prefix('-').map_or(("", text), |digits| ("-", digits));
        let exponent = digits.len() - 1;
        let significant = digits.trim_end_matches('0');
        let (first, others) = significant.split_at(1);
        let dot = if others.is_empty() { "" } else { "." };
        write!(self.out, "{sign}{first}{dot}{others}e+{exponent}").expect("memory takes every write");
    }
}
