//! The query members of calls, as documented.
//!
//! **Invariant**: a list here has the members that the reader of `kokuban_api::query` of the same call takes
//! (a test compares them).

/// What a member takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Takes {
    Text,
    Integer,
    /// Named alone it is true.
    Flag,
    Choice(&'static [&'static str]),
    /// One of the kinds of change.
    Kind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuerySpec {
    pub name: &'static str,
    pub takes: Takes,
    pub repeatable: bool,
    pub required: bool,
    pub summary: &'static str,
}

const fn one(name: &'static str, takes: Takes, summary: &'static str) -> QuerySpec {
    QuerySpec { name, takes, repeatable: false, required: false, summary }
}

const fn many(name: &'static str, takes: Takes, summary: &'static str) -> QuerySpec {
    QuerySpec { name, takes, repeatable: true, required: false, summary }
}

const PRETTY: QuerySpec = one("pretty", Takes::Flag, "Indented JSON");
const DRY_RUN: QuerySpec = one("dry_run", Takes::Flag, "All checks, the answer that would be, and no effect");
const MIN_POSITION: QuerySpec = one("min_position", Takes::Text, "The answer is at least as new as this position");
const LIMIT: QuerySpec = one("limit", Takes::Integer, "Items of a page: 1 to 1000, default 100");
const PAGE: QuerySpec = one("page", Takes::Text, "`next_page` of the page before");
const INCLUDE_VALUE: QuerySpec = one("include", Takes::Choice(&["value"]), "Values too");
const VERSION: QuerySpec = one("version", Takes::Integer, "The version that was read");
const LEASE_TOKEN: QuerySpec = one("lease_token", Takes::Integer, "The token of the caller's live lease");
const REASON: QuerySpec = one("reason", Takes::Text, "Why, for the history");
const ZONES: QuerySpec = many("zone", Takes::Text, "Changes in these zones");
const KEYS: QuerySpec = many("key", Takes::Text, "Changes of these keys");
const PREFIXES: QuerySpec = many("prefix", Takes::Text, "Changes of keys that begin so");
const STATUSES: QuerySpec = many("status", Takes::Text, "Changes of entries with these statuses, before or after");
const KINDS: QuerySpec = many("kind", Takes::Kind, "Changes of these kinds");
const AFTER: QuerySpec = one("after", Takes::Text, "A position, `head` (default) or `start`");
const COALESCE: QuerySpec = one("coalesce_ms", Takes::Integer, "Gather changes for up to so long: 0 to 60000");
const WAIT: QuerySpec = one("wait_ms", Takes::Integer, "How long to wait: 0 to 30000");

pub(super) const NONE: &[QuerySpec] = &[];
pub(super) const PLAIN: &[QuerySpec] = &[DRY_RUN, PRETTY];
pub(super) const READ: &[QuerySpec] = &[MIN_POSITION, PRETTY];
pub(super) const LIST: &[QuerySpec] = &[LIMIT, PAGE, MIN_POSITION, PRETTY];
pub(super) const BOARDS: &[QuerySpec] =
    &[many("label", Takes::Text, "Boards with this label, `name` or `name=value`"), LIMIT, PAGE, PRETTY];
pub(super) const ENTRIES: &[QuerySpec] = &[
    one("zone", Takes::Text, "Entries of this zone"),
    one("prefix", Takes::Text, "Entries whose key begins so"),
    one("status", Takes::Text, "Entries with this status"),
    one("owner", Takes::Text, "Entries of this owner"),
    INCLUDE_VALUE,
    one("at", Takes::Integer, "The list as it was at this revision"),
    LIMIT,
    PAGE,
    MIN_POSITION,
    PRETTY,
];
pub(super) const ENTRY: &[QuerySpec] = &[
    one("view", Takes::Choice(&["full", "brief"]), "How much is shown"),
    one("at", Takes::Integer, "The entry as it was at this revision"),
    one("version", Takes::Integer, "The entry as it was at this version"),
    one("after_version", Takes::Integer, "Wait until the entry is newer than this"),
    one("until_status", Takes::Text, "Wait until the entry has this status"),
    WAIT,
    MIN_POSITION,
    PRETTY,
];
pub(super) const WRITE: &[QuerySpec] = &[
    DRY_RUN,
    one("atomic", Takes::Flag, "All operations are applied, or none"),
    VERSION,
    LEASE_TOKEN,
    one("confidence", Takes::Text, "How sure the writer is"),
    REASON,
    PRETTY,
];
pub(super) const REFUSALS: &[QuerySpec] =
    &[one("by", Takes::Text, "Refusals of this agent"), LIMIT, MIN_POSITION, PRETTY];
pub(super) const LEASE_RELEASE: &[QuerySpec] = &[LEASE_TOKEN, REASON, DRY_RUN, PRETTY];
pub(super) const NOTE_CLOSE: &[QuerySpec] =
    &[QuerySpec { required: true, ..one("id", Takes::Text, "The note") }, DRY_RUN, PRETTY];
pub(super) const EVENTS: &[QuerySpec] = &[
    ZONES,
    KEYS,
    PREFIXES,
    STATUSES,
    KINDS,
    AFTER,
    one("snapshot", Takes::Flag, "Begin with all entries at one revision"),
    COALESCE,
    INCLUDE_VALUE,
    MIN_POSITION,
];
pub(super) const CHANGES: &[QuerySpec] =
    &[ZONES, KEYS, PREFIXES, STATUSES, KINDS, AFTER, COALESCE, INCLUDE_VALUE, WAIT, LIMIT, MIN_POSITION, PRETTY];
pub(super) const HISTORY: &[QuerySpec] = &[
    many("include", Takes::Choice(&["value", "operations"]), "Values before and after, and what each operation did"),
    one("zone", Takes::Text, "Commits that touched this zone"),
    one("key", Takes::Text, "Commits that touched this key"),
    one("by", Takes::Text, "Commits of this agent"),
    one("ticket", Takes::Text, "Commits under this ticket"),
    KINDS,
    one("after", Takes::Text, "Commits after this position or revision"),
    one("before", Takes::Text, "Commits before this position or revision"),
    LIMIT,
    PAGE,
    MIN_POSITION,
    PRETTY,
];
