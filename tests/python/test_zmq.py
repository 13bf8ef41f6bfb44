# room: comm
"""rankwood.zmq: workers connected by pyzmq, and input that they refuse. test_rank_jobs.py has processes."""

from __future__ import annotations

import json
import pickle
import socket
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwood
from conftest import Made
from ranks_in_threads import run_with
from rankwood import _address, _cluster
from test_ranks import PARAMS, part

zmq = pytest.importorskip("zmq", reason="pyzmq is not installed")

TOKEN = "a secret of tests"


def free_address() -> str:
    return _address.free_address("127.0.0.1")


def run(n_ranks: int, body: Callable[[rankwood.Workers], Any], *, address: str = "", **more: Any) -> list[Any]:
    """Returns each worker's result, or the exception that it raised. more: a list has a value for each worker."""
    address = address or free_address()

    def enter(rank: int) -> Any:
        given = {"token": TOKEN, "timeout": 20.0, **more}
        given = {name: value[rank] if isinstance(value, list) else value for name, value in given.items()}
        return rankwood.zmq.workers(rank, n_ranks, address, **given)

    return run_with(n_ranks, enter, body)


def test_one_model(made: Made, other: Made) -> None:
    """Several times at one address, with an empty shard, and with IPv6."""
    params = {**PARAMS, "rounds": 12, "early_stop": 3}
    alone = rankwood.train(params, made.dataset(), valid=other.dataset()).to_bytes()
    address = free_address()

    def body(here: rankwood.Workers) -> bytes:
        valid = part(other, here.rank, here.n_ranks, 1)
        return rankwood.train(params, part(made, here.rank, here.n_ranks, 1), valid=valid).to_bytes()

    for n_ranks in (2, 4, 3):
        assert run(n_ranks, body, address=address) == [alone] * n_ranks
    if socket.has_ipv6:
        try:
            address = _address.free_address("::1")
        except OSError:
            return
        assert run(2, body, address=address) == [alone] * 2


def test_queue_and_late_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """More data than the connections hold, for a worker that comes late and after the other has left."""

    def body(here: rankwood.Workers) -> int:
        carrier = carriers[here.rank]
        numbers = np.arange(3_000_000, dtype=np.uint64) + here.rank
        got = np.zeros_like(numbers)
        if here.rank == 1:
            time.sleep(0.5)
            carrier.swap(0, np.empty(0, np.uint8), 0, got.view(np.uint8))
            return int((got == np.arange(3_000_000)).all())
        carrier.swap(1, numbers.view(np.uint8), 1, np.empty(0, np.uint8))
        return 1

    carriers = {}
    join = rankwood.zmq._join

    def noted(carrier: Any) -> Any:
        carriers[carrier.rank] = carrier
        return join(carrier)

    monkeypatch.setattr(rankwood.zmq, "_join", noted)
    assert run(2, body) == [1, 1]
    told = run(3, lambda here: carriers[here.rank].has_failed())
    assert told == [False] * 3


def test_failures(made: Made) -> None:
    def raises(here: rankwood.Workers) -> None:
        if here.rank == 2:
            raise OSError("no such disk")
        rankwood.train(PARAMS, part(made, here.rank, 3))

    told = run(3, raises)
    assert [str(one) for one in told] == ["worker 2: OSError: no such disk"] * 2 + ["no such disk"]

    def leaves(here: rankwood.Workers) -> None:
        if here.rank != 1:
            rankwood.train(PARAMS, part(made, here.rank, 3))

    told = run(3, leaves)
    assert isinstance(told[0], rankwood.WorkerError) and isinstance(told[2], rankwood.WorkerError)
    assert "worker 1 of 3: finished before this one" in {str(told[0]), str(told[2])}, told

    def sleeps(here: rankwood.Workers) -> None:
        if here.rank == 1:
            time.sleep(3)
        rankwood.train(PARAMS, part(made, here.rank, 3))

    begin = time.monotonic()
    told = run(3, sleeps, timeout=1)
    assert all(isinstance(one, rankwood.WorkerError) for one in told) and time.monotonic() - begin < 15
    assert all("worker 1 of 3: no answer within 1 s" in str(one) for one in (told[0], told[2])), told


