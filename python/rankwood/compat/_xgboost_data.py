"""XGBoost's DMatrix over Rankwood's Dataset."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwood._core import DataError
from rankwood._dataset import Dataset
from rankwood.compat import _shared
from rankwood.compat._xgboost_params import by_position


class DMatrix:
    """Documents with features, labels and queries.

    Parameters
    ----------
    data : array, sparse matrix, data frame, Arrow table, str or path
        Features of shape (n_docs, n_features), or a file in the libsvm format with qid. Absent values of a sparse
        matrix or file are missing.
    label : array or None, default None
        Label of each document, 0 or more.
    weight : array or None, default None
        Weight of each query, 0 or more.
    base_margin : array or None, default None
        Score of each document at which training and prediction start.
    missing : float or None, default None
        Value that means missing, in addition to NaN.
    silent, nthread : optional
        Ignored.
    feature_names : list of str or None, default None
        Names of the features; by default those of a data frame.
    feature_types : list of str or None, default None
        A type per feature; ``"c"`` is categorical. Categorical columns of a data frame are so without it.
    group : array of int or None, default None
        Number of documents of each query, in order.
    qid : array or None, default None
        Query of each document; an alternative to ``group``. Without both, all documents are one query.
    enable_categorical : bool, default True
        False refuses categorical columns.

    Raises
    ------
    DataError
        A ValueError: shapes, types, labels or queries are invalid. Some are checked when the data is first used.

    Examples
    --------
    >>> dtrain = xgb.DMatrix(X, y, qid=qid)
    >>> dtrain.num_row() == len(y)
    True
    """

    @by_position
    def __init__(
        self,
        data: Any,
        label: Any = None,
        *,
        weight: Any = None,
        base_margin: Any = None,
        missing: float | None = None,
        silent: bool = False,
        feature_names: Sequence[str] | None = None,
        feature_types: Sequence[str] | None = None,
        nthread: int | None = None,
        group: Any = None,
        qid: Any = None,
        enable_categorical: bool = True,
    ) -> None:
        if isinstance(data, (str, Path)):
            data = str(data).partition("?")[0]
        self._data = np.asarray(data) if isinstance(data, list) else data
        self._missing = np.nan if missing is None else missing
        self._made: dict[bool, Dataset] = {}
        columns = getattr(data, "column_names", getattr(data, "columns", None))  # of Arrow; of pandas and polars
        self.feature_names = None if columns is None else [str(one) for one in columns]
        self.feature_types: list[str] | None = None
        self._info: dict[str, Any] = {}
        self.set_info(label=label, weight=weight, base_margin=base_margin, group=group, qid=qid,
                      feature_names=feature_names, feature_types=feature_types)  # fmt: skip
        if self.feature_names is not None and feature_names is None and "qid" in self.feature_names:
            raise ValueError("the data has a column 'qid'; drop it and pass qid=, or pass the frame to XGBRanker")
        if not enable_categorical and self._dataset()._words:
            raise ValueError("the data has categorical features; they need enable_categorical=True")

    def set_info(self, **info: Any) -> None:
        """Set label, weight, base_margin, group, qid, feature_names or feature_types; None leaves them as they are."""
        self._made = {}
        for name, value in info.items():
            if value is None:
                continue
            if name in ("feature_names", "feature_types"):
                setattr(self, name, [value] * self.num_col() if isinstance(value, str) else list(value))
            elif name in ("label", "weight", "base_margin", "group", "qid"):
                self._info[name] = _shared.vector(value)
                if name in ("group", "qid"):
                    self._info.pop("qid" if name == "group" else "group", None)
            else:
                raise TypeError(f"unexpected {name!r}; expected label, weight, base_margin, group or qid")

    def set_group(self, group: Any) -> None:
        """Set the number of documents of each query."""
        self.set_info(group=group)

    def set_label(self, label: Any) -> None:
        """Set the labels."""
        self.set_info(label=label)

    def set_weight(self, weight: Any) -> None:
        """Set the weight of each query."""
        self.set_info(weight=weight)

    def set_base_margin(self, margin: Any) -> None:
        """Set the start score of each document."""
        self.set_info(base_margin=margin)

    def get_label(self) -> Any:
        """Return the labels, float32."""
        return self.get_float_info("label")

    def get_weight(self) -> Any:
        """Return the weights of the queries, float32; empty without weights."""
        return self.get_float_info("weight")

    def get_base_margin(self) -> Any:
        """Return the start scores, float32; empty without them."""
        return self.get_float_info("base_margin")

    def get_float_info(self, field: str) -> Any:
        """Return label, weight or base_margin, float32."""
        if field == "label" and isinstance(self._data, str):
            return self._dataset().label
        return np.asarray(self._info.get(field, ()), np.float32)

    def get_group(self) -> Any:
        """Return the number of documents of each query, uint32."""
        return np.diff(self.get_uint_info("group_ptr")).astype(np.uint32)

    def get_uint_info(self, field: str) -> Any:
        """Return the first document of each query and the number of documents, for ``field="group_ptr"``."""
        if field != "group_ptr":
            raise ValueError(f"field is {field!r}; expected 'group_ptr'")
        has_queries = isinstance(self._data, str) or not self._info.keys().isdisjoint(("group", "qid"))
        return self._dataset().query_offsets.astype(np.uint32) if has_queries else np.empty(0, np.uint32)

    def num_row(self) -> int:
        """Return the number of documents."""
        return self._dataset().n_docs

    def num_col(self) -> int:
        """Return the number of features."""
        return self._dataset().n_features

    def slice(self, rindex: Any, allow_groups: bool = False) -> DMatrix:
        """Return a copy of some documents, without queries. ``allow_groups=True`` allows it for data with queries."""
        if not allow_groups and self._info.keys() & {"group", "qid"}:
            raise ValueError("slice would split queries; allow_groups=True drops them, and set_group sets new ones")
        return self._part(np.asarray(rindex))

    def _part(self, rows: Any, queries: Any = None) -> DMatrix:
        """Returns some rows. queries: numbers of the queries with these rows; None: without queries."""
        if isinstance(self._data, str):
            raise ValueError("a DMatrix of a file cannot be sliced")
        info = self._info
        taken: dict[str, Any] = {name: info[name][rows] for name in ("label", "base_margin") if name in info}
        if queries is not None:
            taken["group"] = self.get_group()[queries]
            if "weight" in info:
                taken["weight"] = info["weight"][queries]
        data = self._data
        if hasattr(data, "iloc"):
            data = data.iloc[rows]
        else:
            data = data.take(rows) if hasattr(data, "column_names") else data[rows]  # of Arrow; arrays and polars
        taken.update(missing=self._missing, feature_names=self.feature_names, feature_types=self.feature_types)
        return DMatrix(data, **taken)

    def _dataset(self, positions: bool = False) -> Dataset:
        """Returns the documents. positions: with their order in the query as displayed position."""
        if positions not in self._made:
            self._made[positions] = Dataset(self._data) if isinstance(self._data, str) else self._make(positions)
        return self._made[positions]

    def _make(self, positions: bool) -> Dataset:
        info = self._info
        more: dict[str, Any] = {"start_scores": info.get("base_margin")}
        if "label" in info:
            groups = {"qid": info["qid"]} if "qid" in info else {"group": info.get("group", [len(info["label"])])}
            more |= {"label": info["label"], "query_weight": info.get("weight"), **groups}
        if positions:
            sizes = self.get_group().astype(np.int64)
            more["position"] = np.concatenate([np.arange(n) for n in sizes])
        types = self.feature_types or ()
        more["categorical_features"] = [i for i, kind in enumerate(types) if kind == "c"]
        try:
            return Dataset(self._data, missing=self._missing, feature_names=self.feature_names, **more)
        except DataError as error:
            text = str(error).replace("start_scores", "base_margin")
            if "query_weight" in text:
                text = text.replace("query_", "") + "; it must be equal to the number of query groups"
            raise type(error)(text) from None


class QuantileDMatrix(DMatrix):
    """A :class:`DMatrix`; bins are always made once per data set.

    Parameters
    ----------
    data, label : optional
        As in :class:`DMatrix`.
    ref : DMatrix or None, default None
        Ignored: validation sets need no bins.
    max_bin : int or None, default None
        Ignored: the parameter ``max_bin`` counts.
    **info
        Other arguments of :class:`DMatrix`.

    Examples
    --------
    >>> xgb.QuantileDMatrix(X, y, qid=qid).num_col()
    5
    """

    def __init__(
        self, data: Any, label: Any = None, *, ref: Any = None, max_bin: int | None = None, **info: Any
    ) -> None:  # fmt: skip
        super().__init__(data, label, **info)
