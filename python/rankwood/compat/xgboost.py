"""XGBoost's Python interface for rankers, over Rankwood: ``import rankwood.compat.xgboost as xgb``.

Defaults, metrics, early stopping and model files are XGBoost's. The trees are Rankwood's, so scores differ a little.
A warning lists the parameters whose meaning differs. Modules are imported on first use, so that scripts start quickly.
"""

from __future__ import annotations

import importlib
import sys
from typing import TYPE_CHECKING, Any

from rankwood._core import RankwoodError as XGBoostError
from rankwood.compat import _xgboost_callback as callback

if TYPE_CHECKING:
    from rankwood.compat._xgboost_booster import Booster
    from rankwood.compat._xgboost_data import DMatrix, QuantileDMatrix
    from rankwood.compat._xgboost_sklearn import XGBRanker
    from rankwood.compat._xgboost_train import cv, train

__all__ = ["Booster", "DMatrix", "QuantileDMatrix", "XGBRanker", "XGBoostError", "callback", "cv", "train"]

sys.modules[f"{__name__}.callback"] = callback  # for `from rankwood.compat.xgboost.callback import EarlyStopping`

_LATER = {"Booster": "booster", "DMatrix": "data", "QuantileDMatrix": "data", "XGBRanker": "sklearn", "cv": "train",
          "train": "train"}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import the module of a name on first use."""
    if name == "sklearn":
        return importlib.import_module("rankwood.compat._xgboost_sklearn")
    if name not in _LATER:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has XGBoost's interface for rankers")
    value = getattr(importlib.import_module(f"rankwood.compat._xgboost_{_LATER[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
