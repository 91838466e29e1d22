"""Work with a Kokuban server from Python. One file, nothing to install: copy it beside your program.

    from kokuban import Client

    board = Client("http://127.0.0.1:7411", agent="ra").board("shop")
    board.put("working/plan", {"step": 1}, version=0)
    board.update("working/plan", lambda plan: {**plan, "step": plan["step"] + 1})

Every write bears an Idempotency-Key, so a write whose answer got lost is sent again and has one effect. What the board
refuses is raised and never sent again blindly: a `Conflict` says what stands now, and thinking is up to you.

Durations are seconds here and milliseconds on the wire. Python 3.9 or newer. A client may be shared between threads.
"""

from __future__ import annotations

import contextlib
import http.client
import json
import math
import os
import random
import ssl
import threading
import time
import uuid
from dataclasses import dataclass, field
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union
from urllib.parse import quote, urlencode, urlsplit

__version__ = "0.1.0"
__all__ = [
    "Board",
    "Change",
    "Claimed",
    "Client",
    "Commit",
    "Conflict",
    "Entry",
    "Error",
    "Forbidden",
    "Lease",
    "LeaseLost",
    "NotFound",
    "Refused",
    "Reset",
    "Unreachable",
]

Json = Any

# ---------------------------------------------------------------------------------------------------------- errors


class Error(Exception):
    """Anything that can go wrong here."""


class Unreachable(Error):
    """The server could not be reached, or gave no answer, within the time for repetitions.

    For a write this means that its outcome is unknown: it may have been done. Sending it again with the same
    `idempotency_key` does it once.
    """


class Refused(Error):
    """The server answered with a problem. Unless `side_effects` is "unknown", nothing has changed."""

    def __init__(self, problem: Mapping[str, Any], status: int) -> None:
        self.problem: Dict[str, Any] = dict(problem)
        self.status = status
        super().__init__(f"{self.code}: {self.detail}")

    @property
    def code(self) -> str:
        """The code, which is API; the texts are not."""
        return str(self.problem.get("code", f"http_{self.status}"))

    @property
    def detail(self) -> str:
        return str(self.problem.get("detail", "the server gave no problem"))

    @property
    def next(self) -> Dict[str, Any]:
        """What to do: `action`, and where useful `method`, `path`, `body`."""
        return dict(self.problem.get("next") or {})

    @property
    def current(self) -> Optional[Dict[str, Any]]:
        """The entry as it stands: `version`, `status`, `owner`, `updated_by`, `value` or `value_omitted`."""
        return self.problem.get("current")

    @property
    def allowed(self) -> List[str]:
        """What would have been allowed, for instance the legal moves of a status."""
        return list(self.problem.get("allowed") or [])

    @property
    def errors(self) -> List[Dict[str, Any]]:
        """Every failed check, with `code`, `pointer` and `detail`."""
        return list(self.problem.get("errors") or [])

    @property
    def request_id(self) -> Optional[str]:
        return self.problem.get("request_id")

    @property
    def retry_after(self) -> Optional[float]:
        """Seconds to wait, where the server says so."""
        ms = self.problem.get("retry_after_ms")
        return None if ms is None else ms / 1000


class Conflict(Refused):
    """Someone wrote in between, or no version was named: look at `current`, think again, write on its version."""


class LeaseLost(Refused):
    """The lease is not live any more: stop writing under it. `reason` says why."""

    @property
    def reason(self) -> Optional[str]:
        return self.problem.get("reason")


class NotFound(Refused):
    """There is no such board, zone, entry, note or lease, or you may not see it."""


class Forbidden(Refused):
    """You may not do this, or not without a credential."""


def _refusal(problem: Mapping[str, Any], status: int) -> Refused:
    code = problem.get("code")
    if code in ("version_conflict", "precondition_required"):
        return Conflict(problem, status)
    if code == "lease_lost":
        return LeaseLost(problem, status)
    if status == 404:
        return NotFound(problem, status)
    if status in (401, 403):
        return Forbidden(problem, status)
    return Refused(problem, status)


# ---------------------------------------------------------------------------------------------------------- answers


