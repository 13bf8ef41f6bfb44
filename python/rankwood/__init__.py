"""Rankwood: gradient-boosted trees that rank (LambdaMART)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankwood._audit import Audit, AuditRow, audit
from rankwood._check import DataCheck, FeatureCheck, Finding, check
from rankwood._core import (
    DataError,
    DataTypeError,
    FileError,
    FormatError,
    InternalError,
    OutOfMemoryError,
    ParameterError,
    RankwoodError,
    UnsupportedError,
    ffi as _ffi,
    lib as _lib,
)
from rankwood._cv import CrossValidation, Fold, cv
from rankwood._dataset import Dataset
from rankwood._evaluate import Comparison, Evaluation, Measured, compare, evaluate
from rankwood._explain import Explanation, Permuted
from rankwood._model import Model
from rankwood._train import Round, train

if TYPE_CHECKING:
    from rankwood.sklearn import Ranker, scorer

__version__: str = _ffi.string(_lib.RW_VERSION).decode()

__all__ = [
    "Audit",
    "AuditRow",
    "Comparison",
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
    "OutOfMemoryError",
    "ParameterError",
    "Permuted",
    "Ranker",
    "RankwoodError",
    "Round",
    "UnsupportedError",
    "audit",
    "check",
    "compare",
    "cv",
    "evaluate",
    "scorer",
    "train",
]


def __getattr__(name: str) -> Any:
    """scikit-learn is imported when its estimator is asked for."""
    if name in ("Ranker", "scorer"):
        from rankwood import sklearn

        return getattr(sklearn, name)
    raise AttributeError(f"module 'rankwood' has no attribute {name!r}")
