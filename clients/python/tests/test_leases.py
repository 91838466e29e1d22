"""Leases and claims: one holder, renewed while it works, given back, and lost loudly."""

import threading

import pytest

from kokuban import LeaseLost, Refused


def test_a_lease_is_renewed_while_the_block_runs_and_given_back_after_it(server):
    board, other = server.board("ra"), server.board("rb")
    board.put("working/k", 1)
    with board.lease("working/k", ttl=0.3) as lease:
        # Waits longer than the lease lasts without renewal.
        assert other.wait("working/k", after_version=1, timeout=1.0).held_by == "ra"
        lease.check()
        with pytest.raises(Refused) as caught:
            other.put("working/k", 2, version=1)
        assert caught.value.code == "lease_held"
        assert lease.put(2, version=1)["version"] == 2
        assert lease.update(lambda n: n + 1)["version"] == 3
    assert not lease.is_live
    assert other.put("working/k", 4, version=3)["version"] == 4


def test_a_lease_that_was_taken_over_writes_no_more(server):
    board = server.board("ra")
    board.put("working/k", 1)
    with board.lease("working/k", ttl=30) as old:
        with server.board("ra").lease("working/k", ttl=30, takeover=True) as new:
            with pytest.raises(LeaseLost) as caught:
                old.put(2, version=1)
            assert caught.value.reason == "superseded"
            with pytest.raises(LeaseLost):
                old.check()
            assert new.put(3, version=1)["version"] == 2


def test_a_holder_notices_that_its_lease_was_lost_while_it_thinks(server):
    board = server.board("ra")
    board.put("working/k", 1)
    with board.lease("working/k", ttl=0.3) as lease:
        server.kill()
        gone = threading.Event()
        while lease.is_live:
            assert not gone.wait(0.02)
        with pytest.raises(LeaseLost):
            lease.check()
        server.start()


def test_each_task_is_claimed_once(server):
    board = server.board("lin")
    for n in range(12):
        board.put(f"working/task-{n:02}", n)
    taken, lock = [], threading.Lock()

    def work(agent):
        mine = server.board(agent)
        while claimed := mine.claim("working", status="raw", to_status="processing", ttl=5):
            with claimed:
                with lock:
                    taken.append(claimed.entry.value)
                claimed.lease.move("pending_review", version=claimed.entry.version)

    threads = [threading.Thread(target=work, args=(f"w{i}",)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(taken) == list(range(12))
    assert server.board().claim("working", status="raw", wait=0.05) is None
