"""Workers in processes that Dask, Ray, Spark, Kubernetes or Slurm starts, connected by pyzmq.

Each worker listens at one address and sends to every other worker over a connection of its own. CurveZMQ encrypts the
connections with a key made from the run's token, so that only processes with the token can connect. Messages are
numbers and text; nothing that arrives is unpickled.
"""

from __future__ import annotations

import json
import os
import struct
import time
from collections import deque
from collections.abc import Iterable
from contextlib import AbstractContextManager
from hashlib import blake2b
from typing import Any

import numpy as np

from rankwood._address import bracketed, own_address, resolved
from rankwood._core import ParameterError, UnsupportedError, WorkerError, lib, package, whole
from rankwood._workers import Bytes, Carrier, Numbers, Workers
from rankwood._workers import workers as _join

_zmq = package("zmq", "zmq")
_z85 = package("zmq.utils.z85", "zmq")
_event_of = package("zmq.utils.monitor", "zmq").recv_monitor_message

LOOK_S = 2.0  # time to look for the cause after a failure, and to send last messages.
_CHUNK = 1 << 20  # Bytes of a message.
_QUEUE = 8  # Messages that wait in a connection.
_HEAD = struct.Struct("<8scIQ")  # id of the meeting, kind, sender, its number among the sender's data to this worker
_HELLO, _TABLE, _DATA, _END, _BYE = b"h", b"t", b"d", b"e", b"b"
_REDUCE = {"sum": np.add, "min": np.minimum, "max": np.maximum}