@dataclass(frozen=True)
class Entry:
    """An entry as it was read."""

    zone: str
    key: str
    version: int
    value: Json = None
    status: Optional[str] = None
    owner: Optional[str] = None
    updated_by: Optional[str] = None
    updated_at: Optional[str] = None
    held_by: Optional[str] = None
    #: Everything that the server sent, also what this version does not know.
    raw: Mapping[str, Any] = field(default_factory=dict, repr=False, compare=False)

    @property
    def place(self) -> str:
        """`zone/key`, as all calls take it."""
        return f"{self.zone}/{self.key}"

    @property
    def trusted(self) -> bool:
        """False if the value came from outside: material to judge, never an instruction."""
        return self.raw.get("trust") != "untrusted"

    @classmethod
    def _of(cls, raw: Mapping[str, Any]) -> "Entry":
        known = {name: raw[name] for name in cls.__dataclass_fields__ if name != "raw" and name in raw}
        return cls(raw=raw, **known)


@dataclass(frozen=True)
class Change:
    """What one commit did to one entry."""

    kind: str
    zone: Optional[str]
    key: Optional[str]
    version: Optional[int]
    raw: Mapping[str, Any] = field(repr=False)

    @property
    def place(self) -> str:
        return f"{self.zone}/{self.key}"

    @property
    def status(self) -> Optional[str]:
        """The status after the change, where it changed."""
        move = self.raw.get("status") or {}
        return move.get("to") if move.get("to") != move.get("from") else None

    @property
    def value(self) -> Json:
        """The value, where values were asked for."""
        return self.raw.get("value")


@dataclass(frozen=True)
class Commit:
    """One atomic change of a board."""

    position: str
    revision: int
    by: Optional[str]
    at: Optional[str]
    changes: Sequence[Change]
    raw: Mapping[str, Any] = field(repr=False)


@dataclass(frozen=True)
class Reset:
    """The stream cannot go on from where it was: read the state again. What follows begins at `position`."""

    reason: str
    position: Optional[str]


# ---------------------------------------------------------------------------------------------------------- client

#: The server closes connections that were idle for a minute.
_IDLE_SECONDS = 20.0
_RETRYABLE = {408, 429, 500, 502, 503, 504}


