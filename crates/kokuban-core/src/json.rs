//! JSON as this server understands it: strict on the way in, one form at rest.
//!
//! Owns reading ([`parse`], [`check`]), comparing ([`equal`]) and storing ([`Json`]) of values.
//! **Invariant**: a number is never silently another one, a member never silently replaces
//! another, and equal values have one stored form. Names of members are data, whatever they
//! spell, also those that `serde_json` reserves for itself; so nothing here goes through
//! `serde_json::from_slice::<Value>`.
//! Not known here: bodies, entries, HTTP. Start at `parse.rs`.

mod canonical;
mod equality;
mod number;
mod parse;
mod stored;

use std::fmt;

use serde_json::Value;

pub use canonical::{compare_names, write_canonical};
pub use equality::equal;
pub use parse::parse;
pub use stored::{Json, NotCanonical};

/// Deepest nesting of a value; a value that is no array or object has depth 0.
pub const DEPTH_MAX: usize = 32;
/// Most nodes of a value: itself and every value within it.
pub const NODES_MAX: usize = 10_000;
/// Longest member name, in bytes of UTF-8.
pub const MEMBER_NAME_BYTES_MAX: usize = 256;

/// How large a text or value may be in structure; its bytes are bounded elsewhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    pub depth_max: usize,
    pub nodes_max: usize,
    pub member_name_bytes_max: usize,
}

impl Default for Bounds {
    /// The bounds of one value.
    fn default() -> Self {
        Self { depth_max: DEPTH_MAX, nodes_max: NODES_MAX, member_name_bytes_max: MEMBER_NAME_BYTES_MAX }
    }
}

impl Bounds {
    /// The bounds of a request body, which holds values some levels down and often several of them.
    /// Each value is then judged alone with [`check`].
    #[must_use]
    pub fn body() -> Self {
        Self { depth_max: DEPTH_MAX + 4, nodes_max: 4 * NODES_MAX, ..Self::default() }
    }

    /// For text that this program wrote itself.
    pub(crate) const UNBOUNDED: Self =
        Self { depth_max: usize::MAX, nodes_max: usize::MAX, member_name_bytes_max: usize::MAX };
}

/// The bound that a value is beyond.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Bound {
    Depth,
    Nodes,
    MemberNameBytes,
}

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Depth => "levels of nesting",
            Self::Nodes => "values in all",
            Self::MemberNameBytes => "bytes in a member name",
        })
    }
}

/// Why a text is refused. Pointers are RFC 6901, from the root of the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Error {
    /// Not JSON. Line and column count from 1, the column in bytes.
    Malformed { line: usize, column: usize, what: String },
    /// The second member of one name in an object.
    DuplicateMember { pointer: String },
    /// Beyond a bound; for a name, the pointer is that of the object that holds it.
    TooComplex { pointer: String, what: Bound, max: usize },
    /// An integer outside i64 and u64, or a double that would become infinite or, without being zero, 0.
    NumberNotRepresentable { pointer: String },
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Malformed { line, column, what } => write!(f, "{what}, at line {line} column {column}"),
            Self::DuplicateMember { pointer } => write!(f, "the member `{pointer}` is there twice"),
            Self::TooComplex { pointer, what, max } => write!(f, "at most {max} {what} are allowed, see `{pointer}`"),
            Self::NumberNotRepresentable { pointer } => write!(
                f,
                "the number at `{pointer}` cannot be kept: integers go from -9223372036854775808 to \
                 18446744073709551615, others must fit a double; send it as a string"
            ),
        }
    }
}

impl std::error::Error for Error {}

/// Judges an already read value; pointers in the error begin with `prefix`.
///
/// # Errors
/// [`Error::TooComplex`], nothing else.
pub fn check(value: &Value, bounds: &Bounds, prefix: &str) -> Result<(), Error> {
    let mut nodes = 0;
    let mut trail = Vec::new();
    check_node(value, bounds, &mut nodes, 0, &mut trail).map_err(|(what, max)| {
        trail.reverse();
        Error::TooComplex { pointer: pointer(prefix, trail), what, max }
    })
}

/// On failure leaves the way to the place in `trail`, innermost first.
fn check_node<'v>(
    value: &'v Value,
    bounds: &Bounds,
    nodes: &mut usize,
    depth: usize,
    trail: &mut Vec<Step<&'v str>>,
) -> Result<(), (Bound, usize)> {
    *nodes += 1;
    if *nodes > bounds.nodes_max {
        return Err((Bound::Nodes, bounds.nodes_max));
    }
    if matches!(value, Value::Array(_) | Value::Object(_)) && depth >= bounds.depth_max {
        return Err((Bound::Depth, bounds.depth_max));
    }
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                check_node(item, bounds, nodes, depth + 1, trail).inspect_err(|_| trail.push(Step::Index(index)))?;
            }
        }
        Value::Object(members) => {
            for (name, member) in members {
                if name.len() > bounds.member_name_bytes_max {
                    return Err((Bound::MemberNameBytes, bounds.member_name_bytes_max));
                }
                check_node(member, bounds, nodes, depth + 1, trail).inspect_err(|_| trail.push(Step::Name(name)))?;
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
    Ok(())
}

/// One step of a pointer.
#[derive(Debug)]
enum Step<S> {
    Name(S),
    Index(usize),
}

/// The pointer that goes on from `prefix` with `steps`, outermost first.
fn pointer<S: AsRef<str>>(prefix: &str, steps: Vec<Step<S>>) -> String {
    let mut out = prefix.to_owned();
    for step in steps {
        out.push('/');
        match step {
            Step::Index(index) => out.push_str(&index.to_string()),
            Step::Name(name) => crate::path::escape_into(&mut out, name.as_ref()),
        }
    }
    out
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
