//! Scenarios of rights: zones by access, tier and readers; roles of the board and of the server.

use serde_json::json;

use crate::rejection::{Forbidden, Rejection};
use crate::scenario::{
    Stage, acquire, claim, close, delete, note, patch, put, release, revoke, touch, transact, zone_name,
};

const ZONES: &str = r#"
[roles]
arbiter = ["rv"]
lead = ["rl"]
[zones.public]
[zones.shared]
access = "shared"
owners = ["ra", "role:lead"]
[zones.own]
access = "restricted"
owners = ["ra", "role:lead"]
[zones.ruled]
access = "read_only"
owners = ["ra"]
[zones.result]
tier = "result"
[zones.scratch]
tier = "scratch"
[zones.secret]
owners = ["ra"]
readers = ["rb", "role:lead"]
[zones.admins]
access = "restricted"
owners = ["role:admin"]
"#;

fn stage() -> Stage {
    Stage::with(ZONES)
}

fn restricted(zone: &str) -> Rejection {
    Rejection::ZoneRestricted { zone: zone_name(zone), owners: vec!["ra".into(), "role:lead".into()] }
}

fn hidden(zone: &str) -> Rejection {
    Rejection::ZoneNotFound { zone: zone_name(zone) }
}

fn forbidden(why: Forbidden) -> Rejection {
    Rejection::Forbidden { why }
}

#[test]
fn any_agent_writes_in_a_public_zone() {
    let mut stage = stage();
    stage.ok("ra", put("public/a", json!(1)));
    stage.ok("rb", put("public/a", json!(2)).version(1));
    stage.ok("anonymous", put("public/a", json!(3)).version(2));
}

#[test]
fn what_an_owner_wrote_last_in_a_shared_zone_is_the_owners() {
    let mut stage = stage();
    stage.ok("rb", put("shared/a", json!(1)));
    stage.ok("rc", put("shared/a", json!(2)).version(1));
    stage.ok("rl", put("shared/a", json!(3)).version(2));
    assert_eq!(stage.refused("rc", put("shared/a", json!(4)).version(3)), restricted("shared"));
    assert_eq!(stage.refused("rc", delete("shared/a").version(3)), restricted("shared"));
    assert_eq!(stage.refused("rc", acquire("shared/a", 1_000)), restricted("shared"));
    stage.ok("ra", touch("shared/a").summary("s").version(3));
    stage.ok("rv", put("shared/a", json!(5)).version(4));
    stage.ok("rc", put("shared/a", json!(6)).version(5));
}

#[test]
fn only_owners_and_arbiters_write_in_a_restricted_zone() {
    let mut stage = stage();
    assert_eq!(stage.refused("rb", put("own/a", json!(1))), restricted("own"));
    stage.ok("ra", put("own/a", json!(1)));
    stage.ok("rl", put("own/a", json!(2)).version(1));
    stage.ok("rv", put("own/a", json!(3)).version(2));
    assert_eq!(stage.refused("rb", patch("own/a").set("", json!(4)).version(3)), restricted("own"));
    stage.ok("rb", note("own/a", "who may read may comment"));
}

#[test]
fn only_arbiters_write_where_reading_is_all() {
    let mut stage = stage();
    for zone in ["ruled", "result"] {
        let place = format!("{zone}/a");
        let only = Rejection::ArbiterOnly { zone: zone_name(zone) };
        assert_eq!(stage.refused("ra", put(&place, json!(1))), only);
        stage.ok("rv", put(&place, json!(1)));
        assert_eq!(stage.refused("ra", delete(&place).version(1)), only);
        assert_eq!(stage.refused("ra", acquire(&place, 1_000)), only);
        assert_eq!(stage.refused("ra", claim(zone, 1_000)), only);
    }
}

#[test]
fn a_scratch_table_is_its_agents_alone() {
    let mut stage = stage();
    stage.ok("ra", put("scratch/ra/draft", json!(1)));
    for (agent, place) in
        [("rb", "scratch/ra/draft"), ("rv", "scratch/ra/draft"), ("ra", "scratch/ra"), ("ra", "scratch/rab/x")]
    {
        assert_eq!(
            stage.refused(agent, put(place, json!(2))),
            forbidden(Forbidden::ScratchOfAnother),
            "{agent} {place}"
        );
    }
    stage.ok("rb", note("scratch/ra/draft", "it may be read"));
}

