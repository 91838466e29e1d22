//! One logical call over HTTP: its attempts, their answer, and nothing about what the call means.
//!
//! Invariant: a call is sent again only if its repetition has one effect: reads, and writes under the
//! Idempotency-Key made here once per logical call. A conflict is an answer like any other and ends the call.
//! Answers are bounded in size and attempts in time.
//! Not known here: boards, entries, streams. A stream asks for one attempt and reads the body itself.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use futures::StreamExt;
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use kokuban_api::Problem;
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::time::Instant;

use crate::error::Error;
use crate::retry::{RetryPolicy, chance};

/// No answer is larger: a full page of the largest values is asked for in smaller pages.
const ANSWER_BYTES_MAX: usize = 128 << 20;

/// How calls reach one server, as one caller.
#[derive(Debug, Clone)]
pub(crate) struct Transport {
    pub(crate) http: reqwest::Client,
    /// Scheme, host and port, without a slash at the end.
    pub(crate) origin: String,
    /// What every request carries: the caller's name and credential.
    pub(crate) identity: HeaderMap,
    pub(crate) retry: RetryPolicy,
    pub(crate) attempt_timeout: Duration,
}

/// One logical call.
#[derive(Debug)]
pub(crate) struct Call {
    pub(crate) method: Method,
    pub(crate) target: String,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Option<Bytes>,
    /// How long the server was asked to wait; it is added to the bound of an attempt.
    pub(crate) wait: Duration,
}

/// A complete answer that is not a problem.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) body: Bytes,
}

impl Call {
    pub(crate) fn read(target: String) -> Self {
        Self { method: Method::GET, target, headers: HeaderMap::new(), body: None, wait: Duration::ZERO }
    }

    /// A write: it gets the one Idempotency-Key under which all its attempts have one effect.
    pub(crate) fn write(method: Method, target: String) -> Self {
        let key = uuid::Uuid::now_v7().to_string();
        let mut call = Self { method, ..Self::read(target) };
        let key = HeaderValue::from_str(&key).expect("a uuid is hexadecimal digits and dashes");
        call.headers.insert(HeaderName::from_static("idempotency-key"), key);
        call
    }

    /// # Errors
    /// `body` does not serialise, which a value from JSON never does.
    pub(crate) fn json(mut self, body: &impl Serialize) -> Result<Self, Error> {
        let bytes = serde_json::to_vec(body).map_err(|e| Error::Protocol(format!("the body is not JSON: {e}")))?;
        self.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.body = Some(bytes.into());
        Ok(self)
    }

    pub(crate) fn waiting(mut self, wait: Duration) -> Self {
        self.wait = wait;
        self
    }

    pub(crate) fn header(mut self, name: &'static str, value: &str) -> Result<Self, Error> {
        let value = HeaderValue::from_str(value)
            .map_err(|_| Error::Protocol(format!("the header {name} cannot carry this text")))?;
        self.headers.insert(HeaderName::from_static(name), value);
        Ok(self)
    }
}

impl Answer {
    /// # Errors
    /// The body is not what this version of the client knows.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Error> {
        serde_json::from_slice(&self.body)
            .map_err(|e| Error::Protocol(format!("answer {} of {} bytes: {e}", self.status.as_u16(), self.body.len())))
    }
}

impl Transport {
    /// Sends `call`, again where that is right, and gives the answer of a success.
    ///
    /// # Errors
    /// The problem the server answered, or why there is no answer, each after the bounds of the policy.
    pub(crate) async fn send(&self, call: &Call) -> Result<Answer, Error> {
        self.send_within(call, &self.retry).await
    }

    pub(crate) async fn send_within(&self, call: &Call, retry: &RetryPolicy) -> Result<Answer, Error> {
        let begun = Instant::now();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let failure = match self.attempt(call).await {
                Ok(answer) => return Ok(answer),
                Err(failure) => failure,
            };
            if !failure.is_transient() {
                return Err(failure);
            }
            let Some(pause) = retry.pause(attempts, begun.elapsed(), failure.retry_after(), chance()) else {
                return Err(failure);
            };
            tracing::debug!(attempts, pause_ms = pause.as_millis(), "sending again: {}", failure.kind());
            tokio::time::sleep(pause).await;
        }
    }

    async fn attempt(&self, call: &Call) -> Result<Answer, Error> {
        let bound = self.attempt_timeout + call.wait;
        let exchange = async {
            let response = self.open(call).await?;
            let (status, headers) = (response.status(), response.headers().clone());
            let body = read_bounded(response).await?;
            if status.is_success() { Ok(Answer { status, body }) } else { Err(problem_of(status, &headers, &body)) }
        };
        tokio::time::timeout(bound, exchange).await.unwrap_or(Err(Error::Timeout(bound)))
    }

    /// One attempt, up to the head of the answer.
    pub(crate) async fn open(&self, call: &Call) -> Result<reqwest::Response, Error> {
        let url = format!("{}{}", self.origin, call.target);
        let mut request = self.http.request(call.method.clone(), url);
        request = request.headers(self.identity.clone()).headers(call.headers.clone());
        if let Some(body) = &call.body {
            request = request.body(body.clone());
        }
        request.send().await.map_err(Error::from_http)
    }

    /// The problem in an answer that is not a success.
    pub(crate) async fn problem(response: reqwest::Response) -> Error {
        let (status, headers) = (response.status(), response.headers().clone());
        match read_bounded(response).await {
            Ok(body) => problem_of(status, &headers, &body),
            Err(error) => error,
        }
    }
}