def test_token() -> None:
    """A worker with another token does not connect, and is not told a word."""
    told = run(2, lambda here: here.rank, token=[TOKEN, TOKEN + "s"], timeout=1)
    assert all(isinstance(one, rankwood.WorkerError) for one in told)
    assert "worker 0: worker 1 of 2 did not connect within 1 s at 127.0.0.1:" in str(told[0])
    assert "worker 1: worker 0 of 2 did not connect" in str(told[1]) and "one token" in str(told[1])
    assert TOKEN not in str(told) and TOKEN not in repr(_cluster.Meeting(0, 1, "", 1, "", TOKEN))


class Bomb:
    """Unpickling it fails the test."""

    def __reduce__(self) -> Any:
        return pytest.fail, ("a worker unpickled what a stranger sent",)


def test_strangers(made: Made) -> None:
    """Bytes of programs without the token, while workers meet and train."""
    address = free_address()
    host, _, port = address.rpartition(":")
    alone = rankwood.train(PARAMS, made.dataset()).to_bytes()
    over = threading.Event()
    n_sent = [0, 0]

    def bother() -> None:
        context = zmq.Context()
        push = context.socket(zmq.PUSH)
        push.connect(f"tcp://{address}")
        head = rankwood.zmq._HEAD.pack(bytes(8), b"e", 1, 0)
        while not over.is_set():
            try:
                with socket.create_connection((host, int(port)), 1) as one:
                    one.sendall(b"\xff" + b"\x7f" * 200)
                    n_sent[0] += 1
                push.send_multipart([head, pickle.dumps(Bomb())], zmq.NOBLOCK)
                n_sent[1] += 1
            except (OSError, zmq.Again):
                time.sleep(0.01)
        context.destroy(linger=0)

    thread = threading.Thread(target=bother)
    thread.start()
    try:
        told = run(2, lambda here: rankwood.train(PARAMS, part(made, here.rank, 2)).to_bytes(), address=address)
    finally:
        over.set()
        thread.join()
    assert told == [alone] * 2 and min(n_sent) > 0


def test_messages_of_meetings() -> None:
    """Data that arrives before the table keeps its order, and messages of another meeting are ignored."""
    host, _, port = free_address().rpartition(":")
    carrier = rankwood.zmq._Sockets(0, 1, (host, int(port)), TOKEN, host, 5)
    carrier.rank, carrier._id, carrier._data = 1, b"", [deque(), deque()]

    def arrives(meeting: bytes, kind: bytes, number: int, body: bytes) -> None:
        carrier._store(*(zmq.Frame(one) for one in (rankwood.zmq._HEAD.pack(meeting, kind, 0, number), body)))

    this, last = b"12345678", b"87654321"
    arrives(last, b"e", 0, b"of the last meeting")
    arrives(this, b"d", 0, b"first")
    arrives(last, b"d", 0, b"of the last meeting")
    arrives(bytes(8), b"t", 0, json.dumps([this.hex(), ["tcp://a", "tcp://b"]]).encode())
    arrives(last, b"d", 1, b"of the last meeting")
    arrives(this, b"d", 1, b"second")
    assert [(number, body.bytes) for number, body in carrier._data[0]] == [(0, b"first"), (1, b"second")]
    assert not carrier._ends and not carrier.has_failed() and carrier._homes == {0: "tcp://a", 1: "tcp://b"}
    got = np.empty(11, np.uint8)
    carrier._data, carrier._n_got = [deque(carrier._data[0]), deque()], [0, 0]
    carrier._exchange({}, {0: got})
    assert got.tobytes() == b"firstsecond"
    arrives(this, b"d", 3, b"third")  # the second was lost
    with pytest.raises(rankwood.WorkerError, match="worker 0: a message was lost"):
        carrier._exchange({}, {0: got})
    carrier.close()


def test_listens_only_there(monkeypatch: pytest.MonkeyPatch) -> None:
    homes: list[Any] = []
    join = rankwood.zmq._join
    monkeypatch.setattr(rankwood.zmq, "_join", lambda carrier: homes.append(carrier._homes) or join(carrier))
    address = free_address()
    assert run(2, lambda here: here.rank, address=address, host="127.0.0.2") == [0, 1]
    assert homes[0] == homes[1] and homes[0][0] == f"tcp://{address}"
    assert homes[0][1].startswith("tcp://127.0.0.2:")


