//! Links between documents: the file is there, and so is the heading.
//!
//! Invariant: every relative link of every document is looked at; a link to elsewhere is not followed.
//! Not known here: other documents than Markdown; a place within one of those cannot be checked.

use super::Finding;
use super::sources::Tree;

pub(super) fn check(tree: &Tree) -> Vec<Finding> {
    let documents = tree.files().iter().filter(|(path, _)| path.ends_with(".md") || path.ends_with("llms.txt"));
    documents.flat_map(|(path, text)| dead_links(tree, path, text)).collect()
}

fn dead_links(tree: &Tree, path: &str, text: &str) -> Vec<Finding> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut findings = Vec::new();
    for (n, line) in prose(text) {
        for target in targets(line).filter(|target| !target.contains(':')) {
            let (file, heading) = target.split_once('#').unwrap_or((target, ""));
            let file = if file.is_empty() { path.to_owned() } else { resolve(folder, file) };
            if !leads_somewhere(tree, &file) {
                findings.push(Finding::new(path, n, format!("the link to `{target}` leads nowhere")));
            } else if !heading.is_empty() && !has_heading(tree, &file, heading) {
                findings.push(Finding::new(path, n, format!("`{target}`: there is no such heading in {file}")));
            }
        }
    }
    findings
}

/// The lines outside of fenced blocks, numbered from 1.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut inside = false;
    text.lines().enumerate().filter_map(move |(n, line)| {
        let fence = line.trim_start().starts_with("```");
        inside ^= fence;
        (!inside && !fence).then_some((n + 1, line))
    })
}

/// What stands in `](…)`, in `[name]: …` and in `src="…"`.
fn targets(line: &str) -> impl Iterator<Item = &str> {
    let inline = line.split("](").skip(1).filter_map(|rest| rest.split_once(')'));
    let named = line.strip_prefix('[').and_then(|rest| rest.split_once("]: ")).map(|(_, target)| target.trim());
    let sources = line.split(" src=\"").skip(1).filter_map(|rest| rest.split_once('"'));
    inline.chain(sources).map(|(target, _)| target).chain(named)
}

fn resolve(folder: &str, file: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in file.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            name => parts.push(name),
        }
    }
    parts.join("/")
}

fn leads_somewhere(tree: &Tree, path: &str) -> bool {
    tree.get(path).is_some() || tree.files().keys().any(|file| file.starts_with(&format!("{path}/")))
}

fn has_heading(tree: &Tree, path: &str, wanted: &str) -> bool {
    let mut seen: Vec<String> = Vec::new();
    for (_, line) in prose(tree.get(path).unwrap_or_default()) {
        let title = line.trim_start_matches('#');
        if title.len() == line.len() || !title.starts_with(' ') {
            continue;
        }
        let name = anchor(title.trim());
        let before = seen.iter().filter(|other| **other == name).count();
        let unique = if before == 0 { name.clone() } else { format!("{name}-{before}") };
        if unique == wanted {
            return true;
        }
        seen.push(name);
    }
    false
}

/// The name that forges give a heading.
fn anchor(title: &str) -> String {
    let kept = title.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::super::sources::tests::tree;
    use super::*;

    fn why(files: &[(&str, &str)]) -> Vec<String> {
        check(&tree(files)).into_iter().map(|finding| finding.to_string()).collect()
    }

    #[test]
    fn a_link_that_leads_nowhere_is_found() {
        let found = why(&[
            ("README.md", "[a](docs/a.md) [b](docs) [c](https://example.org/x) [d](docs/b.md)\n![p](docs/p.svg)\n"),
            ("docs/a.md", "[up](../README.md) [aside](b.md)\n[n]: c.md\n<img src=\"d.svg\">\n```\n[no](x.md)\n```\n"),
            ("docs/p.svg", ""),
        ]);
        assert_eq!(
            found,
            [
                "README.md:1: the link to `docs/b.md` leads nowhere",
                "docs/a.md:1: the link to `b.md` leads nowhere",
                "docs/a.md:2: the link to `c.md` leads nowhere",
                "docs/a.md:3: the link to `d.svg` leads nowhere",
            ]
            .map(str::to_owned)
        );
    }

    #[test]
    fn a_heading_that_is_not_there_is_found() {
        let found = why(&[
            (
                "a.md",
                "# What `it` does, and when\n## Same\n## Same\n[1](#same-1) [2](b.md#no) [3](#what-it-does-and-when)\n",
            ),
            ("b.md", "# Yes\n```\n# no\n```\n"),
        ]);
        assert_eq!(found, ["a.md:4: `b.md#no`: there is no such heading in b.md"]);
    }
}
