//! The guide to deployments, executed: each command in its order, in a copy of this checkout, and its answer compared.
//!
//! **Invariant**: only port, project and images differ from what a reader has.
//! Not known here: what is right. The document says that.

use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};

use kokuban_tests::document::{Step, compare, steps};
use kokuban_tests::server_binary;

use super::docker::{Project, must};
use super::images::{built, root};

const DOCUMENT: &str = "docs/deployment.md";
const TOLD: &str = "127.0.0.1:7411";
/// `docker compose` on a machine that has only the older program; and variables that last.
const BEFORE: &str = r#"
exec 2>&1
docker() {
  if [[ $1 = compose ]] && ! command docker compose version >/dev/null 2>&1; then docker-compose "${@:2}"
  else command docker "$@"; fi
}
[[ ! -f .variables ]] || . ./.variables
trap 'export -p > .variables' EXIT
"#;

/// This checkout as a clone would be, with what is not committed yet.
fn copy(to: &Path) {
    let mut pack = Command::new("tar");
    pack.args(["--exclude=./target", "--exclude=./.git", "--create", "."]).current_dir(root());
    let mut pack = pack.stdout(Stdio::piped()).spawn().expect("tar starts");
    let files = pack.stdout.take().expect("piped");
    must(Command::new("tar").args(["--extract", "--directory"]).arg(to).stdin(files));
    assert!(pack.wait().expect("tar ends").success(), "tar failed");
}

fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr()).expect("a port is free").port()
}

fn variables(project: &Project, port: u16) -> Vec<(&'static str, String)> {
    let folder = server_binary().parent().expect("a file is in a folder").display();
    let path = format!("{folder}:{}", std::env::var("PATH").unwrap_or_default());
    let url = format!("http://127.0.0.1:{port}");
    let mut all = built().variables();
    all.retain(|(name, _)| *name != "KOKUBAN_PORT");
    all.extend([("KOKUBAN_PORT", port.to_string()), ("KOKUBAN_URL", url), ("PATH", path)]);
    all.extend([("COMPOSE_PROJECT_NAME", project.name().to_owned()), ("COMPOSE_DOCKER_CLI_BUILD", "1".to_owned())]);
    all
}

#[test]
fn every_command_of_the_guide_to_deployments_does_what_it_shows() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    copy(dir.path());
    let port = free_port();
    let real = format!("127.0.0.1:{port}");
    let project = Project::new(&root().join("docker/compose.yaml"), built().variables());
    let variables = variables(&project, port);
    let text = std::fs::read_to_string(root().join(DOCUMENT)).expect("the guide is there");
    for step in steps(&text) {
        let line = step.line();
        let Step::Run { command, answer, .. } = step else { continue };
        // The image of this checkout has a name of its own here.
        let script = command.replace(TOLD, &real).replace(" kokuban init", &format!(" {} init", built().server));
        let mut bash = Command::new("bash");
        bash.args(["-c", &format!("{BEFORE}{script}")]).current_dir(dir.path());
        let output = bash.envs(variables.iter().map(|(name, value)| (name, value))).output().expect("bash starts");
        let said = String::from_utf8_lossy(&output.stdout).replace(&real, TOLD);
        assert!(output.status.success(), "{DOCUMENT}:{line}: `{command}`: {}\n{said}", output.status);
        if let Err(n) = compare(&answer, &said) {
            let wanted = answer.get(n).map_or("nothing more", String::as_str);
            panic!("{DOCUMENT}:{line}: `{command}`\nNothing fits: {wanted}\nThe answer:\n{said}");
        }
    }
}
