# room: train
"""Resumed training: the model is identical to that of an uninterrupted training."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made
from rankwood import Round, train


class Stop(Exception):
    pass


def stop_after(n: int) -> Callable[[Round], None]:
    def callback(done: Round) -> None:
        if done.round == n:
            raise Stop

    return callback


@pytest.fixture
def params(small: dict[str, Any]) -> dict[str, Any]:
    return small | {"rounds": 12, "sample_queries": 0.7, "early_stop": 0}


@pytest.mark.parametrize("n", [1, 5, 11])
def test_same_bytes_and_all_metrics(
    made: Made, other: Made, params: dict[str, Any], tmp_path: Path, n: int
) -> None:
    data, valid = made.dataset(), {"second": other.dataset()}
    more: dict[str, Any] = {"valid": valid, "checkpoint": tmp_path / "ck", "resume": "auto"}
    expected = train(params, data, valid=valid)
    with pytest.raises(Stop):
        train(params | {"threads": 2}, data, **more, callbacks=[stop_after(n)])
    seen: list[int] = []
    model = train(params | {"device": "sim"}, data, **more, callbacks=[lambda done: seen.append(done.round)])
    assert seen == list(range(n + 1, 13))
    assert model.to_bytes() == expected.to_bytes()
    assert model.evals_result == expected.evals_result
    again = train(params, data, **more, callbacks=[stop_after(12)])  # nothing is left to be called
    assert again.to_bytes() == expected.to_bytes()
    assert again.evals_result == expected.evals_result
    longer = train(params | {"rounds": 15}, data, valid=valid, resume=tmp_path / "ck")
    assert longer.to_bytes() == train(params | {"rounds": 15}, data, valid=valid).to_bytes()
    assert sorted(os.listdir(tmp_path)) == ["ck"]


def test_functions_as_objective_and_metric(made: Made, other: Made, params: dict[str, Any], tmp_path: Path) -> None:
    def squares(scores: Any, dataset: rankwood.Dataset) -> Any:
        return scores - dataset.label, np.ones(len(scores))

    def error(scores: Any, dataset: rankwood.Dataset) -> float:
        return -float(np.abs(scores - dataset.label).mean())

    mine = params | {"objective": squares, "metric": [error, "map"]}
    expected = train(mine, made.dataset(), valid=other.dataset())
    with pytest.raises(Stop):
        train(mine, made.dataset(), valid=other.dataset(), checkpoint=tmp_path / "ck", callbacks=[stop_after(4)])
    model = train(mine, made.dataset(), valid=other.dataset(), resume=str(tmp_path / "ck"))
    assert model.to_bytes() == expected.to_bytes()
    assert model.evals_result == expected.evals_result


def test_a_callback_that_stops_is_the_end(made: Made, params: dict[str, Any], tmp_path: Path) -> None:
    checkpoint = tmp_path / "ck"
    model = train(params, made.dataset(), checkpoint=checkpoint, callbacks=[lambda done: done.round == 3])
    assert model.n_trees == 3
    assert train(params, made.dataset(), resume=checkpoint).to_bytes() == model.to_bytes()


def test_arrays_files_and_names(made: Made, params: dict[str, Any], tmp_path: Path) -> None:
    """The same documents from any input; names are part of the model."""
    path = tmp_path / "train.txt"
    with open(path, "w") as file:
        for row, label, query in zip(made.X, made.y, made.qid, strict=True):
            values = " ".join(f"{i}:{float(value):.9g}" for i, value in enumerate(row))
            file.write(f"{label} qid:{query} {values}\n")
    with pytest.raises(Stop):
        train(params, made.dataset(), checkpoint=tmp_path / "ck", callbacks=[stop_after(4)])
    model = train(params, rankwood.Dataset(path), resume=tmp_path / "ck")
    assert model.to_bytes() == train(params, made.dataset(feature_base=0)).to_bytes()
    names = [f"f{i}" for i in range(6)]
    with pytest.raises(rankwood.DataError, match="the features' names have changed"):
        train(params, made.dataset(feature_names=names), resume=tmp_path / "ck")


def test_differences_are_named(made: Made, other: Made, params: dict[str, Any], tmp_path: Path) -> None:
    checkpoint = tmp_path / "ck"
    train(params, made.dataset(), checkpoint=checkpoint)
    with pytest.raises(rankwood.ParameterError, match="different parameters: leaves was 6 and is now 5"):
        train(params | {"leaves": 5}, made.dataset(), resume=checkpoint)
    labels = made.y.copy()
    labels[3] = 4 - labels[3]
    with pytest.raises(rankwood.DataError, match="the data has changed: the training set's labels"):
        train(params, rankwood.Dataset(made.X, labels, qid=made.qid), resume=checkpoint)
    with pytest.raises(rankwood.DataError, match="had 0 validation sets, this one has 1"):
        train(params, made.dataset(), valid=other.dataset(), resume=checkpoint)


def test_invalid_checkpoints(made: Made, params: dict[str, Any], tmp_path: Path) -> None:
    train(params, made.dataset()).save(tmp_path / "model")
    with pytest.raises(rankwood.FormatError, match="expected a checkpoint, found a model"):
        train(params, made.dataset(), resume=tmp_path / "model")
    with pytest.raises(rankwood.FileError, match="No such file"):
        train(params, made.dataset(), resume=tmp_path / "nothing")
    with pytest.raises(rankwood.ParameterError, match="checkpoint_every has no effect without checkpoint"):
        train(params, made.dataset(), checkpoint_every=3)
    with pytest.raises(rankwood.ParameterError, match="resume='auto' needs checkpoint"):
        train(params, made.dataset(), resume="auto")
    with pytest.raises(rankwood.ParameterError, match="invalid interval '3 s'"):
        train(params, made.dataset(), checkpoint=tmp_path / "ck", checkpoint_every="3 s")
    with pytest.raises(rankwood.ParameterTypeError, match="checkpoint_every is a float"):
        train(params, made.dataset(), checkpoint=tmp_path / "ck", checkpoint_every=1.5)  # type: ignore[arg-type]
    with pytest.raises(rankwood.ParameterTypeError, match="expected a path"):
        train(params, made.dataset(), resume=3)  # type: ignore[arg-type]


def test_another_version(made: Made, params: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "ck"
    train(params, made.dataset(), checkpoint=path)
    head, _, rest = path.read_bytes().partition(f"program {rankwood.__version__}\n".encode())
    body = (head + b"program 9.8.7\n" + rest)[: -len("checksum 01234567\n")]
    path.write_bytes(body + b"checksum %08x\n" % zlib.crc32(body))
    with pytest.raises(rankwood.FormatError, match=r"checkpoint written by rankwood 9\.8\.7; rankwood"):
        train(params, made.dataset(), resume=path)


PROGRAM = """
import os, signal, sys
sys.path.insert(0, {folder!r})
from conftest import make
import rankwood
def die(one):
    if one.round == int(sys.argv[1]):
        os.kill(os.getpid(), getattr(signal, sys.argv[2]))
