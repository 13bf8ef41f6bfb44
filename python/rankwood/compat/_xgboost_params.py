"""Parameters and metrics of XGBoost's rankers, in Rankwood's terms.

XGBoost's hessian of a pair is twice Rankwood's, and it scales the weights of queries to a mean of 1. With h = 2 and the
scale c, its leaf rate G c / (h H c + lambda) is rate / h x G / (H + lambda / (h c)) here.
"""

from __future__ import annotations

import functools
import inspect
import itertools
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from rankwood._columns import Floats
from rankwood._core import ParameterError
from rankwood._dataset import Dataset
from rankwood._evaluate import evaluate
from rankwood._model import Model
from rankwood.compat import _shared
from rankwood.migrate import from_xgboost

F = TypeVar("F", bound=Callable[..., Any])

_DELTAS = {"rank:ndcg": "ndcg", "rank:pairwise": "none", "rank:map": "map"}
_MOST_LEAVES = 4096  # of a tree whose depth XGBoost does not limit
_WHOLE = 10**9  # cutoff that no query reaches
# Parameters whose meaning is the same, or that only concern XGBoost's own code.
_QUIET = {"grow_policy", "subsample", "colsample_bytree", "colsample_bynode", "lambdarank_unbiased",
          "validate_parameters", "disable_default_eval_metric", "verbosity"}  # fmt: skip
_NEUTRAL = {"scale_pos_weight": 1, "num_parallel_tree": 1, "max_cat_to_onehot": None, "max_cat_threshold": None,
            "tree_method": "approx"}  # fmt: skip


def by_position(function: F) -> F:
    """Accepts arguments by position that have to be named, with XGBoost's kind of warning."""
    kinds = {name: one.kind for name, one in inspect.signature(function).parameters.items()}
    n = sum(kind is inspect.Parameter.POSITIONAL_OR_KEYWORD for kind in kinds.values())
    named = [name for name, kind in kinds.items() if kind is inspect.Parameter.KEYWORD_ONLY]

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        more = dict(zip(named, args[n:], strict=False))
        if more:
            warnings.warn(f"pass {', '.join(more)} by name", FutureWarning, stacklevel=2)
        return function(*args[:n], *args[n + len(more) :], **more, **given)

    return call  # type: ignore[return-value]


def as_flag(value: Any) -> bool:
    """Converts XGBoost's forms of a truth value."""
    return str(value).lower() in ("true", "1")


