"""How a model goes to another program, or comes from one, for the library."""

from __future__ import annotations

import os
from typing import Literal

from rankwood._core import chars, ffi, lib, path_chars, whole


class Exchange:
    """struct rw_exchange, and what it points to."""

    def __init__(
        self,
        format: str,
        feature_base: int | Literal["auto"],
        lossy: bool,
        featureset: str | os.PathLike[str] | None = None,
        name: str | None = None,
    ) -> None:
        self._format = ffi.new("char[]", chars(format))
        self._featureset = None if featureset is None else ffi.new("char[]", path_chars(featureset))
        self._name = None if name is None else ffi.new("char[]", chars(name))
        auto = isinstance(feature_base, str) and feature_base == "auto"
        base = lib.RW_FEATURE_BASE_AUTO if auto else whole(feature_base, "feature_base", -1, 1)
        self.c = ffi.new("struct rw_exchange *")
        self.c.format, self.c.feature_base, self.c.lossy = self._format, base, int(lossy)
        self.c.featureset, self.c.name = self._featureset or ffi.NULL, self._name or ffi.NULL
