//! What is judged from the head alone, before any route: framing, Host, Origin, secrets in the query.
//!
//! **Invariant**: nothing here depends on the path, so an unknown address leaks no more than a known one.
//! Not known here: who calls.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::header::{HOST, ORIGIN};
use http::uri::Authority;
use http::{HeaderMap, Uri};
use kokuban_api::problem::{ErrorCode, Problem};

use crate::accept::HeadFraming;
use crate::config::{AuthMode, Config};

/// Members of a query that only a secret can be meant by.
const SECRET_NAMES: [&str; 3] = ["token", "access_token", "api_key"];

/// From where and by which name the server may be reached.
#[derive(Debug, Clone, Default)]
pub struct Reach {
    /// Whether Host must be loopback or configured: without credentials it is what keeps web pages out.
    host_matters: bool,
    hosts: Vec<String>,
    origins: Vec<String>,
}

/// What the checks found out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Admitted {
    /// The request comes from a configured origin, and the answer has to admit it.
    pub(super) from_origin: bool,
}

impl Reach {
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let mut hosts: Vec<String> = config.hosts.iter().map(|host| host.to_ascii_lowercase()).collect();
        // An address names one machine, so whoever bound it meant it. A name can be pointed anywhere.
        if !config.listen.ip().is_unspecified() {
            hosts.push(authority_of(config.listen.ip()));
        }
        let origins = config.origins.iter().map(|origin| origin.to_ascii_lowercase()).collect();
        Self { host_matters: config.auth == AuthMode::Open, hosts, origins }
    }

    #[must_use]
    pub fn has_origins(&self) -> bool {
        !self.origins.is_empty()
    }

    pub(super) fn check(&self, uri: &Uri, headers: &HeaderMap, framing: HeadFraming) -> Result<Admitted, Problem> {
        if framing == HeadFraming::Ambiguous {
            return Err(malformed(
                "the request says more than once where its body ends; send Content-Length or Transfer-Encoding, once",
            ));
        }
        let authority = self.authority(uri, headers)?;
        let from_origin = self.origin(headers, authority)?;
        refuse_secrets(uri)?;
        Ok(Admitted { from_origin })
    }

    /// Host and port the request is addressed to. In absolute form the target has them, and Host only has to be there.
    fn authority<'r>(&self, uri: &'r Uri, headers: &'r HeaderMap) -> Result<&'r str, Problem> {
        let mut values = headers.get_all(HOST).iter();
        let (Some(value), None) = (values.next(), values.next()) else {
            return Err(malformed("the request must have the header Host, once"));
        };
        if uri.scheme_str().is_some_and(|scheme| scheme != "http" && scheme != "https") {
            return Err(malformed("the scheme of the request target is neither http nor https"));
        }
        let in_header = value.to_str().ok().filter(|text| is_authority(text));
        let in_header = in_header.ok_or_else(|| malformed("the header Host is not a host with an optional port"))?;
        let authority = uri.authority().map_or(in_header, Authority::as_str);
        if authority.contains('@') {
            return Err(malformed("user information does not belong into Host or the request target"));
        }
        let host = host_of(authority);
        if self.host_matters && !self.is_configured(authority, host) && !is_loopback(host) {
            return Err(Problem::new(
                ErrorCode::WrongHost,
                "without authentication this server answers only to loopback names and to the `hosts` of its configuration",
            ));
        }
        Ok(authority)
    }

    /// A configured host without a port admits every port.
    fn is_configured(&self, authority: &str, host: &str) -> bool {
        self.hosts.iter().any(|known| known.eq_ignore_ascii_case(authority) || known.eq_ignore_ascii_case(host))
    }

    /// Whether the request comes from a configured origin; false when it comes from none or our own.
    fn origin(&self, headers: &HeaderMap, authority: &str) -> Result<bool, Problem> {
        let mut values = headers.get_all(ORIGIN).iter();
        let Some(value) = values.next() else { return Ok(false) };
        if values.next().is_some() {
            return Err(malformed("the header Origin may be there once at most"));
        }
        let origin = value.to_str().unwrap_or_default();
        if self.origins.iter().any(|known| known.eq_ignore_ascii_case(origin)) {
            return Ok(true);
        }
        let own = origin.split_once("://").is_some_and(|(scheme, at)| is_same(scheme, at, authority));
        if own { Ok(false) } else { Err(Problem::new(ErrorCode::OriginRefused, ORIGIN_DETAIL)) }
    }
}

const ORIGIN_DETAIL: &str =
    "requests from pages of this web origin are refused; `origins` in the configuration admits it";

fn malformed(detail: &str) -> Problem {
    Problem::new(ErrorCode::Malformed, detail)
}

/// A host with an optional port. Most are plain, and need no parser of URIs.
fn is_authority(text: &str) -> bool {
    let (host, port) = text.split_once(':').unwrap_or((text, "0"));
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.' || byte == b'-';
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if !host.is_empty() && host.bytes().all(plain) && digits(port) {
        return true;
    }
    text.parse::<Authority>().is_ok_and(|authority| !authority.host().is_empty())
}

/// An authority without its port.
fn host_of(authority: &str) -> &str {
    let end = if authority.starts_with('[') { authority.find(']').map(|at| at + 1) } else { authority.find(':') };
    &authority[..end.unwrap_or(authority.len())]
}

fn is_same(scheme: &str, at: &str, authority: &str) -> bool {
    let default_port = match scheme {
        "http" => 80,
        "https" => 443,
        _ => return false,
    };
    let (Ok(origin), Ok(authority)) = (at.parse::<Authority>(), authority.parse::<Authority>()) else { return false };
    let port = |a: &Authority| a.port_u16().unwrap_or(default_port);
    origin.host().eq_ignore_ascii_case(authority.host()) && port(&origin) == port(&authority)
}

