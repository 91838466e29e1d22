"""The examples do what they say, as processes beside each other."""

import os
import pathlib
import subprocess
import sys

EXAMPLES = pathlib.Path(__file__).resolve().parents[1] / "examples"


def start(server, name, *arguments):
    env = {**os.environ, "KOKUBAN_URL": server.url, "PYTHONPATH": str(EXAMPLES.parent)}
    command = [sys.executable, str(EXAMPLES / name), *arguments]
    return subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)


def shop(server):
    return server.board("lin").client.board("shop")


def test_workers_share_the_tasks_and_a_watcher_sees_each_result_once(server):
    for n in range(3):
        shop(server).put(f"working/task-{n}", {"n": n})
    watcher = start(server, "watcher.py")
    workers = [start(server, "worker.py", name) for name in ("wa", "wb")]
    done = [line for worker in workers for line in worker.communicate(timeout=60)[0].splitlines()]
    assert sorted(done) == ["working/task-0: 0", "working/task-1: 1", "working/task-2: 4"]
    told = watcher.communicate(timeout=60)[0].splitlines()
    assert sorted(line.split(" finished ")[1] for line in told) == sorted(done)
    assert [process.returncode for process in (watcher, *workers)] == [0, 0, 0]


def test_counters_lose_nothing(server):
    counters = [start(server, "counter.py", name) for name in ("ca", "cb", "cc")]
    assert [counter.wait(timeout=120) for counter in counters] == [0, 0, 0]
    entry = shop(server).get("working/count")
    assert (entry.value, entry.version) == (300, 300)


def test_all_examples_are_run_here():
    assert {path.name for path in EXAMPLES.glob("*.py")} == {"worker.py", "watcher.py", "counter.py"}
