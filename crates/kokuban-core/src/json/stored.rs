//! A value at rest: its canonical bytes, shared and never changed.
//!
//! Invariant: a [`Json`] holds the stored form of a value, so equal bytes are equal values and what is
//! sent is what was hashed. Everything else about it follows from its bytes.
//! Values are secrets of their writers: no output for people shows one.

use std::fmt;
use std::sync::Arc;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::ser::SerializeStruct as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use super::canonical::{Doubles, Writer, compare_names};
use super::{Bounds, parse};
use crate::ids::Sha256;

/// The name by which serde_json knows a text that is JSON already.
const RAW: &str = "$serde_json::private::RawValue";

/// A value in its stored form. Cloning shares the bytes.
#[derive(Clone)]
pub struct Json {
    /// The text, and perhaps something of its owner's behind it.
    buffer: Arc<[u8]>,
    len: u32,
    /// The text holds a double that RFC 8785 writes differently, so the hash is not that of the text.
    forms_differ: bool,
}

/// The bytes are no value in its stored form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotCanonical;

impl fmt::Display for NotCanonical {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the bytes are not the stored form of a JSON value")
    }
}

impl std::error::Error for NotCanonical {}

impl Json {
    #[must_use]
    pub fn from_value(value: &Value) -> Self {
        let mut out = Vec::with_capacity(128);
        let mut writer = Writer { out: &mut out, doubles: Doubles::Stored, forms_differ: false };
        writer.value(value);
        let forms_differ = writer.forms_differ;
        Self::of(&out, forms_differ)
    }

    /// Takes back what [`Json::bytes`] gave.
    ///
    /// # Errors
    /// The bytes are not exactly a stored form.
    pub fn from_canonical_bytes(bytes: &[u8]) -> Result<Self, NotCanonical> {
        let again: Self = serde_json::from_slice(bytes).map_err(|_| NotCanonical)?;
        if again.bytes() == bytes { Ok(again) } else { Err(NotCanonical) }
    }

    /// Takes back what [`Json::bytes`] gave of a value with this hash.
    ///
    /// # Errors
    /// The bytes are not the stored form of that value.
    pub(crate) fn of_hash(bytes: &[u8], sha256: Sha256) -> Result<Self, NotCanonical> {
        if Sha256::of(bytes) == sha256 {
            // What was hashed was a stored form.
            std::str::from_utf8(bytes).map_err(|_| NotCanonical)?;
            return Ok(Self::of(bytes, false));
        }
        let json = Self::from_canonical_bytes(bytes)?;
        if json.sha256() == sha256 { Ok(json) } else { Err(NotCanonical) }
    }

    /// The stored form at the beginning of a buffer.
    pub(crate) fn shared(buffer: Arc<[u8]>, len: u32, forms_differ: bool) -> Self {
        Self { buffer, len, forms_differ }
    }

    fn of(text: &[u8], forms_differ: bool) -> Self {
        let len = u32::try_from(text.len()).expect("values are bounded far below 4 GiB");
        Self { buffer: text.into(), len, forms_differ }
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.buffer[..self.len as usize]
    }

    pub(crate) fn forms_differ(&self) -> bool {
        self.forms_differ
    }

    #[must_use]
    pub fn as_str(&self) -> &str {
        std::str::from_utf8(self.bytes()).expect("the stored form is UTF-8")
    }

    /// The size that limits are about.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "no JSON text is empty")]
    pub fn len(&self) -> usize {
        self.len as usize
    }

    #[must_use]
    pub fn to_value(&self) -> Value {
        parse(self.bytes(), &Bounds::UNBOUNDED).expect("the stored form can be read")
    }

    /// The hash of the RFC 8785 form, integers in full.
    #[must_use]
    pub fn sha256(&self) -> Sha256 {
        if !self.forms_differ {
            return Sha256::of(self.bytes());
        }
        let mut out = Vec::with_capacity(self.len());
        Writer { out: &mut out, doubles: Doubles::Rfc8785, forms_differ: false }.value(&self.to_value());
        Sha256::of(&out)
    }
}

impl PartialEq for Json {
    fn eq(&self, other: &Self) -> bool {
        self.bytes() == other.bytes()
    }
}

impl Eq for Json {}

impl From<&Value> for Json {
    fn from(value: &Value) -> Self {
        Self::from_value(value)
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json(<{} bytes>)", self.len)
    }
}

impl Serialize for Json {
    /// Inline, byte for byte; with serde_json only.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        // What `RawValue` does, without reading the text anew to see that it is JSON: a fifth of writing an entry.
        let mut raw = serializer.serialize_struct(RAW, 1)?;
        raw.serialize_field(RAW, self.as_str())?;
        raw.end()
    }
}

impl<'de> Deserialize<'de> for Json {
    /// For what this program wrote: a text of its own comes back byte for byte, any other is brought into the
    /// stored form. Text from outside goes through [`parse`], which alone sees how a number was spelled.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut out = Vec::with_capacity(128);
        let writer = Writer { out: &mut out, doubles: Doubles::Stored, forms_differ: false };
        let mut copy = Copier { writer, unsorted: false };
        Node(&mut copy).deserialize(deserializer)?;
        let (forms_differ, unsorted) = (copy.writer.forms_differ, copy.unsorted);
        if !unsorted {
            return Ok(Self::of(&out, forms_differ));
        }
        let value = parse(&out, &Bounds::UNBOUNDED).map_err(|_| D::Error::custom("the same member twice"))?;
        Ok(Self::from_value(&value))
    }
}

/// Writes a value as it is read, without building it: the form is right if the members came in order.
struct Copier<'o> {
    writer: Writer<'o>,
    unsorted: bool,
}

struct Node<'c, 'o>(&'c mut Copier<'o>);

impl<'de> DeserializeSeed<'de> for Node<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Node<'_, '_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<(), E> {
        self.0.writer.value(&Value::Null);
        Ok(())
    }

    fn visit_none<E: serde::de::Error>(self) -> Result<(), E> {
        self.visit_unit()
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        self.deserialize(deserializer)
    }

    fn visit_bool<E: serde::de::Error>(self, value: bool) -> Result<(), E> {
        self.0.writer.value(&Value::Bool(value));
        Ok(())
    }

    fn visit_i64<E: serde::de::Error>(self, value: i64) -> Result<(), E> {
        self.0.writer.signed(value);
        Ok(())
    }

    fn visit_u64<E: serde::de::Error>(self, value: u64) -> Result<(), E> {
        self.0.writer.unsigned(value);
        Ok(())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<(), E> {
        if !value.is_finite() {
            return Err(E::custom("a number that is not finite"));
        }
        self.0.writer.double(value);
        Ok(())
    }

    fn visit_str<E: serde::de::Error>(self, value: &str) -> Result<(), E> {
        self.0.writer.string(value);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        self.0.writer.out.push(b'[');
        let start = self.0.writer.out.len();
        loop {
            let end = self.0.writer.out.len();
            self.0.writer.comma(end - start);
            if seq.next_element_seed(Node(self.0))?.is_none() {
                self.0.writer.out.truncate(end);
                break;
            }
        }
        self.0.writer.out.push(b']');
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        self.0.writer.out.push(b'{');
        let mut before: Option<String> = None;
        while let Some(name) = map.next_key::<String>()? {
            if let Some(before) = &before {
                self.0.writer.out.push(b',');
                self.0.unsorted |= compare_names(before, &name).is_ge();
            }
            self.0.writer.string(&name);
            self.0.writer.out.push(b':');
            map.next_value_seed(Node(self.0))?;
            before = Some(name);
        }
        self.0.writer.out.push(b'}');
        Ok(())
    }
}
