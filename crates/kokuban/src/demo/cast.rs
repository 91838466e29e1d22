//! The agents of the demonstration as processes: started, listened to, killed.
//!
//! Invariant: no agent outlives this process, however that ends; an agent that ends with a failure, other than the one that was killed on
//! purpose, is noticed.
//! Not known here: the story.

use std::collections::BTreeMap;
use std::process::Stdio;

use anyhow::{Context, Result};
use clap::ValueEnum;
use tokio::io::{AsyncBufReadExt, AsyncReadExt, BufReader};
use tokio::process::{Child, Command};
use tokio::sync::{mpsc, oneshot};

use super::purse::{self, Purse};
use super::remark::Remark;
use crate::args::Role;

/// By which an agent learns its credential.
const TOKEN: &str = "KOKUBAN_TOKEN";
/// No agent has more to say.
const OUTPUT_BYTES_MAX: u64 = 1 << 20;

/// What the cast reports.
#[derive(Debug)]
pub(super) enum Cue {
    Remark(Role, Remark),
    /// The process ended; the text is why, if that was a failure.
    Left(Role, Result<(), String>),
}

/// The running agents.
#[derive(Debug)]
pub(super) struct Cast {
    cues: mpsc::Receiver<Cue>,
    kill: BTreeMap<Role, oneshot::Sender<()>>,
}

pub(super) fn name(role: Role) -> String {
    role.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
}

impl Cast {
    /// Starts one process for each role.
    pub(super) fn start(roles: &[Role], url: &str, board: &str, purse: &Purse) -> Result<Self> {
        let (tell, cues) = mpsc::channel(256);
        let mut kill = BTreeMap::new();
        for &role in roles {
            let child = launch(role, url, board, purse).with_context(|| format!("starting {}", name(role)))?;
            let (sender, receiver) = oneshot::channel();
            kill.insert(role, sender);
            tokio::spawn(attend(role, child, tell.clone(), receiver));
        }
        Ok(Self { cues, kill })
    }

    /// The next report; `None` when all have left.
    pub(super) async fn next(&mut self) -> Option<Cue> {
        self.cues.recv().await
    }

    /// Kills the agent's process, as a crash would.
    pub(super) fn kill(&mut self, role: Role) {
        if let Some(sender) = self.kill.remove(&role) {
            let _ = sender.send(());
        }
    }

    /// Kills whoever is still there, and waits until nobody is.
    pub(super) async fn end(mut self) {
        for (_, kill) in std::mem::take(&mut self.kill) {
            let _ = kill.send(());
        }
        while self.cues.recv().await.is_some() {}
    }

    pub(super) fn was_killed(&self, role: Role) -> bool {
        !self.kill.contains_key(&role)
    }
}

fn launch(role: Role, url: &str, board: &str, purse: &Purse) -> Result<Child> {
    let program = std::env::current_exe().context("finding this program")?;
    let name = name(role);
    let mut command = Command::new(program);
    // What this process calls with is not for the agent, nor are the secrets of the others.
    command.env_remove(TOKEN).env_remove(purse::VARIABLE);
    if let Some(secret) = purse.secret_of(&name) {
        command.env(TOKEN, secret.reveal());
    }
    let child = command
        .args(["demo-agent", &name, "--url", url, "--board", board, "--agent", &name])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    Ok(child)
}

async fn attend(role: Role, mut child: Child, tell: mpsc::Sender<Cue>, kill: oneshot::Receiver<()>) {
    // `wait` would close the input, which tells an agent that its parent is gone.
    let _stdin = child.stdin.take();
    let stdout = child.stdout.take();
    let stderr = child.stderr.take();
    let listening = async {
        let Some(stdout) = stdout else { return };
        let mut lines = BufReader::new(stdout.take(OUTPUT_BYTES_MAX)).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if let Ok(remark) = serde_json::from_str(&line) {
                let _ = tell.send(Cue::Remark(role, remark)).await;
            }
        }
    };
    let complaining = async {
        let mut text = String::new();
        if let Some(stderr) = stderr {
            let _ = stderr.take(OUTPUT_BYTES_MAX).read_to_string(&mut text).await;
        }
        text
    };
    let ended = {
        let both = async { tokio::join!(listening, complaining).1 };
        tokio::pin!(both);
        tokio::select! {
            complaint = &mut both => Some(complaint),
            Ok(()) = kill => None,
        }
    };
    let outcome = match ended {
        None => {
            let _ = child.kill().await;
            Ok(())
        }
        Some(complaint) => match child.wait().await {
            Ok(status) if status.success() => Ok(()),
            Ok(status) => Err(format!("{status}: {}", complaint.trim())),
            Err(error) => Err(error.to_string()),
        },
    };
    let _ = tell.send(Cue::Left(role, outcome)).await;
}
