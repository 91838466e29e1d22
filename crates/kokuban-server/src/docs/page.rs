//! `/docs`: one page that needs nothing from anywhere else.
//!
//! **Invariant**: no script, no image, no font, no address outside this server; the policy header says so too.
//! Not known here: what routes do beyond their row of the table.

use std::fmt::Write as _;

use kokuban_api::problem::ErrorCode;

use super::spec::RouteSpec;
use super::table::ROUTES;

const TEMPLATE: &str = include_str!("page.html");

/// The whole page.
pub(super) fn render() -> String {
    TEMPLATE
        .replace("{{version}}", env!("CARGO_PKG_VERSION"))
        .replace("{{routes}}", &routes())
        .replace("{{codes}}", &codes())
}

fn routes() -> String {
    let mut out = String::new();
    let mut tag = "";
    for route in ROUTES {
        if route.tag != tag {
            tag = route.tag;
            let _ = write!(out, "<tr class=\"tag\"><th colspan=\"3\">{tag}</th></tr>");
        }
        row(&mut out, route);
    }
    out
}

fn row(out: &mut String, route: &RouteSpec) {
    let _ = write!(
        out,
        "<tr id=\"{}\"><td><b>{}</b></td><td><code>{}</code></td><td>{}",
        route.operation_id,
        route.method,
        escaped(route.path),
        escaped(route.summary)
    );
    if let Some(body) = route.body {
        let _ =
            write!(out, "<br><small>body: {}{}</small>", body.schema, if body.required { "" } else { ", optional" });
    }
    if !route.query.is_empty() {
        let names: Vec<_> = route
            .query
            .iter()
            .map(|member| format!("<span title=\"{}\">{}</span>", escaped(member.summary), member.name))
            .collect();
        let _ = write!(out, "<br><small>query: {}</small>", names.join(", "));
    }
    out.push_str("</td></tr>\n");
}

fn codes() -> String {
    let mut out = String::new();
    for code in ErrorCode::ALL {
        let statuses: Vec<_> =
            [Some(code.status()), code.other_status()].iter().flatten().map(ToString::to_string).collect();
        let retry = if code.is_retryable() { "yes" } else { "" };
        let _ = writeln!(
            out,
            "<tr><td><code>{}</code></td><td>{}</td><td>{}</td><td>{retry}</td></tr>",
            code.as_str(),
            statuses.join(", "),
            escaped(code.explain())
        );
    }
    out
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
