//! Who calls: from a header in mode `open`, from a token in mode `token`.
//!
//! **Invariants**: a secret is compared as its SHA-256, in constant time and against every token, and is never
//! kept, shown or logged. What a credential says beats what a header says. A credential that is configured no longer,
//! or otherwise, is known as such wherever a caller it belonged to is still served.
//! Not known here: roles of a board (its blueprint has them), and what a route needs.

use std::fmt;
use std::sync::Arc;

use axum::extract::{FromRequestParts, MatchedPath};
use http::header::AUTHORIZATION;
use http::request::Parts;
use http::{HeaderMap, HeaderName};
use kokuban_api::answers::CallerInfo;
use kokuban_api::headers::AGENT;
use kokuban_api::problem::{ErrorCode, Problem};
use kokuban_core::caller::Actor;
use kokuban_core::ids::{AgentName, BoardName, Sha256};
use subtle::ConstantTimeEq as _;

use crate::config::{AuthMode, Config, ServerRole, Token};
use crate::edge::{RequestContext, Route};
use crate::error::ApiError;
use crate::pattern::Pattern;

/// The name of whoever gives none in mode `open`.
pub const ANONYMOUS: &str = "anonymous";
/// No secret is longer; more is not hashed.
const SECRET_BYTES_MAX: usize = 1024;

/// A caller as the server knows it.
#[derive(Debug, Clone)]
pub struct Caller {
    pub agent: AgentName,
    /// False for the `anonymous` that stands for nobody in particular.
    pub named: bool,
    pub admin: bool,
    /// Reads only.
    pub observer: bool,
    pub credential: Credential,
    /// Shared with the credential.
    boards: Arc<[Pattern]>,
}

/// What a caller showed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Credential {
    /// Nothing: mode `open`.
    Open,
    /// The secret with this hash.
    Token(Sha256),
}

/// The hash is not for logs: a short secret could be guessed from it.
impl fmt::Debug for Credential {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Open => "open",
            Self::Token(_) => "token",
        })
    }
}

/// What the credential of a caller means now, for somebody who is served since it was looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    AsItWas,
    /// It admits the same agent to the board, in other roles.
    OtherRoles,
    /// It opens the board no longer.
    OtherBoards,
    /// Nobody is let in with it.
    Ended,
}

impl Caller {
    /// Whether the credential admits this board. One that it does not is answered as one that does not exist.
    #[must_use]
    pub fn may_see(&self, board: &BoardName) -> bool {
        self.boards.iter().any(|pattern| pattern.matches(board.as_str()))
    }

    fn has_roles_of(&self, other: &Self) -> bool {
        (self.admin, self.observer) == (other.admin, other.observer)
    }

    /// The caller as the rules know it.
    #[must_use]
    pub fn actor(&self) -> Actor {
        Actor { agent: self.agent.clone(), named: self.named, admin: self.admin, observer: self.observer }
    }

    /// The caller's name, where `anonymous` will not do.
    ///
    /// # Errors
    /// 400 `agent_required`.
    pub fn require_name(&self) -> Result<&AgentName, Problem> {
        if self.named {
            Ok(&self.agent)
        } else {
            Err(Problem::new(
                ErrorCode::AgentRequired,
                "this call needs to know who calls: send the header Kokuban-Agent",
            ))
        }
    }

    /// # Errors
    /// 403 `forbidden`.
    pub fn require_admin(&self) -> Result<(), Problem> {
        if self.admin {
            Ok(())
        } else {
            Err(Problem::new(ErrorCode::Forbidden, "this call is for agents with the server-wide role `admin`"))
        }
    }
}

impl Caller {
    /// Whether no board is hidden from the credential.
    fn sees_all(&self) -> bool {
        self.boards.iter().any(Pattern::is_any)
    }

    /// What `GET /v1` tells a caller about itself.
    pub(crate) fn info(&self) -> CallerInfo {
        let roles = [("admin", self.admin), ("observer", self.observer)];
        CallerInfo {
            agent: self.agent.clone(),
            roles: roles.into_iter().filter(|(_, has)| *has).map(|(role, _)| role.to_owned()).collect(),
            boards: self.boards.iter().map(|pattern| pattern.as_str().to_owned()).collect(),
        }
    }

