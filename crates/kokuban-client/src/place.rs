//! How callers name an entry.

use kokuban_core::ids::{EntryId, Key, ZoneName};

use crate::error::Error;

/// The name of an entry: an [`EntryId`], `("zone", "key")`, or `"zone/key"`.
pub trait Place {
    /// # Errors
    /// This names no entry; nothing is sent.
    fn entry_id(self) -> Result<EntryId, Error>;
}

impl Place for EntryId {
    fn entry_id(self) -> Result<EntryId, Error> {
        Ok(self)
    }
}

impl Place for &EntryId {
    fn entry_id(self) -> Result<EntryId, Error> {
        Ok(self.clone())
    }
}

impl Place for (&str, &str) {
    fn entry_id(self) -> Result<EntryId, Error> {
        Ok(EntryId::new(ZoneName::new(self.0)?, Key::new(self.1)?))
    }
}

impl Place for &str {
    fn entry_id(self) -> Result<EntryId, Error> {
        // Without a slash the key is empty, and the rule for keys says so.
        self.split_once('/').unwrap_or((self, "")).entry_id()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_may_be_named_in_one_text_or_in_two() {
        let id = ("分析", "a/b").entry_id().expect("valid");
        assert_eq!("分析/a/b".entry_id().expect("valid"), id);
        assert_eq!((&id).entry_id().expect("valid"), id);
    }

    #[test]
    fn what_is_no_name_is_refused_before_anything_is_sent() {
        for place in ["analysis", "analysis/", "/key", "a/../b", "a b/c"] {
            assert!(matches!(place.entry_id(), Err(Error::Name(_))), "{place}");
        }
    }
}
