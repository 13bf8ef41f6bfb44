# room: train
"""Scores that training starts from, schedules of the rate, and what counts as better."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made
from ranks_in_threads import run
from rankwood import Dataset, Ranker, train


@pytest.fixture(scope="module")
def start(made: Made) -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).normal(size=len(made.y))


@pytest.fixture(scope="module")
def other_start(other: Made) -> np.ndarray[Any, Any]:
    return np.random.default_rng(6).normal(size=len(other.y))


def trees_of(model: rankwood.Model) -> list[bytes]:
    """Without names of features."""
    lines = [line.split(b" #")[0] for line in model.to_bytes().splitlines()]
    return [line for line in lines if line.startswith((b"node", b"leaf"))]


def test_every_input_format(
    made: Made, other: Made, start: Any, other_start: Any, small: dict[str, Any], tmp_path: Path
) -> None:
    valid = other.dataset(start_scores=other_start)
    whole = train(small, made.dataset(start_scores=start), valid=valid)
    expected = whole.to_bytes()
    assert train(small, made.dataset(), valid=other.dataset()).to_bytes() != expected
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(made.X, columns=list("abcdef"))
    frame = frame.assign(relevance=made.y, query=made.qid, before=start)
    named = Dataset(frame, "relevance", qid="query", start_scores="before")
    assert named.n_features == 6
    frames = pd.DataFrame(other.X, columns=list("abcdef"))
    theirs = Dataset(frames, other.y, qid=other.qid, start_scores=other_start)
    from_frame = train(small, named, valid=theirs)
    assert trees_of(from_frame) == trees_of(whole)
    columns = {name: made.X[:, i] for i, name in enumerate("abcdef")} | {"label": made.y, "query": made.qid}
    batches = Dataset.from_batches(lambda: [columns], label="label", qid="query", start_scores=start)
    assert train(small, batches, valid=theirs).to_bytes() == from_frame.to_bytes()
    # a training in two parts
    params = small | {"early_stop": 0}
    first = train(params | {"rounds": 5}, made.dataset(start_scores=start), valid=valid)
    both = train(params | {"rounds": 3}, made.dataset(start_scores=start), valid=valid, init=first)
    assert both.to_bytes() == train(params, made.dataset(start_scores=start), valid=valid).to_bytes()
    path = tmp_path / "ck"
    train(small | {"rounds": 5}, made.dataset(start_scores=start), valid=valid, checkpoint=path)
    resumed = train(small, made.dataset(start_scores=start), valid=valid, resume=path)
    assert resumed.to_bytes() == expected
    with pytest.raises(rankwood.DataError, match="the training set's start_scores"):
        train(small, made.dataset(start_scores=start + 1.0), valid=valid, resume=path)


def test_sorted(made: Made, start: Any, small: dict[str, Any]) -> None:
    """Documents whose queries are not adjacent have the start scores that they were given with."""
    rows = np.random.default_rng(3).permutation(len(made.y))
    rows = rows[np.argsort(rows % 3, kind="stable")]
    apart = Dataset(made.X[rows], made.y[rows], qid=made.qid[rows], start_scores=start[rows], sort=True)
    first = {one: i for i, one in reversed(list(enumerate(made.qid[rows])))}
    together = np.array(sorted(rows, key=lambda i: first[made.qid[i]]))
    plain = Dataset(made.X[together], made.y[together], qid=made.qid[together], start_scores=start[together])
    assert train(small, apart).to_bytes() == train(small, plain).to_bytes()


def test_they_are_where_training_starts(made: Made, small: dict[str, Any]) -> None:
    """An objective of the caller's sees them; the model does not have them."""
    seen: list[Any] = []

    def squares(scores: Any, data: Any) -> Any:
        seen.append(scores.copy())
        return scores - data.label, np.ones(len(scores))

    start = np.linspace(-3.0, 4.0, len(made.y))
    model = train(small | {"objective": squares}, made.dataset(start_scores=start))
    assert np.array_equal(seen[0], start)
    trees = np.zeros(len(made.y))
    for n, scores in enumerate(seen[1:], 1):
        trees = model.predict(made.X, n_trees=n)
        assert np.allclose(scores, start + trees, rtol=0, atol=1e-12)
    assert np.abs(trees).max() < np.abs(start).max()


def test_as_ranks(made: Made, other: Made, start: Any, other_start: Any, small: dict[str, Any]) -> None:
    alone = train(small, made.dataset(start_scores=start), valid=other.dataset(start_scores=other_start))

    def part(of: Made, scores: Any, rank: int) -> Dataset:
        rows = np.isin(of.qid, np.array_split(np.unique(of.qid), 3)[rank])
        return Dataset(of.X[rows], of.y[rows], qid=of.qid[rows], start_scores=scores[rows])

    def body(here: rankwood.Ranks) -> rankwood.Model:
        return train(small, part(made, start, here.rank), valid=part(other, other_start, here.rank))

    models = run(3, body)
    assert [one.to_bytes() for one in models] == [alone.to_bytes()] * 3
    assert all(one.evals_result == alone.evals_result for one in models)


