"""Reading and writing: what is done, and what a refusal says."""

import threading

import pytest

from kokuban import Client, Conflict, Forbidden, NotFound, Refused, Unreachable


def test_an_entry_is_written_read_changed_moved_and_deleted(server):
    board = server.board()
    assert board.put("working/plan", {"a": 1, "国": [1.5, None]}, version=0)["version"] == 1
    entry = board.get("working/plan", full=True)
    assert (entry.value, entry.version, entry.owner, entry.place) == ({"a": 1, "国": [1.5, None]}, 1, "ra", "working/plan")
    assert entry.raw["sha256"] and entry.trusted
    board.patch(entry, set={"b.c": 2}, unset=["a"], version=1)
    assert board.get(entry).value == {"国": [1.5, None], "b": {"c": 2}}
    assert board.move(entry, "processing", version=2)["status"] == "processing"
    assert board.get(entry, version=1).value["a"] == 1
    assert [item.key for item in board.list("working", status="processing")] == ["plan"]
    assert board.delete(entry, version=3)["outcome"] == "deleted"
    assert board.find(entry) is None
    assert [commit["by"] for commit in board.history("working/plan")] == ["ra"] * 4


def test_who_comes_second_is_told_what_stands(server):
    ra, rb = server.board("ra"), server.board("rb")
    ra.put("working/k", {"a": 1}, version=0)
    with pytest.raises(Conflict) as caught:
        rb.put("working/k", {"a": 2}, version=0)
    conflict = caught.value
    assert (conflict.code, conflict.status, conflict.next["action"]) == ("version_conflict", 409, "reread")
    assert conflict.current["value"] == {"a": 1} and conflict.current["updated_by"] == "ra"
    with pytest.raises(Conflict):
        rb.put("working/k", {"a": 2})  # no version at all
    assert ra.get("working/k").version == 1


def test_an_illegal_move_names_the_legal_ones(server):
    board = server.board()
    board.put("working/k", 1)
    with pytest.raises(Refused) as caught:
        board.move("working/k", "confirmed", version=1)
    assert caught.value.code == "illegal_transition" and "processing" in caught.value.allowed


def test_what_is_not_there_is_told_apart(server):
    board = server.board()
    with pytest.raises(NotFound) as caught:
        board.find("working/k")
    assert caught.value.code == "board_not_found"
    board.put("working/k", 1)
    assert board.find("working/other") is None
    with pytest.raises(NotFound) as caught:
        board.find("nowhere/k")
    assert caught.value.code == "zone_not_found"
    for wrong in ("working", "/k", "working/"):
        with pytest.raises(ValueError):
            board.get(wrong)


def test_numbers_come_back_as_they_were_sent_or_are_refused(server):
    board = server.board()
    for number in (2**64 - 1, -(2**63), 1e300, 0.1, 2.0**53):
        version = (board.find("working/n").version if number != 2**64 - 1 else 0)
        board.put("working/n", number, version=version)
        assert board.get("working/n").value == number
    with pytest.raises(Refused) as caught:
        board.put("working/n", 2**64, version=5)
    assert caught.value.code == "number_not_representable"
    with pytest.raises(ValueError):
        board.put("working/n", float("nan"), version=5)


def test_of_many_updates_none_is_lost(server):
    def add(agent):
        board = server.board(agent)
        for _ in range(20):
            board.update("working/count", lambda n: (n or 0) + 1, attempts=1000)

    threads = [threading.Thread(target=add, args=(f"a{i}",)) for i in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    entry = server.board().get("working/count")
    assert (entry.value, entry.version) == (160, 160)


def test_an_update_may_leave_things_as_they_are(server):
    board = server.board()
    assert board.update("working/k", lambda value: None) is None
    board.put("working/k", 1)
    assert board.update("working/k", lambda value: None) is None
    assert board.get("working/k").version == 1


def test_a_transaction_is_all_or_nothing(server):
    board = server.board()
    board.put("working/a", 1)
    write = {"method": "put", "zone": "working", "key": "b", "value": 2}
    with pytest.raises(Conflict):
        board.transaction([write], checks=[{"zone": "working", "key": "a", "version": 7}])
    assert board.find("working/b") is None
    assert board.transaction([write], checks=[{"zone": "working", "key": "a", "version": 1}])["revision"] == 2


def test_a_repeat_with_the_same_key_has_one_effect(server):
    board = server.board()
    first = board.put("working/k", 1, idempotency_key="task-1:1")
    assert board.put("working/k", 1, idempotency_key="task-1:1") == first
    with pytest.raises(Refused) as caught:
        board.put("working/k", 2, idempotency_key="task-1:1")
    assert caught.value.code == "idempotency_mismatch"


def test_lists_go_through_all_pages(server):
    board = server.board()
    for n in range(0, 250, 50):
        board.transaction([
            {"method": "put", "zone": "working", "key": f"k{i:03}", "value": i} for i in range(n, n + 50)
        ])
    assert [entry.value for entry in board.list("working", values=True)] == list(range(250))


def test_notes_leave_the_entry_as_it_is(server):
    board = server.board()
    board.put("working/k", 1)
    note = board.note("working/k", "why?", refers_to_version=1)
    assert [(one["id"], one["by"]) for one in board.notes("working/k")] == [(note, "ra")]
    assert board.get("working/k").version == 1


def test_a_wait_ends_with_the_change_or_with_its_time(server):
    board = server.board()
    board.put("working/k", 1)
    assert board.wait("working/k", after_version=1, timeout=0.05).version == 1
    assert board.wait("working/none", until_status="raw", timeout=0.05) is None
    changer = threading.Timer(0.1, lambda: server.board("rb").put("working/k", 2, version=1))
    changer.start()
    assert board.wait("working/k", after_version=1, timeout=20).value == 2
    changer.join()


def test_a_server_that_is_not_there_is_named(server):
    server.kill()
    with pytest.raises(Unreachable) as caught:
        server.board(patience=0.3).put("working/k", 1)
    assert server.url in str(caught.value)
    with pytest.raises(ValueError):
        Client("ftp://nowhere")


def test_a_call_that_met_a_dead_server_is_done_once_when_it_is_back(durable):
    board = durable.board(patience=30)
    board.put("working/k", 1)
    durable.kill()
    starter = threading.Timer(0.5, durable.start)
    starter.start()
    assert board.put("working/k", 2, version=1)["version"] == 2
    starter.join()


def test_no_token_is_shown():
    assert "s3cret" not in repr(Client("http://127.0.0.1:1", token="s3cret"))


def test_a_credential_is_needed_where_the_server_wants_one(tmp_path):
    import hashlib

    from conftest import Server

    config = tmp_path / "kokuban.toml"
    digest = hashlib.sha256(b"s3cret").hexdigest()
    config.write_text(
        f'durability = "memory"\n[[tokens]]\nagent = "ra"\nsha256 = "{digest}"\nboards = ["*"]\n'
        '[boards."*"]\nblueprint = "default"\n'
    )
    server = Server(["serve", "--config", str(config)])
    try:
        with pytest.raises(Forbidden) as caught:
            Client(server.url).board("b").put("working/k", 1)
        assert caught.value.code == "unauthenticated"
        assert Client(server.url, token="s3cret").board("b").put("working/k", 1)["owner"] == "ra"
    finally:
        server.kill()
