//! Golden transcripts of the command line: what each command says on a terminal, in a pipe, and to nobody.
//!
//! **Invariant**: every file of the folder is run, each in all three ways, each way on a server of its own. `…` stands
//! for whatever differs from run to run. `KOKUBAN_BLESS=1` rewrites what does not fit; what fits stays as its author
//! wrote it, and exit codes are never rewritten: those are what is right.
//! Not known here: what commands mean.

mod commands;
mod completions;
mod mask;
mod next;
mod patience;
mod session;

use std::fs;
use std::path::{Path, PathBuf};

use kokuban_tests::document::compare;
use kokuban_tests::{Reader, Said, Setup, ShellCommand, TestServer, fixture_path};

use self::session::{Session, Step};

/// Where transcripts say that the server listens.
const TOLD: &str = "127.0.0.1:7411";

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("it/cli")
}

macro_rules! sessions {
    ($($name:ident)+) => {
        const NAMES: &[&str] = &[$(stringify!($name)),+];
        $(
            #[test]
            fn $name() {
                run(stringify!($name));
            }
        )+
    };
}

sessions! {
    backups boards configuration demonstration entries first_steps histories hostile leases names narrow notes refusals servers streams tokens
}

#[test]
fn every_session_of_the_folder_is_run() {
    let files: Vec<String> = sessions().into_iter().map(|(name, _)| name).collect();
    let mut names: Vec<&str> = NAMES.to_vec();
    names.sort_unstable();
    assert_eq!(files, names);
}

/// Every session, by name.
fn sessions() -> Vec<(String, Session)> {
    let files = fs::read_dir(folder()).expect("a folder of sessions").map(|file| file.expect("readable").path());
    let mut paths: Vec<_> = files.filter(|path| path.extension().is_some_and(|extension| extension == "txt")).collect();
    paths.sort();
    let name = |path: &PathBuf| path.file_stem().expect("a name").to_string_lossy().into_owned();
    paths.iter().map(|path| (name(path), Session::read(path))).collect()
}

fn run(name: &str) {
    let path = folder().join(format!("{name}.txt"));
    let mut session = Session::read(&path);
    let columns = session.directive("columns").map_or(80, |columns| columns.parse().expect("@columns N"));
    let mut flaws = Vec::new();
    for reader in [Reader::Terminal(columns), Reader::Pipe, Reader::Nobody] {
        let stage = Stage::new(&session, reader);
        for step in &mut session.steps {
            flaws.extend(stage.play(step).into_iter().map(|flaw| format!("{name}.txt:{}: {flaw}", step.line)));
        }
    }
    if std::env::var_os("KOKUBAN_BLESS").is_some() {
        fs::write(&path, session.to_text()).expect("sessions can be written");
    }
    assert!(flaws.is_empty(), "{} answers are not as expected\n{}", flaws.len(), flaws.join("\n"));
}

/// A server, a folder, and a reader.
#[derive(Debug)]
struct Stage {
    server: TestServer,
    dir: tempfile::TempDir,
    reader: Reader,
}

impl Stage {
    fn new(session: &Session, reader: Reader) -> Self {
        let blueprints = format!("blueprints = [{:?}]", fixture_path("team.toml"));
        let setup = session.directives("config").fold(Setup::memory().config(&blueprints), Setup::config);
        Self { server: setup.start(), dir: tempfile::tempdir().expect("a temporary directory"), reader }
    }

    fn said(&self, step: &Step) -> Said {
        let real = self.server.addr().to_string();
        let url = self.server.url();
        let line = step.command.replace(TOLD, &real);
        let mut command = ShellCommand::start(&line, self.dir.path(), &[("KOKUBAN_URL", &url)], self.reader);
        if let Some(text) = &step.until {
            // What nobody reads may also end by itself.
            let ended_before = !command.wait_for_or_end(text);
            assert!(self.reader == Reader::Nobody || !ended_before, "it ended without {text:?}: {}", command.so_far());
            command.interrupt();
        }
        let Said { stdout, stderr, code } = command.ended();
        // What acts on a terminal is to be seen in the file.
        let seen = |text: String| text.replace(&real, TOLD).replace('\u{1b}', "␛").replace('\r', "␍");
        Said { stdout: seen(stdout), stderr: seen(stderr), code }
    }

    /// Does one step; answers with what is not as told.
    fn play(&self, step: &mut Step) -> Vec<String> {
        let said = self.said(step);
        let mut flaws = Vec::new();
        let is_judged = self.reader != Reader::Nobody || (step.is_simple() && step.until.is_none());
        if is_judged && said.code != step.code {
            flaws.push(format!("{:?}: exit code {} instead of {}", self.reader, said.code, step.code));
        }
        if said.stderr.contains("panicked") || said.stderr.contains("Broken pipe") {
            flaws.push(format!("{:?}: {}", self.reader, said.stderr));
        }
        match self.reader {
            Reader::Terminal(_) => flaws.extend(judge(&mut step.terminal, &said.stdout)),
            Reader::Pipe => {
                flaws.extend(judge(&mut step.pipe, &said.stdout));
                flaws.extend(judge(&mut step.pipe_stderr, &said.stderr));
            }
            Reader::Nobody => {}
        }
        flaws
    }
}

/// Compares, or where it is blessed, takes over what does not fit.
fn judge(told: &mut Vec<String>, said: &str) -> Option<String> {
    let n = compare(told, said).err()?;
    if std::env::var_os("KOKUBAN_BLESS").is_some() {
        *told = mask::masked(said);
        let still = compare(told, said).is_err();
        return still.then(|| format!("what was masked does not fit what was said:\n{said}"));
    }
    let wanted = told.get(n).map_or("nothing more", String::as_str);
    Some(format!("nothing fits: {wanted}\nIt said:\n{said}"))
}
