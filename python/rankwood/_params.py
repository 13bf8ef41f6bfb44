"""Training parameters as Python values."""

from __future__ import annotations

import functools
import inspect
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar, cast

import numpy as np

from rankwood._columns import name_in_file
from rankwood._core import (
    ParameterError,
    ParameterTypeError,
    chars,
    check,
    context,
    ffi,
    lib,
    made,
    string_of,
    text,
)

Function = TypeVar("Function", bound=Callable[..., Any])
Value = str | int | float | bool | None | list[Any] | tuple[Any, ...]


def infos() -> Iterator[Any]:
    """Yields the rows of the library's table of parameters."""
    i = 0
    while (info := lib.rw_param_info(i)) != ffi.NULL:
        yield info
        i += 1


def as_text(value: Any) -> str:
    """Formats a value for the library: `on` and `off` for bools, commas between list items, 31 for 31.0."""
    if isinstance(value, (bool, np.bool_)):
        return "on" if value else "off"
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return ",".join(as_text(one) for one in value)
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return str(int(number)) if number.is_integer() and abs(number) < 2**53 else repr(number)
    return str(value)


def _feature(parameter: str, feature: Any) -> str:
    """Formats a feature name or id for lists of features."""
    if isinstance(feature, (bool, np.bool_)) or not isinstance(feature, (str, int, np.integer)):
        raise ParameterTypeError(f"{parameter} names the feature {feature!r}; expected a name or an id")
    return name_in_file(feature) if isinstance(feature, str) else str(feature)


def _directions(value: Mapping[Any, Any]) -> str:
    """Formats features with directions for the library; those without a direction are omitted."""
    signs = {"+": "+", "-": "-", 1: "+", -1: "-"}
    items = []
    for feature, sign in value.items():
        named = _feature("monotone", feature)
        if not isinstance(sign, (str, int, float, np.number)) or sign not in {**signs, 0: ""}:
            raise ParameterError(f"monotone[{feature!r}] is {sign!r}; expected '+', '-', 1, -1 or 0")
        if sign != 0:
            items.append(f"{named}:{signs[sign]}")
    return ",".join(items)


def _penalties(value: Mapping[Any, Any]) -> str:
    """Formats features with penalties for the library."""
    items = []
    for feature, cost in value.items():
        named = _feature("feature_penalty", feature)
        if isinstance(cost, (bool, np.bool_)) or not isinstance(cost, (int, float, np.number)):
            raise ParameterTypeError(f"feature_penalty[{feature!r}] is {cost!r}; expected a number")
        items.append(f"{named}:{float(cost)!r}")
    return ",".join(items)


def _groups(value: Any) -> str:
    """Formats groups of features that may be used together."""
    groups = []
    for group in value:
        if isinstance(group, (str, bytes)) or not isinstance(group, Iterable):
            raise ParameterTypeError(f"interactions has the group {group!r}; expected a list of names or ids")
        groups.append(",".join(_feature("interactions", one) for one in group))
        if not groups[-1]:
            raise ParameterError(f"interactions has the group {group!r}; expected a feature or more")
    return ";".join(groups)


def _features(value: Any) -> str:
    """Formats a list of features."""
    if not value:
        raise ParameterError("features is empty; expected ids or names")
    return as_text([name_in_file(one) if isinstance(one, str) else one for one in value])


def _gains(value: Any) -> str:
    """Formats the gains of labels 0, 1, 2, ..."""
    try:
        gains = [float(one) for one in value if not isinstance(one, str)]
    except (TypeError, ValueError):
        gains = []
    if len(gains) != len(value) or not gains or not all(0 <= gain <= 2**31 for gain in gains):
        raise ParameterError(f"label_gain is {value!r}; expected a number, 0 to 2147483648, for each label from 0 on")
    return " ".join(["table", *map(as_text, gains)])


# Types of values with a special form, and the functions that format them.
_FORMATS: dict[str, tuple[Any, Callable[[Any], str]]] = {
    "monotone": (Mapping, _directions),
    "feature-penalty": (Mapping, _penalties),
    "interactions": ((list, tuple), _groups),
    "features": ((list, tuple), _features),
    "label-gain": ((list, tuple, np.ndarray), _gains),
}


