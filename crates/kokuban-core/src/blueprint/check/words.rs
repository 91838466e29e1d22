//! What a name sounds like. A guess, which is why it only raises questions.

/// A segment of a key, or a field, that is called current.
pub(super) fn sounds_current(name: &str) -> bool {
    let current = |part: &str| {
        part == "current" || ["current_", "current-", "当前"].iter().any(|prefix| part.starts_with(prefix))
    };
    name.to_lowercase().split(['/', '.']).any(current)
}

/// Words by which authors name what came from outside; a guess, which is why it is only a question.
const EXTERNAL: [&str; 20] = [
    "web",
    "webpage",
    "page",
    "pages",
    "html",
    "url",
    "search",
    "crawl",
    "crawled",
    "fetch",
    "fetched",
    "tool",
    "tools",
    "email",
    "mail",
    "upload",
    "uploads",
    "external",
    "retrieved",
    "scraped",
];
const EXTERNAL_ZH: [&str; 6] = ["网页", "检索", "搜索", "工具", "邮件", "外部"];

pub(super) fn sounds_external(name: &str) -> bool {
    let lower = name.to_lowercase();
    lower.split(|c: char| !c.is_alphanumeric()).any(|word| EXTERNAL.contains(&word))
        || EXTERNAL_ZH.iter().any(|word| lower.contains(word))
}
