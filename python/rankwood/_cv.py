"""Cross-validation by query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwood._core import ParameterError, caller_names, check, context, ffi, lib, made, whole
from rankwood._dataset import Dataset, need_labels
from rankwood._evaluate import Evaluation, evaluation_of
from rankwood._model import Model
from rankwood._params import Params, as_mapping, need_device
from rankwood._training import Names, working

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Fold:
    """One fold: a model that never saw it, and how the model ranks it.

    Attributes
    ----------
    model : Model
        Trained without the fold's queries.
    evaluation : Evaluation
        Of the fold's queries, by the model.
    n_train : int
        Queries that the model was trained on.
    n_valid : int
        Queries that stopped its training; 0 without early stopping.
    n_test : int
        Queries of the fold.
    """

    model: Model
    evaluation: Evaluation
    n_train: int
    n_valid: int
    n_test: int


@dataclass(frozen=True)
class CrossValidation:
    """What :func:`cv` returns.

    Attributes
    ----------
    folds : list[Fold]
        In the order of their numbers.
    pooled : Evaluation
        Of ``scores``, over all queries.
    scores : array of float64
        (n_docs,) in the order of the data: each document's by the model that never saw its query.
    fold_of : array of uint32
        (n_queries,) in the order of ``Dataset.query_offsets``: which of ``folds`` holds the query.
    """

    folds: list[Fold]
    pooled: Evaluation
    scores: Floats
    fold_of: npt.NDArray[np.uint32]

    @property
    def models(self) -> list[Model]:
        """The folds' models."""
        return [fold.model for fold in self.folds]

    def mean(self, metric: str) -> tuple[float, float]:
        """Mean and standard deviation (of a sample) of the folds' values of ``metric``; a fold in which no
        query counts is left out, and what has too few folds is NaN. ParameterError: it was not measured."""
        if not isinstance(metric, str) or metric not in self.pooled:
            raise ParameterError(f"metric is {metric!r}; expected one of {list(self.pooled)}")
        values = np.array([fold.evaluation[metric] for fold in self.folds])
        values = values[~np.isnan(values)]
        n = len(values)
        return (
            float(values.mean()) if n > 0 else float("nan"),
            float(values.std(ddof=1)) if n > 1 else float("nan"),
        )

    def __repr__(self) -> str:
        rows = ", ".join(f"{name}: {value:.5f}" for name, value in self.pooled.items())
        return f"CrossValidation({len(self.folds)} folds; {rows})"


def cv(
    params: Mapping[str, Any] | None, dataset: Dataset, n_folds: int = 5, *, strict: bool = False
) -> CrossValidation:
    """Trains a model for each fold, and measures it on that fold.

    Parameters
    ----------
    params
        As :func:`rankwood.train` takes them, but without functions. ``seed`` also draws the folds,
        which are of whole queries and as even as can be. Under early stopping (``early_stop``, 100
        unless given) the next fold is left out of training and stops it, so that what is measured
        decides nothing. What is ``auto`` is chosen once, by the size of the whole set.
    dataset
        Documents with labels and queries.
    n_folds
        3 or more; 2 or more with ``early_stop=0``; no more than there are queries.

    strict
        True: a parameter that has no effect under the others is a ParameterError. It is not reported otherwise.

    Raises
    ------
    ParameterError, DataError, OutOfMemoryError, UnsupportedError
    """
    need_device(as_mapping(params))
    need_labels(dataset, "dataset")
    given = dataset._with_own(as_mapping(params))
    for name, value in given.items():
        functions = value if isinstance(value, (list, tuple)) else [value]
        if any(callable(one) for one in functions):
            raise ParameterError(f"{name} is a function; cross-validation takes names only")
    n_folds = whole(n_folds, "n_folds", 1, 2**31 - 1)
    out = ffi.new("struct rw_cv **")
    with Names(dataset.feature_names) as names, caller_names(dataset.feature_names):
        c = Params(given, strict or None)
        names.give(c)
        check(lib.rw_params_check(context(), c.c))
        values = dataset._with_values()
        with working("cross-validation"):
            status = lib.rw_cross_validate(context(), c.c, values, n_folds, out)
            validated = made(status, out, lib.rw_cv_free)
    folds = [_fold(validated, i, dataset) for i in range(validated.n_folds)]
    scores = np.frombuffer(ffi.buffer(validated.scores, 8 * dataset.n_docs), np.float64).copy()
    fold_of = np.frombuffer(ffi.buffer(validated.fold_of, 4 * dataset.n_queries), np.uint32).copy()
    return CrossValidation(folds, evaluation_of(validated.pooled), dataset._in_caller_order(scores), fold_of)


def _fold(validated: Any, i: int, dataset: Dataset) -> Fold:
    c = validated.folds[i]
    # the struct rw_cv owns its models: it lives as long as the last of them
    model = Model(ffi.gc(c.model, lambda _, owner=validated: None))
    if dataset.feature_names is not None:
        model.feature_names = list(dataset.feature_names)
    return Fold(model, evaluation_of(c.eval), c.n_train, c.n_valid, c.n_test)
