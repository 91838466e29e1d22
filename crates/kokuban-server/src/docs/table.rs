//! The table of routes: what the server answers to, in the order it is documented.
//!
//! **Invariant**: the router and this table have the same routes (a test walks both); documentation, OpenAPI and
//! the matrix of rights are made from it.
//! Not known here: handlers.

use super::query;
use super::spec::{AnswerSpec, BodySpec, Content, RouteSpec};

const fn ok(status: u16, summary: &'static str, content: Content) -> AnswerSpec {
    AnswerSpec { status, summary, content }
}

const fn body(schema: &'static str) -> Option<BodySpec> {
    Some(BodySpec { schema, required: true })
}

const fn optional_body(schema: &'static str) -> Option<BodySpec> {
    Some(BodySpec { schema, required: false })
}

/// Everything but what each route has for itself.
const PROBE: RouteSpec = RouteSpec {
    method: "GET",
    path: "",
    operation_id: "",
    tag: "Server",
    summary: "",
    query: query::NONE,
    body: None,
    answers: &[],
    mutates: false,
    public: true,
};
const READ: RouteSpec = RouteSpec { query: query::READ, public: false, ..PROBE };
const WRITE: RouteSpec = RouteSpec { query: query::PLAIN, mutates: true, public: false, ..PROBE };

macro_rules! path {
    ($rest:literal) => {
        concat!("/v1/boards/{board}", $rest)
    };
}

const RECEIPT: Content = Content::Json("Receipt");
const NO_CHANGE: AnswerSpec = ok(304, "The version in If-None-Match is the current one", Content::Nothing);

