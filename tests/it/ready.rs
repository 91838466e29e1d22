//! `kokuban ready`, by which a container learns how its server is.

use std::process::{Command, Output};

use kokuban_tests::{Setup, TestServer, server_binary};
use serde_json::json;

fn ready(server: &TestServer) -> Output {
    let mut command = Command::new(server_binary());
    command.args(["ready", "--url", &server.url()]).output().expect("the program starts")
}

#[test]
fn the_exit_code_says_whether_the_server_takes_writes() {
    let mut server = Setup::disk().env("KOKUBAN_TOKENS", "ra:secret-of-the-agent").file_size_can_be_limited().start();
    let fine = ready(&server);
    assert_eq!((fine.status.code(), fine.stdout), (Some(0), b"ready\n".to_vec()), "it needs no credential");
    let ra = server.with_token("secret-of-the-agent");
    // Nothing fits behind the first page.
    server.limit_file_size(Some(4096));
    let refused = ra.put("/v1/boards/b", &json!({"blueprint": "default"}));
    assert!(refused.status >= 500, "{}", refused.text());
    let full = ready(&server);
    let complaint = String::from_utf8_lossy(&full.stderr);
    assert!(full.status.code() == Some(1) && complaint.contains("takes no writes"), "{:?}: {complaint}", full.status);
    server.limit_file_size(None);
    let _ = server.stop();
    assert_eq!(ready(&server).status.code(), Some(5), "nothing answers");
}
