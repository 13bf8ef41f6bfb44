"""Models and trainings in MLflow: `log_model` and `load_model`, and `autolog` for everything that `train` trains.

A logged model is an MLflow "pyfunc", so MLflow's own tools serve it. It is a folder with the model file and, if the
training made one, its manifest.
"""

from __future__ import annotations

import json
import re
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

import rankwood
from rankwood import _train
from rankwood._core import FormatError, logger, need, package
from rankwood._model import Model

_MOST_VALUES = 1000  # metrics of one request to a tracking server


def log_model(model: Model, name: str = "model", **more: Any) -> Any:
    """Log a model, and its manifest if it has one.

    Parameters
    ----------
    model : Model
        Model to log. It logs ``model.manifest``, too, which ``rankwood.train(..., manifest=True)`` makes.
    name : str, default "model"
        Name of the model in MLflow.
    **more : object
        Further arguments of ``mlflow.pyfunc.log_model``, such as ``registered_model_name``, ``signature`` and
        ``input_example``.

    Returns
    -------
    mlflow.models.model.ModelInfo
        Its ``model_uri`` is an argument of :func:`load_model` and ``mlflow.pyfunc.load_model``.

    Raises
    ------
    ImportError
        MLflow is missing (extra ``mlflow``).

    Examples
    --------
    >>> import rankwood.mlflow
    >>> info = rankwood.mlflow.log_model(model, "ranker")  # doctest: +SKIP
    >>> scores = rankwood.mlflow.load_model(info.model_uri).predict(X_valid)  # doctest: +SKIP
    """
    mlflow = package("mlflow.pyfunc", "mlflow")
    need(model, Model, "model")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rankwood"
        path.mkdir()
        model.save(path / "model.txt")
        if model.manifest is not None:
            (path / "manifest.json").write_text(json.dumps(model.manifest, indent=2), "utf-8")
        given = {"pip_requirements": [f"rankwood=={rankwood.__version__}"], **more}
        return mlflow.log_model(name=name, loader_module=__name__, data_path=str(path), **given)


def load_model(uri: str) -> Model:
    """Load a model that :func:`log_model` or :func:`autolog` logged.

    Parameters
    ----------
    uri : str
        MLflow's address of the model, such as ``"models:/ranker/3"``, or the path of its folder.

    Returns
    -------
    Model
        The model, with its manifest if that was logged. ``mlflow.pyfunc.load_model`` loads it for MLflow's own tools.

    Raises
    ------
    FormatError
        ``rankwood.mlflow`` did not log the model.
    ImportError
        MLflow is missing (extra ``mlflow``).

    Examples
    --------
    >>> import rankwood.mlflow
    >>> model = rankwood.mlflow.load_model("models:/ranker/3")  # doctest: +SKIP
    """
    path = Path(package("mlflow.artifacts", "mlflow").download_artifacts(str(uri)))
    described = package("mlflow.models", "mlflow").Model.load(str(path)).flavors.get("python_function", {})
    if described.get("loader_module") != __name__:
        raise FormatError(f"{uri!r} is not a model that rankwood.mlflow logged")
    return _load_pyfunc(str(path / described["data"]))


def _load_pyfunc(path: str) -> Model:
    """Called by MLflow, too."""
    model = Model.load(Path(path) / "model.txt")
    manifest = Path(path) / "manifest.json"
    if manifest.exists():
        model.manifest = json.loads(manifest.read_text("utf-8"))
    return model


def autolog(*, disable: bool = False, log_models: bool = True) -> None:
    """Log every later training of :func:`rankwood.train` and :class:`rankwood.Ranker` in this process.

    A training logs to the active run, or to a run of its own. When it ends, it logs its parameters, the metrics of each
    round, the kept round, and the model with its manifest. Several trainings within one run log their parameters to
    MLflow once; parameters that differ give a warning. ``cv``, ``tune`` and ``select`` are not logged, nor are
    trainings of several workers.

    Parameters
    ----------
    disable : bool, default False
        True ends the logging.
    log_models : bool, default True
        False logs the manifest without the model.

    Returns
    -------
    None

    Raises
    ------
    ImportError
        MLflow is missing (extra ``mlflow``).

    Examples
    --------
    >>> import rankwood.mlflow
    >>> rankwood.mlflow.autolog()  # doctest: +SKIP
    >>> model = rankwood.train({"rounds": 50}, data, valid=valid)  # doctest: +SKIP
    """
    mlflow = package("mlflow", "mlflow")

    @contextmanager
    def watch() -> Iterator[Callable[[Model], None]]:
        with nullcontext() if mlflow.active_run() else mlflow.start_run():
            yield lambda model: _log(mlflow, model, log_models)

    _train.watch = None if disable else watch


def _log(mlflow: Any, model: Model, log_models: bool) -> None:
    """Logs a training. A failure of MLflow is a warning, since the model is trained."""
    now = int(time.time() * 1000)
    values = [
        mlflow.entities.Metric(re.sub(r"[^\w\-. :/]", "_", f"{name}-{metric}".replace("@", "_at_")), value, now, step)
        for name, metrics in model.evals_result.items()
        for metric, curve in metrics.items()
        for step, value in enumerate(curve, start=1)
    ]
    try:
        run = mlflow.active_run().info.run_id
        mlflow.log_params(model.used_params)
        for begin in range(0, len(values), _MOST_VALUES):
            mlflow.MlflowClient().log_batch(run, metrics=values[begin : begin + _MOST_VALUES])
        if model.best_round:
            mlflow.log_metric("kept_round", model.best_round)
        if model.manifest is not None:
            mlflow.log_dict(model.manifest, "manifest.json")
        if log_models:
            log_model(model)
    except mlflow.exceptions.MlflowException as error:
        logger.warning("MLflow did not log all of the training: %s", error)
