//! Compares a router with the table, for tests.
//!
//! **Invariant**: asks only with OPTIONS, so no handler runs.
//! Not known here: paths that the router has beyond the table; a router cannot be asked for those.

use std::collections::{BTreeMap, BTreeSet};

use axum::Router;
use axum::body::Body;
use http::header::ALLOW;
use http::{Request, StatusCode};
use tower::ServiceExt as _;

use super::table::ROUTES;

/// What the router has and the table has not, and the other way round: `router lacks PUT /path`.
pub(crate) async fn disagreements(router: Router) -> Vec<String> {
    let mut table: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for route in ROUTES {
        table.entry(route.path).or_default().insert(route.method);
    }
    let mut found = Vec::new();
    for (path, wanted) in table {
        let there = methods(&router, path).await;
        let there: BTreeSet<_> = there.iter().map(String::as_str).collect();
        found.extend(wanted.difference(&there).map(|method| format!("the router lacks {method} {path}")));
        found.extend(there.difference(&wanted).map(|method| format!("the table lacks {method} {path}")));
    }
    found
}

/// The methods of a path; HEAD comes with GET.
async fn methods(router: &Router, path: &str) -> BTreeSet<String> {
    let target: String = path.chars().filter(|c| !"{}*".contains(*c)).collect();
    let request = Request::options(target).body(Body::empty()).expect("a path of plain characters");
    let response = router.clone().oneshot(request).await.expect("a router does not fail");
    if response.status() != StatusCode::METHOD_NOT_ALLOWED {
        return BTreeSet::new();
    }
    let allow = response.headers().get(ALLOW).and_then(|v| v.to_str().ok()).unwrap_or_default();
    allow.split(',').map(|m| m.trim().to_owned()).filter(|m| !m.is_empty() && m != "HEAD").collect()
}
