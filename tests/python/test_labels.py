# room: objective
"""Several labels a document, and the sum of their lambdas."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made
from ranks_in_threads import run
from rankwood import Dataset, Ranker, train
from rankwood._core import context, lib
from rankwood._params import Params

WEIGHTS = {"label_weights": [1, 0.5, 2]}


@pytest.fixture(scope="module")
def more(made: Made) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(5)
    return np.column_stack([np.clip(made.y + rng.integers(-1, 2, len(made.y)), 0, 3), rng.integers(0, 2, len(made.y))])


def test_every_input_format(made: Made, more: Any, small: dict[str, Any], tmp_path: Path) -> None:
    params = small | WEIGHTS
    model = train(params, made.dataset(more_labels=more))
    assert train(small, made.dataset()).to_bytes() != model.to_bytes()
    assert b"label-weights = 1,0.5,2" in model.to_bytes()
    several = np.column_stack([made.y, more])
    assert train(params, Dataset(made.X, several, qid=made.qid)).to_bytes() == model.to_bytes()
    ranker = Ranker(**params).fit(made.X, several, qid=made.qid)
    assert ranker.model_.to_bytes() == model.to_bytes()
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(made.X, columns=list("abcdef"))
    frame = frame.assign(click=made.y, query=made.qid, buy=more[:, 0], long=more[:, 1])
    named = Dataset(frame, ["click", "buy", "long"], qid="query")
    assert named.feature_names == list("abcdef")
    from_frame = train(params, named)
    apart = Dataset(frame, "click", qid="query", more_labels=["buy", "long"])
    assert train(params, apart).to_bytes() == from_frame.to_bytes()
    columns = {name: frame[name].to_numpy() for name in [*"abcdef", "click", "query"]}
    batches = Dataset.from_batches(lambda: [columns], label="click", qid="query", more_labels=more)
    assert train(params, batches).to_bytes() == from_frame.to_bytes()
    table = tmp_path / "t.csv"
    frame.to_csv(table, index=False, float_format="%.9g")
    files = Dataset(table, ["click", "buy", "long"], qid="query")
    assert train(params, files).to_bytes() == from_frame.to_bytes()
    given = Dataset(table, "click", qid="query", ignore=["buy", "long"], more_labels=more)
    assert train(params, given).to_bytes() == from_frame.to_bytes()


def test_order_and_resume(made: Made, more: Any, small: dict[str, Any], tmp_path: Path) -> None:
    params = small | WEIGHTS
    rows = np.argsort(np.random.default_rng(4).random(len(made.y)), kind="stable")
    apart = Dataset(made.X[rows], made.y[rows], qid=made.qid[rows], more_labels=more[rows], sort=True)
    together = np.concatenate([rows[made.qid[rows] == one] for one in dict.fromkeys(made.qid[rows])])
    plain = Dataset(made.X[together], made.y[together], qid=made.qid[together], more_labels=more[together])
    assert train(params, apart).to_bytes() == train(params, plain).to_bytes()
    path, data = tmp_path / "ck", made.dataset(more_labels=more)
    whole = train(params, data)
    train(params | {"rounds": 5}, data, checkpoint=path)
    assert train(params, data, resume=path).to_bytes() == whole.to_bytes()
    with pytest.raises(rankwood.DataError, match="more-labels"):
        train(params, made.dataset(more_labels=more[::-1]), resume=path)


def write_cache(data: Dataset, path: Path) -> Path:
    status = lib.rw_dataset_write_cache(context(), data._with_values(), Params().c, os.fsencode(path))
    assert status == 0
    return path


def test_a_cache_keeps_them(made: Made, more: Any, small: dict[str, Any], tmp_path: Path) -> None:
    params = small | WEIGHTS
    expected = train(params, made.dataset(more_labels=more)).to_bytes()
    path = write_cache(made.dataset(more_labels=more), tmp_path / "three.rwb")
    assert train(params, Dataset(path)).to_bytes() == expected
    again = write_cache(Dataset(path), tmp_path / "again.rwb")
    assert again.read_bytes() == path.read_bytes()
    assert run(2, lambda here: train(params, Dataset(path)).to_bytes()) == [expected] * 2
    other = write_cache(made.dataset(more_labels=more[:, ::-1]), tmp_path / "other.rwb")
    assert train(params, Dataset(other)).to_bytes() != expected
    assert train(params, Dataset(other, more_labels=more)).to_bytes() == expected
    one = train(small, made.dataset())
    assert rankwood.evaluate(Dataset(path), one) == rankwood.evaluate(made.dataset(), one)
    plain = write_cache(made.dataset(), tmp_path / "plain.rwb")
    with pytest.raises(rankwood.ParameterError, match="has 3 weights, but the training set has 1 label per document"):
        train(params, Dataset(plain))
    with pytest.raises(rankwood.DataError, match=r"three\.rwb and .*plain\.rwb: documents have 3 labels in one, 1"):
        train(params, Dataset([path, write_cache(Dataset(made.X, made.y, qid=made.qid + 1000), plain)]))


def test_weights_of_0_leave_one_label(made: Made, more: Any, small: dict[str, Any]) -> None:
    one = train(small, Dataset(made.X, more[:, 0], qid=made.qid))
    both = train(small | {"label_weights": "0,1"}, made.dataset(more_labels=more[:, 0]))
    assert np.array_equal(one.predict(made.X), both.predict(made.X))


def test_the_first_is_measured(made: Made, more: Any, small: dict[str, Any]) -> None:
    several = Dataset(made.X, np.column_stack([made.y, more]), qid=made.qid)
    assert np.array_equal(several.label, made.y)
    model = train(small, made.dataset())
    assert rankwood.evaluate(several, model) == rankwood.evaluate(made.dataset(), model)


def test_ranks_have_their_shares(made: Made, more: Any, small: dict[str, Any]) -> None:
    params = small | WEIGHTS
    expected = train(params, made.dataset(more_labels=more)).to_bytes()
    cut = int(made.group[:15].sum())

    def job(here: rankwood.Ranks) -> bytes:
        part = slice(0, cut) if here.rank == 0 else slice(cut, None)
        data = Dataset(made.X[part], made.y[part], qid=made.qid[part], more_labels=more[part])
        return train(params, data).to_bytes()

    assert run(2, job) == [expected] * 2


def test_errors(made: Made, more: Any, small: dict[str, Any], caplog: Any) -> None:
    params = small | WEIGHTS
    with pytest.raises(rankwood.ParameterError, match="has 3 weights, but the training set has 1 label per document"):
        train(params, made.dataset())
    with pytest.raises(rankwood.ParameterError, match="the training set has 2 labels per document"):
        train(params, made.dataset(more_labels=more[:, 1]))
    train(small, made.dataset(more_labels=more))
    assert "further labels are not used" in caplog.text
    for weights in ("1", "1,x", [1, -1], [0, 0], [1] * 17):
        with pytest.raises(rankwood.ParameterError, match="parameter 'label_weights': expected 2 to 16 numbers"):
            train(small | {"label_weights": weights}, made.dataset(more_labels=more))
    with pytest.raises(rankwood.ParameterError, match=r"Dataset\(\.\.\., more_labels=\)"):
        train(small | {"labels": "file"}, made.dataset())
    with pytest.raises(rankwood.ParameterError, match="cannot be set with debias"):
        train(params | {"debias": "ipw"}, made.dataset(more_labels=more, position=np.ones(len(made.y))))
    with pytest.raises(rankwood.ParameterError, match="cannot be combined with given pairs"):
        train(params | {"pairs": "given"}, made.dataset(more_labels=more, pairs=[[0, 1]]))
    with pytest.raises(rankwood.ParameterError, match="no effect with a custom objective"):
        train(params | {"objective": lambda scores, data: (scores, scores**2)}, made.dataset(more_labels=more))
    for bad in (more[:-1], more[:, :0], np.ones((len(made.y), 2, 1)), [["a", "b"]] * len(made.y)):
        with pytest.raises(rankwood.DataError, match="more_labels"):
            made.dataset(more_labels=bad)
    with pytest.raises(rankwood.DataError, match="further label 2 of document 1 is -1"):
        train(params, made.dataset(more_labels=np.column_stack([made.y, np.full(len(made.y), -1)])))
    with pytest.raises(rankwood.DataError, match="label has several columns, and more_labels is also given"):
        Dataset(made.X, np.column_stack([made.y, made.y]), qid=made.qid, more_labels=more)
    with pytest.raises(rankwood.DataError, match=r"label 2 of each document: .*label 40"):
        train(small | {"label_weights": "1,1"}, made.dataset(more_labels=np.full(len(made.y), 40)))


def test_pickled(made: Made, more: Any, small: dict[str, Any]) -> None:
    ranker = pickle.loads(pickle.dumps(Ranker(**small, label_weights=[1, 1])))
    assert ranker.label_weights == [1, 1]
    ranker.fit(made.X, np.column_stack([made.y, more[:, 0]]), qid=made.qid)
