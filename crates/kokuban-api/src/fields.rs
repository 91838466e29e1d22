//! Strict reading of a request body that is already parsed.
//!
//! Invariant: every member is either read, or reported; all mistakes of a body are collected before it is
//! refused, each with its JSON Pointer. No value of the caller is ever repeated in a text.
//! Not known here: which members a body has; that is in `bodies`. Start at [`Fields::of`].

mod values;

use serde_json::{Map, Value};

use crate::code::ErrorCode;
use crate::problem::{ErrorItem, Problem};
use crate::spelling::{nearest, shown};

pub(crate) use values::unknown_word;
use values::wrong_type;
pub use values::{
    any, at_most, boolean, escaped, integer, invalid, invalid_name, lease_token, list, map, name, one_of, parsed, text,
    text_bytes, text_chars, version, within, word,
};

/// Looking for the nearest name costs; a body may have thousands of members.
const UNKNOWN_MEMBERS_SHOWN_MAX: usize = 32;
/// About as many as the largest body knows, so that the list of them is allocated once.
const KNOWN_MEMBERS: usize = 36;

/// The mistakes of a body, at least one, each with its pointer.
#[derive(Debug, Clone, PartialEq)]
pub struct BodyErrors(Vec<ErrorItem>);

impl BodyErrors {
    /// `None` when there are none.
    #[must_use]
    pub fn new(items: Vec<ErrorItem>) -> Option<Self> {
        (!items.is_empty()).then_some(Self(items))
    }

    #[must_use]
    pub fn items(&self) -> &[ErrorItem] {
        &self.0
    }

    #[must_use]
    pub fn into_items(self) -> Vec<ErrorItem> {
        self.0
    }

    /// The same mistakes seen from an enclosing body.
    #[must_use]
    pub fn below(self, prefix: &str) -> Self {
        Self(self.0.into_iter().map(|item| item.below(prefix)).collect())
    }
}

impl From<ErrorItem> for BodyErrors {
    fn from(item: ErrorItem) -> Self {
        Self(vec![item])
    }
}

impl From<BodyErrors> for Problem {
    /// What makes a request unreadable (400) comes before what makes it impossible (422); else the order of reading.
    fn from(errors: BodyErrors) -> Self {
        let mut items = errors.0;
        items.sort_by_key(|item| item.code.known().map(ErrorCode::status));
        Self::from_errors(items).expect("body errors are not empty and have codes of this crate")
    }
}

/// How one member is read. Pointers of errors are relative to the member: none, or `""`, is the member itself.
pub type Read<T> = Result<T, BodyErrors>;

/// A cursor over the members of one object of a body.
#[derive(Debug)]
pub struct Fields {
    members: Map<String, Value>,
    known: Vec<&'static str>,
    errors: Vec<ErrorItem>,
}

impl Fields {
    /// The members of a body.
    ///
    /// # Errors
    /// `invalid_value` when it is no object.
    pub fn of(body: Value) -> Read<Self> {
        match body {
            Value::Object(members) => {
                Ok(Self { members, known: Vec::with_capacity(KNOWN_MEMBERS), errors: Vec::new() })
            }
            other => Err(wrong_type("the body", "an object", &other).below("")),
        }
    }

    /// The members of `value`, itself a member or item: pointers are relative to it.
    ///
    /// # Errors
    /// As [`Fields::of`].
    pub fn of_member(value: Value) -> Read<Self> {
        match value {
            Value::Object(_) => Self::of(value),
            other => Err(wrong_type("this", "an object", &other)),
        }
    }

    /// A member that may be missing; null is a value like any other and for `read` to judge.
    pub fn optional<T>(&mut self, name: &'static str, read: impl FnOnce(Value) -> Read<T>) -> Option<T> {
        self.known.push(name);
        let value = self.members.remove(name)?;
        self.read(name, value, read)
    }