class Client:
    """A server, and who calls it. Values default to KOKUBAN_URL, KOKUBAN_TOKEN and KOKUBAN_AGENT."""

    def __init__(
        self,
        url: Optional[str] = None,
        *,
        token: Optional[str] = None,
        agent: Optional[str] = None,
        timeout: float = 40.0,
        patience: float = 30.0,
        ssl_context: Optional[ssl.SSLContext] = None,
    ) -> None:
        """`timeout` bounds one attempt, `patience` all attempts of one call."""
        url = url or os.environ.get("KOKUBAN_URL") or "http://127.0.0.1:7411"
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise ValueError(f"{url!r} is no address of a server; write http://host:port")
        self._parts = parts
        self._base = parts.path.rstrip("/")
        self._token = token if token is not None else os.environ.get("KOKUBAN_TOKEN")
        self.agent = agent if agent is not None else os.environ.get("KOKUBAN_AGENT")
        self._timeout = timeout
        self._patience = patience
        self._ssl = ssl_context
        self._local = threading.local()

    def __repr__(self) -> str:  # never the token
        return f"Client({self._parts.scheme}://{self._parts.netloc}{self._base}, agent={self.agent!r})"

    def board(self, name: str) -> "Board":
        """A board by its name. Nothing is sent."""
        return Board(self, name)

    def info(self) -> Dict[str, Any]:
        """Name, version, limits and durability of the server."""
        return self.call("GET", "/v1")[1]

    def boards(self) -> Iterator[Dict[str, Any]]:
        """The boards that you may see."""
        return self._pages("/v1/boards", {})

    # -- one call

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Json = None,
        idempotency_key: Optional[str] = None,
        patience: Optional[float] = None,
    ) -> Tuple[int, Json]:
        """Any call of the server: status and body. Repeated where that is safe; a refusal is raised."""
        headers = self._headers()
        data = None
        if body is not None:
            data = json.dumps(body, ensure_ascii=False, allow_nan=False).encode("utf-8")
            headers["Content-Type"] = "application/json"
        named = bool(self._token or self.agent)
        if method not in ("GET", "HEAD") and named:
            headers["Idempotency-Key"] = idempotency_key or str(uuid.uuid4())
        repeatable = method in ("GET", "HEAD") or named
        target = self._target(path, query)
        until = time.monotonic() + (self._patience if patience is None else patience)
        attempt = 0
        while True:
            attempt += 1
            failure: Error
            try:
                status, reply, content = self._attempt(method, target, data, headers)
            except (OSError, http.client.HTTPException) as error:
                failure, asked = Unreachable(f"{self!r}: {error}"), None
            else:
                if status < 400:
                    return status, (json.loads(content) if content else None)
                refused = _refusal(_problem(content), status)
                if status not in _RETRYABLE or refused.problem.get("retryable") is False:
                    raise refused
                failure, asked = refused, refused.retry_after or _seconds(reply.getheader("Retry-After"))
            pause = (asked or 0.0) + random.uniform(0, min(5.0, 0.1 * 2**attempt))
            if not repeatable or time.monotonic() + pause > until:
                raise failure
            time.sleep(pause)

    def _headers(self) -> Dict[str, str]:
        headers = {"Accept": "application/json", "User-Agent": f"kokuban-python/{__version__}"}
        if self._token:
            headers["Authorization"] = f"Bearer {self._token}"
        if self.agent:
            headers["Kokuban-Agent"] = self.agent
        return headers

    def _target(self, path: str, query: Optional[Mapping[str, Any]]) -> str:
        pairs = [(name, item) for name, value in (query or {}).items() for item in _texts(value)]
        return self._base + path + ("?" + urlencode(pairs) if pairs else "")

    def _connect(self, timeout: float) -> http.client.HTTPConnection:
        host, port = self._parts.hostname or "", self._parts.port
        if self._parts.scheme == "https":
            return http.client.HTTPSConnection(host, port, timeout=timeout, context=self._ssl)
        return http.client.HTTPConnection(host, port, timeout=timeout)

    def _attempt(
        self, method: str, target: str, data: Optional[bytes], headers: Mapping[str, str]
    ) -> Tuple[int, http.client.HTTPResponse, bytes]:
        kept, used = getattr(self._local, "kept", (None, 0.0))
        self._local.kept = (None, 0.0)
        if kept is not None and time.monotonic() - used > _IDLE_SECONDS:
            kept.close()
            kept = None
        connection = kept or self._connect(self._timeout)
        try:
            connection.request(method, target, body=data, headers=dict(headers))
            reply = connection.getresponse()
            content = reply.read()
        except BaseException:
            connection.close()
            raise
        if reply.will_close:
            connection.close()
        else:
            self._local.kept = (connection, time.monotonic())
        return reply.status, reply, content

    def _pages(self, path: str, query: Mapping[str, Any]) -> Iterator[Dict[str, Any]]:
        page: Optional[str] = None
        while True:
            _, answer = self.call("GET", path, query={**query, "page": page})
            yield from answer["items"]
            page = answer.get("next_page")
            if page is None:
                return


def _problem(content: bytes) -> Dict[str, Any]:
    try:
        problem = json.loads(content)
    except ValueError:
        return {}
    return problem if isinstance(problem, dict) else {}


def _seconds(text: Optional[str]) -> Optional[float]:
    return float(text) if text and text.isdigit() else None


def _texts(value: Any) -> List[str]:
    if value is None or value is False:
        return []
    if value is True:
        return ["true"]
    if isinstance(value, (list, tuple, set, frozenset)):
        return [str(item) for item in value]
    return [str(value)]


def _ms(seconds: Optional[float]) -> Optional[int]:
    return None if seconds is None else math.ceil(seconds * 1000)


def _given(**members: Any) -> Dict[str, Any]:
    return {name: value for name, value in members.items() if value is not None}


def _split(place: Union[str, Entry]) -> Tuple[str, str]:
    if isinstance(place, Entry):
        return place.zone, place.key
    zone, slash, key = place.partition("/")
    if not slash or not zone or not key:
        raise ValueError(f"{place!r} is no place; write zone/key")
    return zone, key


def _href(place: Union[str, Entry]) -> str:
    zone, key = _split(place)
    return "/" + quote(zone, safe="") + "/" + quote(key, safe="/")


# ---------------------------------------------------------------------------------------------------------- board

Place = Union[str, Entry]