def number_or_text(value: str) -> int | float | str:
    """Converts a value of the library to a Python number if possible."""
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return value


# ---- names of other trainers and of the program ----

# Python's counterparts of the program's options and files, by option, or by the first word of a row of the
# library's table without an option.
IN_PYTHON = {
    "valid": "use train(..., valid={'name': Dataset}) for validation sets",
    "output": "Model.save writes the model",
    "init": "train(..., init=Model) continues from a model, with `rounds` more trees",
    "checkpoint": "train(..., checkpoint=FILE) writes checkpoints, and resume continues from one",
    "checkpoint-every": "train(..., checkpoint_every=50), a number of rounds or a time such as '30s'",
    "resume": "train(..., checkpoint=FILE, resume='auto') continues from the file if it exists",
    "model": "Model.load reads a model",
    "scores": "Model.predict returns the scores",
    "trees": "it is an argument of Model.predict: n_trees; model[10:50] is a model of some rounds",
    "leaf-ids": "Model.leaves returns the leaf of each document in each tree",
    "documents": "Model.explain returns SHAP values",
    "per-query": "evaluate(...).metrics[name].per_query has the values of the queries",
    "folds": "use cv(params, dataset, n_folds=K) for cross-validation",
    "config": "parameters are a dictionary; only the program reads files of them",
    "verbose": "progress is shown in a terminal, notes are logged to 'rankwood'",
    "quiet": "progress is shown in a terminal, notes are logged to 'rankwood'",
    "log": "Model.evals_result has the metrics of each round, and callbacks see them",
    "top": "it is an argument of the functions of rankwood.plot",
    "weights": "Dataset(..., weight=) per document, or Dataset(..., query_weight=) per query",
    "query-weights": "Dataset(..., weight=) per document, or Dataset(..., query_weight=) per query",
    "start-scores": "Dataset(..., start_scores=)",
    "positions": "Dataset(..., position=)",
    "pairs-file": "Dataset(..., pairs=), with pairs='given'",
    "label-columns": "Dataset(data, [label, further labels ...], qid=...)",
    "labels": "Dataset(..., more_labels=)",
    "label-column": "Dataset(data, label, qid=... or group=...)",
    "qid-column": "Dataset(data, label, qid=... or group=...)",
    "weight-column": "Dataset(..., weight=) per document, or Dataset(..., query_weight=) per query",
    "names": "Dataset(..., feature_names=), or the columns' names",
    "ignore": "Dataset(..., ignore=)",
    "absent": "Dataset(..., missing=) declares a missing value, in addition to NaN and null",
    "data": "train(params, Dataset(...))",
    "task": "training, measuring and predicting are separate functions",
    "label": "Dataset(data, label, qid=... or group=...)",
    "nfold": "use cv(params, dataset, n_folds=K) for cross-validation",
    "validation-fraction": "a validation set is a separate Dataset; cv makes folds",
    "save-binary": "a Dataset caches its binned data for all trainings",
    "convert-model": "Model.export writes models for other programs",
    "predict-contrib": "Model.explain returns SHAP values",
    "allow-writing-files": "training writes no files",
    "num-class": "labels are grades of relevance, not classes; Dataset(..., weight=) sets weights of documents",
    "force-col-wise": "the library chooses the memory layout",
    "start-iteration-predict": "scores always start with the first tree; n_trees limits their number",
    "importance-type": "Model.importance and Model.permutation_importance return feature importances",
}

# Parameters of the library that are arguments of Dataset.
_REFUSED = {
    "weights": ("weights", "Dataset(..., weight=) or (..., query_weight=)"),
    "positions": ("positions", IN_PYTHON["positions"]),
    "labels": ("further labels", IN_PYTHON["labels"]),
    "start-scores": ("start_scores", IN_PYTHON["start-scores"]),
    "pairs-file": ("pairs", IN_PYTHON["pairs-file"]),
}