    /// # Errors
    /// 403 `forbidden`.
    pub fn require_admin_of_all(&self) -> Result<(), Problem> {
        self.require_admin()?;
        if self.sees_all() {
            Ok(())
        } else {
            let detail = "this call is about every board, and your token is for some of them only";
            Err(Problem::new(ErrorCode::Forbidden, detail))
        }
    }
}

/// Finds the caller of a request.
#[derive(Debug)]
pub struct Authenticator {
    mode: AuthMode,
    tokens: Vec<Known>,
    anonymous: Caller,
    all_boards: Arc<[Pattern]>,
}

#[derive(Debug)]
struct Known {
    sha256: Sha256,
    caller: Caller,
}

impl Authenticator {
    #[must_use]
    pub fn new(config: &Config) -> Self {
        let all_boards: Arc<[Pattern]> = Arc::from([Pattern::any()]);
        let open = |agent: AgentName, named| Caller {
            agent,
            named,
            admin: true,
            observer: false,
            credential: Credential::Open,
            boards: Arc::clone(&all_boards),
        };
        let anonymous = open(AgentName::new(ANONYMOUS).expect("a valid name"), false);
        let tokens = config.tokens.iter().map(|token| known(token, config)).collect();
        Self { mode: config.auth, tokens, anonymous, all_boards }
    }

    /// The caller of a request with these headers.
    ///
    /// # Errors
    /// 400 `malformed`, `invalid_name`; 401 `unauthenticated`; 403 `forbidden`.
    pub fn authenticate(&self, headers: &HeaderMap) -> Result<Caller, Problem> {
        let authorization = once(headers, &AUTHORIZATION)?;
        let claimed = once(headers, &AGENT)?;
        match self.mode {
            AuthMode::Open => self.by_name(claimed),
            AuthMode::Token => self.by_token(authorization, claimed),
        }
    }

    fn by_name(&self, claimed: Option<&[u8]>) -> Result<Caller, Problem> {
        let Some(claimed) = claimed else { return Ok(self.anonymous.clone()) };
        let agent = agent_name(claimed)?;
        let named = agent.as_str() != ANONYMOUS;
        Ok(Caller { agent, named, boards: Arc::clone(&self.all_boards), ..self.anonymous })
    }

    fn by_token(&self, authorization: Option<&[u8]>, claimed: Option<&[u8]>) -> Result<Caller, Problem> {
        let unauthenticated = |detail| Problem::new(ErrorCode::Unauthenticated, detail);
        let Some(value) = authorization else {
            return Err(unauthenticated("send the header `Authorization: Bearer …` with a token of this server"));
        };
        let secret = bearer(value)
            .ok_or_else(|| unauthenticated("the header Authorization must be `Bearer`, a space and a token"))?;
        let caller = self.find(secret).ok_or_else(|| unauthenticated("this server does not know the token"))?;
        if let Some(claimed) = claimed
            && claimed != caller.agent.as_str().as_bytes()
        {
            return Err(Problem::new(
                ErrorCode::Forbidden,
                format!(
                    "the token belongs to `{}`; leave the header Kokuban-Agent out, or send that name",
                    caller.agent
                ),
            ));
        }
        Ok(caller.clone())
    }

    /// What the credential of a caller, who was let in before, means now.
    pub(crate) fn standing(&self, caller: &Caller, board: &BoardName) -> Standing {
        match self.now(caller) {
            Some(now) => match (now.may_see(board), now.has_roles_of(caller)) {
                (false, _) => Standing::OtherBoards,
                (true, false) => Standing::OtherRoles,
                (true, true) => Standing::AsItWas,
            },
            None => Standing::Ended,
        }
    }

    /// The same for a caller who needs the whole server.
    pub(crate) fn is_still_admin_of_all(&self, caller: &Caller) -> bool {
        self.now(caller).is_some_and(|now| now.require_admin_of_all().is_ok())
    }