class Plan:
    """A training in Rankwood's terms.

    params: Rankwood's. metrics: XGBoost's names with ours. h: factor of hessians. base_score: added to all scores.
    """

    def __init__(self, given: Mapping[str, Any], obj: Callable[..., Any] | None = None) -> None:
        self.given = {name: value for name, value in given.items() if value is not None}
        self.rest = dict(self.given)
        self.notes: list[str] = []
        self.objective = str(self._take("objective", default="reg:squarederror" if obj is None else "rank:pairwise"))
        if self.objective not in _DELTAS:
            raise ParameterError(
                f"objective is {self.objective!r}; rankwood.compat.xgboost trains {', '.join(_DELTAS)} and functions"
            )
        self.h = 2.0 if obj is None else 1.0
        self.base_score = self._number("base_score", default=0.0, least=-1e30)
        self.by_mean = self._word("lambdarank_pair_method", "topk", "mean") == "mean"
        self.n_pairs = pairs = self._whole("lambdarank_num_pair_per_sample", 1 if self.by_mean else 32, least=1)
        by_query = as_flag(self._take("lambdarank_normalization", default=True))
        by_score = as_flag(self._take("lambdarank_score_normalization", default=True))
        self.gain = "exp" if as_flag(self._take("ndcg_exp_gain", default=True)) else "linear"
        self.debias = as_flag(self.given.get("lambdarank_unbiased", False))
        if not self.debias:
            self.rest.pop("lambdarank_bias_norm", None)
        self.c = 1 / pairs if self.by_mean and by_query else 1.0
        if self.by_mean and by_score:
            self.notes.append(
                "lambdarank_pair_method: with mean, XGBoost divides gradients by the number of pairs. Rankwood scales "
                "them per query, as both do with topk, unless lambdarank_score_normalization is False"
            )
        elif not self.by_mean and by_query != by_score:
            self.notes.append(
                "lambdarank_normalization: Rankwood normalises by score and by query together or not at all; "
                "this training does not"
            )
        self.params: dict[str, Any] = {
            "objective": "lambdarank", "split": "newton", "min_docs": 1, "bins": 256, "sample_features": 1,
            "gain_noise": 0, "absent": "missing", "label_gain": self.gain, "seed": 0,
            "norm": by_score if self.by_mean else by_query and by_score,
        }  # fmt: skip
        self._pairs(pairs)
        self.rate = self._number("eta", "learning_rate", default=0.3, least=1e-6, most=self.h)
        self.l2 = self._number("lambda", "reg_lambda", default=1.0)
        self.min_child_weight = self._number("min_child_weight", default=1.0)
        self.gamma = self._number("gamma", "min_split_loss", default=0.0)
        self._growth()
        self.metrics = self._metrics()
        self._translate()

    def _take(self, *names: str, default: Any) -> Any:
        found = [self.rest.pop(name) for name in names if name in self.rest]
        return found[0] if found else default

    def _number(self, *names: str, default: float, least: float = 0.0, most: float = 1e30) -> float:
        name = next((one for one in names if one in self.rest), names[0])
        value = self._take(*names, default=default)
        try:
            if least <= float(value) <= most:
                return float(value)
        except (TypeError, ValueError):
            pass
        raise ParameterError(f"{name} is {value!r}; expected a number from {least:g} to {most:g}")

    def _whole(self, name: str, default: int, least: int = 0, most: int = 10**9) -> int:
        value = self._number(name, default=default, least=least, most=most)
        if value % 1:
            raise ParameterError(f"{name} is {value}; expected a whole number")
        return int(value)

    def _word(self, name: str, *words: str) -> str:
        value = str(self._take(name, default=words[0]))
        if value not in words:
            raise ParameterError(f"{name} is {value!r}; expected {' or '.join(words)}")
        return value

    def _pairs(self, pairs: int) -> None:
        if self.debias:
            self.params.update(debias="ipw", truncation=pairs)
            if self.by_mean or self.objective != "rank:ndcg":
                self.notes.append(
                    "lambdarank_unbiased: Rankwood's has NDCG's pairs of the top documents, with the number "
                    "lambdarank_num_pair_per_sample, for all objectives and pair methods"
                )
            return
        if self.by_mean:
            self.params["pairs"] = f"mean:{pairs}"
        else:
            self.params["truncation"] = pairs
        self.params["delta"] = _DELTAS[self.objective]

    def _growth(self) -> None:
        depth, leaves = self._whole("max_depth", 6), self._whole("max_leaves", 0, most=65536)
        policy = self._word("grow_policy", "depthwise", "lossguide")
        if leaves == 0 and 0 < depth <= 16:
            self.params.update(grow="levels", depth=depth)
            return
        self.params.update(grow="leaves", depth=min(depth, 64), leaves=leaves or _MOST_LEAVES)
        if leaves == 0:
            self.notes.append(f"max_depth: trees have at most {_MOST_LEAVES} leaves, unless max_leaves sets a number")
        elif policy == "depthwise":
            self.notes.append("max_leaves: trees grow by the best gain first, as with grow_policy='lossguide'")

    def _metrics(self) -> list[str]:
        names = self._take("eval_metric", default=None)
        self.default = None
        if names is None and as_flag(self.given.get("disable_default_eval_metric", False)):
            return []
        if names is None:
            base = "map" if self.objective == "rank:map" else "ndcg"
            names = self.default = base if self.by_mean else f"{base}@{self.n_pairs}"
        names = [names] if isinstance(names, str) else list(names)
        for name in names:
            ours_of(name)  # checks it
        return list(dict.fromkeys(names))

    def _translate(self) -> None:
        """Converts the remaining parameters by the table of names."""
        for name, value in _NEUTRAL.items():
            if name in self.rest and (value is None or self.rest[name] == value):
                del self.rest[name]
        ours, notes = from_xgboost({name: value for name, value in self.rest.items() if name != "missing"})
        for name in ("grow", "debias", "norm", "label_gain"):
            ours.pop(name, None)
        self.params.update(ours)
        for note in notes:
            name, _, text = note.partition(": ")
            if text.startswith("left out: ") and "has no effect" not in text:
                raise ParameterError(f"{name}: {text.removeprefix('left out: ')}")
            if name not in _QUIET and not note.startswith("not given"):
                self.notes.append(note)

    def with_sums(self, data: Dataset, weight: Any, init: Model | None) -> dict[str, Any]:
        """Returns the parameters, with sums of hessians in Rankwood's units. weight: of queries, or None."""
        c = self.c
        if weight is not None and self.h > 1 and np.sum(weight) > 0:
            c *= len(weight) / float(np.sum(weight))
        out = dict(self.params)
        out["min_hessian"] = self.min_child_weight / (self.h * c)
        out["min_gain"] = self.gamma * self.h / c
        out["rate"] = self.rate / self.h
        mean = _shared.mean_hessian(out, data, init) if self.l2 else 1.0
        out["l2"] = out["split_l2"] = min(self.l2 / (self.h * c) / mean, 1e9) if mean > 0 else 0.0
        if self.l2 and {"lambda", "reg_lambda"} & self.given.keys():
            self.notes.append(
                f"lambda: XGBoost adds {self.l2:g} to sums of hessians. Here, {out['l2']:.3g} of each tree's mean "
                "hessian is added, which is as much in the first tree"
            )
        return out