params = {{"rounds": 60, "leaves": 6, "min_docs": 2, "l2": 5, "early_stop": 0}}
more = {{}} if len(sys.argv) < 4 else {{"checkpoint": sys.argv[3], "checkpoint_every": 1, "resume": "auto"}}
model = rankwood.train(params, make(1).dataset(), valid=make(2, 20).dataset(), callbacks=[die], **more)
model.save("model" if more else "whole")
print(model.finished)
"""


@pytest.mark.parametrize("name", ["SIGKILL", "SIGINT"])
def test_processes_that_are_ended(tmp_path: Path, name: str) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM.format(folder=str(Path(__file__).parent)))

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, str(program), *arguments], capture_output=True, text=True, cwd=tmp_path, check=False
        )

    assert run("0", name).returncode == 0
    for at in 20, 40:
        done = run(str(at), name, "ck")
        assert done.returncode == (-signal.SIGKILL if name == "SIGKILL" else 0), done.stderr
    assert run("0", name, "ck").stdout == "True\n"
    assert (tmp_path / "model").read_bytes() == (tmp_path / "whole").read_bytes()


def test_ranker(made: Made, tmp_path: Path) -> None:
    given = {"rounds": 8, "leaves": 6, "min_docs": 2}
    expected = rankwood.Ranker(**given).fit(made.X, made.y, qid=made.qid)
    with pytest.raises(Stop):
        rankwood.Ranker(**given).fit(
            made.X, made.y, qid=made.qid, checkpoint=tmp_path / "ck", checkpoint_every=1, callbacks=[stop_after(5)]
        )
    ranker = rankwood.Ranker(**given).fit(made.X, made.y, qid=made.qid, resume=tmp_path / "ck")
    assert ranker.model_.to_bytes() == expected.model_.to_bytes()


def test_files_that_are_read_are_not_written(params: dict[str, Any], tmp_path: Path) -> None:
    data, weights = tmp_path / "data.txt", tmp_path / "weights"
    data.write_text("".join(f"{i % 3} qid:{i // 10} 1:{i * 7 % 11} 2:{i % 5}\n" for i in range(200)))
    weights.write_text("1\n" * 200)
    dataset = rankwood.Dataset(data)
    in_memory = rankwood.Dataset(np.arange(40.0).reshape(20, 2), np.arange(20) % 3, qid=np.arange(20) // 5)
    other = tmp_path / "folder" / ".." / "data.txt"
    (tmp_path / "folder").mkdir()
    with pytest.raises(rankwood.ParameterError, match=r"data.txt' is an input, and cannot be the output too"):
        train(params, dataset, checkpoint=other)
    with pytest.raises(rankwood.ParameterError, match="is an input, and cannot be the output too"):
        train(params, in_memory, valid=dataset, checkpoint=data)
    with pytest.raises(rankwood.ParameterError, match="is an input, and cannot be the output too"):
        train(params | {"label_gain": str(weights)}, dataset, checkpoint=weights)
    model = train(params | {"rounds": 2, "min_docs": 1}, dataset, checkpoint=tmp_path / "ck")
    with pytest.raises(rankwood.ParameterError, match="is an input, and cannot be the output too"):
        model.report(data, dataset)
    assert data.read_text().startswith("0 qid:0 1:0") and weights.read_text() == "1\n" * 200