    /// A caller who was let in before, as the credential makes it now; `None` where it has ended.
    fn now<'c>(&'c self, caller: &'c Caller) -> Option<&'c Caller> {
        match (self.mode, caller.credential) {
            (AuthMode::Open, Credential::Open) => Some(caller),
            (AuthMode::Token, Credential::Token(sha256)) => {
                let known = self.tokens.iter().find(|known| known.sha256 == sha256);
                known.map(|known| &known.caller).filter(|now| now.agent == caller.agent)
            }
            (AuthMode::Open, Credential::Token(_)) | (AuthMode::Token, Credential::Open) => None,
        }
    }

    /// Looks at every token, so that the time taken says nothing about which one it was.
    fn find(&self, secret: &[u8]) -> Option<&Caller> {
        let hash = Sha256::of(secret);
        let mut found = None;
        for known in &self.tokens {
            if bool::from(known.sha256.0.ct_eq(&hash.0)) {
                found = Some(&known.caller);
            }
        }
        found
    }
}

fn known(token: &Token, config: &Config) -> Known {
    let has = |role: ServerRole, named: &[AgentName]| token.roles.contains(&role) || named.contains(&token.agent);
    let caller = Caller {
        agent: token.agent.clone(),
        named: true,
        admin: has(ServerRole::Admin, &config.roles.admin),
        observer: has(ServerRole::Observer, &config.roles.observer),
        credential: Credential::Token(token.sha256),
        boards: Arc::from(token.boards.as_slice()),
    };
    Known { sha256: token.sha256, caller }
}

fn once<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Result<Option<&'a [u8]>, Problem> {
    let mut values = headers.get_all(name).iter();
    let first = values.next();
    if values.next().is_some() {
        return Err(Problem::new(ErrorCode::Malformed, format!("the header {name} may be there once at most")));
    }
    Ok(first.map(http::HeaderValue::as_bytes))
}

fn agent_name(bytes: &[u8]) -> Result<AgentName, Problem> {
    let invalid =
        |detail: String| Problem::new(ErrorCode::InvalidName, format!("in the header Kokuban-Agent: {detail}"));
    let text = std::str::from_utf8(bytes).map_err(|_| invalid("the name is not UTF-8".into()))?;
    AgentName::new(text).map_err(|rule| invalid(rule.to_string()))
}

fn bearer(value: &[u8]) -> Option<&[u8]> {
    let (scheme, rest) = value.split_at_checked(6)?;
    let secret = rest.strip_prefix(b" ")?.trim_ascii();
    let fits = !secret.is_empty() && secret.len() <= SECRET_BYTES_MAX && !secret.contains(&b' ');
    (scheme.eq_ignore_ascii_case(b"bearer") && fits).then_some(secret)
}

impl<S: Send + Sync> FromRequestParts<S> for Caller {
    type Rejection = ApiError;

    /// # Errors
    /// Those of [`Authenticator::authenticate`], and 429 `rate_limited`.
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, ApiError> {
        let context = parts.extensions.get::<Arc<RequestContext>>();
        let context = context.ok_or_else(|| ApiError::new(ErrorCode::Internal, "the edge was not passed"))?;
        Self::of(context, &parts.headers, parts.extensions.get::<MatchedPath>().cloned().map(Route::Matched))
    }
}