# Names that only Python interprets.
_ALSO = {
    "predict_disable_shape_check": "a column that the model needs and the data lacks is always an error",
    "query": IN_PYTHON["label"],
    "callback callbacks": "train(..., callbacks=) accepts functions of a Round",
    "name": "models do not have names",
}

# Words that have a special meaning in one program.
_INSTEAD = {
    ("LightGBM", "alpha"): "pointwise losses are the squared and the logistic loss",
    ("LightGBM", "feature_penalty"):
        "gains are not multiplied; 'feature_penalty' subtracts a feature's cost from each gain",
    ("LightGBM", "task_type"): IN_PYTHON["task"],
    ("LightGBM", "tree"): "mpirun, srun, torchrun, Dask or Spark start workers on several machines",
}


def alias_rows(word: str | None = None, parameter: str | None = None) -> Iterator[Any]:
    """Yields the rows of the library's table of other trainers' words that contain a word, or all rows."""
    of = ffi.NULL if parameter is None else parameter.encode()
    with_word = ffi.NULL if word is None else word.encode("utf-8", "replace")
    row = ffi.NULL
    while (row := lib.rw_alias_next(row, of, with_word)) != ffi.NULL:
        yield row


def pythonic(note: str) -> str:
    """Writes our parameters' names with `_`."""
    return re.sub(
        r"'([a-z0-9]+(?:-[a-z0-9]+)+)'", lambda found: "'" + found[1].replace("-", "_") + "'", note
    )


def meaning(name: str, program: str = "") -> tuple[str | None, str | None] | None:
    """Returns our parameter and how it differs, or None and why there is no such parameter.

    It returns None for an unknown name.
    """
    if (program, name) in _INSTEAD:
        return None, _INSTEAD[program, name]
    ours = {text(info.name) for info in infos()}
    rows = list(alias_rows(name))
    for row in rows:
        target = string_of(row.ours)
        if target in ours:
            note = string_of(row.note)
            if target in IN_PYTHON:
                return None, IN_PYTHON[target]
            return target, None if note is None else pythonic(note)
    if name.replace("_", "-") in ours:
        option = name.replace("_", "-")
        return (None, IN_PYTHON[option]) if option in IN_PYTHON else (option, None)
    for words, why in _ALSO.items():
        if name in words.split():
            return None, why
    for row in rows:
        key = string_of(row.ours) or next(word for word in text(row.names).split() if word[0] != "@")
        if key in IN_PYTHON:
            return None, IN_PYTHON[key]
    for row in rows:
        if (note := string_of(row.note)) is not None and row.ours == ffi.NULL:
            return None, pythonic(note)
    option = name.replace("_", "-")  # an option of the program
    return (None, IN_PYTHON[option]) if option in IN_PYTHON else None


# Other trainers' names of arguments, and ours. The first one that a function has is its counterpart.
_ARGUMENTS = {
    "valid_sets evals eval_set valid_set": "valid eval_set",
    "init_model xgb_model": "init",
    "feature_name": "feature_names",
    "categorical_feature cat_features": "categorical_features",
    "init_score base_margin baseline": "start_scores",
    "eval_init_score eval_base_margin": "eval_start_scores",
    "sample_weight weight": "weight sample_weight",
    "group_weight": "query_weight",
    "group_id": "qid",
    "group": "qid",
    "num_iteration ntree_limit ntree_end": "n_trees",
    "n_jobs nthread num_threads thread_count": "threads",
    "nfold": "n_folds",
    "label": "y",
    "y": "label",
}
_ARGUMENT_NOTES = {
    "start_iteration iteration_range": "model[10:50].predict scores with the rounds from the 11th to the 50th",
    "raw_score output_margin": "scores are raw sums of leaf values; probability=True maps those of a calibrated model",
    "params": "parameters are for train(params, Dataset(...)), or for Ranker(...)",
    "feval": "a metric function is a parameter: {'metric': function}",
    "fobj": "an objective function is a parameter: {'objective': function}",
    "evals_result": IN_PYTHON["log"],
    "valid_names eval_names": "names of validation sets are keys: valid={'name': Dataset}",
    "reference free_raw_data": "every Dataset can be a validation set, and needs no such argument",
}


