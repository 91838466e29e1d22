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
use kokuban_server::signals::Signals;
use kokuban_server::telemetry;

use crate::args::{Durability, LogFormat, ServeArgs, SettingArgs};
use crate::failure::{Failure, Outcome};
use crate::output::{print, unless_closed};

/// Which defaults apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Mode {
    Serve,
    /// In memory, boards made by their first write, a banner.
    Dev,
}

pub(crate) fn serve(args: &ServeArgs, mode: Mode) -> Outcome {
    let sources = sources(&args.settings, mode);
    let config = Config::load(&sources).map_err(|error| Failure::Other(error.into()))?;
    let log = telemetry::start(&config);
    for warning in &config.warnings {
        tracing::warn!("{warning}");
    }
    let salvage = if args.salvage { Salvage::CutAtDamage } else { Salvage::Refuse };
    let runtime = tokio::runtime::Runtime::new().context("the runtime does not start").map_err(Failure::Other)?;
    let served = async {
        let shutdown = Shutdown::new();
        if args.end_with_stdin {
            let shutdown = shutdown.clone();
            crate::stdin::when_it_ends(move || shutdown.begin());
        }
        let signals = Signals::listen().context("signals cannot be handled")?;
        let banner = (mode == Mode::Dev).then(|| banner(&config));
        let server = Server::open(config, salvage, shutdown.clone()).await?;
        let reload = server.reload(sources, log);
        let signals = tokio::spawn(signals.obey(shutdown.clone(), reload));
        announce(server.local_addr(), banner.as_deref()).context("standard output cannot be written")?;
        tokio::select! {
            () = server.run() => {}
            // Whatever was acknowledged is in the journal already.
            () = shutdown.killed() => {}
        }
        signals.abort();
        Ok(())
    };
    runtime.block_on(served).map_err(Failure::Other)
}

fn announce(addr: SocketAddr, banner: Option<&str>) -> std::io::Result<()> {
    // That nobody listens to this line is no reason not to serve.
    print(&format!("listening on http://{addr}")).or_else(unless_closed)?;
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

/// The file, the variables of this process, and the flags.
pub(crate) fn sources(args: &SettingArgs, mode: Mode) -> Sources {
    let mut flags = Vec::new();
    let mut set = |key: &str, flag, value: String| flags.push(Flag { key: key.to_owned(), flag, value });
    for (key, value) in &args.set {
        set(key, "--set", value.clone());
    }
    if let Some(listen) = &args.listen {
        set("listen", "--listen", listen.clone());
    }
    if let Some(data) = &args.data {
        set("data", "--data", data.display().to_string());
    }
    match args.durability {
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
    Sources::of_process(args.config.clone(), mode == Mode::Dev, flags)
}

/// A server's configuration file, checked with the blueprints that it names; nothing else is looked at.
pub(crate) fn check_config(path: &Path) -> Result<Config, ConfigError> {
    let sources = Sources { file: Some(path.to_path_buf()), ..Sources::default() };
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
