//! The suite that every journal passes, on SQLite.

use std::sync::Arc;

use futures::FutureExt;

use super::{Sqlite, options, temp_dir};
use crate::Journal;
use crate::conformance::Subject;

fn subject() -> Subject {
    let dir = Arc::new(temp_dir());
    let options = options(dir.path());
    let journal = Sqlite::open(&options).unwrap();
    Subject::durable(journal, move || {
        let (options, _keeps) = (options.clone(), dir.clone());
        async move { Arc::new(Sqlite::open(&options).unwrap()) as Arc<dyn Journal> }.boxed()
    })
}

crate::journal_conformance!(subject());
