-- The journal of all boards. Times are milliseconds; chain hashes and commit ids have 16 bytes.

-- The columns after `name` are folded in from the journal now and then, never while a group is appended: what is newer
-- than `meta.covered_seq` is found by reading the end of the journal when the server starts.
CREATE TABLE board (
    id         INTEGER PRIMARY KEY,
    name       TEXT NOT NULL UNIQUE,
    revision   INTEGER,
    chain      BLOB,
    at         INTEGER,
    board_time INTEGER,
    deadline   INTEGER,
    oldest     INTEGER
) STRICT;

-- In order of arrival, whatever the board: appending touches the last page only. No other index, for the same reason.
CREATE TABLE journal (
    seq        INTEGER PRIMARY KEY,
    board      INTEGER NOT NULL,
    revision   INTEGER NOT NULL,
    chain      BLOB NOT NULL,
    commit_id  BLOB NOT NULL,
    at         INTEGER NOT NULL,
    board_time INTEGER NOT NULL,
    deadline   INTEGER,
    body       BLOB NOT NULL
) STRICT;

-- Where the records of a board are: revisions `revision` to `revision + n - 1` at the places, each a pair of varints:
-- how far the first seq lies behind the last one, and how many follow each other.
CREATE TABLE run (
    board    INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    n        INTEGER NOT NULL,
    places   BLOB NOT NULL,
    PRIMARY KEY (board, revision)
) STRICT, WITHOUT ROWID;

-- A snapshot counts when it is complete; one that is not is being written or deleted.
CREATE TABLE snapshot (
    id       INTEGER PRIMARY KEY,
    board    INTEGER NOT NULL,
    revision INTEGER NOT NULL,
    chain    BLOB NOT NULL,
    n_chunks INTEGER NOT NULL,
    complete INTEGER NOT NULL
) STRICT;

CREATE INDEX snapshot_board ON snapshot (board, revision);

-- The id is the snapshot's, times 2^20, plus the number of the chunk.
CREATE TABLE snapshot_chunk (
    id   INTEGER PRIMARY KEY,
    body BLOB NOT NULL
) STRICT;

CREATE TABLE meta (
    name  TEXT PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

INSERT INTO meta (name, value) VALUES ('covered_seq', 0), ('log_renewals', 0);
