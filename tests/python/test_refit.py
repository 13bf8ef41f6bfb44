# room: train
"""New values for a model's leaves, and models of fewer trees."""

from __future__ import annotations

import os
import signal
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made
from ranks_in_threads import run
from rankwood import DataError, Dataset, Model, ParameterError, ParameterTypeError, _training, train


@pytest.fixture(scope="module")
def model(made: Made, small: dict[str, Any]) -> Model:
    return train(small | {"early_stop": 0}, made.dataset())


def leaves_of(model: Model) -> list[bytes]:
    return [line for line in model.to_bytes().splitlines() if line.startswith(b"leaf")]


def test_refit(model: Model, made: Made, other: Made) -> None:
    before = model.to_bytes()
    same = model.refit(made.dataset(), decay=0)
    assert leaves_of(same) == leaves_of(model)
    assert same.params["refit_decay"] == 0 and "refit_decay" not in model.params
    newer = model.refit(other.dataset())
    assert newer.params["refit_decay"] == 0.9 and newer.n_trees == model.n_trees
    assert leaves_of(newer) != leaves_of(model)
    assert model.refit(other.dataset(), params={"refit_decay": 0.9}).to_bytes() == newer.to_bytes()
    assert model.to_bytes() == before
    by_threads = model.refit(other.dataset(), params={"threads": 3})
    assert by_threads.to_bytes() == newer.to_bytes()


def test_measured_each_round(model: Model, made: Made, other: Made) -> None:
    rounds: list[int] = []
    newer = model.refit(
        other.dataset(),
        valid={"old": made.dataset()},
        params={"metric": "ndcg@5"},
        callbacks=[lambda r: rounds.append(r.round)],
    )
    assert rounds == list(range(1, model.n_trees + 1))
    values = newer.evals_result["old"]["ndcg@5"]
    assert values[-1] == rankwood.evaluate(made.dataset(), newer, metric="ndcg@5")["ndcg@5"]
    assert newer.best_round == 0


def test_functions(model: Model, other: Made) -> None:
    def squares(scores: Any, data: Any) -> Any:
        return scores - data.label, np.ones(len(scores))

    ours = model.refit(other.dataset(), decay=0, params={"objective": squares})
    theirs = model.refit(other.dataset(), decay=0, params={"objective": "regression"})
    assert ours.params["objective"] == "custom"
    assert leaves_of(ours) == leaves_of(theirs)
    with pytest.raises(ParameterError, match="trained with a custom objective"):
        ours.refit(other.dataset())

    def broken(scores: Any, data: Any) -> Any:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        model.refit(other.dataset(), params={"objective": broken})


def test_as_ranks(model: Model, other: Made) -> None:
    alone = model.refit(other.dataset())
    bytes_of = model.to_bytes()

    def body(here: rankwood.Ranks) -> Model:
        rows = np.isin(other.qid, np.array_split(np.unique(other.qid), 3)[here.rank])
        part = rankwood.Dataset(other.X[rows], other.y[rows], qid=other.qid[rows])
        return Model.from_bytes(bytes_of).refit(part)

    assert [one.to_bytes() for one in run(3, body)] == [alone.to_bytes()] * 3


def test_ended(model: Model, other: Made) -> None:
    with pytest.raises(rankwood.RankwoodError, match="interrupted after 2 of"):
        model.refit(other.dataset(), callbacks=[lambda r: r.round == 2])


def test_refused(model: Model, other: Made) -> None:
    data = other.dataset()
    with pytest.raises(ParameterError, match="'leaves' has no effect in a refit"):
        model.refit(data, params={"leaves": 5}, strict=True)
    with pytest.raises(ParameterError, match="0 to 1"):
        model.refit(data, decay=2)
    with pytest.raises(ParameterError, match="both given"):
        model.refit(data, decay=0.5, params={"refit_decay": 0.5})
    with pytest.raises(ParameterError, match="'metric' has no effect"):
        model.refit(data, params={"metric": "map"}, strict=True)
    with pytest.raises(ParameterError, match="without a model to refit"):
        train({"refit_decay": 0.5}, data, strict=True)
    with pytest.raises(DataError, match="features"):
        model.refit(rankwood.Dataset(other.X[:, :1], other.y, qid=other.qid))
    with pytest.raises(ParameterTypeError):
        model.refit(other.X)  # type: ignore[arg-type]


def test_prune(model: Model, made: Made) -> None:
    data = made.dataset()
    pruned = model.prune(data, loss=0.01)
    whole = rankwood.evaluate(data, model)["ndcg@10"]
    left = rankwood.evaluate(data, pruned.model)["ndcg@10"]
    assert whole - left <= 0.01 and pruned.metric == "ndcg@10"
    assert pruned.rows[0].n_trees == model.n_trees and pruned.rows[0].difference == 0
    row = pruned.rows[pruned.chosen]
    assert row.mean == left and row.n_trees == pruned.model.n_trees
    assert row.n_bytes == len(pruned.model.to_bytes())
    assert row.low <= row.difference <= row.high
    last = model.prune(data, loss=1000, order="last", metric="map").model
    assert last.n_trees == 1
    assert (last.predict(made.X) == model.predict(made.X, n_trees=1)).all()
    assert last.refit(data).n_trees == 1


def test_prune_progress_and_interruption(model: Model, made: Made, monkeypatch: Any, caplog: Any) -> None:
    caplog.set_level("INFO", "rankwood")
    monkeypatch.setattr(_training, "SECONDS", 0.0)
    times = 30  # it takes a second, and tells of itself ten times a second
    data = Dataset(np.tile(made.X, (times, 1)), np.tile(made.y, times), group=np.tile(made.group, times))
    expected = model.prune(data, loss=0.01).model
    told = [record.getMessage() for record in caplog.records]
    shares = [int(one.split()[1]) for one in told if one.startswith("pruning ")]
    assert shares and shares == sorted(shares) and shares[-1] <= 100
    assert told[-1] == f"{expected.n_trees} of {model.n_trees} trees are left"
    step = _training.Progress.step

    def press(self: Any, number: int, total: int, what: str) -> None:
        step(self, number, total, what)
        os.kill(os.getpid(), signal.SIGINT)

    monkeypatch.setattr(_training.Progress, "step", press)
    with pytest.raises(KeyboardInterrupt):
        model.prune(data, loss=0.01)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    monkeypatch.setattr(_training.Progress, "step", step)
    assert model.prune(data, loss=0.01).model.to_bytes() == expected.to_bytes()


def test_prune_refused(model: Model, made: Made) -> None:
    data = made.dataset()
    for loss in (-0.1, float("nan"), float("inf")):
        with pytest.raises(ParameterError, match="loss"):
            model.prune(data, loss=loss)
    with pytest.raises(ParameterTypeError, match="loss"):
        model.prune(data, loss="much")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="order"):
        model.prune(data, order="first")  # type: ignore[arg-type]
    with pytest.raises(ParameterError, match="one metric"):
        model.prune(data, metric="ndcg,map")
    with pytest.raises(DataError, match="no query"):
        model.prune(data, metric="map", relevant=100)
