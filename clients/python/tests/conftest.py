"""Real servers for the tests: the program named by KOKUBAN_BIN, on a free port."""

from __future__ import annotations

import os
import pathlib
import signal
import subprocess
import sys
from typing import Iterator, List, Optional

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from kokuban import Board, Client  # noqa: E402


def program() -> str:
    found = os.environ.get("KOKUBAN_BIN") or str(HERE.parents[2] / "target" / "debug" / "kokuban")
    if not os.path.exists(found):
        pytest.fail(f"{found} is not there: build it with `cargo build`, or name the program in KOKUBAN_BIN")
    return found


class Server:
    """A server process that can be killed and started again on its port and data."""

    def __init__(self, arguments: List[str], data: Optional[pathlib.Path] = None) -> None:
        self.arguments = arguments
        self.data = data
        self.listen = "127.0.0.1:0"
        self.start()

    def start(self) -> None:
        where = ["--data", str(self.data)] if self.data else []
        env = {name: value for name, value in os.environ.items() if not name.startswith("KOKUBAN_")}
        self.process = subprocess.Popen(
            [program(), *self.arguments, "--listen", self.listen, *where],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=env,
        )
        assert self.process.stdout
        line = self.process.stdout.readline()
        assert line.startswith("listening on "), f"the server said {line!r}"
        self.url = line.split()[-1]
        self.listen = self.url.removeprefix("http://")

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()

    def board(self, agent: str = "ra", **more: object) -> Board:
        return Client(self.url, agent=agent, **more).board("b")  # type: ignore[arg-type]


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server(["dev"])
    yield running
    running.kill()


@pytest.fixture
def durable(tmp_path: pathlib.Path) -> Iterator[Server]:
    running = Server(["dev"], tmp_path / "data")
    yield running
    running.kill()
