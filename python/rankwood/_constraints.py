"""Constraints of features as LightGBM, XGBoost and CatBoost have them: values, or texts of them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any


def directions(value: Any) -> dict[Any, int]:
    """1 or -1 by feature: given by position, or by name."""
    if isinstance(value, str):
        items = [item.strip() for item in value.strip(" ()[]").split(",") if item.strip()]
        by_name = [item.rpartition(":") for item in items]
        named = all(middle for _, middle, _ in by_name)
        value = {first: last for first, _, last in by_name} if named else items
    given = value.items() if isinstance(value, Mapping) else enumerate(value)
    return {feature: int(sign) for feature, sign in given if int(sign)}


def groups(value: Any) -> list[list[Any]]:
    """Lists of features that may be used together: given by position, or by name. TypeError, ValueError: it is
    none."""
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
