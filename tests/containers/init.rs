//! The folder that `kokuban init` writes, in a container as it is.

use std::process::Command;

use kokuban_tests::server_binary;

use super::docker::{Project, must};
use super::images::built;
use super::outside::Outside;

#[test]
fn what_init_writes_runs_in_a_container_as_it_is() {
    let dir = tempfile::tempdir().expect("a temporary directory");
    let deployment = dir.path().join("deployment");
    must(Command::new(server_binary()).arg("init").arg(&deployment));
    let project = Project::new(&deployment.join("compose.yaml"), built().variables());
    project.up();
    let outside = Outside::new(project.address(), &deployment.join("tokens"));
    let body = r#"{"blueprint": "team"}"#;
    assert_eq!(outside.curl("observer", "/v1/boards/b", &["-X", "PUT", "--json", body]).0, 403);
    assert_eq!(outside.curl("ra", "/v1/boards/b", &["-X", "PUT", "--json", body]).0, 201);
    let listed = outside.kokuban("observer", &["board", "list"]);
    assert!(listed.contains("team"), "{listed}");
}
