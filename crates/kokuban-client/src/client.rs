//! A client of one server, as one caller; and what concerns the server rather than a board.
//!
//! Invariant: a client has a name or a credential, because a write without either cannot be repeated safely.
//! Not known here: what is on a board (`board`).

use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::{BoxStream, unfold};
use http::{HeaderMap, HeaderValue, header};
use kokuban_api::answers::{BoardSummary, ServerInfo};
use kokuban_core::ids::{AgentName, BoardName};

use crate::board::Board;
use crate::error::Error;
use crate::pages::{self, Pages};
use crate::query::Query;
use crate::retry::RetryPolicy;
use crate::transport::{Call, Transport};

/// The server closes a connection after 60 s without a request; this side does so before.
const IDLE_MAX: Duration = Duration::from_secs(50);

/// One server, seen as one caller. Cheap to clone; clones share connections.
///
/// ```no_run
/// use kokuban_client::{Change, Client};
/// use kokuban_client::api::bodies::Put;
///
/// # async fn example() -> Result<(), kokuban_client::Error> {
/// let client = Client::builder("http://127.0.0.1:7411").agent("ra").build()?;
/// let board = client.board("first")?;
/// board.put("working/count", &Put::new(1.into())).await?;
/// // Somebody else may count at the same time: on a conflict this reads and adds again.
/// board
///     .update("working/count", 5, |entry| {
///         let n = entry.and_then(|e| e.value.as_ref()).and_then(|v| v.to_value().as_u64()).unwrap_or(0);
///         Change::Put(Put::new((n + 1).into()))
///     })
///     .await?;
/// # Ok(())
/// # }
/// ```
#[derive(Debug, Clone)]
pub struct Client {
    transport: Transport,
}

/// What a client is made of.
#[derive(Clone)]
#[must_use = "a builder does nothing until `build`"]
pub struct ClientBuilder {
    url: String,
    agent: Option<String>,
    token: Option<String>,
    retry: RetryPolicy,
    connect_timeout: Duration,
    attempt_timeout: Duration,
}

impl Client {
    /// A client of the server at `url`, such as `http://127.0.0.1:7411`.
    pub fn builder(url: impl Into<String>) -> ClientBuilder {
        ClientBuilder {
            url: url.into(),
            agent: None,
            token: None,
            retry: RetryPolicy::default(),
            connect_timeout: Duration::from_secs(3),
            attempt_timeout: Duration::from_secs(30),
        }
    }

    /// The board of this name, which need not exist.
    ///
    /// # Errors
    /// `name` is not a board name.
    pub fn board(&self, name: &str) -> Result<Board, Error> {
        Ok(Board::new(self.transport.clone(), BoardName::new(name)?))
    }

    /// Name, version, limits and mode of the server.
    ///
    /// # Errors
    /// The problem the server answered, or why there is no answer.
    pub async fn info(&self) -> Result<ServerInfo, Error> {
        self.transport.send(&Call::read("/v1".into())).await?.json()
    }

    /// Everything that the server keeps, as `kokuban restore` takes it, for admins. Only its end tells whether it is
    /// whole.
    ///
    /// # Errors
    /// The problem the server answered, or why there is no answer; later errors come in the stream, and silence of as
    /// long as an attempt may take is one.
    pub async fn backup(&self) -> Result<BoxStream<'static, Result<bytes::Bytes, Error>>, Error> {
        let response = self.transport.open(&Call::read("/v1/backup".into())).await?;
        if !response.status().is_success() {
            return Err(Transport::problem(response).await);
        }
        let silence_max = self.transport.attempt_timeout;
        let chunks = unfold(response.bytes_stream().boxed(), move |mut chunks| async move {
            match tokio::time::timeout(silence_max, chunks.next()).await {
                Ok(chunk) => Some((chunk?.map_err(Error::from_http), chunks)),
                Err(_) => Some((Err(Error::Timeout(silence_max)), chunks)),
            }
        });
        Ok(chunks.boxed())
    }

    /// The boards that the caller may see, page by page as they are asked for.
    #[must_use]
    pub fn boards(&self) -> Pages<BoardSummary> {
        pages::pages(self.transport.clone(), "/v1/boards".into(), Query::default())
    }

    /// The same client with other bounds of repetition.
    #[must_use]
    pub fn with_retry(mut self, retry: RetryPolicy) -> Self {
        self.transport.retry = retry;
        self
    }

    #[cfg(test)]
    pub(crate) fn transport(&self) -> &Transport {
        &self.transport
    }

    /// Succeeds if the server takes writes; a single attempt.
    ///
    /// # Errors
    /// The problem the server answered, or why there is no answer.
    pub async fn ready(&self) -> Result<(), Error> {
        self.transport.send_within(&Call::read("/readyz".into()), &RetryPolicy::never()).await.map(drop)
    }
}