#[test]
fn scratch_has_no_leases() {
    let mut stage = stage();
    stage.ok("ra", put("scratch/ra/draft", json!(1)));
    let none = forbidden(Forbidden::ScratchHasNoLeases);
    assert_eq!(stage.refused("ra", acquire("scratch/ra/draft", 1_000)), none);
    assert_eq!(stage.refused("ra", put("scratch/ra/draft", json!(2)).ttl(1_000)), none);
    assert_eq!(stage.refused("ra", claim("scratch", 1_000)), none);
}

#[test]
fn a_zone_one_may_not_read_is_not_there() {
    let mut stage = stage();
    stage.ok("rb", put("secret/a", json!(1)).ttl(60_000));
    let missing = hidden("secret");
    for refusal in [
        stage.refusal("rc", put("secret/a", json!(2)).version(1)),
        stage.refusal("rc", put("secret/a", json!(2)).token(2)),
        stage.refusal("rc", patch("secret/a").set("", json!(2))),
        stage.refusal("rc", delete("secret/a").version(1)),
        stage.refusal("rc", acquire("secret/a", 1_000)),
        stage.refusal("rc", release("secret/a", 2)),
        stage.refusal("rc", revoke("secret/a")),
        stage.refusal("rc", claim("secret", 1_000)),
        stage.refusal("rc", note("secret/a", "hm")),
        stage.refusal("rc", close("secret/a", "n1-0")),
        stage.refusal("rc", transact().check("secret/a", 0).and(put("public/a", json!(1)))),
        stage.refusal("rc", transact().and(put("public/a", json!(1))).and(put("secret/a", json!(1)))),
    ] {
        assert_eq!((refusal.failures.len(), refusal.first()), (1, &missing));
        assert_eq!(refusal.current, None);
    }
    assert_eq!(stage.refused("rc", put("nowhere/a", json!(1))), hidden("nowhere"), "just as a zone that is not there");
}

#[test]
fn readers_owners_and_arbiters_read() {
    let mut stage = stage();
    stage.ok("ra", put("secret/a", json!(1)));
    for agent in ["ra", "rb", "rl", "rv"] {
        stage.ok(agent, transact().check("secret/a", 1));
    }
}

#[test]
fn roles_of_the_server_count_in_zones() {
    let mut stage = stage();
    stage.ok("admin", put("admins/a", json!(1)));
    stage.refused("ra", put("admins/a", json!(2)).version(1));
}

#[test]
fn an_observer_only_reads() {
    let mut stage = stage();
    stage.ok("ra", put("public/a", json!(1)));
    stage.ok("an-observer", transact().check("public/a", 1));
    let no = forbidden(Forbidden::Observer);
    assert_eq!(stage.refused("an-observer", put("public/b", json!(1))), no);
    assert_eq!(stage.refused("an-observer", delete("public/a").version(1)), no);
    assert_eq!(stage.refused("an-observer", acquire("public/a", 1_000)), no);
    assert_eq!(stage.refused("an-observer", revoke("public/a")), no);
    assert_eq!(stage.refused("an-observer", release("public/a", 1)), no);
    assert_eq!(stage.refused("an-observer", claim("public", 1_000)), no);
    assert_eq!(stage.refused("an-observer", note("public/a", "x")), no);
}

#[test]
fn an_admin_who_observes_may_write() {
    let mut stage = stage();
    stage.ok("admin-observer", put("public/a", json!(1)));
    stage.ok("admin-observer", claim("public", 1_000));
    assert_eq!(stage.refused("admin-observer", claim("own", 1_000)), restricted("own"));
    assert_eq!(stage.holder("public/a"), Some("admin-observer"));
    assert_eq!(stage.entry("public/a").last_holder.map(|holder| holder.to_string()), stage.owner("public/a"));
}
