"""Rankwood: gradient-boosted trees that rank (LambdaMART)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
)
from rankwood._core import (
    ffi as _ffi,
)
from rankwood._core import (
    lib as _lib,
)
from rankwood._dataset import Dataset
from rankwood._evaluate import Comparison, Evaluation, Measured, compare, evaluate, evaluate_runs
from rankwood._model import Model
from rankwood._positions import PositionBias
from rankwood._train import Round, train

if TYPE_CHECKING:
    from rankwood import migrate, plot
    from rankwood._audit import Audit, AuditRow, audit
    from rankwood._calibrate import Calibration
    from rankwood._check import DataCheck, FeatureCheck, Finding, check
    from rankwood._comparisons import Compared, Comparisons, compare_all, compare_runs
    from rankwood._cv import CrossValidation, Fold, cv
    from rankwood._doctor import doctor
    from rankwood._explain import Explanation, Permuted
    from rankwood._ranks import Carrier, Ranks, ranks
    from rankwood._refit import Pruned, PrunedRow
    from rankwood._select import Selected, SelectedDifference, SelectedRow, select
    from rankwood._synth import synth
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
    "Evaluation",
    "Explanation",
    "FeatureCheck",
    "FileError",
    "Finding",
    "Fold",
    "FormatError",
    "InternalError",
    "Measured",
    "Model",
    "NoEffectWarning",
    "OutOfMemoryError",
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
    "UnsupportedError",
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
    "migrate",
    "plot",
    "ranks",
    "scorer",
    "select",
    "synth",
    "train",
]


# What is imported when it is asked for: names, and the module that they are in.
_LATER = {
    "Audit": "_audit",
    "AuditRow": "_audit",
    "Calibration": "_calibrate",
    "Carrier": "_ranks",
    "Compared": "_comparisons",
    "Comparisons": "_comparisons",
    "CrossValidation": "_cv",
    "DataCheck": "_check",
    "Explanation": "_explain",
    "FeatureCheck": "_check",
    "Finding": "_check",
    "Fold": "_cv",
    "Permuted": "_explain",
    "Pruned": "_refit",
    "PrunedRow": "_refit",
    "Ranker": "sklearn",
    "Ranks": "_ranks",
    "Selected": "_select",
    "SelectedDifference": "_select",
    "SelectedRow": "_select",
    "audit": "_audit",
    "check": "_check",
    "compare_all": "_comparisons",
    "compare_runs": "_comparisons",
    "cv": "_cv",
    "doctor": "_doctor",
    "from_catboost": "migrate",
    "from_lightgbm": "migrate",
    "from_xgboost": "migrate",
    "ranks": "_ranks",
    "scorer": "sklearn",
    "select": "_select",
    "synth": "_synth",
}


def __getattr__(name: str) -> Any:
    """Imports what not everybody needs when it is asked for."""
    import importlib

    if name in ("dask", "migrate", "mpi", "plot", "spark", "torch"):
        return importlib.import_module(f"rankwood.{name}")
    if name not in _LATER:
        raise AttributeError(f"module 'rankwood' has no attribute {name!r}")
    value = getattr(importlib.import_module(f"rankwood.{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
