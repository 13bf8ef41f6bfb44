"""Conversion of parameters of LightGBM, XGBoost and CatBoost.

The library's table of other trainers' words gives our parameter or the reason why there is no counterpart. The class
_Migration converts values, and combines parameters that have one meaning together. docs/make_migrating.py prints
docs/reference/migrating.md from the same tables.

Examples
--------
>>> params, notes = rankwood.from_lightgbm({"num_leaves": 31, "learning_rate": 0.05, "lambda_l2": 1.0})
>>> params["leaves"], params["rate"]
(31, 0.05)
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from rankwood._core import ParameterError, ParameterTypeError, c_strings, check, context, ffi, lib, string_of, text
from rankwood._params import (
    IN_PYTHON,
    Params,
    alias_rows,
    as_mapping,
    as_text,
    meaning,
    number_or_text,
    pythonic,
)

# Names that are also ours, or that only Python interprets; the library's table lacks them.
_LISTED_TOO = {
    "LightGBM": "config device feature_penalty label_column label_gain metric min_hessian objective "
    "predict_disable_shape_check query seed train_metric valid verbose weight_column",
    "XGBoost": "callbacks device objective seed",
    "CatBoost": "callback depth name objective verbose",
}


def _names() -> dict[str, frozenset[str]]:
    """Returns the parameter names of each other trainer, from the library's table."""
    names = {program: set(words.split()) for program, words in _LISTED_TOO.items()}
    for alias in alias_rows():
        listed: list[set[str]] = []
        for word in text(alias.names).split() if alias.parameter == ffi.NULL else ():
            if word.startswith("@"):
                listed = [names[program] for program in names if program[0].lower() in word]
            for of_program in listed if word[0] != "@" else ():
                of_program.add(word.replace("-", "_"))
    return {program: frozenset(words) for program, words in names.items()}


_NAMES = _names()

# Their defaults that differ from ours.
_DEFAULTS: dict[str, dict[str, str]] = {
    "LightGBM": {
        "rounds": "100", "rate": "0.1", "leaves": "31", "split": "newton", "l2": "0",
        "sample_features": "1", "gain_noise": "0", "early_stop": "never",
    },
    "XGBoost": {
        "rounds": "100, or 10 by xgboost.train", "rate": "0.3", "split": "newton", "l2": "1",
        "min_docs": "no limit", "sample_features": "1", "gain_noise": "0", "truncation": "32",
        "early_stop": "never",
    },
    "CatBoost": {
        "rounds": "1000", "rate": "by size", "l2": "3", "min_docs": "1", "bins": "254",
        "sample_features": "1", "gain_noise": "1", "early_stop": "never",
    },
}  # fmt: skip

# Values that agree with our behaviour, of parameters without a counterpart.
_NEUTRAL = {"gbdt", "gbtree", "plain", "none", "uniform", "no", "default", "onedimensional", ""}
_L2 = (
    "the same number has a different strength: it is in units of the average document's hessian, and "
    "regularises leaf values only (split_l2 regularises gains)"
)