# ---- metrics ----


def ours_of(name: str) -> tuple[str, str]:
    """Returns Rankwood's name of a metric, and the conventions: "xgboost", "xgboost-", or "" for the areas below."""
    if name in ("auc", "aucpr"):
        return name, ""
    found = re.fullmatch(r"(ndcg|map|pre)(?:@([1-9]\d*))?(-?)", str(name))
    if found is None:
        raise ParameterError(f"eval_metric {name!r} is not supported; expected ndcg, map, pre, auc or aucpr")
    base, cutoff, minus = found.groups()
    return f"{'p' if base == 'pre' else base}@{cutoff or 32}", "xgboost" + minus


def measured(plan: Plan, data: Dataset, scores: Floats) -> list[tuple[str, float]]:
    """Returns XGBoost's value of each metric, by its name there."""
    out: dict[str, float] = {}
    names = {name: ours_of(name) for name in plan.metrics}
    if plan.by_mean and plan.default is not None:
        names = {plan.default: (f"{plan.default}@{_WHOLE}", "xgboost")}
    for like in dict.fromkeys(like for _, like in names.values()):
        mine = {name: ours for name, (ours, its) in names.items() if its == like}
        if like:
            gain = {"label_gain": plan.gain} if any(one.startswith("ndcg") for one in mine.values()) else {}
            values = evaluate(data, scores, list(dict.fromkeys(mine.values())), like=like, **gain)
            out.update({name: values[ours] for name, ours in mine.items()})
        else:
            out.update({name: _area(name, data, np.asarray(scores, np.float32)) for name in mine})
    return [(name, min(out[name], 1.0)) for name in plan.metrics]


def _area(name: str, data: Dataset, scores: Any) -> float:
    """Returns XGBoost's area under a curve, the mean over queries that have one; NaN if none has."""
    label, offset = data.label.astype(np.float64), data.query_offsets.astype(np.int64)
    if name == "aucpr" and not np.isin(label, (0, 1)).all():
        raise ParameterError("aucpr needs labels of 0 and 1")
    area = _pairs_in_order if name == "auc" else _area_of_precision
    values = [area(label[a:b], scores[a:b]) for a, b in itertools.pairwise(offset)]
    return float(np.nanmean(values)) if not np.isnan(values).all() else float("nan")


def _pairs_in_order(label: Floats, scores: Floats) -> float:
    """Returns the share of pairs, equal labels included, whose scores fall in the order of falling labels."""
    if len(label) < 3:
        return float("nan")
    sorted_scores = scores[np.argsort(-label, kind="stable")]
    above, below = np.triu_indices(len(label), 1)
    difference = sorted_scores[above] - sorted_scores[below]
    return float(((difference > 0) + 0.5 * (difference == 0)).mean())


def _area_of_precision(label: Floats, scores: Floats) -> float:
    """Returns the area under precision over recall, interpolated by Davis and Goadrich (2006)."""
    order = np.argsort(-scores, kind="stable")
    ends = np.append(np.flatnonzero(np.diff(scores[order])), len(order) - 1)  # the last document of each score
    hits = np.append(0.0, np.cumsum(label[order])[ends])
    misses = np.append(0.0, np.cumsum(1 - label[order])[ends])
    if hits[-1] == 0 or misses[-1] == 0:
        return float("nan")
    rises = np.flatnonzero(np.diff(hits))
    t0, t1, f0, f1 = hits[rises], hits[rises + 1], misses[rises], misses[rises + 1]
    slope = (f1 - f0) / (t1 - t0)
    a, b = slope + 1, f0 - slope * t0  # at t hits, precision is t / (a t + b)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(b == 0, 0.0, b / a * np.log((a * t1 + b) / (a * t0 + b)))
    return float(((t1 - t0 - logs) / a).sum() / hits[-1])
