//! `kokuban init`: a first deployment in a folder, which works as it is.
//!
//! Invariant: nothing is overwritten, and all is written or nothing. No secret is printed: it is in a file that only its
//! owner reads, and the commands that are shown take it from there.
//! Start at `plan`, which says what is written; `place` writes it.

mod place;
mod plan;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::anyhow;
use kokuban_core::ids::AgentName;

use self::plan::{CONFIG_FILE, Caller};
use crate::args::InitArgs;
use crate::credential::Secret;
use crate::failure::{Failure, Outcome};
use crate::output::print;
use crate::shell::quoted;

/// Operators: who may do everything, and who may see everything.
const OPERATORS: [(&str, &str); 2] = [("admin", "admin"), ("observer", "observer")];

pub(crate) fn run(args: &InitArgs) -> Outcome {
    let arbiter = arbiter(args)?;
    let dir = args.dir.as_path();
    if args.keep && dir.join(CONFIG_FILE).is_file() {
        return Ok(print(&format!("{} is there and stays as it is", dir.join(CONFIG_FILE).display()))?);
    }
    let files = plan::plan(&callers(&args.agents)?, arbiter);
    let in_the_way = place::in_the_way(dir, &files);
    if !in_the_way.is_empty() {
        let paths: Vec<_> = in_the_way.iter().map(|path| format!("\n  {}", path.display())).collect();
        return Err(Failure::Other(anyhow!(
            "nothing was written, because this is there already and is never overwritten:{}\n\
             Name another folder, or move it away.",
            paths.concat()
        )));
    }
    place::place(dir, &files)?;
    let told =
        if args.keep { format!("wrote {}", dir.join(CONFIG_FILE).display()) } else { next_steps(dir, &args.agents) };
    Ok(print(&told)?)
}

/// The agent with the last word on the first boards.
fn arbiter(args: &InitArgs) -> Result<&AgentName, Failure> {
    let operators = OPERATORS.map(|(name, _)| AgentName::new(name).expect("a plain word"));
    let mut seen = BTreeSet::from(operators);
    if let Some(twice) = args.agents.iter().find(|agent| !seen.insert((*agent).clone())) {
        return Err(Failure::usage(format!("`{twice}` would be two callers; `admin` and `observer` are made anyway")));
    }
    let arbiter = match &args.arbiter {
        Some(name) => args.agents.iter().find(|agent| *agent == name),
        None => args.agents.last(),
    };
    arbiter.ok_or_else(|| Failure::usage("the arbiter must be one of the agents"))
}

fn callers(agents: &[AgentName]) -> anyhow::Result<Vec<Caller>> {
    let operators = OPERATORS.iter().map(|(name, role)| (AgentName::new(name).expect("a plain word"), Some(*role)));
    let all = operators.chain(agents.iter().map(|agent| (agent.clone(), None)));
    all.map(|(name, role)| Ok(Caller { name, role, secret: Secret::random()? })).collect()
}

/// What there is now, and the commands that go on, each as it stands.
fn next_steps(dir: &Path, agents: &[AgentName]) -> String {
    let at = |path: &str| quoted(&dir.join(path).display().to_string());
    let names: Vec<_> = agents.iter().map(AgentName::as_str).collect();
    // The first who is not the arbiter, because that is the last.
    let caller = names.first().copied().unwrap_or_default();
    let demo = if crate::demo::CAST.iter().all(|name| names.contains(name)) {
        let tokens = at(plan::TOKENS);
        format!("\nWatch a team at work on it:\n  kokuban demo --url http://127.0.0.1:7411 --tokens {tokens}\n")
    } else {
        String::new()
    };
    include_str!("next-steps.txt")
        .replace("{dir}", &dir.display().to_string())
        .replace("{agents}", &names.join(", "))
        .replace("{config}", &at(CONFIG_FILE))
        .replace("{token}", &at(&format!("{}/{caller}.env", plan::TOKENS)))
        .replace("{compose}", &at(plan::COMPOSE_FILE))
        .replace("{caller}", caller)
        .replace("{demo}", &demo)
}