impl std::fmt::Debug for ClientBuilder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("ClientBuilder").field("url", &self.url).field("agent", &self.agent).finish_non_exhaustive()
    }
}

impl ClientBuilder {
    /// The caller's name. With a token it may be left out; if given it must be the one of the token.
    pub fn agent(mut self, name: impl Into<String>) -> Self {
        self.agent = Some(name.into());
        self
    }

    /// The credential, sent as `Authorization: Bearer …`.
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    pub fn retry(mut self, policy: RetryPolicy) -> Self {
        self.retry = policy;
        self
    }

    /// How long one attempt may take, beside the time the server is asked to wait.
    pub fn attempt_timeout(mut self, bound: Duration) -> Self {
        self.attempt_timeout = bound;
        self
    }

    /// # Errors
    /// The address is not an `http://` one, the name breaks the rule for agents, the token cannot stand in a header,
    /// or there is neither name nor token.
    pub fn build(self) -> Result<Client, Error> {
        let origin = origin(&self.url)?;
        let identity = self.identity()?;
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .retry(reqwest::retry::never())
            .no_proxy()
            .tcp_nodelay(true)
            .connect_timeout(self.connect_timeout)
            .pool_idle_timeout(IDLE_MAX)
            .user_agent(concat!("kokuban-client/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(Error::from_http)?;
        let (retry, attempt_timeout) = (self.retry, self.attempt_timeout);
        Ok(Client { transport: Transport { http, origin, identity, retry, attempt_timeout } })
    }

    fn identity(&self) -> Result<HeaderMap, Error> {
        let mut headers = HeaderMap::new();
        if let Some(agent) = &self.agent {
            let agent = AgentName::new(agent)?;
            let value = HeaderValue::from_str(agent.as_str()).expect("an agent name is ASCII letters, digits and ._-");
            headers.insert(kokuban_api::headers::AGENT, value);
        }
        if let Some(token) = &self.token {
            let mut value = HeaderValue::from_str(&format!("Bearer {token}"))
                .map_err(|_| Error::Config("the token holds characters that cannot stand in a header".into()))?;
            value.set_sensitive(true);
            headers.insert(header::AUTHORIZATION, value);
        }
        if headers.is_empty() {
            return Err(Error::Config(
                "a client needs a name (`agent`) or a token: writes are repeated safely only for a caller with a name"
                    .into(),
            ));
        }
        Ok(headers)
    }
}

fn origin(url: &str) -> Result<String, Error> {
    let refused = |why: &str| Error::Config(format!("`{url}` is not the address of a server: {why}"));
    let parsed = reqwest::Url::parse(url).map_err(|e| refused(&e.to_string()))?;
    if parsed.scheme() != "http" {
        return Err(refused("this build speaks http only"));
    }
    if !matches!(parsed.path(), "" | "/") || parsed.query().is_some() || !parsed.username().is_empty() {
        return Err(refused("only scheme, host and port belong there"));
    }
    Ok(parsed.origin().ascii_serialization())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(builder: ClientBuilder) -> String {
        builder.build().expect_err("refused").to_string()
    }

    #[test]
    fn a_client_needs_a_name_or_a_token() {
        assert!(refusal(Client::builder("http://127.0.0.1:1")).contains("needs a name"));
        assert!(Client::builder("http://127.0.0.1:1").agent("ra").build().is_ok());
        assert!(Client::builder("http://127.0.0.1:1").token("secret").build().is_ok());
        assert!(refusal(Client::builder("http://127.0.0.1:1").agent("r a")).contains("agent name"));
        assert!(refusal(Client::builder("http://127.0.0.1:1").token("a\nb")).contains("header"));
    }

    #[test]
    fn an_address_is_scheme_host_and_port() {
        assert_eq!(origin("http://127.0.0.1:7411/").expect("valid"), "http://127.0.0.1:7411");
        assert_eq!(origin("http://[::1]:7411").expect("valid"), "http://[::1]:7411");
        for url in ["127.0.0.1:7411", "https://a", "http://a/v1", "http://u@a", "http://a?x=1", ""] {
            assert!(origin(url).is_err(), "{url}");
        }
    }

    #[test]
    fn a_token_is_never_shown() {
        let builder = Client::builder("http://127.0.0.1:1").token("s3cret");
        assert!(!format!("{builder:?}").contains("s3cret"));
        assert!(!format!("{:?}", builder.build().expect("valid")).contains("s3cret"));
    }
}
