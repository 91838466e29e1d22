//! A second, much smaller opinion on what a board does: plain maps, no events, nothing shared with the rules.
//!
//! Invariant: written from the contract. Where it and the board differ, one of them is wrong.
//! The rules that it knows are those of `RULES`: zones `work` and `held`, agents `ra`, `rb` and the arbiter `rv`.

use std::collections::BTreeMap;

pub(super) const RULES: &str = r#"
[roles]
arbiter = ["rv"]
[lifecycles.l]
initial = ["raw", "processing"]
transitions = [
  { from = "raw", to = "processing" },
  { from = "processing", to = "done", by = ["not_author"] },
  { from = "done", to = "raw", by = ["arbiter"] },
]
locked = ["done"]
on_lease_expired = { processing = "raw" }
[zones.work]
lifecycle = "l"
[zones.held]
lifecycle = "l"
hold_ms = 150
"#;

const HOLD_MS: u64 = 150;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum If {
    Nothing,
    Version(u64),
    MatchAny,
    NoneMatchAny,
}

#[derive(Debug, Clone)]
pub(super) struct Put {
    pub(super) place: &'static str,
    pub(super) value: u8,
    pub(super) condition: If,
    pub(super) token: Option<u64>,
    pub(super) ttl: Option<u64>,
    pub(super) status: Option<&'static str>,
}