class Board:
    """A board. Places are written `zone/key`; an `Entry` stands for its place."""

    def __init__(self, client: Client, name: str) -> None:
        self.client = client
        self.name = name
        self._path = "/v1/boards/" + quote(name, safe="")

    def __repr__(self) -> str:
        return f"Board({self.name!r}, {self.client!r})"

    def create(
        self,
        blueprint: Union[str, Mapping[str, Any]] = "default",
        *,
        title: Optional[str] = None,
        labels: Optional[Mapping[str, str]] = None,
        inputs: Optional[Mapping[str, Json]] = None,
    ) -> Dict[str, Any]:
        """Creates the board by the name of a blueprint or by one; again with the same one, nothing happens."""
        body = _given(blueprint=blueprint, title=title, labels=labels, inputs=inputs)
        return self.client.call("PUT", self._path, body=body)[1]

    def summary(self) -> Dict[str, Any]:
        """Counts by zone and status, size, live leases."""
        return self.client.call("GET", self._path)[1]

    # -- reading

    def get(self, place: Place, *, version: Optional[int] = None, full: bool = False) -> Entry:
        """An entry; `version` for the past, `full` for everything that is known of it."""
        query = _given(version=version, view="full" if full else None)
        return Entry._of(self._entry("GET", place, query=query))

    def find(self, place: Place) -> Optional[Entry]:
        """An entry, or None where there is none."""
        try:
            return self.get(place)
        except NotFound as absent:
            if absent.code == "not_found":
                return None
            raise

    def wait(
        self,
        place: Place,
        *,
        after_version: Optional[int] = None,
        until_status: Optional[str] = None,
        timeout: float = 30.0,
    ) -> Optional[Entry]:
        """Waits until an entry is newer than a version or has a status. After `timeout`, the entry as it is."""
        until = time.monotonic() + timeout
        while True:
            left = max(0.0, until - time.monotonic())
            query = _given(after_version=after_version, until_status=until_status, wait_ms=_ms(min(left, 30.0)))
            entry: Optional[Entry] = None
            try:
                entry = Entry._of(self._entry("GET", place, query=query))
            except NotFound as absent:
                if absent.code != "not_found":
                    raise
            newer = after_version is None or (entry is not None and entry.version > after_version)
            moved = until_status is None or (entry is not None and entry.status == until_status)
            if (newer and moved) or left == 0.0:
                return entry

    def list(
        self,
        zone: Optional[str] = None,
        *,
        prefix: Optional[str] = None,
        status: Optional[str] = None,
        owner: Optional[str] = None,
        values: bool = False,
    ) -> Iterator[Entry]:
        """The entries, all of one revision; with their values if asked."""
        query = _given(zone=zone, prefix=prefix, status=status, owner=owner, include="value" if values else None)
        return map(Entry._of, self.client._pages(self._path + "/entries", query))

    def history(self, place: Optional[Place] = None, *, by: Optional[str] = None) -> Iterator[Dict[str, Any]]:
        """Past commits, newest first."""
        path = self._path + "/history" + (_href(place) if place is not None else "")
        return self.client._pages(path, _given(by=by))

    # -- writing

    def put(
        self,
        place: Place,
        value: Json,
        *,
        version: Optional[int] = None,
        status: Optional[str] = None,
        lease_token: Optional[int] = None,
        idempotency_key: Optional[str] = None,
        **more: Any,
    ) -> Dict[str, Any]:
        """Replaces the value; `version` is the one you read, 0 if it must not exist. Gives the receipt."""
        body = {"value": value, **_given(version=version, status=status, lease_token=lease_token), **more}
        return self._entry("PUT", place, body=body, idempotency_key=idempotency_key)

    def patch(
        self,
        place: Place,
        *,
        set: Optional[Mapping[str, Json]] = None,  # noqa: A002 (the word of the wire)
        unset: Optional[Sequence[str]] = None,
        version: Optional[int] = None,
        status: Optional[str] = None,
        lease_token: Optional[int] = None,
        idempotency_key: Optional[str] = None,
        **more: Any,
    ) -> Dict[str, Any]:
        """Changes leaves (`{"a.b": 1}`) and leaves their siblings alone; other members of the call by keyword."""
        body = _given(set=set, unset=unset, version=version, status=status, lease_token=lease_token)
        return self._entry("PATCH", place, body={**body, **more}, idempotency_key=idempotency_key)

    def move(self, place: Place, status: str, *, version: int, lease_token: Optional[int] = None) -> Dict[str, Any]:
        """Moves the status, along the lifecycle of the zone."""
        return self.patch(place, status=status, version=version, lease_token=lease_token)

    def delete(self, place: Place, *, version: int, lease_token: Optional[int] = None) -> Dict[str, Any]:
        """Deletes the entry; its versions go on if it comes back."""
        return self._entry("DELETE", place, query=_given(version=version, lease_token=lease_token))

    def update(
        self,
        place: Place,
        change: Callable[[Json], Json],
        *,
        attempts: int = 8,
        lease_token: Optional[int] = None,
    ) -> Optional[Dict[str, Any]]:
        """Reads, lets `change` think, writes on the version that was read; thinks anew when someone was faster.

        `change` gets the value (None where there is no entry) and gives the new one; None leaves it as it is.
        It is called once per attempt, so what it does beside must bear being done again.
        """
        for attempt in range(1, attempts + 1):
            try:
                entry = self.find(place)
            except NotFound as absent:
                if absent.code != "board_not_found":
                    raise
                entry = None  # the write decides whether it makes the board
            new = change(None if entry is None else entry.value)
            if new is None:
                return None
            try:
                return self.put(place, new, version=entry.version if entry else 0, lease_token=lease_token)
            except Conflict:
                if attempt == attempts:
                    raise
                time.sleep(random.uniform(0, min(1.0, 0.01 * 2**attempt)))
        return None

    def transaction(
        self, writes: Sequence[Mapping[str, Any]], *, checks: Sequence[Mapping[str, Any]] = ()
    ) -> Dict[str, Any]:
        """Several writes, all or nothing: `{"method": "put", "zone": …, "key": …, …}`."""
        body = {"writes": list(writes), "checks": list(checks)}
        return self.client.call("POST", self._path + "/transactions", body=body)[1]

    # -- notes

    def note(self, place: Place, text: str, *, refers_to_version: Optional[int] = None) -> str:
        """Leaves a remark on an entry, which stays as it is. Gives the id."""
        body = {"text": text, **_given(refers_to_version=refers_to_version)}
        return self.client.call("POST", self._path + "/notes" + _href(place), body=body)[1]["id"]

    def notes(self, place: Place) -> Iterator[Dict[str, Any]]:
        return self.client._pages(self._path + "/notes" + _href(place), {})

    # -- leases

    @contextlib.contextmanager
    def lease(
        self, place: Place, *, ttl: float = 60.0, wait: Optional[float] = None, takeover: bool = False
    ) -> Iterator["Lease"]:
        """Holds the exclusive right to write an entry, renews it while the block runs, and gives it back.

        When the lease is lost meanwhile, `Lease.check()` and every write under it raise `LeaseLost`.
        """
        body = _given(ttl_ms=_ms(ttl), wait_ms=_ms(wait), takeover=takeover or None)
        _, grant = self.client.call("POST", self._path + "/leases" + _href(place), body=body)
        with Lease(self, place, grant, ttl) as held:
            yield held

    def claim(
        self,
        zone: str,
        *,
        status: Optional[str] = None,
        prefix: Optional[str] = None,
        to_status: Optional[str] = None,
        ttl: float = 60.0,
        wait: Optional[float] = None,
    ) -> Optional["Claimed"]:
        """Leases the next free entry of a zone, in one step; None if none came within `wait`.

        Use it as a context manager: the lease is renewed while the block runs and given back after it.
        """
        body = _given(zone=zone, status=status, prefix=prefix, to_status=to_status, ttl_ms=_ms(ttl), wait_ms=_ms(wait))
        code, answer = self.client.call("POST", self._path + "/claims", body=body)
        if code == 204:
            return None
        entry = Entry._of(answer["entry"])
        return Claimed(entry, Lease(self, entry, answer["lease"], ttl))

    # -- following

    def watch(
        self,
        *,
        after: Optional[str] = None,
        zone: Union[str, Sequence[str], None] = None,
        key: Union[str, Sequence[str], None] = None,
        prefix: Union[str, Sequence[str], None] = None,
        status: Union[str, Sequence[str], None] = None,
        kind: Union[str, Sequence[str], None] = None,
        values: bool = False,
        patience: Optional[float] = None,
    ) -> Iterator[Union[Commit, Reset]]:
        """What happens, from `after` on (a position, "start", or "head", the default), each commit once.

        When the connection breaks, it is made again where it broke off; nothing is missed and nothing comes twice.
        Where the server cannot go on from there, a `Reset` says so. Ends when the board is deleted.
        `patience` bounds how long the server may be away, in seconds; None is for ever.
        """
        query = _given(zone=zone, key=key, prefix=prefix, status=status, kind=kind)
        query["include"] = "value" if values else None
        return _Stream(self, query, after, patience).messages()

    # -- inside

    def _entry(
        self,
        method: str,
        place: Place,
        *,
        query: Optional[Mapping[str, Any]] = None,
        body: Json = None,
        idempotency_key: Optional[str] = None,
    ) -> Dict[str, Any]:
        path = self._path + "/entries" + _href(place)
        return self.client.call(method, path, query=query, body=body, idempotency_key=idempotency_key)[1]


