"""Rankwood: gradient-boosted trees that rank (LambdaMART)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

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
)
from rankwood._core import (
    ffi as _ffi,
)
from rankwood._core import (
    lib as _lib,
)
from rankwood._dataset import Dataset
from rankwood._evaluate import Comparison, Evaluation, Measured, compare, evaluate
from rankwood._model import Model
from rankwood._train import Round, train

if TYPE_CHECKING:
    from rankwood.sklearn import Ranker, scorer

__version__: str = _ffi.string(_lib.RW_VERSION).decode()

__all__ = [
    "Comparison",
    "DataError",
    "DataTypeError",
    "Dataset",
    "Evaluation",
    "FileError",
    "FormatError",
    "InternalError",
    "Measured",
    "Model",
    "OutOfMemoryError",
    "ParameterError",
    "Ranker",
    "RankwoodError",
    "Round",
    "UnsupportedError",
    "compare",
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
