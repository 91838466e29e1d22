//! Whether an answer is what a document shows.
//!
//! **Invariant**: `…` within a line stands for any characters of it, also none; alone on a line for any lines, also
//! none. Blank lines at the end and spaces at the ends of lines do not count. All else is compared as it is.

const ANYTHING: &str = "…";

/// # Errors
/// The first line of the pattern, counted from 0, that nothing of the answer fits.
pub fn compare(pattern: &[String], answer: &str) -> Result<(), usize> {
    let pattern = trimmed(pattern.iter().map(String::as_str));
    let answer = trimmed(answer.lines());
    // `fits[j]`: the pattern so far fits the first `j` lines of the answer.
    let mut fits = vec![false; answer.len() + 1];
    fits[0] = true;
    for (n, wanted) in pattern.iter().enumerate() {
        let mut next = vec![false; answer.len() + 1];
        if *wanted == ANYTHING {
            let first = fits.iter().position(|fit| *fit).unwrap_or(next.len());
            next[first..].fill(true);
        } else {
            for (j, line) in answer.iter().enumerate() {
                next[j + 1] = fits[j] && line_fits(wanted, line);
            }
        }
        if !next.contains(&true) {
            return Err(n);
        }
        fits = next;
    }
    if fits[answer.len()] { Ok(()) } else { Err(pattern.len()) }
}

fn trimmed<'t>(lines: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut lines: Vec<_> = lines.map(str::trim_end).collect();
    while lines.last() == Some(&"") {
        lines.pop();
    }
    lines
}

fn line_fits(wanted: &str, line: &str) -> bool {
    let mut parts: Vec<_> = wanted.split(ANYTHING).collect();
    let last = parts.pop().expect("a split has a part");
    let Some((first, middle)) = parts.split_first() else { return line == last };
    let Some(mut rest) = line.strip_prefix(first) else { return false };
    for part in middle {
        let Some(at) = rest.find(part) else { return false };
        rest = &rest[at + part.len()..];
    }
    rest.ends_with(last)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pattern: &[&str], answer: &str) -> Result<(), usize> {
        let pattern: Vec<_> = pattern.iter().map(|line| (*line).to_owned()).collect();
        compare(&pattern, answer)
    }

    #[test]
    fn within_a_line_dots_stand_for_any_characters() {
        assert_eq!(check(&["a…c"], "abc\n"), Ok(()));
        assert_eq!(check(&["a…c"], "ac"), Ok(()));
        assert_eq!(check(&["a…b…b"], "aXb"), Err(0));
        assert_eq!(check(&["{…\"code\":1,…}"], "{\"x\":2,\"code\":1,\"y\":3}"), Ok(()));
        assert_eq!(check(&["abc"], "abcd"), Err(0));
    }

    #[test]
    fn a_line_of_dots_stands_for_any_lines() {
        assert_eq!(check(&["a", "…", "d"], "a\nb\nc\nd\n"), Ok(()));
        assert_eq!(check(&["a", "…", "d"], "a\nd"), Ok(()));
        assert_eq!(check(&["…"], ""), Ok(()));
        assert_eq!(check(&["…", "b", "…", "b"], "a\nb\nb"), Ok(()));
        assert_eq!(check(&["a", "…", "e"], "a\nb\nc\nd\n"), Err(2));
    }

    #[test]
    fn no_answer_is_only_fitted_by_nothing() {
        assert_eq!(check(&[], "\n"), Ok(()));
        assert_eq!(check(&[], "error"), Err(0));
        assert_eq!(check(&["a"], "a\nerror"), Err(1));
    }
}
