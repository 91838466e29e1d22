//! Ports that documents tell, and those that the servers of a test really have, because several tests run at once.
//!
//! **Invariant**: only a port behind a host of this machine is replaced; what a reader is shown has the told ones.
//! Not known here: servers.

const HOSTS: &[&str] = &["127.0.0.1", "localhost", "0.0.0.0", "[::1]"];

/// Told, and real.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Ports {
    pub(super) told: u16,
    pub(super) real: u16,
}

impl Ports {
    /// What is sent to a server.
    pub(super) fn to_real(self, text: &str) -> String {
        replace(text, self.told, self.real)
    }

    /// What is shown to a reader.
    pub(super) fn to_told(self, text: &str) -> String {
        replace(text, self.real, self.told)
    }
}

fn replace(text: &str, from: u16, to: u16) -> String {
    HOSTS.iter().fold(text.to_owned(), |text, host| text.replace(&format!("{host}:{from}"), &format!("{host}:{to}")))
}

/// The port of the first address of this machine in `text`.
pub(super) fn find(text: &str) -> Option<u16> {
    let of = |host: &&str| {
        let behind = text.split_once(&format!("{host}:"))?.1;
        let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
        behind[..digits].parse().ok()
    };
    HOSTS.iter().find_map(of)
}

#[test]
fn only_ports_of_this_machine_are_replaced() {
    let ports = Ports { told: 7411, real: 60000 };
    let text = "http://127.0.0.1:7411/v1 localhost:7411 \"ttl_ms\":7411 10.0.0.1:7411";
    assert_eq!(ports.to_real(text), "http://127.0.0.1:60000/v1 localhost:60000 \"ttl_ms\":7411 10.0.0.1:7411");
    assert_eq!(ports.to_told(&ports.to_real(text)), text);
    assert_eq!((find("listening on http://127.0.0.1:7411"), find("nothing")), (Some(7411), None));
}
