# room: evaluate
"""Maps of scores to probabilities, against scikit-learn's."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import brier_score_loss, log_loss

import rankwood
from conftest import Made
from rankwood import Model


@pytest.mark.parametrize("weighted", [False, True])
def test_isotonic_as_scikit_learn(model: Model, other: Made, weighted: bool) -> None:
    weight = np.arange(len(other.y)) % 4 + 0.5 if weighted else None
    calibrated = model.calibrate(other.dataset(weight=weight), relevant=2)
    scores, y = model.predict(other.X), other.y >= 2
    theirs = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip").fit(scores, y, sample_weight=weight)
    everywhere = np.linspace(scores.min() - 1, scores.max() + 1, 5000)
    map_ = calibrated.calibration
    assert map_ is not None and map_.method == "isotonic" and map_.relevant == 2 and map_.slope == 0
    assert np.abs(np.interp(everywhere, map_.scores, map_.probabilities) - theirs.predict(everywhere)).max() < 1e-12
    p = calibrated.predict(other.X, probability=True)
    assert np.abs(p - theirs.predict(scores)).max() < 1e-12
    figures = calibrated.calibration_figures["fitted"]
    assert figures["brier"] == pytest.approx(brier_score_loss(y, p, sample_weight=weight), abs=1e-10)
    assert figures["log_loss"] == pytest.approx(log_loss(y, p, sample_weight=weight), abs=1e-10)
    assert set(calibrated.calibration_figures) == {"before", "fitted", "held_out"}


def test_logistic_as_scikit_learn(model: Model, other: Made) -> None:
    calibrated = model.calibrate(other.dataset(), method="logistic")
    scores, y = model.predict(other.X), other.y >= 1
    # Platt's targets, as documents of both labels with weights
    yes, no = y.sum(), (~y).sum()
    target = np.where(y, (yes + 1) / (yes + 2), 1 / (no + 2))
    theirs = LogisticRegression(C=np.inf, tol=1e-10, max_iter=1000).fit(
        np.concatenate([scores, scores])[:, None], np.repeat([1, 0], len(y)), np.concatenate([target, 1 - target])
    )
    map_ = calibrated.calibration
    assert map_ is not None and map_.method == "logistic" and len(map_.scores) == len(map_.probabilities) == 0
    assert map_.slope == pytest.approx(theirs.coef_[0, 0], rel=1e-4)
    assert map_.intercept == pytest.approx(theirs.intercept_[0], rel=1e-4)
    p = calibrated.predict(other.X, probability=True)
    assert p == pytest.approx(1 / (1 + np.exp(-(map_.slope * scores + map_.intercept))), abs=1e-14)


def test_a_model_keeps_its_map(model: Model, made: Made, other: Made, tmp_path: Any) -> None:
    calibrated = model.calibrate(other.dataset())
    p, q = calibrated.predict(made.X, probability=True), calibrated.predict(other.X, probability=True)
    assert np.array_equal(calibrated.predict(made.X), model.predict(made.X))
    assert model.calibration is None and not model.calibration_figures
    calibrated.save(tmp_path / "model.txt")
    for again in (
        Model.load(tmp_path / "model.txt"),
        Model.from_bytes(calibrated.to_bytes()),
        pickle.loads(pickle.dumps(calibrated)),
        copy.copy(calibrated),
    ):
        assert again.to_bytes() == calibrated.to_bytes()
        assert np.array_equal(again.predict(made.X, probability=True), p)
        assert np.array_equal(again.predict(other.dataset(), probability=True), q)
    assert calibrated.calibrate(other.dataset()).to_bytes() == calibrated.to_bytes(), "replaced"


def test_names(made: Made, small: dict[str, Any]) -> None:
    table = pd.DataFrame(made.X, columns=list("abcdef"))
    model = rankwood.train(small, rankwood.Dataset(table, made.y, qid=made.qid))
    turned = table[list("fedcba")]
    calibrated = model.calibrate(rankwood.Dataset(turned, made.y, qid=made.qid))
    assert calibrated.feature_names == list("abcdef")
    assert calibrated.to_bytes() == model.calibrate(rankwood.Dataset(table, made.y, qid=made.qid)).to_bytes()
    assert np.array_equal(calibrated.predict(turned, probability=True), calibrated.predict(table, probability=True))


def test_refused(model: Model, made: Made, other: Made) -> None:
    with pytest.raises(rankwood.DataError, match="the model has no calibration"):
        model.predict(made.X, probability=True)
    with pytest.raises(rankwood.DataError, match="no document of the data has a label of 9 or more"):
        model.calibrate(other.dataset(), relevant=9)
    with pytest.raises(rankwood.DataError, match="each document of the data has a label of 0 or more"):
        model.calibrate(other.dataset(), relevant=0)
    with pytest.raises(rankwood.ParameterError, match="method 'sigmoid'; expected isotonic or logistic"):
        model.calibrate(other.dataset(), method="sigmoid")
    with pytest.raises(rankwood.ParameterError, match="relevant"):
        model.calibrate(other.dataset(), relevant=float("nan"))
    with pytest.raises(rankwood.ParameterError, match="device"):
        model.calibrate(other.dataset(), device="gpu")
    with pytest.raises(rankwood.DataError, match="data has no labels"):
        model.calibrate(rankwood.Dataset(made.X))
    with pytest.raises(rankwood.ParameterTypeError, match=r"expected a rankwood\.Dataset"):
        model.calibrate(made.X)  # type: ignore[arg-type]
    with pytest.raises(rankwood.ParameterError, match="leave out n_trees"):
        model.calibrate(other.dataset()).predict(made.X, probability=True, n_trees=2)
