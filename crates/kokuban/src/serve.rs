//! `kokuban serve` and `kokuban dev`: the flags, handed to the server, and the first lines that it prints.
//!
//! Invariant: the thinnest seam there is; what a setting means, and where files and variables come in, is known to
//! `kokuban_server::config` alone. Standard output gets the one line that says where the server listens.

use std::io::Write as _;
use std::net::SocketAddr;
use std::path::Path;

use anyhow::Context as _;
use kokuban_journal::sqlite::Salvage;
use kokuban_server::config::{self, AuthMode, Config, ConfigError, Flag, Sources};
use kokuban_server::serve::Server;
use kokuban_server::shutdown::Shutdown;
use kokuban_server::telemetry;

use crate::args::{Durability, LogFormat, ServeArgs};
use crate::failure::{Failure, Outcome};

/// Which defaults apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Serve,
    /// In memory, boards made by their first write, a banner.
    Dev,
}

pub(crate) fn serve(args: &ServeArgs, mode: Mode) -> Outcome {
    let config = config(args, mode)?;
    telemetry::start(&config);
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let salvage = if args.salvage { Salvage::CutAtDamage } else { Salvage::Refuse };
    let runtime = tokio::runtime::Runtime::new().context("the runtime does not start").map_err(Failure::Other)?;
    runtime.block_on(run(config, salvage, mode, args.end_with_stdin)).map_err(Failure::Other)
}

async fn run(config: Config, salvage: Salvage, mode: Mode, end_with_stdin: bool) -> anyhow::Result<()> {
    let shutdown = Shutdown::new();
    if end_with_stdin {
        let shutdown = shutdown.clone();
        crate::stdin::when_it_ends(move || shutdown.begin());
    }
    let signals = shutdown.on_signals().context("signals cannot be handled")?;
    let banner = (mode == Mode::Dev).then(|| banner(&config));
    let server = Server::open(config, salvage, shutdown.clone()).await?;
    let signals = tokio::spawn(signals);
    announce(server.local_addr(), banner.as_deref()).context("standard output cannot be written")?;
    tokio::select! {
        () = server.run() => {}
        // Whatever was acknowledged is in the journal already.
        () = shutdown.killed() => {}
    }
    signals.abort();
    Ok(())
}

fn announce(addr: SocketAddr, banner: Option<&str>) -> std::io::Result<()> {
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "listening on http://{addr}")?;
    stdout.flush()?;
    if let Some(banner) = banner {
        let banner = banner.replace("{url}", &format!("http://{addr}"));
        // A banner that cannot be shown is no reason not to serve.
        let _ = std::io::stderr().lock().write_all(banner.as_bytes());
    }
    Ok(())
}

/// The first steps, as commands that this server takes as they stand; all but its address.
fn banner(config: &Config) -> String {
    let kept = match config.durability {
        config::Durability::Memory => "Nothing is kept; --data DIR keeps it.".to_owned(),
        config::Durability::Disk => format!("Kept in {}.", config.data.display()),
    };
    let (access, as_ra, as_ta, as_any) = match config.auth {
        AuthMode::Open => ("no credentials", " -H 'Kokuban-Agent: ra'", " -H 'Kokuban-Agent: ta'", ""),
        AuthMode::Token => {
            let bearer = " -H \"Authorization: Bearer $KOKUBAN_TOKEN\"";
            ("callers need a token (here in $KOKUBAN_TOKEN)", bearer, bearer, bearer)
        }
    };
    [("{access}", access), ("{kept}", &kept), ("{as_ra}", as_ra), ("{as_ta}", as_ta), ("{as_any}", as_any)]
        .into_iter()
        .fold(include_str!("dev-banner.txt").to_owned(), |text, (place, words)| text.replace(place, words))
}

fn config(args: &ServeArgs, mode: Mode) -> Result<Config, Failure> {
    let mut flags = Vec::new();
    let mut set = |key, flag, value: String| flags.push(Flag { key, flag, value });
    if let Some(listen) = &args.listen {
        set("listen", "--listen", listen.clone());
    }
    if let Some(data) = &args.data {
        set("data", "--data", data.display().to_string());
    }
    let durability = args.durability.or((mode == Mode::Dev && args.data.is_none()).then_some(Durability::Memory));
    match durability {
        Some(Durability::Disk) => set("durability", "--durability", "disk".to_owned()),
        Some(Durability::Memory) => set("durability", "--durability", "memory".to_owned()),
        None => {}
    }
    match args.log_format {
        Some(LogFormat::Text) => set("log_format", "--log-format", "text".to_owned()),
        Some(LogFormat::Json) => set("log_format", "--log-format", "json".to_owned()),
        None => {}
    }
    if args.insecure_open {
        set("insecure_open", "--insecure-open", "true".to_owned());
    }
    let sources = Sources::of_process(args.config.clone(), flags);
    let mut config = Config::load(&sources).map_err(|error| Failure::Other(error.into()))?;
    if mode == Mode::Dev {
        config.create_any_board_with_default();
    }
    if args.data.is_some() && config.durability == config::Durability::Memory {
        config.warnings.push("--data is not used: with `durability = \"memory\"` nothing is written".to_owned());
    }
    Ok(config)
}

/// A server's configuration file, checked with the blueprints that it names; nothing else is looked at.
pub(crate) fn check_config(path: &Path) -> Result<Config, ConfigError> {
    let sources = Sources { file: Some(path.to_path_buf()), env: Vec::new(), flags: Vec::new() };
    let config = Config::load(&sources)?;
    kokuban_server::config::load_blueprints(&config)?;
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_banner_says_how_to_call_this_server_and_what_it_keeps() {
        let memory = config::Durability::Memory;
        let open = banner(&Config { durability: memory, auth: AuthMode::Open, ..Config::default() });
        assert!(
            open.contains("no credentials") && open.contains("Kokuban-Agent: ra") && open.contains("Nothing is kept")
        );
        let disk = config::Durability::Disk;
        let tokens = banner(&Config { durability: disk, auth: AuthMode::Token, ..Config::default() });
        assert_eq!(tokens.matches("Bearer $KOKUBAN_TOKEN").count(), 4);
        assert!(!tokens.contains("Kokuban-Agent") && tokens.contains("Kept in "), "{tokens}");
        for text in [open, tokens] {
            assert!(!text.replace("{url}", "").contains("{a") && !text.contains("{kept}"), "{text}");
        }
    }
}