def _row_of(table: Mapping[str, str], name: str) -> str:
    return next((row for names, row in table.items() if name in names.split()), "")


def _unknown_argument(function: str, name: str, known: Iterable[str]) -> str:
    """Returns the message for an argument that a function lacks, with the nearest one or a hint."""
    what = f"{function}() has no argument {name!r}"
    ours = next((one for one in _row_of(_ARGUMENTS, name).split() if one in known), None)
    if ours is not None:
        return f"{what}; it is {ours!r}"
    from difflib import get_close_matches  # imported here because it is slow to import

    if near := get_close_matches(name, list(known), 1, 0.85):
        return f"{what}; the nearest is {near[0]!r}"
    note: str | None = _row_of(_ARGUMENT_NOTES, name)
    parameter = None
    if not note:
        parameter, note = meaning(name) or (None, None)
    if parameter is not None:
        parameter = parameter.replace("-", "_")
        example = f"Ranker({parameter}=...)" if function.startswith("Ranker") else f"{{{parameter!r}: ...}}"
        return f"{what}\nhint: it is a parameter of training: {example}" + (f"; {note}" if note else "")
    return what + (f"\nhint: {note}" if note else "")


def hinted(function: Function) -> Function:
    """Makes a function raise ParameterTypeError, with a hint, for an argument that it lacks."""
    known = list(inspect.signature(function).parameters)
    name = function.__qualname__.removesuffix(".__init__")

    @functools.wraps(function)
    def call(*args: Any, **given: Any) -> Any:
        for one in given:
            if one not in known:
                raise ParameterTypeError(_unknown_argument(name, one, [one for one in known if one != "self"]))
        return function(*args, **given)

    return cast(Function, call)


def _unknown(name: str) -> str:
    """Returns the message for an unknown name, with the nearest known one."""
    ours, note = meaning(name) or (None, None)
    if ours is None and note is None:
        near = lib.rw_params_nearest(chars(name))
        ours = text(near) if near != ffi.NULL else None
    if ours is not None:
        what = f"; the nearest is {ours.replace('-', '_')!r}"
    else:
        what = "" if note is None else "; there is no such parameter here"
    return f"unknown parameter {name!r}{what}" + ("" if note is None else f"\nhint: {note}")


_MOST_ROUNDS = 2000  # of rounds="auto"


def as_mapping(params: Mapping[str, Any] | None, n_before: int = 0) -> dict[str, Any]:
    """Copies the caller's parameters.

    A function of the round becomes a list of rates, and a random generator becomes a seed that it draws. n_before: the
    rounds of the model that training continues.
    """
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise ParameterTypeError(f"params is a {type(params).__name__}; expected a dictionary")
    given = dict(params)
    seed, rate = given.get("seed"), given.get("rate")
    if not isinstance(seed, (int, float, str, np.number, type(None))):
        if isinstance(seed, np.random.Generator):
            given["seed"] = int(seed.integers(2**31 - 1))
        elif isinstance(seed, np.random.RandomState):
            given["seed"] = int(seed.randint(2**31 - 1))
    if callable(rate):
        given["rate"] = _rates(rate, n_before, given.get("rounds"))
    return given


def _rates(rate: Callable[[int], Any], n_before: int, rounds: Any) -> list[float]:
    """Returns the rates of all rounds. Rounds after the list have its last rate."""
    try:
        n = int(_MOST_ROUNDS if rounds is None or rounds == "auto" else rounds)
    except (TypeError, ValueError, OverflowError):
        n = 1  # the library refuses such rounds
    out: list[float] = []
    for i in range(n_before + max(n, 1)):
        value = rate(i)
        try:
            out.append(float(value))
        except (TypeError, ValueError):
            raise ParameterTypeError(f"rate({i}) returned {value!r}; expected a number") from None
        if not 1e-6 <= out[-1] <= 1:
            raise ParameterError(f"rate({i}) returned {value!r}; expected a number from 1e-6 to 1")
    while len(out) > 1 and out[-1] == out[-2]:
        out.pop()
    return out


