//! The bounds and ranges of the wire that do not depend on a board or its configuration.
//!
//! Invariant: everything a caller can make longer has its bound here or in the blueprint's limits.

use std::ops::RangeInclusive;

pub const TTL_MS: RangeInclusive<u64> = 100..=3_600_000;
pub const TTL_MS_DEFAULT: u64 = 60_000;
pub const WAIT_MS: RangeInclusive<u64> = 0..=30_000;
pub const COALESCE_MS: RangeInclusive<u64> = 0..=60_000;
pub const LIST_LIMIT: RangeInclusive<u64> = 1..=1_000;
pub const LIST_LIMIT_DEFAULT: u64 = 100;

pub const OPERATIONS_PER_PATCH_MAX: usize = 256;
pub const WRITES_PER_TRANSACTION_MAX: usize = 128;
pub const CHECKS_PER_TRANSACTION_MAX: usize = 128;
pub const INPUTS_PER_BOARD_MAX: usize = 128;
pub const LABELS_PER_BOARD_MAX: usize = 32;
pub const SOURCES_PER_WRITE_MAX: usize = 64;

pub const TITLE_CHARS_MAX: usize = 200;
pub const LABEL_CHARS_MAX: usize = 256;
pub const SUMMARY_CHARS_MAX: usize = 200;
pub const REASON_CHARS_MAX: usize = 1_000;
pub const SOURCE_REF_CHARS_MAX: usize = 2_048;
pub const NOTE_BYTES_MAX: usize = 8 * 1024;
pub const PREFIX_BYTES_MAX: usize = 512;
/// A token may hold the longest zone and key, two digits for a byte.
pub const PAGE_TOKEN_BYTES_MAX: usize = 2_304;
pub const IDEMPOTENCY_KEY_BYTES_MAX: usize = 255;
pub const QUERY_MEMBERS_MAX: usize = 256;
/// Longest excerpt of a caller's own name that a text shows back.
pub const SHOWN_NAME_CHARS_MAX: usize = 64;
