"""Functions that the layers of other trainers share: warnings, training, formats and arrays.

A layer measures by a function of its own, so that each metric has that trainer's meaning. This function is the metric
function of the training. Early stopping is off: training ends when the layer's own callbacks end it.
"""

from __future__ import annotations

import inspect
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from rankwood._columns import Floats
from rankwood._core import DataError, ParameterError, no_trees_allowed
from rankwood._core import warn as warn
from rankwood._dataset import Dataset
from rankwood._model import Model
from rankwood._train import train


class Value(NamedTuple):
    """Value of a metric on one data set."""

    metric: str
    value: float
    maximize: bool


Measure = Callable[[Floats, Dataset], Sequence[Value]]


def warn_of(program: str, notes: Iterable[str]) -> None:
    """Issues one warning for all parameters that differ here."""
    if lines := "".join(f"\n  {note}" for note in notes):
        warn(f"these parameters differ from {program}'s:{lines}")


def boost(
    params: Mapping[str, Any],
    train_set: Dataset,
    sets: Mapping[str, Dataset],
    measure: Measure,
    after: Callable[[int, dict[str, Sequence[Value]]], bool],
    *,
    init: Model | None = None,
) -> Model:
    """Trains `rounds` rounds, or until `after` returns True. The model has all rounds.

    params: Rankwood's. sets: measured data sets by name; `train_set` may be one of them. after: called after each round
    with its number from 0 and the values of each set.
    """
    values: dict[int, Sequence[Value]] = {}
    numbers = itertools.count()  # without the rounds of `init`

    def metric(scores: Floats, dataset: Dataset) -> float:
        values[id(dataset)] = found = measure(scores, dataset)
        return found[0].value if found else 0.0

    given = {**params, "early_stop": 0}
    others = {id(one): one for one in sets.values() if one is not train_set}
    if sets:
        given.update(metric=metric, train_metric=len(others) < len({id(one) for one in sets.values()}))
    with no_trees_allowed():  # the other trainers make a model that scores 0, too; `train` warns
        return train(
            given, train_set, valid=list(others.values()) or None, init=init, strict=None,
            callbacks=[lambda _: after(next(numbers), {name: values[id(one)] for name, one in sets.items()})],
        )  # fmt: skip


def mean_hessian(params: Mapping[str, Any], data: Dataset, init: Model | None = None) -> float:
    """Returns the mean hessian of the first tree, which turns another trainer's absolute sums into Rankwood's units.

    It is infinite if no split is possible. It trains one tree of two leaves and reads their sums from the model file.
    """
    of_loss = "objective sigma norm truncation pairs delta label_gain debias bins absent threads device"
    given = {name: params[name] for name in of_loss.split() if name in params}
    given.update(rounds=1, rate=0.1, leaves=2, min_docs=1, split="newton", l2=0, sample_features=1, gain_noise=0)
    try:
        model = train(given, data, init=init, strict=None)
    except DataError:  # no split is possible, so that no sum matters
        return math.inf
    if model.n_trees == (init.n_trees if init is not None else 0):  # with no_trees_allowed
        return math.inf
    leaves = re.findall(rb" docs (\S+) hessian (\S+)$", model.to_bytes(), re.MULTILINE)[-2:]
    docs, hessian = (sum(float(one[i]) for one in leaves) for i in (0, 1))
    return hessian / docs


def exported(model: Model, format: str) -> bytes:
    """Returns the model in another program's format."""
    import tempfile  # imported here because it is slow to import

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        model.export(path, format, feature_base=0)
        return path.read_bytes()


def imported(data: bytes, format: str) -> Model:
    """Reads a model from another program's format."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model")
        path.write_bytes(data)
        return Model.import_from(path, format, feature_base=0)


def contributions(model: Model, data: Dataset, n_features: int) -> Floats:
    """Returns SHAP values of shape (n_docs, n_features + 1); the last column is the base value."""
    values, base, features = model.shap_values(data)
    out = np.zeros((len(values), n_features + 1))
    out[:, features] = values
    out[:, -1] = base
    return out


def vector(given: Any) -> Any:
    """Returns labels or side columns as an array; None stays None. A column of shape (n, 1) becomes a vector."""
    if given is None:
        return None
    if hasattr(given, "to_numpy"):
        given = given.to_numpy()
    out = np.asarray(given)
    return out[:, 0] if out.ndim == 2 and out.shape[1] == 1 else out


def call_sklearn(function: Callable[..., Any], scores: Floats, label: Any, weight: Any, group: Any) -> Any:
    """Calls f(y_true, y_pred), f(..., weight) or f(..., weight, group), as scikit-learn's interfaces do."""
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    n = sum(one.kind in kinds for one in inspect.signature(function).parameters.values())
    if not 2 <= n <= 4:
        raise ParameterError(f"{getattr(function, '__name__', 'the function')} has {n} arguments; expected 2 to 4")
    return function(*(label, scores, weight, group)[:n])
