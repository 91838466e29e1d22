//! `kokuban demo`: three agents, a person and two researchers work on one board, in processes of their own.
//!
//! Invariant: nothing directs the agents but the board; this side sets the scene, follows the stream, pulls the plug
//! where the story needs it, and judges the end. The time is bounded, and whatever was started is ended.
//! Start at `run`; `agent` is what the agents do, `judge` what must be true in the end.

mod agent;
mod cast;
mod judge;
mod purse;
mod remark;
mod script;
mod server;
mod timeline;

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, anyhow, bail};
use futures::{StreamExt, stream};
use kokuban_api::bodies::{BlueprintRef, CreateBoard, Put, Terms};
use kokuban_api::stream::{Change, Message};
use kokuban_api::{ChangeKind, ErrorCode};
use kokuban_client::{Board, Client, Commit, Event, EventFilter, EventStream, ListFilter, Start};
use kokuban_core::blueprint::Blueprint;
use kokuban_core::ids::Version;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::{Duration, timeout};

use self::cast::{Cast, Cue, name};
use self::judge::Evidence;
use self::purse::Purse;
use self::remark::Remark;
use self::script::{MARKET, PLAN, PLAY_MAX, REQUEST, REQUEST_TEXT, REQUIREMENTS, hasty, is_at, patient, status};
use self::server::Server;
use self::timeline::Timeline;
use crate::args::{ClientArgs, DemoAgentArgs, DemoArgs, Role};
use crate::commands::{list, show};
use crate::credential::Secret;
use crate::failure::{Failure, Outcome};
use crate::output::{Output, complain};

const BLUEPRINT: &str = include_str!("../../../../config/blueprints/requirements.toml");
/// Everybody who calls the server: the person, and the agents.
pub(crate) const CAST: [&str; 6] = ["lin", "ra", "ta", "rv", "w1", "w2"];
const ROLES: [Role; 5] = [Role::Ra, Role::Ta, Role::Rv, Role::W1, Role::W2];
/// How long the agents may take to leave once the plan stands.
const LEAVE_MAX: Duration = Duration::from_secs(10);
const ENTRIES_MAX: usize = 100;

/// The whole play.
pub(crate) async fn run(args: &DemoArgs, client: &ClientArgs) -> Outcome {
    if client.url.is_some() && (args.kill_server || args.data.is_some()) {
        return Err(Failure::usage("--kill-server and --data are for the demo's own server, not for one at --url"));
    }
    if client.url.is_none() && args.tokens.is_some() {
        return Err(Failure::usage("--tokens is for a server at --url; the demo's own asks for none"));
    }
    let purse = if client.url.is_some() { Purse::open(args.tokens.as_deref())? } else { Purse::default() };
    let mut server = match &client.url {
        Some(_) => None,
        None => Some(Server::start(args.data.as_deref()).await?),
    };
    let url = client.url.clone().or_else(|| server.as_ref().map(|server| server.url().to_owned()));
    let url = url.context("an address")?;
    let outcome = tokio::select! {
        played = timeout(PLAY_MAX, play(&url, &purse, server.as_mut(), args.kill_server)) => played.unwrap_or_else(|_| {
            Err(anyhow!("the play is not over after {} s; the lines above show how far it came", PLAY_MAX.as_secs()))
        }),
        () = interrupted() => Err(anyhow!("interrupted")),
    };
    let outcome = outcome.map_err(Failure::Other);
    if let Some(server) = server {
        if outcome.as_ref().is_err_and(|failure| !failure.is_closed_pipe()) {
            complain(&format!("the end of the server's log:\n{}", server.last_words()));
        }
        server.end().await;
    }
    outcome
}

/// Resolves when the user, or the system, wants this to end.
async fn interrupted() {
    let Ok(mut terminate) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = terminate.recv() => {}
        Ok(()) = tokio::signal::ctrl_c() => {}
    }
}

/// One agent, in the process that `Cast` started.
pub(crate) async fn agent(args: &DemoAgentArgs, client: &ClientArgs) -> Outcome {
    let url = client.url.as_deref().ok_or_else(|| Failure::usage("an agent of the demo needs --url"))?;
    let board = client.board.as_deref().ok_or_else(|| Failure::usage("an agent of the demo needs --board"))?;
    let agent = client_of(url, &name(args.role), client.token.as_deref())?;
    agent::play(args.role, &agent.board(board)?).await
}