#[derive(Debug, Clone)]
pub(super) enum Ask {
    Put(Put),
    Both(Put, Put),
    Delete {
        place: &'static str,
        condition: If,
        token: Option<u64>,
    },
    Acquire {
        place: &'static str,
        ttl: u64,
        takeover: bool,
    },
    Renew {
        place: &'static str,
        token: u64,
        ttl: u64,
    },
    Release {
        place: &'static str,
        token: u64,
    },
    Revoke {
        place: &'static str,
    },
    Claim {
        zone: &'static str,
        ttl: u64,
        work: bool,
    },
    /// Deletes the board and makes it again.
    Again,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Held {
    pub(super) by: &'static str,
    pub(super) token: u64,
    pub(super) until: u64,
    pub(super) is_hold: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Thing {
    pub(super) version: u64,
    pub(super) value: u8,
    pub(super) status: &'static str,
    pub(super) author: &'static str,
    pub(super) disowned: bool,
    pub(super) attempts: u32,
    pub(super) held: Option<Held>,
    touched: u64,
}

#[derive(Debug, Clone, Default)]
pub(super) struct Model {
    pub(super) revision: u64,
    pub(super) things: BTreeMap<&'static str, Thing>,
    /// The last version of each key of this life, deleted ones included.
    versions: BTreeMap<&'static str, u64>,
    floor: u64,
}

impl Model {
    /// A board that was just made.
    pub(super) fn new() -> Self {
        Self { revision: 1, ..Self::default() }
    }

    pub(super) fn expire(&mut self, now: u64) {
        let revision = self.revision + 1;
        let mut any = false;
        for (place, thing) in &mut self.things {
            let Some(held) = thing.held.take_if(|held| held.until <= now) else { continue };
            any = true;
            thing.disowned = true;
            thing.touched = revision;
            if !held.is_hold {
                thing.attempts += 1;
                if thing.status == "processing" {
                    thing.status = "raw";
                    thing.version += 1;
                    self.versions.insert(place, thing.version);
                }
            }
        }
        self.revision += u64::from(any);
    }

    /// Whether the board takes it; and then it did.
    pub(super) fn takes(&mut self, agent: &'static str, ask: &Ask, now: u64) -> bool {
        match ask {
            Ask::Put(put) => self.put_all(agent, &[put], now),
            Ask::Both(one, other) => one.place != other.place && self.put_all(agent, &[one, other], now),
            Ask::Delete { place, condition, token } => {
                let Some(thing) = self.things.get(place) else { return false };
                let fine =
                    thing.opens(agent, *token) && thing.meets(*condition) && (thing.status != "done" || agent == "rv");
                if fine {
                    let version = thing.version + 1;
                    self.versions.insert(place, version);
                    self.things.remove(place);
                    self.revision += 1;
                }
                fine
            }
            Ask::Acquire { place, ttl, takeover } => {
                let token = self.revision + 1;
                let Some(thing) = self.things.get_mut(place) else { return false };
                let free = thing.held.as_ref().is_none_or(|held| held.by == agent && (held.is_hold || *takeover));
                let fine = free && (thing.status != "done" || agent == "rv");
                if fine {
                    thing.hold(agent, token, now + ttl, false);
                    self.revision += 1;
                }
                fine
            }
            Ask::Renew { place, token, ttl } => self.with_lease(agent, place, *token, |thing, _| {
                if let Some(held) = &mut thing.held {
                    held.until = now + ttl;
                }
            }),
            Ask::Release { place, token } => self.with_lease(agent, place, *token, |thing, revision| {
                thing.held = None;
                thing.attempts = 0;
                thing.touched = revision;
            }),
            Ask::Revoke { place } => self.revoke(agent, place),
            Ask::Claim { zone, ttl, work } => self.claim(agent, zone, now + ttl, *work),
            Ask::Again => {
                self.floor = self.revision + 1;
                self.revision += 2;
                self.things.clear();
                self.versions.clear();
                true
            }
        }
    }

    fn next_version(&self, place: &str) -> u64 {
        self.versions.get(place).copied().unwrap_or(0).max(self.floor) + 1
    }

    fn put_all(&mut self, agent: &'static str, puts: &[&Put], now: u64) -> bool {
        if !puts.iter().all(|put| self.allows(agent, put)) {
            return false;
        }
        let revision = self.revision + 1;
        let mut any = false;
        for put in puts {
            any |= self.put(agent, put, revision, now);
        }
        self.revision += u64::from(any);
        true
    }

    fn allows(&self, agent: &str, put: &Put) -> bool {
        let Some(thing) = self.things.get(put.place) else {
            return put.token.is_none()
                && matches!(put.condition, If::Nothing | If::Version(0) | If::NoneMatchAny)
                && put.status.is_none_or(|status| status != "done");
        };
        let moves = put.status.is_none_or(|to| thing.may_move(agent, to));
        let open = thing.status != "done" || agent == "rv" || thing.value == put.value;
        let leasable = put.ttl.is_none() || thing.held.as_ref().is_none_or(|held| held.by == agent);
        thing.opens(agent, put.token) && thing.meets(put.condition) && moves && open && leasable
    }

    /// Whether anything happened.
    fn put(&mut self, agent: &'static str, put: &Put, revision: u64, now: u64) -> bool {
        let version = self.next_version(put.place);
        let old = self.things.get(put.place).cloned();
        let mut thing = old.clone().unwrap_or(Thing {
            version: 0,
            value: put.value,
            status: "raw",
            author: agent,
            disowned: false,
            attempts: 0,
            held: None,
            touched: revision,
        });
        let new_value = old.as_ref().is_none_or(|old| old.value != put.value);
        if new_value {
            thing.value = put.value;
            thing.author = agent;
            thing.disowned = false;
        }
        let under_lease = put.token.is_some();
        let moved = put.status.is_some_and(|to| to != thing.status);
        thing.status = put.status.unwrap_or(thing.status);
        if moved && under_lease {
            thing.attempts = 0;
        }
        let changed = new_value || moved;
        if changed {
            thing.version = version;
            thing.touched = revision;
            self.versions.insert(put.place, version);
        }
        let leased = match (put.ttl, &mut thing.held) {
            (Some(ttl), Some(held)) if !held.is_hold => {
                held.until = now + ttl;
                true
            }
            (Some(ttl), _) => {
                thing.touched = revision;
                thing.hold(agent, revision, now + ttl, false);
                true
            }
            (None, held) => {
                let mine = held.as_ref().is_none_or(|held| held.by == agent && held.is_hold);
                let begins = put.place.starts_with("held/") && new_value && mine;
                if begins {
                    thing.hold(agent, revision, now + HOLD_MS, true);
                }
                begins
            }
        };
        self.things.insert(put.place, thing);
        changed || leased
    }

    fn with_lease(&mut self, agent: &str, place: &str, token: u64, change: impl FnOnce(&mut Thing, u64)) -> bool {
        let revision = self.revision + 1;
        let Some(thing) = self.things.get_mut(place) else { return false };
        let fine = thing.opens(agent, Some(token));
        if fine {
            change(thing, revision);
            self.revision = revision;
        }
        fine
    }

    fn revoke(&mut self, agent: &str, place: &str) -> bool {
        let revision = self.revision + 1;
        let Some(thing) = self.things.get_mut(place) else { return false };
        let Some(held) = &thing.held else { return false };
        let lets_go = held.by == agent && held.is_hold;
        let fine = lets_go || agent == "rv";
        if fine {
            thing.held = None;
            thing.touched = revision;
            thing.disowned |= !lets_go;
            self.revision = revision;
        }
        fine
    }

    fn claim(&mut self, agent: &'static str, zone: &str, until: u64, work: bool) -> bool {
        let revision = self.revision + 1;
        let fits = |place: &&str, thing: &Thing| {
            place.starts_with(&format!("{zone}/"))
                && thing.held.is_none()
                && (thing.status != "done" || (agent == "rv" && !work))
        };
        let waiting = self.things.iter_mut().filter(|(place, thing)| fits(place, thing));
        let Some((place, thing)) = waiting.min_by_key(|(place, thing)| (thing.touched, **place)) else { return false };
        if work && thing.status != "processing" {
            thing.status = "processing";
            thing.version += 1;
            self.versions.insert(place, thing.version);
        }
        thing.hold(agent, revision, until, false);
        self.revision = revision;
        true
    }
}

impl Thing {
    pub(super) fn owner(&self) -> Option<&'static str> {
        match &self.held {
            Some(held) => Some(held.by),
            None => Some(self.author).filter(|_| !self.disowned),
        }
    }

    fn hold(&mut self, by: &'static str, token: u64, until: u64, is_hold: bool) {
        self.held = Some(Held { by, token, until, is_hold });
        self.disowned = false;
        self.touched = token;
    }

    fn opens(&self, agent: &str, token: Option<u64>) -> bool {
        match (&self.held, token) {
            (Some(held), Some(token)) => held.by == agent && held.token == token && !held.is_hold,
            (None, Some(_)) => false,
            (None, None) => true,
            (Some(held), None) if held.by == agent => held.is_hold,
            (Some(_), None) => agent == "rv",
        }
    }

    fn meets(&self, condition: If) -> bool {
        match condition {
            If::Nothing | If::NoneMatchAny => false,
            If::Version(version) => version == self.version,
            If::MatchAny => true,
        }
    }

    fn may_move(&self, agent: &str, to: &str) -> bool {
        match (self.status, to) {
            (from, to) if from == to => true,
            ("raw", "processing") => true,
            ("processing", "done") => agent != self.author,
            ("done", "raw") => agent == "rv",
            _ => false,
        }
    }
}