/// All routes.
pub const ROUTES: &[RouteSpec] = &[
    RouteSpec {
        path: "/v1",
        operation_id: "get_server",
        summary: "Name, version, limits and links of the server",
        answers: &[ok(200, "The server", Content::Json("ServerInfo"))],
        query: query::PLAIN,
        ..READ
    },
    RouteSpec {
        path: "/livez",
        operation_id: "get_livez",
        summary: "Whether the process answers",
        answers: &[ok(200, "It does", Content::Json("Health"))],
        ..PROBE
    },
    RouteSpec {
        path: "/readyz",
        operation_id: "get_readyz",
        summary: "Whether the server takes writes, and which boards are set aside",
        answers: &[ok(200, "It does", Content::Json("Health"))],
        ..PROBE
    },
    RouteSpec {
        path: "/metrics",
        operation_id: "get_metrics",
        summary: "Counters for Prometheus",
        answers: &[ok(200, "The counters", Content::Other(crate::metrics::CONTENT_TYPE))],
        ..PROBE
    },
    RouteSpec {
        path: "/openapi.json",
        operation_id: "get_openapi",
        summary: "This description, as OpenAPI 3.1",
        answers: &[ok(200, "The description", Content::Other("application/json"))],
        ..PROBE
    },
    RouteSpec {
        path: "/docs",
        operation_id: "get_docs",
        summary: "This description, as a page",
        answers: &[ok(200, "The page", Content::Other("text/html"))],
        ..PROBE
    },
    RouteSpec {
        path: "/llms.txt",
        operation_id: "get_llms_txt",
        summary: "How an agent works with a board, in one text that fits into its context",
        answers: &[ok(200, "The text", Content::Other("text/plain"))],
        ..PROBE
    },
    RouteSpec {
        path: "/v1/backup",
        operation_id: "get_backup",
        summary: "All boards as one stream, for `kokuban restore` (admin)",
        answers: &[ok(200, "The backup; whether it is whole, its end tells", Content::Other(crate::routes::BACKUP))],
        query: query::PLAIN,
        ..READ
    },
    RouteSpec {
        path: "/v1/boards",
        operation_id: "list_boards",
        tag: "Boards",
        summary: "The boards that the caller may see",
        query: query::BOARDS,
        answers: &[ok(200, "A page of boards", Content::ListOf("BoardSummary"))],
        ..READ
    },
    RouteSpec {
        method: "PUT",
        path: path!(""),
        operation_id: "create_board",
        tag: "Boards",
        summary: "Create a board, with its inputs in the same commit",
        body: body("CreateBoard"),
        answers: &[
            ok(201, "Created", Content::Json("BoardSummary")),
            ok(200, "It existed with the same blueprint", Content::Json("BoardSummary")),
        ],
        ..WRITE
    },
    RouteSpec {
        path: path!(""),
        operation_id: "get_board",
        tag: "Boards",
        summary: "Counts, size of the state, leases",
        answers: &[ok(200, "The summary", Content::Json("BoardSummary"))],
        ..READ
    },
    RouteSpec {
        method: "DELETE",
        path: path!(""),
        operation_id: "delete_board",
        tag: "Boards",
        summary: "Delete a board (admin)",
        answers: &[ok(204, "Deleted", Content::Nothing)],
        ..WRITE
    },
    RouteSpec {
        path: path!("/blueprint"),
        operation_id: "get_blueprint",
        tag: "Boards",
        summary: "The rules of the board, as data",
        answers: &[ok(200, "The blueprint", Content::Json("Blueprint"))],
        ..READ
    },
    RouteSpec {
        path: path!("/refusals"),
        operation_id: "list_refusals",
        tag: "Boards",
        summary: "The last refusals, without values",
        query: query::REFUSALS,
        answers: &[ok(200, "Refusals, newest first", Content::ListOf("Refusal"))],
        ..READ
    },
    RouteSpec {
        path: path!("/entries"),
        operation_id: "list_entries",
        tag: "Entries",
        summary: "A consistent list of entries",
        query: query::ENTRIES,
        answers: &[ok(200, "A page of entries", Content::ListOf("Entry"))],
        ..READ
    },
    RouteSpec {
        path: path!("/entries/{zone}"),
        operation_id: "list_zone",
        tag: "Entries",
        summary: "The entries of a zone",
        query: query::ENTRIES,
        answers: &[ok(200, "A page of entries", Content::ListOf("Entry"))],
        ..READ
    },
    RouteSpec {
        path: path!("/entries/{zone}/{*key}"),
        operation_id: "get_entry",
        tag: "Entries",
        summary: "An entry: now, as it was, or when it changes",
        query: query::ENTRY,
        answers: &[ok(200, "The entry", Content::Json("Entry")), NO_CHANGE],
        ..READ
    },
    RouteSpec {
        method: "PUT",
        path: path!("/entries/{zone}/{*key}"),
        operation_id: "put_entry",
        tag: "Entries",
        summary: "Create an entry, or replace its value",
        query: query::WRITE,
        body: body("Put"),
        answers: &[ok(200, "Written, or unchanged", RECEIPT), ok(201, "Created", RECEIPT)],
        ..WRITE
    },
    RouteSpec {
        method: "PATCH",
        path: path!("/entries/{zone}/{*key}"),
        operation_id: "patch_entry",
        tag: "Entries",
        summary: "Change parts of a value, or move the status",
        query: query::WRITE,
        body: body("Patch"),
        answers: &[ok(200, "Written, or unchanged", RECEIPT), ok(201, "Created", RECEIPT)],
        ..WRITE
    },
    RouteSpec {
        method: "DELETE",
        path: path!("/entries/{zone}/{*key}"),
        operation_id: "delete_entry",
        tag: "Entries",
        summary: "Delete an entry; its versions go on if it comes back",
        query: query::WRITE,
        answers: &[ok(200, "Deleted", RECEIPT)],
        ..WRITE
    },
    RouteSpec {
        method: "POST",
        path: path!("/transactions"),
        operation_id: "transact",
        tag: "Entries",
        summary: "Several writes, all or none",
        body: body("Transaction"),
        answers: &[ok(200, "All of them", Content::Json("TransactionReceipt"))],
        ..WRITE
    },
    RouteSpec {
        method: "POST",
        path: path!("/leases/{zone}/{*key}"),
        operation_id: "grant_lease",
        tag: "Leases",
        summary: "Lease an entry",
        body: optional_body("LeaseRequest"),
        answers: &[ok(201, "Granted", Content::Json("Lease"))],
        ..WRITE
    },
    RouteSpec {
        path: path!("/leases/{zone}/{*key}"),
        operation_id: "get_lease",
        tag: "Leases",
        summary: "Who holds an entry, and for how long",
        answers: &[ok(200, "The lease, without its token", Content::Json("Lease"))],
        ..READ
    },
    RouteSpec {
        method: "PUT",
        path: path!("/leases/{zone}/{*key}"),
        operation_id: "renew_lease",
        tag: "Leases",
        summary: "Renew a lease",
        body: body("LeaseRenewal"),
        answers: &[ok(200, "Renewed", Content::Json("Lease"))],
        ..WRITE
    },
    RouteSpec {
        method: "DELETE",
        path: path!("/leases/{zone}/{*key}"),
        operation_id: "release_lease",
        tag: "Leases",
        summary: "Release a lease; without a token an arbiter revokes it",
        query: query::LEASE_RELEASE,
        answers: &[ok(204, "It has ended", Content::Nothing)],
        ..WRITE
    },
    RouteSpec {
        method: "POST",
        path: path!("/claims"),
        operation_id: "claim",
        tag: "Leases",
        summary: "Lease the free entry that has waited longest",
        body: body("Claim"),
        answers: &[ok(201, "Claimed", Content::Json("Claimed")), ok(204, "Nothing fits", Content::Nothing)],
        ..WRITE
    },
    RouteSpec {
        path: path!("/events"),
        operation_id: "stream_events",
        tag: "Changes",
        summary: "Every commit, as it happens (server-sent events)",
        query: query::EVENTS,
        answers: &[ok(200, "A stream that can be resumed", Content::Other("text/event-stream"))],
        ..READ
    },
    RouteSpec {
        path: path!("/changes"),
        operation_id: "get_changes",
        tag: "Changes",
        summary: "Commits after a position, by long poll",
        query: query::CHANGES,
        answers: &[ok(200, "Commits, maybe none", Content::Json("Changes"))],
        ..READ
    },
    RouteSpec {
        path: path!("/history"),
        operation_id: "list_history",
        tag: "Changes",
        summary: "Commits, newest first",
        query: query::HISTORY,
        answers: &[ok(200, "A page of commits", Content::ListOf("HistoryCommit"))],
        ..READ
    },
    RouteSpec {
        path: path!("/history/{zone}/{*key}"),
        operation_id: "list_entry_history",
        tag: "Changes",
        summary: "Commits that touched an entry, newest first",
        query: query::HISTORY,
        answers: &[ok(200, "A page of commits", Content::ListOf("HistoryCommit"))],
        ..READ
    },
    RouteSpec {
        path: path!("/export"),
        operation_id: "export_board",
        tag: "Changes",
        summary: "The whole history as JSON lines, for `kokuban verify`",
        answers: &[ok(200, "One record per line", Content::Other("application/jsonl"))],
        ..READ
    },
    RouteSpec {
        method: "POST",
        path: path!("/erasures"),
        operation_id: "erase_value",
        tag: "Changes",
        summary: "Take a past value out of the history by its hash (admin); the chain still verifies",
        body: body("Erasure"),
        answers: &[ok(200, "Erased", Content::Json("Erased"))],
        ..WRITE
    },
    RouteSpec {
        method: "POST",
        path: path!("/notes/{zone}/{*key}"),
        operation_id: "add_note",
        tag: "Notes",
        summary: "Comment on an entry, which stays as it is",
        body: body("NoteBody"),
        answers: &[ok(201, "Noted", Content::Json("NoteCreated"))],
        ..WRITE
    },
    RouteSpec {
        path: path!("/notes/{zone}/{*key}"),
        operation_id: "list_notes",
        tag: "Notes",
        summary: "The notes on an entry",
        query: query::LIST,
        answers: &[ok(200, "Notes", Content::ListOf("Note"))],
        ..READ
    },
    RouteSpec {
        method: "DELETE",
        path: path!("/notes/{zone}/{*key}"),
        operation_id: "close_note",
        tag: "Notes",
        summary: "Close a note",
        query: query::NOTE_CLOSE,
        answers: &[ok(204, "Closed", Content::Nothing)],
        ..WRITE
    },
];