fn client_of(url: &str, agent: &str, token: Option<&str>) -> Result<Client, kokuban_client::Error> {
    let builder = Client::builder(url).agent(agent).retry(patient()).attempt_timeout(Duration::from_secs(5));
    token.into_iter().fold(builder, kokuban_client::ClientBuilder::token).build()
}

async fn play(url: &str, purse: &Purse, server: Option<&mut Server>, kill_server: bool) -> Result<()> {
    let timeline = Timeline::begin();
    let random = uuid::Uuid::new_v4().simple().to_string();
    let lin = client_of(url, "lin", purse.secret_of("lin").map(Secret::reveal))?;
    let board = lin.board(&format!("demo-{}", &random[..8]))?;
    timeline.stage(&format!("server at {url}, board {}", board.name()))?;
    // Nobody waits a minute to learn that there is no server.
    create(&lin.with_retry(hasty()).board(board.name().as_str())?).await?;
    let cast = Cast::start(&ROLES, url, board.name().as_str(), purse)?;
    let server = server.filter(|_| kill_server);
    let mut stage = Stage {
        timeline,
        events: board.events(&EventFilter::new().start(Start::Oldest)),
        board,
        cast,
        server,
        evidence: Evidence::default(),
        ready: BTreeSet::new(),
        opened: false,
        present: ROLES.into(),
    };
    let played = stage.play().await;
    let Stage { cast, board, evidence, .. } = stage;
    cast.end().await;
    played?;
    finish(&board, &evidence).await
}

async fn create(board: &Board) -> Result<()> {
    let blueprint = Blueprint::from_toml(BLUEPRINT).map_err(|flaws| anyhow!("requirements.toml: {flaws:?}"))?;
    let body = CreateBoard {
        blueprint: BlueprintRef::Inline(blueprint.to_value()),
        title: Some("The main job, on stage".into()),
        labels: BTreeMap::new(),
        inputs: BTreeMap::new(),
    };
    let created = board.create(&body).await;
    if created.as_ref().is_err_and(|error| error.problem().is_some_and(|p| p.code == ErrorCode::Unauthenticated)) {
        bail!(
            "this server asks for credentials that it knows: give --tokens DIR with those of its agents, or set {}",
            purse::VARIABLE
        );
    }
    created.context("creating the board")?;
    Ok(())
}

/// What is going on.
struct Stage<'s> {
    timeline: Timeline,
    board: Board,
    events: EventStream,
    cast: Cast,
    /// The server to kill in the middle, if that is asked for.
    server: Option<&'s mut Server>,
    evidence: Evidence,
    ready: BTreeSet<Role>,
    opened: bool,
    present: BTreeSet<Role>,
}

