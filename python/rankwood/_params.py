"""Parameters by name, as Python values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from rankwood._columns import name_in_file
from rankwood._core import ParameterError, ParameterTypeError, chars, check, context, ffi, lib, made, text

Value = str | int | float | bool | None | list[Any] | tuple[Any, ...]


def infos() -> Iterator[Any]:
    """The library's own table of parameters."""
    i = 0
    while (info := lib.rw_param_info(i)) != ffi.NULL:
        yield info
        i += 1


def as_text(value: Any) -> str:
    """A value as the library takes it: `on` and `off` for bools, commas between a list's items."""
    if isinstance(value, (bool, np.bool_)):
        return "on" if value else "off"
    if isinstance(value, (list, tuple)):
        return ",".join(as_text(one) for one in value)
    if isinstance(value, float):
        return repr(float(value))
    return str(value)


def _feature(parameter: str, feature: Any) -> str:
    """A name or an id as lists of features have it."""
    if isinstance(feature, (bool, np.bool_)) or not isinstance(feature, (str, int, np.integer)):
        raise ParameterTypeError(f"{parameter} names the feature {feature!r}; expected a name or an id")
    return name_in_file(feature) if isinstance(feature, str) else str(feature)


def _directions(value: Mapping[Any, Any]) -> str:
    """Features with their directions as the library takes them; those without one are left out."""
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
    """Features with their penalties as the library takes them."""
    items = []
    for feature, cost in value.items():
        named = _feature("feature_penalty", feature)
        if isinstance(cost, (bool, np.bool_)) or not isinstance(cost, (int, float, np.number)):
            raise ParameterTypeError(f"feature_penalty[{feature!r}] is {cost!r}; expected a number")
        items.append(f"{named}:{float(cost)!r}")
    return ",".join(items)


def _groups(value: Any) -> str:
    """Lists of features that may be used together as the library takes them."""
    groups = []
    for group in value:
        if isinstance(group, (str, bytes)) or not isinstance(group, Iterable):
            raise ParameterTypeError(f"interactions has the group {group!r}; expected a list of names or ids")
        groups.append(",".join(_feature("interactions", one) for one in group))
        if not groups[-1]:
            raise ParameterError(f"interactions has the group {group!r}; expected a feature or more")
    return ";".join(groups)


def number_or_text(value: str) -> int | float | str:
    """A value of the library's as Python's."""
    for kind in (int, float):
        try:
            return kind(value)
        except ValueError:
            pass
    return value


def _unknown(name: str) -> str:
    """What a name that is no parameter's was meant to be, as Python has it."""
    from rankwood import migrate

    ours, note = migrate.meaning(name) or (None, None)
    if ours is None and note is None:
        near = lib.rw_params_nearest(chars(name))
        ours = text(near) if near != ffi.NULL else None
    if ours is not None:
        what = f"; the nearest is {ours.replace('-', '_')!r}"
    else:
        what = "" if note is None else "; there is no such parameter here"
    return f"unknown parameter {name!r}{what}" + ("" if note is None else f"\nhint: {note}")


def as_mapping(params: Mapping[str, Any] | None) -> dict[str, Any]:
    """A copy of the caller's parameters."""
    if params is None:
        return {}
    if not isinstance(params, Mapping):
        raise ParameterTypeError(f"params is a {type(params).__name__}; expected a dictionary")
    return dict(params)


def _refuse_functions(name: str, value: Any) -> None:
    """Training takes its functions out before; whatever else takes parameters knows names alone."""
    for one in value if isinstance(value, (list, tuple)) else [value]:
        if callable(one):
            called = getattr(one, "__name__", type(one).__name__)
            hint = f"\nhint: call it with scores: {called}(model.predict(data), data)" if name == "metric" else ""
            raise ParameterError(f"{name} is the function {called!r}; expected a name here{hint}")


def no_effect(strict: bool | None) -> int:
    """What a parameter without effect is."""
    if strict is not None and not isinstance(strict, (bool, np.bool_)):
        raise ParameterTypeError(f"strict is {strict!r}; expected True, False or None")
    if strict is None:
        return int(lib.RW_NO_EFFECT_SILENT)
    return int(lib.RW_NO_EFFECT_ERROR if strict else lib.RW_NO_EFFECT_WARN)


def need_device(given: Mapping[str, Any]) -> None:
    """UnsupportedError: the device is not there; for calls that are about to read data."""
    if given.get("device") is not None:
        check(lib.rw_device_check(context(), chars(as_text(given["device"]))))


class Params:
    """struct rw_params: those given, the others at their defaults.

    Names are those of ``rankwood train --help``, with ``_`` for ``-``; None leaves a default. strict: a parameter
    without effect is an error (True), a warning (False), or neither (None).
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
        if ours == "weights":
            raise ParameterError("weights are the data's: Dataset(..., weight=) or (..., query_weight=)")
        if ours == "positions":
            raise ParameterError("positions are the data's: Dataset(..., position=)")
        if ours == "labels":
            raise ParameterError("further labels are the data's: Dataset(..., more_labels=)")
        if ours == "start-scores":
            raise ParameterError("start_scores are the data's: Dataset(..., start_scores=)")
        if ours == "pairs-file":
            raise ParameterError("pairs are the data's: Dataset(..., pairs=), with pairs='given'")
        if "\0" not in name and lib.rw_params_get(self.c, chars(ours)) == ffi.NULL:
            raise ParameterError(_unknown(name))
        if ours == "monotone" and isinstance(value, Mapping):
            value = _directions(value)
        elif ours == "feature-penalty" and isinstance(value, Mapping):
            value = _penalties(value)
        elif ours == "interactions" and isinstance(value, (list, tuple)):
            value = _groups(value)
        elif ours == "features" and isinstance(value, (list, tuple)):
            value = [name_in_file(one) if isinstance(one, str) else one for one in value]
            if not value:
                raise ParameterError("features is empty; expected ids or names")
        check(lib.rw_params_set(context(), self.c, chars(name.replace("_", "-")), chars(as_text(value))))

    def get(self, name: str) -> str:
        value = lib.rw_params_get(self.c, chars(name.replace("_", "-")))
        if value == ffi.NULL:
            raise ParameterError(f"no parameter {name!r}")
        return text(value)


def need_measured(c: Params, hooks: Any, has_valid: bool) -> None:
    """ParameterError: a function is given as metric, and nothing is measured."""
    if hooks.metric != ffi.NULL and not has_valid and c.get("train-metric") != "on":
        raise ParameterError("metric is a function, which nothing calls without a validation set or train_metric=True")
