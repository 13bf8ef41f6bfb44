"""Train and use learning-to-rank models with gradient-boosted trees (LambdaMART).

The examples of this package's docstrings use these objects. The data is made by :func:`synth`.

Examples
--------
>>> import numpy as np
>>> import rankwood
>>> X, y, qid = rankwood.synth("letor", 60, seed=1)
>>> data = rankwood.Dataset(X, y, qid=qid)
>>> X_valid, y_valid, qid_valid = rankwood.synth("letor", 40, seed=2)
>>> valid = rankwood.Dataset(X_valid, y_valid, qid=qid_valid)
>>> model = rankwood.train({"rounds": 20, "leaves": 8}, data)
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rankwood._core import (
    DataError,
    DataTypeError,
    FileError,
    FormatError,
    InternalError,
    NoEffectWarning,
    OutOfMemoryError,
    ParameterError,
    ParameterTypeError,
    RankError,
    RankwoodError,
    UnsupportedError,
    WorkerError,
)
from rankwood._core import (
    ffi as _ffi,
)
from rankwood._core import (
    lib as _lib,
)
from rankwood._lazy import lazy as _lazy_names

if TYPE_CHECKING:
    from rankwood import migrate, plot
    from rankwood._check import DataCheck, Drift, FeatureCheck, Finding, check, doctor
    from rankwood._dataset import Dataset
    from rankwood._evaluate import (
        Audit,
        AuditRow,
        Compared,
        Comparison,
        Comparisons,
        Evaluation,
        Measured,
        audit,
        compare,
        compare_all,
        compare_runs,
        evaluate,
        evaluate_runs,
    )
    from rankwood._explain import Explanation, Permuted, Spread
    from rankwood._folds import split_by_time
    from rankwood._judge import Judged, judge
    from rankwood._model import Calibration, Model, Pruned, PrunedRow
    from rankwood._params import Parameter, params
    from rankwood._selection import (
        CrossValidation,
        Fold,
        Selected,
        SelectedDifference,
        SelectedRow,
        cv,
        select,
    )
    from rankwood._synth import synth
    from rankwood._train import train, verify
    from rankwood._training import PositionBias, Round
    from rankwood._tuning import Tuned, tune
    from rankwood._workers import Carrier, Ranks, Workers, ranks, workers
    from rankwood.migrate import from_catboost, from_lightgbm, from_xgboost
    from rankwood.sklearn import Ranker, scorer

__version__: str = _ffi.string(_lib.RW_VERSION).decode()

__all__ = [
    "Audit",
    "AuditRow",
    "Calibration",
    "Carrier",
    "Compared",
    "Comparison",
    "Comparisons",
    "CrossValidation",
    "DataCheck",
    "DataError",
    "DataTypeError",
    "Dataset",
    "Drift",
    "Evaluation",
    "Explanation",
    "FeatureCheck",
    "FileError",
    "Finding",
    "Fold",
    "FormatError",
    "InternalError",
    "Judged",
    "Measured",
    "Model",
    "NoEffectWarning",
    "OutOfMemoryError",
    "Parameter",
    "ParameterError",
    "ParameterTypeError",
    "Permuted",
    "PositionBias",
    "Pruned",
    "PrunedRow",
    "RankError",
    "Ranker",
    "Ranks",
    "RankwoodError",
    "Round",
    "Selected",
    "SelectedDifference",
    "SelectedRow",
    "Spread",
    "Tuned",
    "UnsupportedError",
    "WorkerError",
    "Workers",
    "audit",
    "check",
    "compare",
    "compare_all",
    "compare_runs",
    "cv",
    "doctor",
    "evaluate",
    "evaluate_runs",
    "from_catboost",
    "from_lightgbm",
    "from_xgboost",
    "judge",
    "migrate",
    "params",
    "plot",
    "ranks",
    "scorer",
    "select",
    "split_by_time",
    "synth",
    "train",
    "tune",
    "verify",
    "workers",
]


_NAMES = {
    "_check": "DataCheck Drift FeatureCheck Finding check doctor",
    "_dataset": "Dataset",
    "_evaluate": "Audit AuditRow Compared Comparison Comparisons Evaluation Measured audit compare compare_all "
    "compare_runs evaluate evaluate_runs",
    "_judge": "Judged judge",
    "_explain": "Explanation Permuted Spread",
    "_folds": "split_by_time",
    "_params": "Parameter params",
    "_model": "Calibration Model Pruned PrunedRow",
    "_workers": "Carrier Ranks Workers ranks workers",
    "_selection": "CrossValidation Fold Selected SelectedDifference SelectedRow cv select",
    "_synth": "synth",
    "_train": "train verify",
    "_training": "PositionBias Round",
    "_tuning": "Tuned tune",
    "migrate": "from_catboost from_lightgbm from_xgboost",
    "sklearn": "Ranker scorer",
}

# Modules that contained public classes in earlier versions. Pickles that name them find the classes here.
for _old in ("_audit", "_calibrate", "_comparisons", "_cv", "_positions", "_ranks", "_refit", "_select"):
    sys.modules[f"rankwood.{_old}"] = sys.modules[__name__]


__getattr__, __dir__ = _lazy_names(
    globals(), "rankwood.", _NAMES, "dask migrate mlflow mpi optuna plot ray spark torch zmq"
)
