"""Data sets of the LightGBM layer: values and side columns that become a rankwood.Dataset when they are used."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

import rankwood
from rankwood._core import DataError
from rankwood.compat._shared import vector, warn


def n_columns(data: Any) -> int:
    """Returns the number of features of arrays and tables."""
    return int(data.shape[1]) if hasattr(data, "shape") else int(np.asarray(data).shape[1])


def features_of(data: Any) -> Any:
    """Returns features in a form that rankwood.Dataset reads; reads LibSVM and CSV files without their labels."""
    if isinstance(data, (str, os.PathLike)):
        return _read(Path(data))[0]
    if isinstance(data, list):
        return np.vstack(data) if data and getattr(data[0], "ndim", 1) == 2 else np.asarray(data)
    return data


def _read(path: Path) -> tuple[Any, Any]:
    """Returns features and labels (the first column) of a file as LightGBM reads it."""
    with open(path, encoding="utf-8") as file:
        first = file.readline()
    if ":" in first:
        from sklearn.datasets import load_svmlight_file

        features, label = load_svmlight_file(str(path), zero_based=True)
        return features, label
    values = np.loadtxt(path, delimiter="," if "," in first else None, ndmin=2)
    return values[:, 1:], values[:, 0]


def _beside(path: Path, what: str) -> Any:
    """Returns the side column of a file, such as train.txt.query; None without one."""
    side = Path(f"{path}.{what}")
    return np.loadtxt(side, ndmin=1, dtype=str if what == "position" else float) if side.exists() else None


class Dataset:
    """Documents for training and validation, with the arguments of lightgbm.Dataset.

    Parameters
    ----------
    data : array, list of arrays, sparse matrix, data frame, Arrow table, str or path
        Features of shape (n_docs, n_features). A file is LibSVM text or CSV with the label first; LightGBM's files of
        side columns (``.query``, ``.weight``, ``.init``, ``.position``) are read too.
    label : array or None, default None
        Relevance, 0 to 30, shape (n_docs,).
    reference : Dataset or None, default None
        Accepted; bin boundaries always come from the training set.
    weight : array or None, default None
        Weight of each document.
    group : array or None, default None
        Number of documents of each query, in order. Ranking needs it.
    init_score : array or None, default None
        Score of each document at the start of training; predictions do not contain it.
    feature_name : list of str or "auto", default "auto"
        Names of the features; by default those of the columns.
    categorical_feature : list or "auto", default "auto"
        Categorical features, by name or number from 0; by default the columns with a category type.
    params : dict or None, default None
        ``categorical_feature`` and ``zero_as_missing`` are used.
    free_raw_data : bool, default True
        Accepted; the data is read in place.
    position : array or None, default None
        Displayed position of each document, whose bias is then corrected.

    Raises
    ------
    DataError
        Shapes do not match, or values are invalid. Raised when the data is first used.

    Examples
    --------
    >>> import rankwood.compat.lightgbm as lgb
    >>> lgb.Dataset(X, y, group=np.bincount(qid)).construct().num_data() == len(y)
    True
    """

    def __init__(
        self,
        data: Any,
        label: Any = None,
        reference: Dataset | None = None,
        weight: Any = None,
        group: Any = None,
        init_score: Any = None,
        feature_name: Any = "auto",
        categorical_feature: Any = "auto",
        params: Mapping[str, Any] | None = None,
        free_raw_data: bool = True,
        position: Any = None,
    ) -> None:
        self.data, self.label, self.reference, self.weight = data, label, reference, weight
        self.group, self.init_score, self.position = group, init_score, position
        self.feature_name, self.categorical_feature = feature_name, categorical_feature
        self.params = dict(params or {})
        self._handle: rankwood.Dataset | None = None

    @property
    def handle(self) -> rankwood.Dataset:
        """The rankwood.Dataset."""
        if self._handle is None:
            self._handle = self._made()
        return self._handle

    def _made(self) -> rankwood.Dataset:
        if isinstance(self.data, (str, os.PathLike)):
            path = Path(self.data)
            self.data, label = _read(path)
            self.label = label if self.label is None else self.label
            for name in ("group", "weight", "init_score", "position"):
                if getattr(self, name) is None:
                    setattr(self, name, _beside(path, {"group": "query", "init_score": "init"}.get(name, name)))
        self.data = features_of(self.data)
        if self.group is None and self.label is not None:
            raise DataError("the Dataset has no group; ranking needs the number of documents of each query")
        if np.ndim(self.label) == 2 and np.shape(self.label)[1] == 1:
            warn("label is a column-vector of shape (n, 1); its column is used")
        position = vector(self.position)
        if position is not None:
            position = np.unique(position, return_inverse=True)[1]
        categorical = self.params.get("categorical_feature", self.categorical_feature)
        return rankwood.Dataset(
            self.data, vector(self.label), group=vector(self.group), weight=vector(self.weight), position=position,
            start_scores=vector(self.init_score), missing=0 if self.params.get("zero_as_missing") else np.nan,
            feature_names=None if isinstance(self.feature_name, str) else self.feature_name,
            categorical_features=None if isinstance(categorical, str) and categorical == "auto" else categorical,
        )  # fmt: skip

    def construct(self) -> Dataset:
        """Read the data now instead of at its first use."""
        assert self.handle is not None
        return self

    def create_valid(
        self, data: Any, label: Any = None, weight: Any = None, group: Any = None, init_score: Any = None,
        params: Mapping[str, Any] | None = None, position: Any = None,
    ) -> Dataset:  # fmt: skip
        """Return a validation set for this training set."""
        return Dataset(
            data, label, self, weight, group, init_score, params=params or self.params, position=position,
            categorical_feature=self.categorical_feature,
        )  # fmt: skip

    def set_field(self, field_name: str, data: Any) -> Dataset:
        """Replace label, weight, group, init_score or position; None removes it."""
        if field_name not in ("label", "weight", "group", "init_score", "position"):
            raise DataError(f"unknown field {field_name!r}; expected label, weight, group, init_score or position")
        setattr(self, field_name, data)
        self._handle = None
        return self

    def get_field(self, field_name: str) -> Any:
        """Return a field as an array; that of group has the first document of each query, and the end."""
        value = vector(getattr(self, field_name))
        if value is not None and field_name == "group":
            return np.concatenate(([0], np.cumsum(value))).astype(np.int32)
        if value is not None and field_name == "position":
            _, first, number = np.unique(value, return_index=True, return_inverse=True)
            return np.argsort(np.argsort(first))[number].astype(np.int32)
        kind = np.float64 if field_name == "init_score" else np.float32
        return None if value is None else value.astype(kind)

    def num_data(self) -> int:
        """Return the number of documents."""
        return self.handle.n_docs

    def num_feature(self) -> int:
        """Return the number of features."""
        return self.handle.n_features

    def get_feature_name(self) -> list[str]:
        """Return the names of the features; those without a name are Column_0, Column_1 and so on."""
        return self.handle.feature_names or [f"Column_{i}" for i in range(self.num_feature())]

    def get_data(self) -> Any:
        """Return the features as they were given."""
        return self.data

    def set_reference(self, reference: Dataset) -> Dataset:
        """Accepted; bin boundaries always come from the training set."""
        self.reference = reference
        return self

    def subset(self, used_indices: Sequence[int], params: Mapping[str, Any] | None = None) -> Dataset:
        """Return some of the documents, in the order of the data; queries keep those of their documents."""
        self.construct()
        rows = np.sort(np.asarray(used_indices, np.int64))
        group = np.repeat(np.arange(len(vector(self.group))), vector(self.group).astype(np.int64))[rows]
        data = self.data.tocsr() if hasattr(self.data, "tocsr") else self.data
        part = data.iloc[rows] if hasattr(data, "iloc") else data.take(rows) if hasattr(data, "take") else data[rows]
        if isinstance(data, np.ndarray):
            part = data[rows]
        sides: dict[str, Any] = {
            name: None if (value := vector(getattr(self, name))) is None else value[rows]
            for name in ("label", "weight", "init_score", "position")
        }
        sizes = np.unique(group, return_counts=True)[1]
        return Dataset(
            part, reference=self, group=sizes, feature_name=self.feature_name, params=params or self.params,
            categorical_feature=self.categorical_feature, **sides,
        )  # fmt: skip


def _accessors(name: str) -> None:
    """Adds get_NAME and set_NAME."""

    def get(self: Dataset) -> Any:
        return getattr(self, name)

    def put(self: Dataset, value: Any) -> Dataset:
        return self.set_field(name, value)

    get.__doc__, put.__doc__ = f"Return {name} as it was given.", f"Replace {name}; None removes it."
    setattr(Dataset, f"get_{name}", get)
    setattr(Dataset, f"set_{name}", put)


for _name in ("label", "weight", "group", "init_score", "position"):
    _accessors(_name)