# ---------------------------------------------------------------------------------------------------------- lease


class Lease:
    """A lease that is renewed in the background at a third of its time."""

    def __init__(self, board: Board, place: Place, grant: Mapping[str, Any], ttl: float) -> None:
        self.board = board
        self.place = "/".join(_split(place))
        self.token: int = grant["lease_token"]
        self.ttl = ttl
        self._deadline = time.monotonic() + grant["remaining_ms"] / 1000
        self._lost: Optional[LeaseLost] = None
        self._ended = threading.Event()
        self._renewer: Optional[threading.Thread] = None

    def __enter__(self) -> "Lease":
        self._renewer = threading.Thread(target=self._renew, name=f"lease {self.place}", daemon=True)
        self._renewer.start()
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()

    @property
    def is_live(self) -> bool:
        """Whether the lease is held, as far as can be known here."""
        return self._lost is None and not self._ended.is_set() and time.monotonic() < self._deadline

    def check(self) -> None:
        """Raises `LeaseLost` if the lease is not held any more."""
        if self._lost is not None:
            raise self._lost
        if not self._ended.is_set() and time.monotonic() >= self._deadline:
            raise LeaseLost({"code": "lease_lost", "detail": "the lease ran out here", "reason": "expired"}, 409)

    def put(self, value: Json, *, version: int, **more: Any) -> Dict[str, Any]:
        return self._write(lambda: self.board.put(self.place, value, version=version, lease_token=self.token, **more))

    def patch(self, **more: Any) -> Dict[str, Any]:
        return self._write(lambda: self.board.patch(self.place, lease_token=self.token, **more))

    def move(self, status: str, *, version: int) -> Dict[str, Any]:
        return self._write(lambda: self.board.move(self.place, status, version=version, lease_token=self.token))

    def update(self, change: Callable[[Json], Json], *, attempts: int = 8) -> Optional[Dict[str, Any]]:
        return self._write(
            lambda: self.board.update(self.place, change, attempts=attempts, lease_token=self.token)
        )

    def release(self) -> None:
        """Gives the lease back. Nothing happens if it is gone already."""
        if self._ended.is_set():
            return
        self._ended.set()
        if self._renewer is not None:
            self._renewer.join()
        with contextlib.suppress(LeaseLost, NotFound):
            self.board.client.call("DELETE", self._path, query={"lease_token": self.token})

    @property
    def _path(self) -> str:
        return self.board._path + "/leases" + _href(self.place)

    def _write(self, write: Callable[[], Any]) -> Any:
        self.check()
        try:
            return write()
        except LeaseLost as lost:
            self._lost = lost
            raise

    def _renew(self) -> None:
        while not self._ended.wait(max(0.02, (self._deadline - time.monotonic()) - self.ttl * 2 / 3)):
            left = self._deadline - time.monotonic()
            if left <= 0:
                return
            asked = time.monotonic()
            try:
                body = {"lease_token": self.token, "ttl_ms": _ms(self.ttl)}
                _, grant = self.board.client.call("PUT", self._path, body=body, patience=left)
            except LeaseLost as lost:
                self._lost = lost
                return
            except Error:
                # Tried again until the lease has run out; then `check` says so.
                self._ended.wait(min(0.5, max(0.0, left)))
                continue
            # Counted from when it was asked: an answer that was slow must not make the lease look longer than it is.
            self._deadline = asked + grant["remaining_ms"] / 1000