def test_arguments(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT", "RANKWOOD_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    good = {"rank": 0, "n_ranks": 1, "address": free_address(), "token": TOKEN}
    cases: list[tuple[dict[str, Any], str]] = [
        ({"rank": None}, "rank is missing; expected rank= or RANK in the environment"),
        ({"n_ranks": None}, "n_ranks is missing; expected n_ranks= or WORLD_SIZE in the environment"),
        ({"address": None}, "address is missing; expected address= or MASTER_ADDR and MASTER_PORT"),
        ({"token": None}, "token is missing; expected token= or RANKWOOD_TOKEN in the environment"),
        ({"token": "short"}, "token is too short; expected a secret of 16 characters or more"),
        ({"rank": 1}, "rank is 1; expected 0 to 0"),
        ({"address": "nowhere"}, "address is 'nowhere'; expected 'HOST:PORT'"),
        ({"address": "here:70000"}, "address is 'here:70000'; expected 'HOST:PORT'"),
        ({"timeout": 0}, "timeout is 0; expected seconds, more than 0"),
    ]
    for more, words in cases:
        with pytest.raises(rankwood.ParameterError, match=words):
            rankwood.zmq.workers(**{**good, **more})
    with pytest.raises(rankwood.WorkerError, match=r"worker 0 cannot listen at 192\.0\.2\.1:9999: "):
        rankwood.zmq.workers(**{**good, "address": "192.0.2.1:9999", "host": "127.0.0.1", "timeout": 0.1})
    with pytest.raises(rankwood.WorkerError, match=r"the address of 'nowhere\.invalid' is unknown: "):
        rankwood.zmq.workers(**{**good, "address": "nowhere.invalid:9999", "timeout": 0.1})
    host, _, port = free_address().rpartition(":")
    for name, value in (("RANK", "0"), ("WORLD_SIZE", "1"), ("MASTER_ADDR", host), ("MASTER_PORT", port)):
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("RANKWOOD_TOKEN", TOKEN)
    with rankwood.zmq.workers() as here:
        assert here == (0, 1)
    monkeypatch.setenv("RANK", "first")
    with pytest.raises(rankwood.ParameterTypeError, match="rank is 'first'; expected a whole number"):
        rankwood.zmq.workers()


# ---- documents of split queries ----


def test_moved_documents() -> None:
    """A part keeps its values and types. Objects that neither Arrow nor numpy can represent are refused."""
    table = pd.DataFrame({
        "a": np.arange(4, dtype=np.float32), "b": pd.array([1, None, 3, 4], "Int32"), "c": ["x", "y", None, "ü"],
        "d": pd.Categorical(["u", "v", "u", None], ["v", "u", "w"]), "e": pd.array([1, 2, 3, 4], "int64[pyarrow]"),
    })  # fmt: skip
    whole = _cluster.Part(table, "a", pd.Series([1, 1, 2, 2], name="words"), more_labels=["b"])
    moved = _cluster._unpacked(_cluster._packed(whole.rows(1, 3)), whole)
    pd.testing.assert_frame_equal(moved.data, table[1:3].reset_index(drop=True))
    assert moved.data.dtypes.tolist() == table.dtypes.tolist()
    assert (moved.label, moved.weight, moved.more_labels, moved.qid.tolist()) == ("a", None, ["b"], [1, 2])
    sparse = pytest.importorskip("scipy.sparse")
    dense = np.eye(4, 6, dtype=np.float32)
    for data in (sparse.csr_array(dense), sparse.csr_matrix(dense), dense):
        ids = np.array(["q", "q", "r", "r"], object)
        whole = _cluster.Part(data, np.arange(4), ids)
        moved = _cluster._unpacked(_cluster._packed(whole.rows(1, 3)), whole)
        rows = moved.data.toarray() if hasattr(moved.data, "toarray") else moved.data
        assert np.array_equal(rows, dense[1:3]) and type(moved.data) is type(data)
        assert moved.label.tolist() == [1, 2] and moved.qid.tolist() == ["q", "r"]
    for bad in (
        _cluster.Part(pd.DataFrame({"a": [1, "x"]}, dtype=object), [1, 2]),
        _cluster.Part(dense[:2], np.array([1, None], object)),
    ):
        with pytest.raises(rankwood.DataError, match="a query continues in a partition of another worker, and its doc"):
            _cluster._packed(bad)
    with pytest.raises(ValueError, match="allow_pickle"):
        import io

        file = io.BytesIO()
        np.savez(file, data=np.array([Bomb()], object), allow_pickle=True)
        _cluster._unpacked(file.getvalue(), _cluster.Part(dense))
