"""A ranker in MLflow: a run with its parameters and curves, and the model as a "pyfunc" that scores data frames.

    python mlflow_model.py      # logs where MLFLOW_TRACKING_URI says; needs mlflow, or mlflow-skinny

This file travels with the model: MLflow calls `_load_pyfunc`, and what it returns needs nothing but `predict`.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import rankwood


def _load_pyfunc(path: str) -> rankwood.Model:
    return rankwood.Model.load(path)


def main() -> None:
    import mlflow
    import numpy as np
    from made_data import searches

    columns = {"label": "label", "qid": "query", "ignore": ["title"]}
    train_set = rankwood.Dataset(searches(200, seed=1), **columns)
    valid_set = rankwood.Dataset(searches(100, seed=2), **columns)

    def log(done: rankwood.Round) -> None:
        values = {name.replace("@", "_at_"): value for name, value in done.metrics["valid"].items()}
        mlflow.log_metrics(values, step=done.round)

    with mlflow.start_run(), tempfile.TemporaryDirectory() as folder:
        params = {"rounds": 50, "metric": ["ndcg@10", "map"]}
        model = rankwood.train(params, train_set, valid=valid_set, callbacks=[log])
        mlflow.log_params(model.params)
        model.save(Path(folder) / "model.txt")
        logged = mlflow.pyfunc.log_model(
            name="ranker",
            loader_module=Path(__file__).stem,
            code_paths=[__file__],
            data_path=str(Path(folder) / "model.txt"),
            pip_requirements=[f"rankwood=={rankwood.__version__}"],
        )

    loaded = mlflow.pyfunc.load_model(logged.model_uri)
    table = searches(20, seed=3)
    assert np.array_equal(loaded.predict(table), model.predict(table))
    print(f"{logged.model_uri}: {len(table)} documents have the scores of the model that was trained")


if __name__ == "__main__":
    main()