    /// A member for which null means absent.
    pub fn nullable<T>(&mut self, name: &'static str, read: impl FnOnce(Value) -> Read<T>) -> Option<T> {
        self.known.push(name);
        match self.members.remove(name)? {
            Value::Null => None,
            value => self.read(name, value, read),
        }
    }

    /// A member that must be there.
    pub fn required<T>(&mut self, name: &'static str, read: impl FnOnce(Value) -> Read<T>) -> Option<T> {
        self.known.push(name);
        match self.members.remove(name) {
            Some(value) => self.read(name, value, read),
            None => {
                self.mistake(name, ErrorItem::new(ErrorCode::InvalidValue, format!("`{name}` is required")));
                None
            }
        }
    }

    /// The members among `names` as they are, for the board to compare.
    pub fn raw(&mut self, names: &[&'static str]) -> Vec<(String, Value)> {
        self.known.extend_from_slice(names);
        names.iter().filter_map(|name| self.members.remove_entry(*name)).collect()
    }

    /// A member that this body must not have, for a reason worth saying.
    pub fn refused(&mut self, name: &'static str, why: &str) {
        if self.members.remove(name).is_some() {
            self.mistake(name, ErrorItem::new(ErrorCode::UnknownMember, why));
        }
    }

    /// Whether the member is there and not yet read.
    #[must_use]
    pub fn has(&self, name: &str) -> bool {
        self.members.contains_key(name)
    }

    fn read<T>(&mut self, name: &str, value: Value, read: impl FnOnce(Value) -> Read<T>) -> Option<T> {
        match read(value) {
            Ok(read) => Some(read),
            Err(errors) => {
                let pointer = self.pointer_of(name);
                self.errors.extend(errors.below(&pointer).into_items());
                None
            }
        }
    }

    /// The JSON Pointer of a member.
    #[must_use]
    pub fn pointer_of(&self, name: &str) -> String {
        format!("/{}", escaped(name))
    }

    /// Reports a mistake about the member `name`.
    pub fn mistake(&mut self, name: &str, item: ErrorItem) {
        let pointer = self.pointer_of(name);
        self.errors.push(item.below(&pointer));
    }

    /// Reports mistakes whose pointers are relative to this object.
    pub fn mistakes(&mut self, errors: BodyErrors) {
        self.errors.extend(errors.below("").into_items());
    }

    /// Gives up: the mistakes so far, without those about members that were not read.
    #[must_use]
    pub fn into_errors(self) -> Option<BodyErrors> {
        BodyErrors::new(self.errors)
    }

    /// Ends the reading: members that nobody asked for are mistakes. `build` runs only when there is none;
    /// it is `None` only if a required member was not read, and then there is a mistake.
    ///
    /// # Errors
    /// All mistakes of the object.
    pub fn finish<T>(mut self, built: Option<T>) -> Read<T> {
        for name in std::mem::take(&mut self.members).keys().take(UNKNOWN_MEMBERS_SHOWN_MAX) {
            let near = nearest(name, self.known.iter().copied());
            let hint = near.map(|near| format!("; `{near}` is known")).unwrap_or_default();
            let detail = format!("there is no member `{}` here{hint}", shown(name));
            self.mistake(name, ErrorItem::new(ErrorCode::UnknownMember, detail).with_nearest(near));
        }
        match (BodyErrors::new(self.errors), built) {
            (Some(errors), _) => Err(errors),
            (None, Some(built)) => Ok(built),
            (None, None) => Err(ErrorItem::new(ErrorCode::InvalidValue, "a member is missing").into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use kokuban_core::ids::ZoneName;
    use serde_json::json;

    type Both = (Option<ZoneName>, Option<u64>);

    fn read(body: Value) -> Read<Both> {
        let mut fields = Fields::of(body)?;
        let zone = fields.required("zone", name);
        let ttl_ms = fields.optional("ttl_ms", within(100..=3_600_000));
        fields.finish(Some((zone, ttl_ms)))
    }

    fn summary(errors: &BodyErrors) -> Vec<(&str, &str)> {
        errors.items().iter().map(|item| (item.code.as_str(), item.pointer.as_deref().unwrap_or("-"))).collect()
    }

    #[test]
    fn all_mistakes_of_a_body_are_reported_at_once() {
        let errors = read(json!({"zone": "a b", "ttl_ms": 99, "tl_ms": 1, "x/y~z": 2})).expect_err("four mistakes");
        assert_eq!(
            summary(&errors),
            [
                ("invalid_name", "/zone"),
                ("invalid_value", "/ttl_ms"),
                ("unknown_member", "/tl_ms"),
                ("unknown_member", "/x~1y~0z")
            ]
        );
        assert_eq!(errors.items()[1].detail, "this must be from 100 to 3600000");
        assert_eq!(errors.items()[2].nearest.as_deref(), Some("ttl_ms"));
    }

    #[test]
    fn of_thousands_of_unknown_members_only_some_are_named() {
        let body: Map<String, Value> = (0..9000).map(|i| (format!("zone{i}"), json!(i))).collect();
        assert_eq!(read(body.into()).expect_err("unknown").items().len(), 33);
    }

    #[test]
    fn an_integer_has_no_fraction_and_no_sign() {
        for (value, says) in [
            (json!(1000.0), "this must be an integer, not a number with a fraction or exponent"),
            (json!(-1), "this must not be negative"),
            (json!("1000"), "this must be an integer, not a text"),
            (json!(null), "this must be an integer, not null"),
        ] {
            let errors = read(json!({"zone": "z", "ttl_ms": value})).expect_err(says);
            assert_eq!(errors.items()[0].detail, says);
        }
    }

    #[test]
    fn a_missing_member_and_a_body_that_is_no_object_are_invalid() {
        assert_eq!(summary(&read(json!({})).expect_err("no zone")), [("invalid_value", "/zone")]);
        assert_eq!(summary(&read(json!([1])).expect_err("array")), [("invalid_value", "")]);
    }

    #[test]
    fn what_is_unreadable_comes_before_what_is_impossible() {
        let mut fields = Fields::of(json!({"list": [1, 2, 3], "flag": 1})).expect("object");
        let list = fields.optional("list", list("items_max", 2, any));
        let flag = fields.optional("flag", boolean);
        let problem = Problem::from(fields.finish(Some((list, flag))).expect_err("two mistakes"));
        assert_eq!((problem.code.as_str(), problem.status, problem.errors.len()), ("invalid_value", 400, 2));
        assert_eq!(problem.errors[1].limit.as_ref().map(|limit| limit.max), Some(2));
    }

    #[test]
    fn items_and_members_are_pointed_at_one_by_one() {
        let mut fields = Fields::of(json!({"a": [1, "x"], "m": {"k/1": true, "k2": 3}})).expect("object");
        let a = fields.optional("a", list("items", 9, integer));
        let m = fields.optional("m", map("members", 9, |_, value| boolean(value)));
        let errors = fields.finish(Some((a, m))).expect_err("two");
        assert_eq!(summary(&errors), [("invalid_value", "/a/1"), ("invalid_value", "/m/k2")]);
    }

    #[test]
    fn a_word_outside_the_list_learns_the_list() {
        let errors = one_of(&[("put", 1), ("patch", 2)])(json!("ptach")).expect_err("no such word");
        let item = &errors.items()[0];
        assert_eq!(item.nearest.as_deref(), Some("patch"));
        assert_eq!(item.allowed.as_deref(), Some(&["put".to_owned(), "patch".to_owned()][..]));
    }

    #[test]
    fn no_mistake_repeats_a_value_of_the_caller() {
        let errors = read(json!({"zone": ["s3cret"], "ttl_ms": "s3cret"})).expect_err("two");
        assert!(!format!("{errors:?}").contains("s3cret"));
    }
}