def test_fit(made: Made, other: Made, start: Any, other_start: Any, small: dict[str, Any]) -> None:
    params = small | {"early_stop": 3, "rounds": 40}
    weight = 1.0 + other.qid % 3
    valid = other.dataset(start_scores=other_start, weight=weight)
    expected = train(params, made.dataset(start_scores=start), valid={"valid_0": valid})
    more = {"eval_set": [(other.X, other.y)], "eval_qid": [other.qid]}
    ranker = Ranker(**params).fit(
        made.X, made.y, qid=made.qid, start_scores=start, **more, eval_start_scores=[other_start],
        eval_sample_weight=[weight],
    )  # fmt: skip
    assert ranker.model_.to_bytes() == expected.to_bytes()
    assert ranker.evals_result_ == expected.evals_result
    plain = Ranker(**params).fit(made.X, made.y, qid=made.qid, start_scores=start, **more, eval_start_scores=[None])
    assert plain.evals_result_ != expected.evals_result
    with pytest.raises(rankwood.DataError, match="eval_start_scores is not a list of 1"):
        Ranker(**params).fit(made.X, made.y, qid=made.qid, **more, eval_start_scores=[other_start, None])


def test_cv(made: Made, small: dict[str, Any]) -> None:
    """A fold is measured with its own: here they rank alone, for labels are all that they hold."""
    perfect = rankwood.cv(small | {"rounds": 1}, made.dataset(start_scores=3.0 * made.y), n_folds=4)
    assert perfect.pooled["ndcg@10"] == 1.0
    assert rankwood.cv(small | {"rounds": 1}, made.dataset(), n_folds=4).pooled["ndcg@10"] < 1.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([1.0, 2.0], "start_scores has 2 values for "),
        ([], "start_scores has 0 values for "),
        (np.nan, "start score 1 is nan"),
        (np.inf, "start score 1 is inf"),
        (-2e30, "start score 1 is -2e"),
        ("before", "no column 'before' for start_scores"),
    ],
)
def test_refused(made: Made, small: dict[str, Any], given: Any, message: str) -> None:
    scores = np.full(len(made.y), given) if isinstance(given, float) else given
    with pytest.raises(rankwood.DataError, match=message):
        train(small, made.dataset(start_scores=scores))


def test_refused_as_a_parameter(made: Made, small: dict[str, Any]) -> None:
    with pytest.raises(rankwood.ParameterError, match=r"Dataset\(\.\.\., start_scores=\)"):
        train(small | {"start_scores": "file"}, made.dataset())


def test_rate_schedule(made: Made, small: dict[str, Any]) -> None:
    model = train(small | {"rate": "0.5:0.1:4", "rounds": 8}, made.dataset())
    assert b"\nrate = 0.5:0.1:4\n" in model.to_bytes()
    first = train(small | {"rate": "0.5:0.1:4", "rounds": 3}, made.dataset())
    assert train(small | {"rate": "0.5:0.1:4", "rounds": 5}, made.dataset(), init=first).to_bytes() == model.to_bytes()
    ranker = Ranker(**small | {"rate": "0.5:0.1:4"}).fit(made.X, made.y, qid=made.qid)
    assert ranker.model_.to_bytes() == model.to_bytes()
    for rate in ("0.5:0.1", "0.5:0.1:0", "0.5:2:3"):
        with pytest.raises(rankwood.ParameterError, match="expected A:B:N"):
            train(small | {"rate": rate}, made.dataset())


def test_early_stop_delta(made: Made, other: Made, small: dict[str, Any]) -> None:
    params = small | {"rounds": 60, "early_stop": 5, "early_stop_rule": "best"}
    plain = train(params, made.dataset(), valid=other.dataset())
    assert train(params | {"early_stop_delta": 0}, made.dataset(), valid=other.dataset()).to_bytes() == plain.to_bytes()
    strict = train(params | {"early_stop_delta": 0.5}, made.dataset(), valid=other.dataset())
    assert strict.best_round == 1 and b"\nearly-stop-delta = 0.5\n" in strict.to_bytes()
    with pytest.warns(rankwood.NoEffectWarning, match="without a validation set"):
        train({"early_stop_delta": 0.1}, made.dataset())
    with pytest.raises(rankwood.ParameterError, match="no effect with early_stop 0"):
        train({"early_stop_delta": 0.1, "early_stop": 0}, made.dataset(), valid=other.dataset(), strict=True)
