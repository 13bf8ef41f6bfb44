"""LightGBM's Python interface for ranking, with LightGBM's meaning, over Rankwood.

Change the import line of a script to ``import rankwood.compat.lightgbm as lgb``. Defaults, aliases, metrics, early
stopping and the format of models are LightGBM's. A parameter whose strength differs is converted, and a parameter
without a counterpart is left out; one warning names both.

Examples
--------
>>> import rankwood.compat.lightgbm as lgb
>>> train_set = lgb.Dataset(X, y, group=np.bincount(qid))
>>> valid_set = lgb.Dataset(X_valid, y_valid, group=np.bincount(qid_valid), reference=train_set)
>>> params = {"objective": "lambdarank", "eval_at": [5, 10]}
>>> stop = lgb.early_stopping(10, verbose=False)
>>> booster = lgb.train(params, train_set, 50, valid_sets=[valid_set], callbacks=[stop])
>>> list(booster.best_score["valid_0"])
['ndcg@5', 'ndcg@10']
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankwood._core import RankwoodError as LightGBMError
from rankwood._lazy import lazy
from rankwood.compat._lightgbm_callbacks import (
    CallbackEnv,
    EarlyStopException,
    early_stopping,
    log_evaluation,
    record_evaluation,
    register_logger,
    reset_parameter,
)

if TYPE_CHECKING:
    from rankwood.compat._lightgbm_data import Dataset
    from rankwood.compat._lightgbm_ranker import LGBMRanker
    from rankwood.compat._lightgbm_train import Booster, CVBooster, cv, train

__all__ = [
    "Booster", "CVBooster", "CallbackEnv", "Dataset", "EarlyStopException", "LGBMRanker", "LightGBMError", "cv",
    "early_stopping", "log_evaluation", "record_evaluation", "register_logger", "reset_parameter", "train",
]  # fmt: skip

_NAMES = {"data": "Dataset", "ranker": "LGBMRanker", "train": "Booster CVBooster cv train"}
__getattr__, __dir__ = lazy(globals(), "rankwood.compat._lightgbm_", _NAMES)