def _refuse_functions(name: str, value: Any) -> None:
    """Raises ParameterError for a function. Training removes its functions before; other calls accept names only."""
    for one in value if isinstance(value, (list, tuple)) else [value]:
        if callable(one):
            called = getattr(one, "__name__", type(one).__name__)
            hint = f"\nhint: call it with scores: {called}(model.predict(data), data)" if name == "metric" else ""
            raise ParameterError(f"{name} is the function {called!r}; expected a name here{hint}")


def no_effect(strict: bool | None) -> int:
    """Converts the argument `strict` for the library."""
    if strict is not None and not isinstance(strict, (bool, np.bool_)):
        raise ParameterTypeError(f"strict is {strict!r}; expected True, False or None")
    if strict is None:
        return int(lib.RW_NO_EFFECT_SILENT)
    return int(lib.RW_NO_EFFECT_ERROR if strict else lib.RW_NO_EFFECT_WARN)


def need_device(given: Mapping[str, Any]) -> None:
    """Raises UnsupportedError if the device is missing, before data is read."""
    if given.get("device") is not None:
        check(lib.rw_device_check(context(), chars(as_text(given["device"]))))


# ---- documentation ----

PLACE = "(one entry per parameter, from the library's table)"

# Types that the library's table cannot show, because it has texts only.
_PYTHON_TYPES = {
    "objective": "str or callable",
    "metric": "str, callable or list",
    "rate": 'float, list, callable or "auto"',
    "norm": "bool",
    "train-metric": "bool",
    "monotone": "dict or str",
    "feature-penalty": "dict or str",
    "interactions": "list of lists, or str",
    "features": "list or str",
    "categorical": "list or str",
    "label-gain": "list of float, or str",
    "seed": "int or numpy generator",
    "label-weights": "list of float, or str",
}


def _type_of(info: Any) -> str:
    name, choices = text(info.name), text(info.argument).split("|")
    if name in _PYTHON_TYPES:
        return _PYTHON_TYPES[name]
    if info.type == lib.RW_PARAM_CHOICE:
        return "{" + ", ".join(f'"{word}"' for word in choices) + "}"
    words = [word for word in choices if word.islower()]
    number = {lib.RW_PARAM_INT: "int", lib.RW_PARAM_REAL: "float", lib.RW_PARAM_SEED: "int"}.get(info.type)
    if number is not None:
        return " or ".join([number, *(f'"{word}"' for word in words if word != name)])
    return "str"


def _default_of(info: Any) -> str:
    value = text(info.default_value)
    if _PYTHON_TYPES.get(text(info.name)) == "bool":
        return str(value == "on")
    is_number = info.type != lib.RW_PARAM_CHOICE and isinstance(number_or_text(value), (int, float))
    return value if is_number else f'"{value}"'


def is_of_data(name: str) -> bool:
    """Tells whether a parameter of the program is an argument of Dataset here."""
    return name in IN_PYTHON and name != "absent"


def _in_help(option: re.Match[str]) -> str:
    here = IN_PYTHON.get(option[1], "")
    return here.partition(", with ")[0] if here.startswith("Dataset(") else option[1].replace("-", "_")


@dataclass(frozen=True)
class Parameter:
    """A training parameter, as :func:`params` lists it.

    Attributes
    ----------
    name : str
        Name, such as ``"min_docs"``.
    type : str
        Types or words that it accepts.
    default : str
        Default value, as it is written in Python.
    range : str
        Smallest and largest number, such as ``"2 to 65536"``; empty if it is not a number.
    meaning : str
        Effect of the parameter, in one sentence.

    Examples
    --------
    >>> leaves = next(one for one in rankwood.params() if one.name == "leaves")
    >>> leaves.default, leaves.range
    ('"auto"', '2 to 65536')
    """

    name: str
    type: str
    default: str
    range: str
    meaning: str

    def __str__(self) -> str:
        return "\n".join(_entry(self))


