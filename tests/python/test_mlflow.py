"""Models and trainings in MLflow."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import rankwood
from conftest import Made
from rankwood import Ranker, train

mlflow = pytest.importorskip("mlflow")
import rankwood.mlflow  # noqa: E402

PARAMS: dict[str, Any] = {"rounds": 6, "leaves": 6, "min_docs": 2}


@pytest.fixture
def runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Tracks in an empty folder, and ends autologging."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield lambda: mlflow.search_runs(output_format="list", order_by=["attributes.start_time ASC"])
    rankwood.mlflow.autolog(disable=True)
    mlflow.end_run()
    mlflow.set_tracking_uri(before)


@pytest.mark.usefixtures("runs")
def test_log_and_load(made: Made, other: Made, tmp_path: Path) -> None:
    model = train(PARAMS, made.dataset(), manifest=True)
    with mlflow.start_run():
        info = rankwood.mlflow.log_model(model, "ranker")
        plain = rankwood.mlflow.log_model(train(PARAMS, made.dataset()), "plain")
    loaded = rankwood.mlflow.load_model(info.model_uri)
    assert loaded.to_bytes() == model.to_bytes() and loaded.manifest == model.manifest
    assert rankwood.verify(loaded.manifest or {}, made.dataset()) is None
    assert rankwood.mlflow.load_model(plain.model_uri).manifest is None
    scores = mlflow.pyfunc.load_model(info.model_uri).predict(pd.DataFrame(other.X))
    assert np.array_equal(scores, model.predict(other.X))
    described = mlflow.models.Model.load(info.model_uri)
    described.flavors["python_function"]["loader_module"] = "another"
    (tmp_path / "another").mkdir()
    described.save(tmp_path / "another" / "MLmodel")
    with pytest.raises(rankwood.FormatError, match=r"another' is not a model that rankwood.mlflow logged$"):
        rankwood.mlflow.load_model(str(tmp_path / "another"))


def test_autolog(made: Made, other: Made, runs: Any) -> None:
    rankwood.mlflow.autolog()
    model = train({**PARAMS, "early_stop": 3}, made.dataset(), valid=other.dataset())
    assert model.manifest is not None
    (run,) = runs()
    assert run.info.status == "FINISHED"
    assert run.data.params["leaves"] == "6" and run.data.params["rate"] == str(model.used_params["rate"])
    curve = mlflow.MlflowClient().get_metric_history(run.info.run_id, "valid-ndcg_at_10")
    assert [(one.step, one.value) for one in curve] == list(enumerate(model.evals_result["valid"]["ndcg@10"], start=1))
    assert run.data.metrics["kept_round"] == model.best_round
    assert mlflow.artifacts.load_dict(run.info.artifact_uri + "/manifest.json") == model.manifest
    (logged,) = mlflow.search_logged_models(output_format="list")
    assert rankwood.mlflow.load_model(logged.model_uri).to_bytes() == model.to_bytes()

    assert rankwood.verify(model.manifest, made.dataset(), valid=other.dataset()) is None
    assert len(runs()) == 1  # a verification is not a training
    rankwood.mlflow.autolog(disable=True)
    assert train(PARAMS, made.dataset()).manifest is None and len(runs()) == 1


def test_autolog_in_a_run(made: Made, runs: Any, caplog: pytest.LogCaptureFixture) -> None:
    rankwood.mlflow.autolog(log_models=False)
    with mlflow.start_run() as run:
        Ranker(rounds=3, min_docs=2).fit(made.X, made.y, qid=made.qid)
        assert not caplog.records
        with caplog.at_level(logging.WARNING, logger="rankwood"):
            train({"rounds": 4, "min_docs": 2}, made.dataset())
        assert "MLflow did not log all of the training" in caplog.text
    assert [one.info.run_id for one in runs()] == [run.info.run_id]
    assert mlflow.search_logged_models(output_format="list") == []


def test_autolog_of_a_failure(made: Made, runs: Any) -> None:
    rankwood.mlflow.autolog()
    with pytest.raises(rankwood.ParameterError):
        train({"leafs": 3}, made.dataset())
    (run,) = runs()
    assert run.info.status == "FAILED" and mlflow.active_run() is None
