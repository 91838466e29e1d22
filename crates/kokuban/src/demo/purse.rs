//! The credentials of the cast, for a server that asks for them.
//!
//! Invariant: an agent's process gets its own secret only, through its environment.
//! Not known here: the story, and the server.

use std::collections::BTreeMap;
use std::path::Path;

use super::CAST;
use crate::credential::Secret;
use crate::failure::Failure;

/// As the server reads it too: `ra:SECRET,rv:SECRET`.
pub(super) const VARIABLE: &str = "KOKUBAN_TOKENS";
const LINE: &str = "KOKUBAN_TOKEN=";

/// Secrets by agent; empty for a server in mode `open`.
#[derive(Debug, Default)]
pub(super) struct Purse(BTreeMap<String, Secret>);

impl Purse {
    /// From the files of a folder, or else from the variable.
    pub(super) fn open(folder: Option<&Path>) -> Result<Self, Failure> {
        match folder {
            Some(folder) => Self::of_folder(folder),
            None => std::env::var(VARIABLE).map_or_else(|_| Ok(Self::default()), |text| Self::of_text(&text)),
        }
    }

    fn of_folder(folder: &Path) -> Result<Self, Failure> {
        let read = |name: &&str| {
            let path = folder.join(format!("{name}.env"));
            let text =
                std::fs::read_to_string(&path).map_err(|e| Failure::usage(format!("{}: {e}", path.display())))?;
            let secret = text.lines().find_map(|line| line.trim().strip_prefix(LINE));
            let secret =
                secret.ok_or_else(|| Failure::usage(format!("{} has no line {LINE}SECRET", path.display())))?;
            Ok(((*name).to_owned(), Secret::new(secret)))
        };
        CAST.iter().map(read).collect::<Result<_, _>>().map(Self)
    }

    fn of_text(text: &str) -> Result<Self, Failure> {
        let pairs = text.split(',').map(str::trim).filter_map(|pair| pair.split_once(':'));
        let purse: BTreeMap<_, _> = pairs.map(|(name, secret)| (name.to_owned(), Secret::new(secret))).collect();
        match CAST.iter().find(|name| !purse.contains_key(**name)) {
            Some(name) => Err(Failure::usage(format!("{VARIABLE} has no token for `{name}`, who plays in the demo"))),
            None => Ok(Self(purse)),
        }
    }

    pub(super) fn secret_of(&self, name: &str) -> Option<&Secret> {
        self.0.get(name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_variable_of_the_server_serves_the_cast_too() {
        let text: Vec<_> = CAST.iter().map(|name| format!("{name}:secret-of-{name}")).collect();
        let purse = Purse::of_text(&text.join(", ")).expect("all are there");
        assert_eq!(purse.secret_of("w2").expect("there").reveal(), "secret-of-w2");
        let refused = Purse::of_text("ra:secret").expect_err("the others lack");
        assert!(refused.to_string().contains("`lin`"), "{refused}");
    }

    #[test]
    fn a_missing_file_is_named_and_a_secret_is_found_among_comments() {
        let dir = tempfile::tempdir().expect("a directory");
        let refused = Purse::of_folder(dir.path()).expect_err("it is empty");
        assert!(refused.to_string().contains("lin.env"), "{refused}");
        for name in CAST {
            let text = format!("# for {name}\nKOKUBAN_TOKEN=secret-of-{name}\n");
            std::fs::write(dir.path().join(format!("{name}.env")), text).expect("written");
        }
        let purse = Purse::of_folder(dir.path()).expect("all are there");
        assert_eq!(purse.secret_of("lin").expect("there").reveal(), "secret-of-lin");
    }
}