impl Stage<'_> {
    /// Follows the stream and the cast until the plan stands and everybody has left.
    async fn play(&mut self) -> Result<()> {
        Timeline::act("The agents connect; nobody tells them what to do.")?;
        while !self.evidence.plan_stands {
            tokio::select! {
                event = self.events.next() => self.on_event(event.transpose().context("following the board")?).await?,
                // The agents may have seen the plan, and left, while this side's stream was interrupted.
                cue = self.cast.next(), if !self.present.is_empty() => self.on_cue(cue).await?,
            }
        }
        let leaving = async {
            while !self.present.is_empty() {
                let cue = self.cast.next().await;
                self.on_cue(cue).await?;
            }
            Ok(())
        };
        timeout(LEAVE_MAX, leaving).await.context("the plan stands, but not everybody left")?
    }

    async fn on_cue(&mut self, cue: Option<Cue>) -> Result<()> {
        match cue.context("the agents' reports ended early")? {
            Cue::Remark(role, Remark::Ready) => {
                self.ready.insert(role);
                self.timeline.says(&name(role), "listening")?;
                if self.ready.len() == ROLES.len() && !self.opened {
                    self.opened = true;
                    self.open().await?;
                }
            }
            Cue::Remark(role, Remark::Says { text }) => self.timeline.says(&name(role), &text)?,
            Cue::Remark(role, Remark::Refused { call, code, detail, allowed, advice }) => {
                self.evidence.refusals.push((role, code.clone()));
                let allowed = allowed.map_or_else(String::new, |all| format!(" (allowed: {})", all.join(", ")));
                self.timeline.refused(&name(role), &format!("{call}: {code}: {detail}{allowed}"), &advice)?;
            }
            Cue::Left(role, Ok(())) => {
                self.present.remove(&role);
                if self.cast.was_killed(role) {
                    self.timeline.stage(&format!("{} is dead; its lease is still on the board", name(role)))?;
                }
            }
            Cue::Left(role, Err(why)) => bail!("{} failed: {why}", name(role)),
        }
        Ok(())
    }

    /// The person in the loop writes the request and confirms it.
    async fn open(&mut self) -> Result<()> {
        Timeline::act("lin confirms a request.")?;
        let put = Put { terms: Terms::at_version(Version::ZERO), ..Put::new(json!({"text": REQUEST_TEXT})) };
        let receipt = self.board.put(REQUEST, &put).await.context("writing the request")?;
        self.board.shift(REQUEST, &status("confirmed"), receipt.version).await.context("confirming the request")?;
        Ok(())
    }

    async fn on_event(&mut self, event: Option<Event>) -> Result<()> {
        match event {
            Some(Event::Commit(commit)) => self.on_commit(&commit).await,
            Some(Event::Reset(reset)) => bail!("the stream lost its place: {reset:?}"),
            Some(_) => Ok(()),
            None => bail!("the stream ended"),
        }
    }

    async fn on_commit(&mut self, commit: &Commit) -> Result<()> {
        self.evidence.revisions.push(commit.position.revision.0);
        let by = match &commit.message {
            Message::Commit(one) => one.by.as_ref().map_or_else(|| "server".to_owned(), ToString::to_string),
            Message::Coalesced(_) => "several".to_owned(),
        };
        for change in commit.message.changes() {
            self.timeline.commit(&by, &told(change))?;
            self.on_change(change).await?;
        }
        Ok(())
    }

    async fn on_change(&mut self, change: &Change) -> Result<()> {
        self.evidence.plan_stands |= is_at(change, PLAN) && change.kind == ChangeKind::Created;
        self.evidence.taken_back |= is_at(change, MARKET) && change.kind == ChangeKind::LeaseExpired;
        let holder = change.held_by.as_ref().map(kokuban_core::ids::AgentName::as_str);
        if is_at(change, MARKET) && holder == Some("w1") && !self.cast.was_killed(Role::W1) {
            self.cast.kill(Role::W1);
            self.timeline.stage("kill -9 w1")?;
        }
        if is_at(change, REQUIREMENTS)
            && change.kind == ChangeKind::Created
            && let Some(server) = self.server.take()
        {
            self.timeline.stage("kill -9 the server, and start it again on the same data")?;
            server.kill_and_restart().await?;
            self.timeline.stage("the server is back; agents resume where they were")?;
        }
        Ok(())
    }
}

/// A change in the words of the timeline.
fn told(change: &Change) -> String {
    let owner = change.owner.as_ref().map_or_else(String::new, |owner| format!(", owner {owner}"));
    format!("{}{owner}", show::change(change))
}

async fn finish(board: &Board, evidence: &Evidence) -> Result<()> {
    let filter = ListFilter { values: true, ..ListFilter::default() };
    let entries = board.list(&filter).collect_up_to(ENTRIES_MAX).await.context("listing the board")?;
    Timeline::act("The board in the end.")?;
    let shown = stream::iter(entries.iter().cloned().map(Ok));
    match list::show_entries(shown, ENTRIES_MAX, Output::table()).await {
        Err(Failure::Other(error)) => return Err(error),
        shown => shown.map_err(|failure| anyhow!("{failure}"))?,
    }
    let wrong = judge::judge(&entries, evidence);
    if !wrong.is_empty() {
        bail!("the end is not right:\n  {}", wrong.join("\n  "));
    }
    Timeline::act(
        "As it should be: every conflict was seen, nothing was lost, and the owner of the requirements is ra.",
    )?;
    Ok(())
}