def params() -> list[Parameter]:
    """List the training parameters with their meanings, in the order of ``rankwood train --help``.

    Parameters that are arguments of :class:`Dataset` here, such as weights, are not among them.

    Returns
    -------
    list of Parameter
        The parameters. ``pandas.DataFrame(rankwood.params())`` is a table of them.

    Examples
    --------
    >>> print(next(one for one in rankwood.params() if one.name == "min_docs"))
    min_docs : int, default 20
        Minimum number of documents in a leaf. Range: 1 to 1000000000.
    """
    return [_parameter(info) for info in infos() if not is_of_data(text(info.name))]


def _parameter(info: Any) -> Parameter:
    words = text(info.range)
    meaning = re.sub(r"--([a-z][a-z0-9-]*)", _in_help, text(info.help)).strip().rstrip(".")
    return Parameter(
        text(info.name).replace("-", "_"), _type_of(info), _default_of(info),
        words if re.fullmatch(r"\S+ to \S+", words) else "", f"{meaning[:1].upper()}{meaning[1:]}.",
    )  # fmt: skip


def _entry(one: Parameter) -> list[str]:
    """Returns the lines of a parameter in a docstring."""
    words = one.meaning + (f" Range: {one.range}." if one.range else "")
    indent = "    "
    lines = textwrap.wrap(words, 100, initial_indent=indent, subsequent_indent=indent)
    return [f"{one.name} : {one.type}, default {one.default}", *lines]


def described(names: Iterable[str] | None = None) -> str:
    """Returns numpydoc entries of parameters; by default, of all that are not arguments of Dataset."""
    chosen = None if names is None else {name.replace("_", "-") for name in names}
    some = params() if chosen is None else [_parameter(info) for info in infos() if text(info.name) in chosen]
    return "\n".join(line for one in some for line in _entry(one))


def with_parameters(doc: str | None, names: Iterable[str] | None = None) -> str | None:
    """Puts the entries of parameters into a docstring, at PLACE."""
    line = next((line for line in (doc or "").split("\n") if line.strip() == PLACE), None)
    if doc is None or line is None:
        return doc
    indent = line[: len(line) - len(line.lstrip())]
    return doc.replace(line, textwrap.indent(described(names), indent))


class Params:
    """A struct rw_params with the given values; other parameters have their defaults.

    Names are those of ``rankwood train --help``, with ``_`` or ``-``. None means the default. strict: a parameter
    without effect is an error (True), a warning (False), or ignored (None).
    """

    def __init__(self, given: Mapping[str, Any] | None = None, strict: bool | None = False) -> None:
        out = ffi.new("struct rw_params **")
        self.c = made(lib.rw_params_new(context(), out), out, lib.rw_params_free)
        lib.rw_params_on_no_effect(self.c, no_effect(strict))
        for name, value in (given or {}).items():
            if not isinstance(name, str):
                raise ParameterTypeError(f"a parameter's name is {name!r}; expected a string")
            if value is not None:
                self.set(name, value)

    def set(self, name: str, value: Any) -> None:
        ours = name.replace("_", "-")
        _refuse_functions(name, value)
        if ours in _REFUSED:
            what, where = _REFUSED[ours]
            raise ParameterError(f"{what} are the data's: {where}")
        if "\0" not in name and lib.rw_params_get(self.c, chars(ours)) == ffi.NULL:
            raise ParameterError(_unknown(name))
        kinds, text_of = _FORMATS.get(ours, ((), as_text))
        if isinstance(value, kinds):
            value = text_of(value)
        check(lib.rw_params_set(context(), self.c, chars(ours), chars(as_text(value))))

    def measuring(self) -> Any:
        """Returns a struct rw_eval_params, valid as long as this object. ParameterError: invalid values."""
        check(lib.rw_params_check(context(), self.c, lib.RW_PARAMS_MEASURE))
        return lib.rw_params_eval(self.c)

    def get(self, name: str) -> str:
        value = lib.rw_params_get(self.c, chars(name.replace("_", "-")))
        if value == ffi.NULL:
            raise ParameterError(f"no parameter {name!r}")
        return text(value)
