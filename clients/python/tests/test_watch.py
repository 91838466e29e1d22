"""Following a board: each commit once and in order, over broken connections and killed servers."""

import itertools
import threading

import pytest

from kokuban import Commit, NotFound, Refused, Reset, Unreachable


def test_everything_from_the_beginning_and_then_what_comes(server):
    board = server.board()
    board.put("working/a", 1)
    messages = board.watch(after="start", values=True)
    assert [change.kind for change in next(messages).changes][-1] == "created"
    board.patch("working/a", status="processing", version=1)
    moved = next(messages)
    assert (moved.revision, moved.by, moved.changes[0].status, moved.changes[0].place) == (2, "ra", "processing", "working/a")


def test_a_filter_is_the_servers(server):
    board = server.board()
    for key in ("a", "b", "a2"):
        board.put(f"working/{key}", key)
    found = itertools.islice(board.watch(after="start", prefix="a", values=True), 2)
    assert [commit.changes[0].value for commit in found] == ["a", "a2"]


def test_nothing_is_missed_or_doubled_when_the_server_is_killed(durable):
    writer = durable.board("w", patience=60)
    writer.put("working/n", 0)
    seen = []

    def follow():
        for message in durable.board("f").watch(after="start", key="n", values=True, patience=60):
            assert isinstance(message, Commit)
            seen.append(message.changes[0].value)
            if seen[-1] == 60:
                return

    follower = threading.Thread(target=follow)
    follower.start()
    for n in range(1, 61):
        if n % 20 == 0:
            durable.kill()
            durable.start()
        writer.put("working/n", n, version=n)
    follower.join(60)
    assert seen == list(range(61))


def test_where_it_cannot_go_on_it_says_so(server):
    server.board().put("working/a", 1)
    messages = server.board().watch(after="head", patience=30)
    reader = threading.Thread(target=lambda: results.append(next(messages)))
    results = []
    reader.start()
    server.board().put("working/b", 2)
    reader.join(20)
    assert isinstance(results[0], Commit)
    server.kill()
    server.start()  # in memory: another life of the board
    server.board().put("working/a", 1)
    reset = next(messages)
    assert isinstance(reset, Reset) and reset.reason == "epoch"
    server.board().put("working/c", 3)
    assert [change.key for change in next(messages).changes][-1] == "c"


def test_it_ends_with_its_board_and_refuses_what_never_was(server):
    board = server.board()
    board.put("working/a", 1)
    messages = board.watch(after="start")
    next(messages)
    board.client.call("DELETE", "/v1/boards/b")
    kinds = [change.kind for commit in messages for change in commit.changes]
    assert kinds in ([], ["board_deleted"])
    with pytest.raises(NotFound):
        next(server.board().watch())
    board.put("working/a", 1)
    with pytest.raises(Refused):
        next(board.watch(after="0000000000000001.1"))


def test_patience_has_an_end(server):
    server.board().put("working/a", 1)
    messages = server.board().watch(after="start", patience=0.5)
    next(messages)
    server.kill()
    with pytest.raises(Unreachable):
        next(messages)
