# room: objective
"""Training on clicks: positions of documents, and the estimated position bias."""

from __future__ import annotations

import copy
import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rankwood
from conftest import Made
from ranks_in_threads import run
from rankwood import Dataset, Ranker, train


@pytest.fixture(scope="module")
def clicks(made: Made) -> Made:
    """Made data whose labels are clicks: the less likely, the lower a document stands."""
    at = positions_of(made)
    seen = np.random.default_rng(3).random(len(at)) < 1.5 / at
    return Made(made.X, ((made.y > 0) & seen).astype(np.int64), made.qid, made.group)


@pytest.fixture(scope="module")
def shown(made: Made) -> np.ndarray[Any, Any]:
    return positions_of(made)


def positions_of(made: Made) -> np.ndarray[Any, Any]:
    return np.concatenate([np.minimum(np.arange(1, n + 1), 10) for n in made.group])


def test_every_input_format(clicks: Made, shown: Any, small: dict[str, Any], tmp_path: Path) -> None:
    params = small | {"debias": "additive"}
    model = train(params, clicks.dataset(position=shown))
    assert train(small, clicks.dataset()).to_bytes() != model.to_bytes()
    assert b"debias = additive" in model.to_bytes()
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(clicks.X, columns=list("abcdef")).assign(clicked=clicks.y, query=clicks.qid, shown=shown)
    named = Dataset(frame, "clicked", qid="query", position="shown")
    assert named.n_features == 6
    from_frame = train(params, named)
    columns = {name: frame[name].to_numpy() for name in [*"abcdef", "clicked", "query"]}
    batches = Dataset.from_batches(lambda: [columns], label="clicked", qid="query", position=shown)
    assert train(params, batches).to_bytes() == from_frame.to_bytes()
    ranker = Ranker(**params).fit(clicks.X, clicks.y, qid=clicks.qid, position=shown.astype(float))
    assert ranker.model_.to_bytes() == model.to_bytes()
    rows = np.argsort(np.random.default_rng(4).random(len(shown)), kind="stable")
    apart = Dataset(clicks.X[rows], clicks.y[rows], qid=clicks.qid[rows], position=shown[rows], sort=True)
    together = np.concatenate([rows[clicks.qid[rows] == one] for one in dict.fromkeys(clicks.qid[rows])])
    plain = Dataset(clicks.X[together], clicks.y[together], qid=clicks.qid[together], position=shown[together])
    assert train(params, apart).to_bytes() == train(params, plain).to_bytes()
    path = tmp_path / "ck"
    train(params | {"rounds": 5}, clicks.dataset(position=shown), checkpoint=path)
    assert train(params, clicks.dataset(position=shown), resume=path).to_bytes() == model.to_bytes()


def test_estimated_bias(clicks: Made, shown: Any, small: dict[str, Any], tmp_path: Path) -> None:
    data = clicks.dataset(position=shown)
    found = train(small | {"debias": "additive"}, data).position_bias
    assert found is not None and found.bias is not None and not found.given
    assert found.round == small["rounds"]
    assert found.position.tolist() == list(range(1, 11))
    assert found.n_docs.tolist() == np.bincount(shown)[1:].tolist()
    assert found.bias[0] > found.bias[-1]
    assert found.unclicked is None
    assert np.allclose(found.propensity, np.exp(found.bias - found.bias[0]), rtol=1e-12)
    path = tmp_path / "found"
    found.save(path)
    given = train(small | {"debias": "ipw", "propensities": str(path)}, data).position_bias
    assert given is not None and given.propensity.tolist() == found.propensity.tolist()
    model = train(small | {"debias": "ipw"}, data)
    found = model.position_bias
    assert found is not None and found.unclicked is not None
    assert found.bias is None
    assert found.propensity[0] == 1 == found.unclicked[0]
    assert found.propensity[-1] < 1
    again = pickle.loads(pickle.dumps(copy.deepcopy(model))).position_bias
    assert again.propensity.tolist() == found.propensity.tolist()
    assert train(small, clicks.dataset()).position_bias is None
    path = tmp_path / "known"
    path.write_text("".join(f"{k} {1 / k} 1\n" for k in range(1, 11)))
    given = train(small | {"debias": "ipw", "propensities": str(path)}, data).position_bias
    assert given is not None and given.given
    assert given.propensity.tolist() == [1 / k for k in range(1, 11)]


def test_plot(clicks: Made, shown: Any, small: dict[str, Any]) -> None:
    pytest.importorskip("matplotlib").use("Agg")
    from rankwood import plot

    for how, n_lines in {"additive": 1, "ipw": 2}.items():
        ax = plot.position_bias(train(small | {"debias": how}, clicks.dataset(position=shown)))
        assert len(ax.lines) == n_lines
        assert ax.lines[0].get_xdata().tolist() == list(range(1, 11))
    with pytest.raises(rankwood.DataError, match="no position bias"):
        plot.position_bias(train(small, clicks.dataset()))


def test_ranks(clicks: Made, shown: Any, small: dict[str, Any]) -> None:
    cut = int(clicks.group[:15].sum())
    for how in ("additive", "ipw"):
        params = small | {"debias": how}
        alone = train(params, clicks.dataset(position=shown))

        def job(here: rankwood.Ranks, params: dict[str, Any] = params) -> Any:
            part = slice(0, cut) if here.rank == 0 else slice(cut, None)
            data = Dataset(clicks.X[part], clicks.y[part], qid=clicks.qid[part], position=shown[part])
            return train(params, data)

        models = run(2, job)
        assert {one.to_bytes() for one in models} == {alone.to_bytes()}
        for one in models:
            assert one.position_bias is not None and alone.position_bias is not None
            assert one.position_bias.n_docs.tolist() == alone.position_bias.n_docs.tolist()


@pytest.mark.parametrize(
    ("position", "message"),
    [
        ([1, 2], "position has 2 values for "),
        (np.nan, "position 1 is nan"),
        (-1, "position 1 is -1; expected a position"),
        (0.5, "position 1 is 0.5"),
        (65536, "position 1 is 65536"),
        ("shown", "no column 'shown' for position"),
    ],
)
def test_bad_positions(made: Made, small: dict[str, Any], position: Any, message: str) -> None:
    given = np.full(len(made.y), position) if np.isscalar(position) and not isinstance(position, str) else position
    with pytest.raises(rankwood.DataError, match=message):
        train(small | {"debias": "additive"}, made.dataset(position=given))


def test_bad_parameters(made: Made, shown: Any, small: dict[str, Any], caplog: Any) -> None:
    with pytest.raises(rankwood.ParameterError, match="the training set has no positions"):
        train(small | {"debias": "additive"}, made.dataset())
    with pytest.raises(rankwood.ParameterError, match=r"Dataset\(\.\.\., position=\)"):
        train(small | {"positions": "file"}, made.dataset())
    with pytest.raises(rankwood.ParameterError, match="'debias' has no effect with a custom objective"):
        train(
            small | {"debias": "ipw", "objective": lambda scores, _: (scores, np.ones_like(scores))},
            made.dataset(position=shown),
            strict=True,
        )
    train(small, made.dataset(position=shown))
    assert any("positions are not used" in record.getMessage() for record in caplog.records)