impl Caller {
    /// Who makes a request with these headers.
    ///
    /// # Errors
    /// Those of [`Authenticator::authenticate`], and 429 `rate_limited`.
    pub(crate) fn of(context: &RequestContext, headers: &HeaderMap, route: Option<Route>) -> Result<Self, ApiError> {
        let caller = context.settings.authenticator.authenticate(headers)?;
        context.identify(caller.agent.clone(), route);
        if let Some(rates) = &context.settings.rates {
            rates.count(&caller.agent)?;
        }
        Ok(caller)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
        let mut map = HeaderMap::new();
        for (name, value) in pairs {
            map.append(*name, http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        map
    }

    fn token(agent: &str, secret: &str, roles: &[ServerRole], boards: &[&str]) -> Token {
        Token {
            sha256: Sha256::of(secret.as_bytes()),
            agent: AgentName::new(agent).unwrap(),
            roles: roles.to_vec(),
            boards: boards.iter().map(|b| Pattern::new(b).unwrap()).collect(),
        }
    }

    fn with_tokens() -> Authenticator {
        let mut config = Config { auth: AuthMode::Token, ..Config::default() };
        config.tokens = vec![
            token("ra", "secret-of-ra", &[], &["order-*"]),
            token("rv", "secret-of-rv", &[ServerRole::Admin], &["*"]),
        ];
        config.roles.observer = vec![AgentName::new("ra").unwrap()];
        Authenticator::new(&config)
    }

    fn code(result: Result<Caller, Problem>) -> ErrorCode {
        result.expect_err("refused").known_code().unwrap()
    }

    #[test]
    fn in_open_mode_a_caller_is_who_he_says_and_may_do_all() {
        let open = Authenticator::new(&Config::default());
        let caller = open.authenticate(&headers(&[("kokuban-agent", "ra")])).unwrap();
        assert_eq!((caller.agent.as_str(), caller.named, caller.admin), ("ra", true, true));
        assert!(caller.may_see(&BoardName::new("any").unwrap()));
        let nobody = open.authenticate(&headers(&[])).unwrap();
        assert_eq!((nobody.agent.as_str(), nobody.named), (ANONYMOUS, false));
        assert_eq!(nobody.require_name().unwrap_err().known_code(), Some(ErrorCode::AgentRequired));
    }

    #[test]
    fn a_name_that_breaks_the_rules_is_refused() {
        let open = Authenticator::new(&Config::default());
        for name in ["", "-x", "a b", "名前", "x/y", &"a".repeat(65)] {
            assert_eq!(code(open.authenticate(&headers(&[("kokuban-agent", name)]))), ErrorCode::InvalidName, "{name}");
        }
    }

    #[test]
    fn a_doubled_header_is_malformed() {
        for authenticator in [Authenticator::new(&Config::default()), with_tokens()] {
            let agents = headers(&[("kokuban-agent", "ra"), ("kokuban-agent", "ra")]);
            assert_eq!(code(authenticator.authenticate(&agents)), ErrorCode::Malformed);
            let tokens = headers(&[("authorization", "Bearer a"), ("authorization", "Bearer a")]);
            assert_eq!(code(authenticator.authenticate(&tokens)), ErrorCode::Malformed);
        }
    }

    #[test]
    fn a_token_names_its_agent_roles_and_boards() {
        let tokens = with_tokens();
        let ra = tokens.authenticate(&headers(&[("authorization", "Bearer secret-of-ra")])).unwrap();
        assert_eq!(
            (ra.agent.as_str(), ra.admin, ra.observer, ra.credential),
            ("ra", false, true, Credential::Token(Sha256::of(b"secret-of-ra")))
        );
        assert!(ra.may_see(&BoardName::new("order-7").unwrap()) && !ra.may_see(&BoardName::new("other").unwrap()));
        assert_eq!(ra.require_admin().unwrap_err().known_code(), Some(ErrorCode::Forbidden));
        let rv = tokens
            .authenticate(&headers(&[("authorization", "bearer  secret-of-rv"), ("kokuban-agent", "rv")]))
            .unwrap();
        assert!(rv.admin && rv.require_name().is_ok());
    }

    #[test]
    fn without_a_known_token_nobody_is_let_in_and_no_secret_is_shown() {
        let tokens = with_tokens();
        for value in [
            "Bearer wrong-secret",
            "Bearer",
            "Bearer ",
            "Basic secret-of-ra",
            "secret-of-ra",
            "Bearer secret-of-ra x",
            "",
        ] {
            let problem = tokens.authenticate(&headers(&[("authorization", value)])).unwrap_err();
            assert!(problem.is(ErrorCode::Unauthenticated), "{value}");
            let text = String::from_utf8(problem.to_bytes()).unwrap();
            assert!(!text.contains("secret-"), "{text}");
        }
        assert_eq!(code(tokens.authenticate(&headers(&[("kokuban-agent", "ra")]))), ErrorCode::Unauthenticated);
        assert!(!format!("{tokens:?}").contains("secret-of"));
    }

    #[test]
    fn a_name_beside_a_token_must_be_its_own() {
        let pair = headers(&[("authorization", "Bearer secret-of-ra"), ("kokuban-agent", "rv")]);
        assert_eq!(code(with_tokens().authenticate(&pair)), ErrorCode::Forbidden);
    }
}
