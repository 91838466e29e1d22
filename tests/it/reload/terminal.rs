//! SIGHUP of a terminal that was closed, which asks for nothing to be read.

use std::path::Path;

use kokuban_tests::Setup;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};

#[test]
fn a_server_whose_terminal_is_gone_stops() {
    // Not for the server to hold open, nor for those of other tests.
    let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&master).and_then(|()| unlockpt(&master)).expect("a terminal");
    let name = ptsname(&master, Vec::new()).expect("it has a name");
    let mut server = Setup::memory().stdin(Path::new(name.to_str().expect("ASCII"))).start();
    server.as_agent("ra").get("/v1").must(200);
    let said = server.reload();
    assert!(said.contains("was read again"), "the terminal is there: {said}");
    drop(master);
    server.hang_up();
    assert_eq!(server.ended().code(), Some(0));
    assert!(server.log().contains("stopping"), "{}", server.log());
}