def from_lightgbm(params: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Convert LightGBM's parameters.

    Parameters
    ----------
    params : dict
        Parameters by any name that LightGBM or its scikit-learn interface accepts. None means not given.

    Returns
    -------
    params : dict
        Parameters for :func:`rankwood.train`.
    notes : list of str
        One line per remark, each beginning with the parameter's name. They list changed units or meanings, parameters
        without a counterpart, and names that LightGBM does not have. The last note lists defaults that differ.
        Parameters that cannot be converted are omitted and noted.

    Raises
    ------
    ParameterError
        A name is not a string.

    Examples
    --------
    >>> params, notes = rankwood.from_lightgbm({"num_leaves": 63, "lambdarank_truncation_level": 20})
    >>> params
    {'leaves': 63, 'truncation': 20}
    """
    return _Migration("LightGBM", params).run()


def from_xgboost(params: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Convert XGBoost's parameters.

    Parameters
    ----------
    params : dict
        Parameters by any name that XGBoost accepts. None means not given.

    Returns
    -------
    params : dict
        Parameters for :func:`rankwood.train`.
    notes : list of str
        Remarks, as in :func:`from_lightgbm`.

    Raises
    ------
    ParameterError
        A name is not a string.

    Examples
    --------
    >>> params, notes = rankwood.from_xgboost({"eta": 0.1, "max_depth": 6})
    >>> params["rate"], params["depth"], params["grow"]
    (0.1, 6, 'levels')
    """
    return _Migration("XGBoost", params).run()


def from_catboost(params: Mapping[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Convert CatBoost's parameters.

    Parameters
    ----------
    params : dict
        Parameters by any name that CatBoost accepts. None means not given.

    Returns
    -------
    params : dict
        Parameters for :func:`rankwood.train`.
    notes : list of str
        Remarks, as in :func:`from_lightgbm`.

    Raises
    ------
    ParameterError
        A name is not a string.

    Examples
    --------
    >>> params, notes = rankwood.from_catboost({"iterations": 500, "learning_rate": 0.1})
    >>> params["rounds"], params["rate"]
    (500, 0.1)
    """
    return _Migration("CatBoost", params).run()


# ------------------------------------------------------------------ constraints


def _directions(value: Any) -> dict[Any, int]:
    """Returns 1 or -1 by feature; features are given by position or by name."""
    if isinstance(value, str):
        items = [item.strip() for item in value.strip(" ()[]").split(",") if item.strip()]
        by_name = [item.rpartition(":") for item in items]
        named = all(middle for _, middle, _ in by_name)
        value = {first: last for first, _, last in by_name} if named else items
    given = value.items() if isinstance(value, Mapping) else enumerate(value)
    return {feature: int(sign) for feature, sign in given if int(sign)}


def _groups(value: Any) -> list[list[Any]]:
    """Returns groups of features that may be used together. TypeError, ValueError: malformed groups."""
    if isinstance(value, str):
        texts = re.findall(r"\[([^\[\]]+)\]", value)
        if not texts and value.strip(" []"):
            raise ValueError(value)
        return [[_feature(one) for one in text.split(",")] for text in texts]
    if any(isinstance(group, str) for group in value):
        raise TypeError(value)
    return [list(group) for group in value]


def _feature(text: str) -> int | str:
    name = text.strip(" '\"")
    return int(name) if name.isdecimal() else name


# ------------------------------------------------------------------ the conversion


def _is_number(value: Any, number: float) -> bool:
    try:
        return float(value) == number
    except (TypeError, ValueError):
        return False


def _is_nothing(value: Any) -> bool:
    """Tells whether a value disables a feature that Rankwood does not have."""
    if isinstance(value, str):
        return value.lower() in _NEUTRAL
    return not callable(value) and (value is False or _is_number(value, 0))


def _is_true(value: Any) -> bool:
    return str(value).lower() in ("true", "1", "1.0", "on", "yes", "+")


def _options(word: str) -> tuple[str, dict[str, str]]:
    """Splits CatBoost's "NDCG:top=10;type=Exp" into the name and its options."""
    name, _, rest = word.partition(":")
    return name, dict(re.findall(r"([a-z_]+)=([^;]*)", rest))


_WHOLE_SUMS = "histograms always sum integers, with 8 bits per lambda by default ('bits')"

# Parameters that have no effect here: which values cause a note, and the note.
_TOLD: dict[str, tuple[Callable[[Any], bool], str]] = {
    "use_missing": (lambda value: not _is_true(value), "no counterpart: NaN is always missing; replace it in the data"),
    "zero_as_missing": (_is_true, "Dataset(..., missing=0)"),
    "nan_mode": (lambda value: True, "a split learns the direction of missing values"),
    "use_quantized_grad": (lambda value: True, _WHOLE_SUMS),
    "num_grad_quant_bins": (lambda value: True, _WHOLE_SUMS),
    "predictor": (lambda value: True, "it is an argument of Model.predict: device"),
    "gpu_use_dp": (_is_true, "sums are exact on every device"),
    "gpu_platform_id": (lambda value: not _is_number(value, -1), "only CUDA devices are supported"),
    "num_gpu": (lambda value: not _is_number(value, 1), "choose one GPU: device='cuda:N'"),
    **dict.fromkeys(("bagging_freq", "subsample_freq", "bagging_by_query"), (lambda value: False, "see _sampling")),
}


class _Migration:
    def __init__(self, program: str, given: Mapping[str, Any]) -> None:
        self.program = program
        self.given: dict[str, Any] = {}
        for name, value in as_mapping(given).items():
            if not isinstance(name, str):
                raise ParameterTypeError(f"a parameter's name is {name!r}; expected a string")
            if value is not None:
                self.given[name] = value
        self.params: dict[str, Any] = {}
        self.notes: list[str] = []
        self.metrics: list[tuple[str, Any]] = []
        self.cutoffs: list[int] = []

    def tell(self, name: str, note: str | None) -> None:
        if note is not None:
            self.notes.append(f"{name}: {note}".replace("\n", "; "))  # hints are on separate lines

    def run(self) -> tuple[dict[str, Any], list[str]]:
        for name, value in self.given.items():
            self._one(name, value)
        self._sampling()
        self._metric()
        self._growth()
        self._newton()
        self._agree()
        self._defaults()
        return self.params, self.notes

    def _one(self, name: str, value: Any) -> None:
        if name not in _NAMES[self.program]:
            self.tell(name, self._unknown(name))
            return
        if name in _TOLD:
            is_told, told = _TOLD[name]
            self.tell(name, told if is_told(value) else None)
            return
        special = getattr(self, "_name_" + name, None)
        if special is not None:
            special(name, value)
            return
        found = meaning(name, self.program)
        assert found is not None, name  # a test checks each name
        ours, note = found
        if ours is None:
            if not _is_nothing(value):
                self.tell(name, f"no counterpart: {note}" if not _is_pointer(note) else note)
        elif ours == "metric":
            self._add_metric(name, value, note)
        elif ours == "l2":
            self.set(name, ours, value, None if _is_number(value, 0) else _L2)
        elif ours.startswith("sample-"):
            self._share(name, ours, value, note)
        elif ours == "min-hessian":
            self.set(name, ours, value, None)
        else:
            self.set(name, ours, value, note)

    def _unknown(self, name: str) -> str:
        others = [program for program, names in _NAMES.items() if name in names]
        if others:
            return f"not a parameter of {self.program}, but of {' and '.join(others)}; left out"
        known = sorted(_NAMES[self.program])
        words, _held = c_strings(word.encode() for word in known)
        near = lib.rw_word_nearest(name.encode("utf-8", "replace"), words, len(known))
        hint = f"; did you mean {text(near)!r}?" if near != ffi.NULL else ""
        return f"not a parameter of {self.program}; left out{hint}"

    # ---- values ----

    def set(self, name: str, ours: str, value: Any, note: str | None) -> None:
        """Takes a value over if our parameter can have it."""
        key = ours.replace("-", "_")
        if callable(value) and ours == "objective":
            self.params[key] = value
            self.tell(name, "a function is called with (scores, rankwood.Dataset); the sign is the same")
            return
        word = str(value).lower() if not isinstance(value, float) or value % 1 else str(int(value))
        for row in alias_rows(word, ours):
            target, why = string_of(row.ours), string_of(row.note)
            if target is None:
                self.tell(name, f"no counterpart of {value!r}: {pythonic(why or '')}")
                return
            value, note = target, why and pythonic(why)
            break
        if isinstance(value, str):
            value = number_or_text(value.lower())
        if isinstance(value, float) and not value % 1 and ours not in ("rate", "l2"):
            value = int(value)
        try:
            Params({ours: value})
        except ParameterError as error:
            self.tell(name, f"left out: {error}")
            return
        if key in self.params and as_text(self.params[key]) != as_text(value):
            self.tell(name, f"left out: {key} is {self.params[key]!r} already")
            return
        self.params[key] = value
        self.tell(name, note)

    def _share(self, name: str, ours: str, value: Any, note: str | None) -> None:
        """Multiplies shares of features, as the other trainers do."""
        key = ours.replace("-", "_")
        if _is_number(value, 1):
            self.params.setdefault(key, 1.0)
            return
        before = self.params.pop(key, 1.0)
        if isinstance(value, (int, float)):
            value = value * before
        self.set(name, ours, value, note)

    # ---- names whose values need a conversion ----

    def _name_objective(self, name: str, value: Any) -> None:
        if not isinstance(value, str) or any(True for _ in alias_rows(value, "objective")):
            self.set(name, "objective", value, None)
            self._delta_of(value)
            return
        word, options = _options(value)
        self.set(name, "objective", word, None)
        self._delta_of(word)
        for option, of in options.items():
            yetirank = self.params.get("objective") == "yetirank"
            if option in ("decay", "permutations") and yetirank:
                self.set(f"{name} {option}", option, of, None)
            elif option == "mode" and yetirank and of.lower() in ("dcg", "map", "mrr", "err"):
                self.set(f"{name} {option}", "delta", of.lower(), None)
            else:
                self.tell(name, f"its option {option}={of} is left out")
        if "delta" in self.params and self.params.pop("decay", None) is not None:
            self.tell(name, "its option decay is left out: it replaces the discount of NDCG only")

    def _delta_of(self, objective: Any) -> None:
        """Sets the pair weight that an objective's name contains there, such as rank:map's."""
        if not isinstance(objective, str) or self.params.get("objective") != "lambdarank":
            return
        for row in alias_rows(objective, "delta"):
            delta, note = string_of(row.ours), string_of(row.note)
            if delta is not None and delta != "ndcg" and note is None:
                self.params["delta"] = delta

    _name_loss_function = _name_app = _name_application = _name_loss = _name_objective
    _name_objective_type = _name_objective

    def _name_label_gain(self, name: str, value: Any) -> None:
        try:
            gains = value.split(",") if isinstance(value, str) else list(value)
            numbers = [float(gain) for gain in gains]
        except (TypeError, ValueError):
            self.tell(name, f"left out: expected the gains of the labels, found {value!r}")
            return
        if numbers == [2.0**i - 1 for i in range(len(numbers))]:
            self.params["label_gain"] = "exp"
        elif numbers == [float(i) for i in range(len(numbers))]:
            self.params["label_gain"] = "linear"
        else:
            self.set(name, "label-gain", numbers, None)

    def _name_ndcg_exp_gain(self, name: str, value: Any) -> None:
        self.params["label_gain"] = "exp" if _is_true(value) else "linear"

    def _name_lambdarank_pair_method(self, name: str, value: Any) -> None:
        if str(value) == "mean":
            value = f"mean:{self.given.get('lambdarank_num_pair_per_sample', 1)}"
        self.set(name, "pairs", value, None)

    def _name_lambdarank_num_pair_per_sample(self, name: str, value: Any) -> None:
        if str(self.given.get("lambdarank_pair_method", "topk")) == "topk":
            self.set(name, "truncation", value, None)

    def _name_lambdarank_unbiased(self, name: str, value: Any) -> None:
        self.set(name, "debias", "ipw" if _is_true(value) else "off", IN_PYTHON["positions"])

    def _name_lambdarank_position_bias_regularization(self, name: str, value: Any) -> None:
        self.set(name, "debias", "additive", IN_PYTHON["positions"])
        self.set(name, "position-l2", value, None)

    def _name_monotone_constraints(self, name: str, value: Any) -> None:
        try:
            signs = _directions(value)
        except (TypeError, ValueError, OverflowError):
            self.tell(name, f"left out: {value!r} is not a list of 1, -1 and 0")
            return
        if signs:
            self.set(name, "monotone", signs, None)

    _name_monotone_constraint = _name_mc = _name_monotonic_cst = _name_monotone_constraints

    def _name_interaction_constraints(self, name: str, value: Any) -> None:
        try:
            groups = _groups(value)
        except (TypeError, ValueError):
            self.tell(name, f"left out: {value!r} is not a list of lists of features")
            return
        if groups:
            alone = "features outside of all groups are used alone; LightGBM excludes them, like 'ignore'"
            self.set(name, "interactions", groups, alone if self.program == "LightGBM" else None)

    def _name_num_threads(self, name: str, value: Any) -> None:
        self.set(name, "threads", "auto" if _is_number(value, 0) else value, None)

    _name_num_thread = _name_nthread = _name_nthreads = _name_n_jobs = _name_thread_count = _name_num_threads

    def _name_missing(self, name: str, value: Any) -> None:
        if not (isinstance(value, float) and value != value):
            self.tell(name, f"Dataset(..., missing={value!r})")

    def _name_tree_method(self, name: str, value: Any) -> None:
        if str(value) == "gpu_hist":
            self.params.setdefault("device", "cuda")
        elif str(value) not in ("hist", "auto"):
            self.tell(name, "splits are always found from histograms")

    def _name_devices(self, name: str, value: Any) -> None:
        if re.fullmatch(r"-1|0?", str(value)):
            return
        if re.fullmatch(r"\d+", str(value)):
            self.params["device"] = f"cuda:{value}"
        else:
            self.tell(name, "choose one GPU: device='cuda:N'")

    _name_gpu_id = _name_gpu_device_id = _name_devices

    def _name_device_type(self, name: str, value: Any) -> None:
        self.params.pop("device", None)  # this takes precedence over the tree method
        self.set(name, "device", value, None)

    def _name_task_type(self, name: str, value: Any) -> None:
        if self.program == "CatBoost":
            if str(value).upper() == "GPU" and re.fullmatch(r"[1-9]\d*", str(self.given.get("devices", ""))):
                return  # `devices` contains the number
            self._name_device_type(name, value)
        else:
            self.tell(name, IN_PYTHON["task"])

    _name_device = _name_device_type

    def _name_max_leaves(self, name: str, value: Any) -> None:
        if not _is_number(value, 0):  # 0 means no limit in XGBoost
            self.set(name, "leaves", value, None)

    # ---- combinations of parameters ----

    def _sampling(self) -> None:
        """Handles LightGBM's bagging, which needs a frequency to have an effect."""
        frequency = self.given.get("bagging_freq", self.given.get("subsample_freq", 0))
        whole = _is_true(self.given.get("bagging_by_query", False)) or (
            str(self.given.get("sampling_unit", "")).lower() == "group"
        )
        if whole and "sample_docs" in self.params:
            self.params["sample_queries"] = self.params.pop("sample_docs")
        ours = "sample_queries" if whole else "sample_docs"
        if self.program == "LightGBM" and ours in self.params:
            share = self.params[ours]
            if _is_number(frequency, 0) and not _is_number(share, 1):
                del self.params[ours]
                prefixes = ("bagging_fraction:", "subsample:", "sub_row:", "bagging:")
                self.notes = [note for note in self.notes if not note.startswith(prefixes)]
                self.tell("bagging_fraction", "left out: without a bagging_freq LightGBM samples nothing")
            elif not _is_number(frequency, 1) and not _is_number(frequency, 0):
                self.tell("bagging_freq", "each tree draws a new sample")

    def _add_metric(self, name: str, value: Any, note: str | None) -> None:
        if name in ("eval_at", "ndcg_at", "ndcg_eval_at", "map_eval_at", "map_at"):
            words = value.split(",") if isinstance(value, str) else value
            try:
                self.cutoffs = [int(k) for k in (words if isinstance(words, (list, tuple)) else [words])]
            except (TypeError, ValueError, OverflowError):
                self.tell(name, f"left out: expected whole numbers, found {value!r}")
            return
        words = value.split(",") if isinstance(value, str) else value
        for word in words if isinstance(words, (list, tuple)) else [words]:
            self.metrics.append((name, word))

    def _metric(self) -> None:
        if self.cutoffs and not self.metrics:
            self.metrics = [("eval_at", "ndcg")]
        out: list[Any] = []
        for name, word in self.metrics:
            out += [one for one in self._one_metric(name, word) if one not in out]
        if out:
            self.params["metric"] = out

    def _one_metric(self, name: str, word: Any) -> list[Any]:
        if callable(word):
            self.tell(name, "a function is called with (scores, rankwood.Dataset), and returns a number")
            return [word]
        whole = str(word).strip().lower()
        base, options = (whole, {}) if any(True for _ in alias_rows(whole, "metric")) else _options(whole)
        base, _, cutoff = base.partition("@")
        if cutoff.endswith("-"):
            cutoff = cutoff[:-1]
            self.params["empty"] = "0"
        for row in alias_rows(base, "metric"):
            target, why = string_of(row.ours), pythonic(string_of(row.note) or "")
            if target is None:
                self.tell(name, f"no counterpart of {word!r}: {why}")
                return []
            base = target
            break
        if self.program == "CatBoost" and base == "ndcg" and options.get("type", "base") == "base":
            note = "CatBoost's NDCG uses the label as gain: label_gain='linear' does so in training and metrics"
            self.tell(name, note)
        found = options.get("top", cutoff)
        cutoffs = [int(found)] if found.isdigit() else list(self.cutoffs)
        if not cutoffs and self.program == "LightGBM" and base in ("ndcg", "map"):
            cutoffs = [1, 2, 3, 4, 5]
            self.tell(name, "without eval_at LightGBM measures at 1 to 5; the first one stops training")
        ranks = base not in ("rmse", "logloss")
        names = [f"{base}@{k}" for k in cutoffs] if ranks and cutoffs else [base]
        try:
            Params({"metric": names})
        except ParameterError as error:
            self.tell(name, f"left out: {error}")
            return []
        return names

    def _growth(self) -> None:
        """Sets the default growth of XGBoost and CatBoost."""
        if self.program == "LightGBM" or "grow" in self.params:
            return
        if self.program == "XGBoost":
            self.params["grow"] = "levels"
            self.tell("grow_policy", "not given, so XGBoost grows whole levels: grow='levels'")
        else:
            self.params["grow"] = "symmetric"
            self.tell("grow_policy", "not given, so CatBoost grows symmetric trees: grow='symmetric'")

    def _newton(self) -> None:
        """Sets split='newton' for a minimum sum of hessians, which has no effect otherwise."""
        least = self.params.get("min_hessian", 0)
        if not _is_number(least, 0) and "split" not in self.params:
            self.params["split"] = "newton"
            self.tell("min_hessian", f"it needs split='newton', the split criterion of {self.program}")

    def _agree(self) -> None:
        """Removes parameters that have no effect with the others."""
        while True:
            fixed = {name: value for name, value in self.params.items() if not callable(value)}
            if isinstance(fixed.get("metric"), list):
                fixed["metric"] = [one for one in fixed["metric"] if not callable(one)] or None
            try:
                check(lib.rw_params_check(context(), Params(fixed, strict=True).c, lib.RW_PARAMS_TRAIN))
                return
            except ParameterError as error:
                names = re.findall(r"'([a-z0-9_-]+)'", str(error))
                guilty = [key for one in names if (key := one.replace("-", "_")) in self.params]
                if not guilty:
                    raise
                del self.params[guilty[0]]
                self.tell(guilty[0], f"left out: {error}")

    def _defaults(self) -> None:
        rest = {
            name: theirs for name, theirs in _DEFAULTS[self.program].items() if name not in self.params
        }
        if self.params.get("pairs", "topk") != "topk":
            rest.pop("truncation", None)
        mine = Params()
        rows = [f"{name} {mine.get(name)} ({theirs})" for name, theirs in rest.items()]
        if rows:
            self.notes.append(
                f"not given, so our defaults apply ({self.program}'s): " + ", ".join(rows)
            )


def _is_pointer(note: str | None) -> bool:
    """Tells whether a note names the place of something, instead of the reason for its absence."""
    return note in IN_PYTHON.values() or (note or "").startswith("train(")