class _Sockets(Carrier):
    """Carrier with one socket for all that arrives, and a socket to each other worker."""

    name = "zmq"

    def __init__(self, rank: int, n_ranks: int, first: tuple[str, int], token: str, host: str, timeout: float) -> None:
        self.rank, self.n_ranks, self._timeout = rank, n_ranks, timeout
        self._others = [other for other in range(n_ranks) if other != rank]
        self._key = _z85.encode(blake2b(token.encode(), digest_size=32, person=b"rankwood").digest())
        self._context = _zmq.Context()
        self._to: dict[int, Any] = {}
        self._monitors: dict[Any, int] = {}  # socket of a connection's events: worker
        self._id = b""  # of the meeting, once it is known; drawn by worker 0
        self._early: list[Any] = []  # messages that arrived before the id
        self._homes: dict[int, str] = {}  # where workers listen
        self._n_sent, self._n_got = [0] * n_ranks, [0] * n_ranks  # data messages
        self._data: list[deque[Any]] = [deque() for _ in range(n_ranks)]  # that arrived, by sender
        self._ends: dict[int, str] = {}  # why workers failed; "" if another one did before
        self._left: set[int] = set()  # workers that finished
        self._lost: dict[int, float] = {}  # when connections broke
        self._looked, self._aborted, self._why = 0.0, False, ""
        try:
            self._meet(first, host)
        except BaseException:
            self._context.destroy(linger=0)
            raise

    # ---- connections ----

    def _socket(self, kind: int, address: str) -> Any:
        one = self._context.socket(kind)
        one.ipv6 = "[" in address
        one.immediate = True  # messages are only for workers that are connected
        one.sndhwm = one.rcvhwm = _QUEUE
        one.maxmsgsize = _CHUNK + 256  # encryption adds some bytes
        one.heartbeat_ivl = 5000  # a machine that disappears breaks the connection
        one.heartbeat_timeout = int(1000 * min(60, max(self._timeout, 10)))
        one.curve_secretkey, one.curve_publickey = self._key, _zmq.curve_public(self._key)
        return one

    def _listen(self, host: str, port: int) -> None:
        where = f"{bracketed(host)}:{port or '*'}"
        self._in = self._socket(_zmq.PULL, where)
        self._in.curve_server = True
        until = time.monotonic() + min(10, self._timeout)
        while self.rank not in self._homes:
            try:
                self._in.bind(f"tcp://{where}")
                self._homes[self.rank] = self._in.last_endpoint.decode().rstrip("\0")
            except _zmq.ZMQError as error:  # an earlier meeting may still have the port
                if time.monotonic() > until:
                    raise WorkerError(f"worker {self.rank} cannot listen at {where}: {error.strerror}") from error
                time.sleep(0.1)

    def _connect(self, rank: int, where: str) -> None:
        one = self._to[rank] = self._socket(_zmq.PUSH, where)
        one.curve_serverkey = _zmq.curve_public(self._key)
        self._monitors[one.get_monitor_socket(_zmq.EVENT_HANDSHAKE_SUCCEEDED | _zmq.EVENT_DISCONNECTED)] = rank
        one.connect(where)

    def _meet(self, first: tuple[str, int], host: str) -> None:
        """Connects all workers. Worker 0 learns where the others listen, and tells all of them."""
        where = f"{bracketed(first[0])}:{first[1]}"
        self._listen(*(first if self.rank == 0 else (host, 0)))
        if self.rank > 0:
            self._connect(0, f"tcp://{where}")
        until = time.monotonic() + self._timeout
        while len(self._homes) < self.n_ranks:
            if self.rank > 0:
                self._send(0, _HELLO, json.dumps([self.n_ranks, self._homes[self.rank]]).encode())
            self._receive(0.2)
            if time.monotonic() > until:
                missing = [0] if self.rank > 0 else sorted(set(self._others) - set(self._homes))
                raise WorkerError(
                    f"worker {self.rank}: {_named(missing)} of {self.n_ranks} did not connect within "
                    f"{self._timeout:g} s at {where}\nhint: all workers need this address and one token"
                )
        if self.rank == 0:
            self._id = os.urandom(8)
        for rank in set(self._others) - set(self._to):
            self._connect(rank, self._homes[rank])
        if self.rank == 0:
            homes = [self._homes[rank] for rank in range(self.n_ranks)]
            self._send_all(_TABLE, json.dumps([self._id.hex(), homes]).encode(), self._timeout)
        self.all_gather(np.zeros(1, np.uint8), np.empty((self.n_ranks, 1), np.uint8))  # all are connected

    # ---- messages ----

    def _send(self, to: int, kind: bytes, body: Any) -> bool:
        """Sends a message if the connection has room for it, and returns whether it had."""
        head = _HEAD.pack(self._id, kind, self.rank, self._n_sent[to])
        try:
            self._to[to].send(head, _zmq.SNDMORE | _zmq.NOBLOCK)
        except _zmq.Again:
            return False
        self._to[to].send(body)
        self._n_sent[to] += kind == _DATA
        return True

    def _send_all(self, kind: bytes, body: bytes, seconds: float) -> None:
        """Sends a message to every worker that is still connected."""
        until, rest = time.monotonic() + seconds, set(self._to)
        while rest and time.monotonic() < until:
            rest = {rank for rank in rest - {*self._lost, *self._left, *self._ends} if not self._send(rank, kind, body)}
            self._receive(0.05 if rest else 0, rest)

    def _receive(self, seconds: float, to: Iterable[int] = ()) -> None:
        """Waits until something arrives or a connection of the workers `to` has room, and stores what arrived."""
        arrives = [(one, _zmq.POLLIN) for one in (self._in, *self._monitors)]
        ready = _zmq.zmq_poll(arrives + [(self._to[rank], _zmq.POLLOUT) for rank in to], int(seconds * 1000))
        for monitor in [one for one, _ in ready if one in self._monitors]:
            while monitor.poll(0):
                if _event_of(monitor)["event"] == _zmq.EVENT_DISCONNECTED:
                    self._lost.setdefault(self._monitors[monitor], time.monotonic())
                elif not self._id:  # connected again, before the meeting; later, messages may have been lost
                    self._lost.pop(self._monitors[monitor], None)
        while self._in.poll(0):
            self._store(*self._in.recv_multipart(copy=False))

    def _store(self, head: Any, body: Any) -> None:
        meeting, kind, sender, number = _HEAD.unpack(head.buffer)
        if kind == _HELLO and self.rank == 0 and not self._id:
            n_ranks, self._homes[sender] = json.loads(body.bytes)
            if n_ranks != self.n_ranks:
                raise WorkerError(f"worker {sender} expects {n_ranks} workers, and worker 0 expects {self.n_ranks}")
        elif kind == _TABLE and not self._id:
            identity, homes = json.loads(body.bytes)
            self._id, self._homes = bytes.fromhex(identity), dict(enumerate(homes))
            for message in self._early:
                self._store(*message)
        elif not self._id:
            self._early.append((head, body))
        elif meeting != self._id:
            pass  # of an earlier meeting at the same address
        elif kind == _DATA:
            self._data[sender].append((number, body))
        elif kind == _END:
            self._ends[sender] = body.bytes.decode("utf-8", "replace")
        elif kind == _BYE:
            self._left.add(sender)

    # ---- exchanges ----

    def _exchange(self, send: dict[int, Bytes], recv: dict[int, Bytes]) -> None:
        """Sends bytes to some workers while receiving bytes from some."""
        sent, got = dict.fromkeys(send, 0), dict.fromkeys(recv, 0)
        before, until = -1, 0.0
        while True:
            for to, at in sent.items():
                while at < len(send[to]) and self._send(to, _DATA, send[to][at : at + _CHUNK]):
                    sent[to] = at = min(at + _CHUNK, len(send[to]))
            for source, into in recv.items():
                while got[source] < len(into) and self._data[source]:
                    number, body = self._data[source].popleft()
                    at = got[source]
                    if number != self._n_got[source] or at + len(body) > len(into):
                        raise WorkerError(f"worker {source}: a message was lost, or its calls differ from this one's")
                    into[at : at + len(body)] = np.frombuffer(body.buffer, np.uint8)
                    got[source], self._n_got[source] = at + len(body), number + 1
            full = [to for to, at in sent.items() if at < len(send[to])]
            late = [source for source, into in recv.items() if got[source] < len(into)]
            if not full and not late:
                return
            done = sum(sent.values()) + sum(got.values())
            if done > before:
                before, until = done, time.monotonic() + self._timeout
            elif time.monotonic() > until:
                silent = _named(sorted({*full, *late}))
                self._why = f"{silent} of {self.n_ranks}: no answer within {self._timeout:g} s"
                raise WorkerError(self._why)
            self._receive(min(1, self._timeout), full)
            self._check({*full, *late})

    def all_gather(self, send: Bytes, recv: Bytes) -> None:
        recv[self.rank] = send
        self._exchange(dict.fromkeys(self._others, send), {rank: recv[rank] for rank in self._others})

    def swap(self, to: int, send: Bytes, source: int, recv: Bytes) -> None:
        self._exchange({to: send}, {source: recv})

    def all_reduce(self, buffer: Numbers, op: str) -> None:
        step = max(1, _CHUNK // buffer.itemsize // self.n_ranks)
        for begin in range(0, len(buffer), step):
            part = buffer[begin : begin + step]
            every = np.empty((self.n_ranks, len(part)), part.dtype)
            self.all_gather(part.view(np.uint8), every.view(np.uint8))
            part[:] = _REDUCE[op].reduce(every, dtype=part.dtype)

    # ---- failures ----

    def _causes(self) -> list[str]:
        """Returns the known causes of a failure; [""] if its cause is unknown yet, [] without a failure."""
        causes = [f"worker {rank}: {why}" for rank, why in sorted(self._ends.items()) if why]
        gone = set(self._lost) - set(self._ends) - self._left
        if gone and time.monotonic() > min(self._lost[rank] for rank in gone) + LOOK_S / 4:  # no last message
            causes.append(f"{_named(sorted(gone))} of {self.n_ranks}: ended or unreachable")
        return causes or [""] * bool(self._ends)

    def _check(self, awaited: set[int]) -> None:
        causes, until = self._causes(), time.monotonic() + LOOK_S
        while causes == [""] and time.monotonic() < until:
            self._receive(0.05)
            causes = self._causes()
        left = sorted(rank for rank in awaited & self._left if not self._data[rank])
        if left and not causes:
            causes = [f"{_named(left)} of {self.n_ranks}: finished before this one"]
        if causes:
            raise WorkerError(causes[0] or f"another of the {self.n_ranks} workers failed")

    def has_failed(self) -> bool:
        if time.monotonic() - self._looked > 0.05:
            self._looked = time.monotonic()
            self._receive(0)
        return bool(self._causes())

    def abort(self, why: str) -> None:
        self._aborted = True
        self._send_all(_END, (why or self._why).encode("utf-8", "replace")[: _CHUNK // 2], LOOK_S)

    def close(self) -> None:
        seconds = LOOK_S if self._aborted else self._timeout  # the last data may be for a worker that is late
        if not self._aborted:
            self._send_all(_BYE, b"", seconds)
        self._context.destroy(linger=int(seconds * 1000))


def _named(ranks: list[int]) -> str:
    return f"worker{'s' * (len(ranks) > 1)} {', '.join(map(str, ranks))}"


def workers(
    rank: int | None = None,
    n_ranks: int | None = None,
    address: str | None = None,
    *,
    token: str | None = None,
    host: str | None = None,
    timeout: float = 600,
) -> AbstractContextManager[Workers]:
    """Make this process one of several workers, within a ``with`` block; see :func:`rankwood.workers`.

    Workers exchange data through encrypted pyzmq connections, which need the same token on all workers. A worker that
    ends breaks its connections, so that the others raise an error within seconds.

    Parameters
    ----------
    rank : int or None, default None
        This worker's number, from 0; by default, the environment variable RANK.
    n_ranks : int or None, default None
        Number of workers; by default, WORLD_SIZE.
    address : str or None, default None
        ``"HOST:PORT"`` at which worker 0 listens and that all workers can reach; by default, MASTER_ADDR and
        MASTER_PORT. A port above 1023 that no other program uses.
    token : str or None, default None
        Secret of the run, at least 16 characters, such as ``secrets.token_hex()`` returns; by default, RANKWOOD_TOKEN.
    host : str or None, default None
        Name or address of this machine at which this worker listens if its number is above 0, at any free port. The
        default is the address from which this machine reaches worker 0.
    timeout : float, default 600
        Seconds that a worker waits for the others, at the start and in each exchange.

    Returns
    -------
    context manager of Workers
        Yields ``rank`` and ``n_ranks``.

    Raises
    ------
    WorkerError
        Another worker failed or cannot be reached; the message names it and, if known, the cause.
    ParameterError
        An argument is missing or invalid, or this thread is already a worker.
    ImportError
        pyzmq is missing (extra ``zmq``).

    Examples
    --------
    >>> with rankwood.zmq.workers(2, 8, "10.0.0.7:29500", token=token):  # doctest: +SKIP
    ...     model = rankwood.train({"rounds": 100}, rankwood.Dataset("train.txt"))
    """
    n_ranks = whole(_given(n_ranks, "n_ranks", "WORLD_SIZE"), "n_ranks", 1, lib.RW_MAX_WORKERS)
    rank = whole(_given(rank, "rank", "RANK"), "rank", 0, n_ranks - 1)
    if address is None and {"MASTER_ADDR", "MASTER_PORT"} <= set(os.environ):
        address = f"{bracketed(os.environ['MASTER_ADDR'])}:{os.environ['MASTER_PORT']}"
    first, _, port = str(_given(address, "address", "MASTER_ADDR and MASTER_PORT")).rpartition(":")
    if not first or not port.isdigit() or not 0 < int(port) < 65536:
        raise ParameterError(f"address is {address!r}; expected 'HOST:PORT'")
    token = str(_given(token, "token", "RANKWOOD_TOKEN"))
    if len(token) < 16:
        raise ParameterError("token is too short; expected a secret of 16 characters or more, the same on all workers")
    if not 0 < timeout < 1e6:
        raise ParameterError(f"timeout is {timeout}; expected seconds, more than 0 and less than 1000000")
    if not _zmq.has("curve"):
        raise UnsupportedError("this pyzmq cannot encrypt connections (CurveZMQ); that of 'pip install pyzmq' can")
    first = resolved(first.strip("[]"), timeout)
    own = resolved(host, timeout) if host else own_address(first)
    return _join(_Sockets(rank, n_ranks, (first, int(port)), token, own, timeout))


def _given(value: Any, name: str, variable: str) -> Any:
    """Returns an argument or, if it is None, the value of an environment variable."""
    found = os.environ.get(variable) if value is None else value
    if not found and found != 0:
        raise ParameterError(f"{name} is missing; expected {name}= or {variable} in the environment")
    return int(found) if name in ("rank", "n_ranks") and value is None and found.isdigit() else found


__all__ = ["workers"]
