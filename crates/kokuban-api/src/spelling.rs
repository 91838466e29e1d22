//! The nearest known name to a misspelt one, and how a foreign name is shown in a text.
//!
//! Not known here: what the names are names of.

use crate::limits::SHOWN_NAME_CHARS_MAX;

/// The known name that `given` most likely means, if one is near enough to be more than a guess.
#[must_use]
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    if given.chars().count() > SHOWN_NAME_CHARS_MAX {
        return None;
    }
    let given = given.to_lowercase();
    let (name, distance) = known
        .into_iter()
        .map(|name| (name, strsim::damerau_levenshtein(&given, name)))
        .min_by_key(|(_, distance)| *distance)?;
    let longest = given.chars().count().max(name.chars().count());
    // A third of the letters may differ, and never more than three: `ttl` is not `url`.
    (distance <= (longest / 3).min(3)).then_some(name)
}

/// `name` as it may stand in a text: cut, and without control characters.
#[must_use]
pub(crate) fn shown(name: &str) -> String {
    let mut out: String = name
        .chars()
        .take(SHOWN_NAME_CHARS_MAX)
        .map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c })
        .collect();
    if name.chars().nth(SHOWN_NAME_CHARS_MAX).is_some() {
        out.push('…');
    }
    out
}

/// Names as a list in a text: `` `a`, `b` ``.
#[must_use]
pub(crate) fn listed<S: AsRef<str>>(names: &[S]) -> String {
    names.iter().map(|name| format!("`{}`", name.as_ref())).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_the_one_it_means() {
        let known = ["version", "value", "lease_token", "confidence"];
        for (given, found) in
            [("verison", Some("version")), ("Version", Some("version")), ("lease-token", Some("lease_token"))]
        {
            assert_eq!(nearest(given, known), found, "{given}");
        }
        assert_eq!(nearest("colour", known), None);
        assert_eq!(nearest("", known), None);
        assert_eq!(nearest(&"v".repeat(5000), known), None);
        assert_eq!(nearest("x", []), None);
    }

    #[test]
    fn a_foreign_name_is_shown_cut_and_on_one_line() {
        assert_eq!(shown("a\nb"), "a\u{fffd}b");
        assert_eq!(shown(&"国".repeat(100)).chars().count(), 65);
    }
}