/// `localhost`, 127.0.0.0/8 and `[::1]`, in their plain spellings.
fn is_loopback(host: &str) -> bool {
    if let Some(v6) = host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
        return v6.parse::<Ipv6Addr>().is_ok_and(|ip| ip.is_loopback());
    }
    let name = host.strip_suffix('.').unwrap_or(host);
    name.eq_ignore_ascii_case("localhost") || name.parse::<Ipv4Addr>().is_ok_and(|ip| ip.is_loopback())
}

fn authority_of(ip: IpAddr) -> String {
    match ip {
        IpAddr::V4(v4) => v4.to_string(),
        IpAddr::V6(v6) => format!("[{v6}]"),
    }
}

/// A secret in a URL ends up in logs and histories of everything between; it is refused even where it is right.
fn refuse_secrets(uri: &Uri) -> Result<(), Problem> {
    let Some(query) = uri.query() else { return Ok(()) };
    for member in query.split('&') {
        let name = member.split('=').next().unwrap_or_default();
        let name = percent_encoding::percent_decode_str(name).decode_utf8_lossy();
        if SECRET_NAMES.iter().any(|secret| name.eq_ignore_ascii_case(secret)) {
            return Err(Problem::new(
                ErrorCode::InvalidQuery,
                "a secret does not belong into a URL; send the header `Authorization: Bearer …`, and replace this secret",
            ));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reach(mode: AuthMode) -> Reach {
        Reach::new(&Config {
            auth: mode,
            hosts: vec!["kokuban.internal".into(), "other:7411".into()],
            origins: vec!["https://console.example".into()],
            ..Config::default()
        })
    }

    fn code(reach: &Reach, target: &str, headers: &[(&str, &str)]) -> Result<bool, ErrorCode> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(http::HeaderName::from_bytes(name.as_bytes()).unwrap(), value.parse().unwrap());
        }
        let result = reach.check(&target.parse().unwrap(), &map, HeadFraming::Sound);
        result.map(|a| a.from_origin).map_err(|p| p.known_code().unwrap())
    }

    #[test]
    fn without_authentication_only_loopback_and_configured_hosts_are_served() {
        let open = reach(AuthMode::Open);
        for host in [
            "localhost",
            "LOCALHOST:7411",
            "localhost.",
            "127.0.0.1:7411",
            "127.9.8.7",
            "[::1]",
            "[::1]:80",
            "kokuban.internal",
            "Kokuban.internal:99",
            "other:7411",
        ] {
            assert_eq!(code(&open, "/", &[("host", host)]), Ok(false), "{host}");
        }
        for host in ["evil.example", "127.0.0.1.evil.example", "other:1", "0.0.0.0", "2130706433", "localhost.evil"] {
            assert_eq!(code(&open, "/", &[("host", host)]), Err(ErrorCode::WrongHost), "{host}");
        }
        assert_eq!(code(&reach(AuthMode::Token), "/", &[("host", "any.example")]), Ok(false));
    }

    #[test]
    fn host_is_there_exactly_once_and_is_a_host() {
        for mode in [AuthMode::Open, AuthMode::Token] {
            let reach = reach(mode);
            for headers in [
                &[][..],
                &[("host", "localhost"), ("host", "localhost")],
                &[("host", "")],
                &[("host", "a b")],
                &[("host", "user@localhost")],
                &[("host", "localhost/x")],
                &[("host", ":80")],
            ] {
                assert_eq!(code(&reach, "/", headers), Err(ErrorCode::Malformed), "{headers:?}");
            }
        }
    }

    #[test]
    fn an_absolute_target_is_judged_by_its_own_host() {
        let open = reach(AuthMode::Open);
        assert_eq!(code(&open, "http://127.0.0.1:7411/v1", &[("host", "localhost")]), Ok(false));
        assert_eq!(code(&open, "http://evil.example/v1", &[("host", "localhost")]), Err(ErrorCode::WrongHost));
        assert_eq!(code(&open, "ftp://localhost/v1", &[("host", "localhost")]), Err(ErrorCode::Malformed));
    }

    #[test]
    fn a_foreign_origin_is_refused_in_every_mode() {
        for mode in [AuthMode::Open, AuthMode::Token] {
            let reach = reach(mode);
            let from = |origin| code(&reach, "/", &[("host", "localhost:7411"), ("origin", origin)]);
            assert_eq!(from("http://localhost:7411"), Ok(false), "our own");
            assert_eq!(from("https://console.example"), Ok(true), "configured");
            for origin in [
                "null",
                "",
                "http://evil.example",
                "http://localhost:81",
                "https://console.example.evil",
                "https://console.example:444",
                "file://",
                "http://localhost",
            ] {
                assert_eq!(from(origin), Err(ErrorCode::OriginRefused), "{origin}");
            }
        }
    }

    #[test]
    fn a_secret_in_the_query_is_refused_however_it_is_spelt() {
        let open = reach(AuthMode::Open);
        for target in ["/?token=abc", "/v1?a=1&access_token=x", "/?api_key", "/?%74oken=x", "/?Token=x"] {
            assert_eq!(code(&open, target, &[("host", "localhost")]), Err(ErrorCode::InvalidQuery), "{target}");
        }
        assert_eq!(code(&open, "/?lease_token=7&page=token", &[("host", "localhost")]), Ok(false));
    }

    #[test]
    fn two_lengths_are_malformed() {
        let mut headers = HeaderMap::new();
        headers.insert(HOST, "localhost".parse().unwrap());
        let problem = reach(AuthMode::Open).check(&"/".parse().unwrap(), &headers, HeadFraming::Ambiguous).unwrap_err();
        assert!(problem.is(ErrorCode::Malformed));
    }
}
