"""XGBoost's Python interface for rankers, over Rankwood: ``import rankwood.compat.xgboost as xgb``.

Defaults, metrics, early stopping and model files are XGBoost's. The trees are Rankwood's, so scores differ a little.
A warning lists the parameters whose meaning differs. Modules are imported on first use, so that scripts start quickly.
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from rankwood._core import RankwoodError as XGBoostError
from rankwood._lazy import lazy
from rankwood.compat import _xgboost_callback as callback

if TYPE_CHECKING:
    from rankwood.compat._xgboost_booster import Booster
    from rankwood.compat._xgboost_data import DMatrix, QuantileDMatrix
    from rankwood.compat._xgboost_sklearn import XGBRanker
    from rankwood.compat._xgboost_train import cv, train

__all__ = ["Booster", "DMatrix", "QuantileDMatrix", "XGBRanker", "XGBoostError", "callback", "cv", "train"]

sys.modules[f"{__name__}.callback"] = callback  # for `from rankwood.compat.xgboost.callback import EarlyStopping`

_NAMES = {"booster": "Booster", "data": "DMatrix QuantileDMatrix", "sklearn": "XGBRanker", "train": "cv train"}
__getattr__, __dir__ = lazy(
    globals(), "rankwood.compat._xgboost_", _NAMES, "sklearn", "; it has XGBoost's interface for rankers"
)
