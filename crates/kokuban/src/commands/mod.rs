//! The commands, one file each: arguments into one call, the answer into output.

pub(crate) mod backup;
pub(crate) mod blueprint;
pub(crate) mod board;
pub(crate) mod check_config;
pub(crate) mod completions;
pub(crate) mod config;
pub(crate) mod export;
pub(crate) mod get;
pub(crate) mod history;
pub(crate) mod lease;
pub(crate) mod list;
pub(crate) mod note;
pub(crate) mod ready;
pub(crate) mod restore;
pub(crate) mod show;
pub(crate) mod token;
pub(crate) mod value;
pub(crate) mod verify;
pub(crate) mod watch;
pub(crate) mod write;