async fn read_bounded(response: reqwest::Response) -> Result<Bytes, Error> {
    let mut stream = response.bytes_stream();
    let mut body = BytesMut::new();
    while let Some(chunk) = stream.next().await {
        let chunk = chunk.map_err(Error::from_http)?;
        if body.len() + chunk.len() > ANSWER_BYTES_MAX {
            return Err(Error::Protocol(format!("the answer is larger than {ANSWER_BYTES_MAX} bytes")));
        }
        body.extend_from_slice(&chunk);
    }
    Ok(body.freeze())
}

fn problem_of(status: StatusCode, headers: &HeaderMap, body: &[u8]) -> Error {
    let seconds = headers.get(header::RETRY_AFTER).and_then(|v| v.to_str().ok()).and_then(|v| v.trim().parse().ok());
    let retry_after = seconds.map(Duration::from_secs);
    match serde_json::from_slice::<Problem>(body) {
        Ok(problem) => Error::Problem(problem),
        Err(_) => Error::Status { status: status.as_u16(), retry_after },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::client::Client;
    use crate::fake::{Fake, Reply};

    fn put() -> Call {
        Call::write(Method::PUT, "/v1/boards/b/entries/z/k".into()).json(&json!({"value": 1})).expect("JSON")
    }

    async fn send(script: Vec<Reply>) -> (Result<Answer, Error>, Fake) {
        let fake = Fake::start(script).await;
        let answer = fake.client().transport().send(&put()).await;
        (answer, fake)
    }

    #[tokio::test]
    async fn a_write_whose_answer_is_lost_is_sent_again_under_the_same_key() {
        let (answer, fake) = send(vec![Reply::Close, Reply::Close, Reply::Json(200, json!({"version": 1}))]).await;
        assert_eq!(answer.expect("answered").body, r#"{"version":1}"#);
        let received = fake.received();
        let keys: Vec<_> = received.iter().map(|request| request.headers["idempotency-key"].clone()).collect();
        assert_eq!(keys.len(), 3);
        assert!(keys.iter().all(|key| *key == keys[0] && !key.is_empty()));
        assert!(received.iter().all(|request| request.body == json!({"value": 1})));
        assert_eq!((received[0].method.as_str(), received[0].headers["kokuban-agent"].as_str()), ("PUT", "ra"));
    }

    #[tokio::test]
    async fn another_call_has_another_key() {
        let fake = Fake::start([Reply::Json(200, json!({})), Reply::Json(200, json!({}))]).await;
        for _ in 0..2 {
            fake.client().transport().send(&put()).await.expect("answered");
        }
        let received = fake.received();
        assert_ne!(received[0].headers["idempotency-key"], received[1].headers["idempotency-key"]);
    }

    #[tokio::test]
    async fn what_may_pass_is_tried_again_and_what_will_not_is_not() {
        for status in [408, 429, 502, 503, 504] {
            let ok = Reply::Json(200, json!({}));
            let (answer, fake) = send(vec![Reply::problem(status, "overloaded", json!({})), ok]).await;
            assert!(answer.is_ok() && fake.received().len() == 2, "{status}");
        }
        for status in [400, 401, 403, 404, 409, 410, 412, 413, 422, 428, 500, 507] {
            let (answer, fake) =
                send(vec![Reply::problem(status, "version_conflict", json!({"retryable": true}))]).await;
            assert_eq!(answer.expect_err("refused").status(), Some(status));
            assert_eq!(fake.received().len(), 1, "{status}");
        }
    }

    #[tokio::test]
    async fn a_refusal_that_stays_is_not_repeated_although_its_status_often_passes() {
        let (answer, fake) = send(vec![Reply::problem(503, "quarantined", json!({"retryable": false}))]).await;
        assert_eq!((answer.expect_err("refused").status(), fake.received().len()), (Some(503), 1));
    }

    #[tokio::test]
    async fn attempts_are_bounded_and_the_last_failure_is_told() {
        let busy = || Reply::problem(503, "overloaded", json!({}));
        let (answer, fake) = send((0..9).map(|_| busy()).collect()).await;
        assert_eq!(answer.expect_err("refused").code(), Some(kokuban_api::ErrorCode::Overloaded));
        assert_eq!(fake.received().len(), 4);
    }

    #[tokio::test]
    async fn a_pause_longer_than_the_total_time_is_not_waited_for() {
        let reply = Reply::WithHeader(429, json!({}), "retry-after", "3600");
        let (answer, fake) = send(vec![reply]).await;
        assert!(matches!(answer, Err(Error::Status { status: 429, .. })));
        assert_eq!(fake.received().len(), 1);
    }

    #[tokio::test]
    async fn nobody_there_is_unreachable() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("bound"));
        drop(listener);
        let client = Client::builder(url).agent("ra").retry(RetryPolicy::never()).build().expect("valid");
        let error = client.transport().send(&put()).await.expect_err("nobody there");
        assert!(error.is_unreachable() && error.status().is_none());
    }

    #[tokio::test]
    async fn a_server_that_never_answers_costs_the_bound_and_no_more() {
        let fake = Fake::start([Reply::Silent(Vec::new()), Reply::Json(200, json!({}))]).await;
        let client = fake.builder().attempt_timeout(Duration::from_millis(50)).build().expect("valid");
        client.transport().send(&put()).await.expect("the second attempt is answered");
        assert_eq!(fake.received().len(), 2);
    }
}
