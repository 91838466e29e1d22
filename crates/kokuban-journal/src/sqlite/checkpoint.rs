//! Copies the log into the database on a thread and a connection of its own, so that no append waits for it.
//!
//! Invariant: it only ever makes a passive checkpoint, which waits for nobody. The few frames that were written
//! meanwhile are the writer's to copy, between two groups, so that the log can begin anew.
//! Not known here: when a checkpoint is due.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::{self, Receiver, SyncSender};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::log::{self, Checkpointed};
use super::schema::connect_checkpointer;
use super::shared::Shared;
use super::transaction::describe;

/// The thread, seen from the writer.
#[derive(Debug)]
pub(super) struct Checkpointer {
    orders: Option<SyncSender<()>>,
    reports: Receiver<Option<Checkpointed>>,
    busy: bool,
    thread: Option<JoinHandle<()>>,
}

impl Checkpointer {
    pub(super) fn start(database: &Path, shared: Arc<Shared>) -> std::io::Result<Self> {
        let db = connect_checkpointer(database).map_err(std::io::Error::other)?;
        let (orders, orders_of_thread) = mpsc::sync_channel(1);
        let (reports_of_thread, reports) = mpsc::sync_channel(1);
        let thread = std::thread::Builder::new()
            .name("kokuban-checkpoint".into())
            .spawn(move || run(&db, &orders_of_thread, &reports_of_thread, &shared))?;
        Ok(Self { orders: Some(orders), reports, busy: false, thread: Some(thread) })
    }

    /// Orders a checkpoint unless one is being made.
    pub(super) fn order(&mut self) {
        if !self.busy {
            self.busy = self.orders.as_ref().is_some_and(|orders| orders.try_send(()).is_ok());
        }
    }

    /// What the checkpoint did that ended since the last call.
    pub(super) fn report(&mut self) -> Option<Checkpointed> {
        let report = self.reports.try_recv().ok()?;
        self.busy = false;
        report
    }

    /// Ends the thread and its connection.
    pub(super) fn stop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take() {
            // It does not panic, and if it did there would be nothing to do about it.
            let _ = thread.join();
        }
    }
}

fn run(db: &Connection, orders: &Receiver<()>, reports: &SyncSender<Option<Checkpointed>>, shared: &Shared) {
    while orders.recv().is_ok() {
        let report = log::checkpoint(db);
        match &report {
            Ok(_) => {
                shared.counters.checkpoints.fetch_add(1, Relaxed);
            }
            Err(error) => {
                // Appends go on as long as the log can grow, and the next checkpoint tries again.
                let detail = describe(error);
                tracing::warn!(detail, "a checkpoint of the journal failed");
                shared.remember(&format!("a checkpoint failed: {detail}"));
            }
        }
        if reports.send(report.ok()).is_err() {
            break;
        }
    }
}