@dataclass(frozen=True)
class Claimed:
    """An entry that was claimed, with its lease."""

    entry: Entry
    lease: Lease

    def __enter__(self) -> "Claimed":
        self.lease.__enter__()
        return self

    def __exit__(self, *_: Any) -> None:
        self.lease.release()


# ---------------------------------------------------------------------------------------------------------- stream

#: A server sends something at least every 15 seconds, so this much silence means that the connection is dead.
_SILENCE_SECONDS = 45.0
_BLOCK_BYTES_MAX = 8 << 20


class _Stream:
    """The messages of one board over as many connections as it takes."""

    def __init__(
        self, board: Board, query: Mapping[str, Any], after: Optional[str], patience: Optional[float]
    ) -> None:
        self._board = board
        self._query = dict(query)
        self._after = after
        self._patience = patience
        self._position: Optional[str] = None
        self._retry = 2.0

    def messages(self) -> Iterator[Union[Commit, Reset]]:
        last_seen = time.monotonic()
        while True:
            try:
                for message in self._connection():
                    last_seen = time.monotonic()
                    if isinstance(message, str):
                        return
                    if message is not None:
                        yield message
                        last_seen = time.monotonic()
            except (OSError, http.client.HTTPException) as error:
                failure: Error = Unreachable(f"{self._board!r}: {error}")
            except Refused as refused:
                if refused.status not in _RETRYABLE:
                    raise
                failure = refused
            else:
                failure = Unreachable(f"{self._board!r}: the stream ended")
            pause = random.uniform(0.5, 1.0) * self._retry
            if self._patience is not None and time.monotonic() + pause - last_seen > self._patience:
                raise failure
            time.sleep(pause)

    def _connection(self) -> Iterator[Union[Commit, Reset, None, str]]:
        client = self._board.client
        headers = {**client._headers(), "Accept": "text/event-stream"}
        query = dict(self._query)
        if self._position is not None:
            headers["Last-Event-ID"] = self._position
        elif self._after is not None:
            query["after"] = self._after
        connection = client._connect(_SILENCE_SECONDS)
        try:
            connection.request("GET", client._target(self._board._path + "/events", query), headers=headers)
            reply = connection.getresponse()
            if reply.status != 200:
                raise _refusal(_problem(reply.read()), reply.status)
            yield from self._blocks(reply)
        finally:
            connection.close()

    def _blocks(self, reply: http.client.HTTPResponse) -> Iterator[Union[Commit, Reset, None, str]]:
        block: Dict[str, str] = {}
        size = 0
        while True:
            line = reply.readline(_BLOCK_BYTES_MAX)
            if not line.endswith(b"\n"):
                return  # broken off within a block, which is not counted as seen
            size += len(line)
            text = line.decode("utf-8").rstrip("\r\n")
            if text:
                name, _, value = text.partition(":")
                if name:
                    block[name] = value[1:] if value.startswith(" ") else value
                if size > _BLOCK_BYTES_MAX:
                    raise http.client.HTTPException("a block of the stream is too long")
                continue
            done, block, size = block, {}, 0
            if "retry" in done and done["retry"].isdigit():
                self._retry = int(done["retry"]) / 1000
            message = self._message(done)
            # The position moves only once the message is handed out, so nothing is skipped.
            yield message
            if done.get("id"):
                self._position = done["id"]

    def _message(self, block: Mapping[str, str]) -> Union[Commit, Reset, None, str]:
        event = block.get("event")
        data = json.loads(block["data"]) if block.get("data") else {}
        if event == "commit":
            changes = [
                Change(raw["kind"], raw.get("zone"), raw.get("key"), raw.get("version"), raw)
                for raw in data.get("changes", [])
            ]
            return Commit(block["id"], data["revision"], data.get("by"), data.get("at"), changes, data)
        if event == "reset":
            return Reset(data.get("reason", ""), block.get("id"))
        if event == "bye" and data.get("reason") == "deleted":
            return "bye"  # after every other reason the next connection tells what is so now
        return None
