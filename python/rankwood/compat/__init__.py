"""Other trainers' Python interfaces for ranking, with their meaning, over Rankwood.

A script changes its import line: ``import rankwood.compat.lightgbm as lgb``. Defaults, metrics and early stopping are
then those of that trainer, and models are written in its format.
"""
