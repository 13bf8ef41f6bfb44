"""The public class Dataset: checks its arguments and collects columns, queries and side columns.

The base class Handles creates the library's objects from them on demand. _columns and _tables read the data.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from rankwood import _columns, _tables, _workers
from rankwood._columns import Floats, Queries, are_names, labels_of, one_label, vector
from rankwood._core import (
    DataError,
    DataTypeError,
    UnsupportedError,
    ffi,
    lib,
    need,
    path_chars,
    text,
)
from rankwood._handles import Handles, locked
from rankwood._params import Params, hinted

# Attributes that a pickle stores; the others are made of them.
_STATE = (
    "_paths", "_source", "_labels", "_offset", "_ids", "_order", "_names", "_columns", "_words", "_sides", "_pairs",
    "_has_labels", "_feature_base", "_missing",
)  # fmt: skip


class Dataset(Handles):
    """Documents with features and, for training and measuring, labels and queries.

    Parameters
    ----------
    data : array, sparse matrix, data frame, Arrow table, str, path or list of paths
        Features of shape (n_docs, n_features), or one or more files. Anything with ``__arrow_c_stream__`` is an Arrow
        table (polars, pyarrow, duckdb). Files are LETOR text, CSV or TSV (``.csv``, ``.tsv``, also with ``.gz``), or a
        cache. Arrays and Arrow tables are read in place and must not change while the data set is in use. Values of
        any float, integer or bool type become float32. A warning names columns with integers that it cannot hold.
    label : array, str, list of str or None, default None
        Relevance of each document, 0 or more, shape (n_docs,), or a column name. Files contain labels; of CSV and
        TSV, the default column is ``"label"``. Data in memory without labels can only be scored and explained, and
        needs no queries. With several labels (n_docs, k), or a list of columns, the first is the label and the others
        are ``more_labels``.
    qid : array of int or str, str or None, default None
        Query of each document, shape (n_docs,), or a column name. If neither ``qid`` nor ``group`` is given, a column
        named ``"qid"`` holds the queries; it is never a feature. Documents of a query must be adjacent, unless
        ``sort`` is True.
    group : array of int or None, default None
        Number of documents of each query, in order; an alternative to ``qid``.
    weight : array, str or None, default None
        Weight of each document, 0 to 65,536, or a column name.
    query_weight : array or None, default None
        Weight of each query, 0 to 65,536. With ``weight``, both are multiplied.
    start_scores : array, str or None, default None
        Scores at which training and its metrics start instead of 0, shape (n_docs,), or a column name. They are
        finite, from -1e30 to 1e30. LightGBM calls them ``init_score``, XGBoost ``base_margin``. The model does not
        include them: add them to the result of ``Model.predict``.
    pairs : array of shape (n, 2) or (n, 3) or None, default None
        Pairs of documents to rank in this order, for the parameter ``pairs="given"``. A row has the numbers of the
        better and the worse document of the same query, from 0 in the order of ``data``. An optional third number is
        the pair's weight, 0 to 65,536 (default 1).
    position : array of int, str or None, default None
        Displayed position of each document, 0 to 65,535, or a column name. Training with the parameter ``debias``
        needs it; it is LightGBM's ``position``.
    more_labels : array, list of str or None, default None
        Further labels, 0 or more, shape (n_docs,) or (n_docs, k), or a list of columns. They are for the parameter
        ``label_weights``; metrics use ``label`` only.
    feature_names : list of str or None, default None
        Names of the features; by default the column names of a data frame or table. In a model file, ``_`` replaces
        blanks and commas, and precedes numbers. Both forms of a name are recognised.
    categorical_features : list of str or int, or None, default None
        Features with categories: words or whole numbers, by column name or number (from 0). Categorical columns of
        pandas and dictionaries of Arrow and polars are categorical without being listed. Training splits them by sets
        of categories. The model stores categories as words, so other data may use different codes. Arrow tables with
        categories are copied.
    ignore : list of str or int, default ()
        Columns that are not features, by name or number (from 0). It also applies to CSV and TSV.
    missing : float, default NaN
        Value that means missing, in addition to NaN and null. Implicit zeros of a sparse matrix are 0, and are missing
        with ``missing=0``.
    sort : bool, default False
        True allows documents of a query to be scattered. Scores are still in the order of ``data``.
    feature_base : {0, 1} or None, default None
        Feature id of column 0. Use 1 with LETOR text and its models, which usually count features from 1. By default
        columns count from 0, and an array fits data and models with the same number of columns.
    n_features : int or None, default None
        Number of columns of a sparse matrix that lacks the last ones. ``load_svmlight_file`` omits trailing columns
        without values.

    Raises
    ------
    DataError
        Shapes do not match, a type is not numeric, a label is negative or NaN, or a query's documents are not
        adjacent. Infinite values are detected when the data is first used.

    See Also
    --------
    from_parquet, from_batches : data sets larger than memory.

    Examples
    --------
    >>> dataset = rankwood.Dataset(X, y, qid=qid)
    >>> dataset
    Dataset(1028 documents, 60 queries, 46 features)

    >>> table = {"price": [1.0, 2.5, 0.5, 4.0], "clicks": [3, 0, 1, 2], "label": [1, 0, 2, 0], "qid": [1, 1, 2, 2]}
    >>> rankwood.Dataset.from_batches(lambda: [table], label="label", qid="qid").feature_names
    ['price', 'clicks']
    """

    @hinted
    def __init__(
        self,
        data: Any,
        label: Any = None,
        *,
        qid: Any = None,
        group: Any = None,
        weight: Any = None,
        query_weight: Any = None,
        start_scores: Any = None,
        pairs: Any = None,
        position: Any = None,
        more_labels: Any = None,
        feature_names: Sequence[str] | None = None,
        categorical_features: Any = None,
        ignore: Iterable[str | int] = (),
        missing: float = np.nan,
        sort: bool = False,
        feature_base: int | None = None,
        n_features: int | None = None,
    ) -> None:
        self._begin()
        self._feature_base = _columns.feature_base_of(feature_base)
        categorical = _columns.given_features(categorical_features)
        label, more_labels = one_label(label, more_labels)
        if _tables.is_paths(data):
            if feature_base is not None or n_features is not None:
                raise DataError("feature_base and n_features are for data in memory; files are read as they are")
            if are_names(more_labels):
                self._columns["more_label"] = [_column(one) for one in more_labels]
                more_labels = None
            for what, given in {"start_scores": start_scores, "position": position}.items():
                if isinstance(given, str):
                    raise DataError(f"{what} is a column name; expected an array, because files lack such columns")
            self._open_files(data, label, qid, group, weight, feature_names, ignore, sort)
            if categorical:
                self._columns["categorical"] = _columns.as_list(categorical)
            weight = None if isinstance(weight, (str, int)) else weight
        else:
            ignore = _columns.given_columns(ignore, "ignore")
            named = [one for one in (label, qid, weight, start_scores, position) if isinstance(one, str)]
            further = list(more_labels) if are_names(more_labels) else []
            apart: frozenset[str | int] = frozenset([*ignore, *named, *further, _columns.QID])
            if _tables.is_arrow(data, "__arrow_c_stream__") and (categorical or _tables.has_categories(data, apart)):
                data = _tables.frame_of(data)
            table = _tables.of_any(data, apart, frozenset(categorical))
            _columns.widen(table, n_features)
            left_out = [*ignore, *(one for one in (start_scores, position) if isinstance(one, str)), *further]
            others = [*left_out, *(one for one in (label, weight) if isinstance(one, str))]
            named_qid = _columns.query_column(table.names, qid, group, others)
            if label is None and named_qid is not qid:  # documents that are only scored do not need queries
                left_out.append(_columns.QID)
            else:
                qid = named_qid
            if further:
                more_labels = [_column_of(table, one, "more_labels") for one in further]
                more_labels = np.column_stack([_columns.numbers_of(one, "more_labels") for one in more_labels])
            start_scores = _column_of(table, start_scores, "start_scores")
            position = _column_of(table, position, "position")
            self._open_table(table, label, qid, group, weight, feature_names, left_out, missing, sort, categorical)
            weight = None if isinstance(weight, str) else weight
        self._set_sides(weight, query_weight, start_scores, position, more_labels, pairs)

    @classmethod
    def from_parquet(
        cls,
        path: Any,
        *,
        label: str | None,
        qid: str,
        weight: str | None = None,
        query_weight: Any = None,
        start_scores: Any = None,
        position: Any = None,
        more_labels: Any = None,
        categorical_features: Iterable[str] | str = (),
        ignore: Iterable[str] = (),
        missing: float = np.nan,
        batch_rows: int = 32768,
    ) -> Dataset:
        """Read Parquet files batch by batch, so that the values need not fit in memory.

        Labels, queries and weights are read immediately. Values are read when training needs them: in one pass, or in
        two passes for more than 262,144 documents. The model is identical to that of the same data in memory.

        Parameters
        ----------
        path : str, path or list of paths
            One or more paths or patterns. The files of a pattern such as ``"data/*.parquet"`` are sorted by name.
            Documents of a query must be adjacent; a query may continue in the next file.
        label : str or None
            Column of labels; None sets all labels to 0.
        qid : str
            Column of query ids.
        weight : str or None, default None
            Column of document weights.
        query_weight : array or None, default None
            Weight of each query, in order. With ``weight``, both are multiplied.
        start_scores, position, more_labels : array or None, default None
            Values of all documents in order, as in :class:`Dataset`.
        categorical_features : list of str, default ()
            Columns with categories, words or whole numbers, in addition to dictionaries. Codes may differ between
            batches.
        ignore : list of str, default ()
            Columns that are not features. They are not read.
        missing : float, default NaN
            Value that means missing, in addition to NaN and null.
        batch_rows : int, default 32768
            Maximum number of rows that are decoded at once.

        Returns
        -------
        Dataset
            The data set.

        Raises
        ------
        DataError
            As in :class:`Dataset`. Also if the files have different columns, or if rows changed between two passes.
        FileError
            A file cannot be read.
        ImportError
            pyarrow is missing (extra ``arrow``).

        Notes
        -----
        ``predict``, ``evaluate``, ``compare`` and ``audit`` also read batch by batch. Validation during training,
        ``init``, ``explain``, ``cv``, ``check`` and training with categories load all values as float32, 4 bytes per
        value.

        Examples
        --------
        >>> rankwood.Dataset.from_parquet("data/*.parquet", label="label", qid="query")  # doctest: +SKIP
        Dataset(1028 documents, 60 queries, 46 features)
        """
        return cls._of_source(
            lambda roles: _tables.Parquet(path, int(batch_rows), roles), label, qid, weight, query_weight,
            start_scores, position, more_labels, categorical_features, ignore, missing,
        )  # fmt: skip

    @classmethod
    def from_batches(
        cls,
        make_reader: Callable[[], Any],
        *,
        label: str | None,
        qid: str,
        weight: str | None = None,
        query_weight: Any = None,
        start_scores: Any = None,
        position: Any = None,
        more_labels: Any = None,
        categorical_features: Iterable[str] | str = (),
        ignore: Iterable[str] = (),
        missing: float = np.nan,
    ) -> Dataset:
        """Read data from a function in batches, so that the values need not fit in memory.

        Parameters
        ----------
        make_reader : callable
            Function without arguments that returns an iterable of batches: Arrow record batches, objects with
            ``__arrow_c_stream__`` or ``__arrow_c_array__``, pandas data frames, or dictionaries of arrays. Rankwood
            calls it once for the column names, once for labels and queries, and once per pass over the values. Each
            call must return the same documents in the same order. All batches have the same columns and may have any
            size. Documents of a query must be adjacent, also across batches. Columns that are categorical in the first
            batch are categorical in all.
        label : str or None
            Column of labels; None sets all labels to 0.
        qid : str
            Column of query ids.
        weight : str or None, default None
            Column of document weights.
        query_weight : array or None, default None
            Weight of each query, in order. With ``weight``, both are multiplied.
        start_scores, position, more_labels : array or None, default None
            Values of all documents in order, as in :class:`Dataset`.
        categorical_features : list of str, default ()
            Columns with categories, in addition to dictionaries.
        ignore : list of str, default ()
            Columns that are not features.
        missing : float, default NaN
            Value that means missing, in addition to NaN and null.

        Returns
        -------
        Dataset
            The data set.

        Raises
        ------
        DataError
            As in :meth:`from_parquet`. An exception of ``make_reader`` is raised unchanged.

        Examples
        --------
        >>> def read():
        ...     for part in np.array_split(np.arange(len(y)), 4):
        ...         yield {"a": X[part, 0], "b": X[part, 1], "label": y[part], "query": qid[part]}
        >>> rankwood.Dataset.from_batches(read, label="label", qid="query")
        Dataset(1028 documents, 60 queries, 2 features)
        """
        return cls._of_source(
            lambda roles: _tables.Made(make_reader, roles), label, qid, weight, query_weight,
            start_scores, position, more_labels, categorical_features, ignore, missing,
        )  # fmt: skip

    # ---- sources of the data ----

    @classmethod
    def _of_source(
        cls,
        make_source: Callable[[_tables.Roles], _tables.Source],
        label: str | None,
        qid: str,
        weight: str | None,
        query_weight: Any,
        start_scores: Any,
        position: Any,
        more_labels: Any,
        categorical_features: Iterable[str] | str,
        ignore: Iterable[str],
        missing: float,
    ) -> Dataset:
        ignored = frozenset([ignore] if isinstance(ignore, str) else ignore)
        named = ignored.union(name for name in (label, qid, weight) if isinstance(name, str))
        source = make_source(_tables.Roles(named, ignored, _columns.given_names(categorical_features, named)))
        apart = set(ignored)
        for what, name in {"label": label, "qid": qid, "weight": weight}.items():
            if name is None and what != "qid":
                continue
            if not isinstance(name, str):
                raise DataError(f"{what} is a {type(name).__name__}; expected the name of a column")
            if name not in source.names:
                raise DataError(f"no column {name!r} for {what}; there are {_columns.few(source.names)}")
            apart.add(name)
        _columns.query_column(source.names, qid, None, apart - {qid})
        for what, names in (("to ignore", ignored), ("of categories", source.numbers.of)):
            for name in sorted(set(names).difference(source.names)):
                raise DataError(f"no column {name!r} {what}; there are {_columns.few(source.names)}")
        self = cls.__new__(cls)
        self._begin()
        self._source = source
        self._has_labels = label is not None
        self._names = [name for name in source.names if name not in apart]
        if not self._names:
            raise DataError("no column remains as a feature")
        _columns.check_features(self._names)
        documents = _tables.read_documents(source, label, qid, weight)
        self._labels, self._offset = documents.label, documents.offset
        if documents.weight is not None:
            self._sides["weights"] = documents.weight
        self._c_table = self._make_table(documents.ids, missing)
        self._set_sides(None, query_weight, start_scores, position, more_labels)
        return self

    def _open_files(
        self,
        data: Any,
        label: Any,
        qid: Any,
        group: Any,
        weight: Any,
        feature_names: Any,
        ignore: Any,
        sort: bool,
    ) -> None:
        for name, value in {"label": label, "qid": qid, "group": group}.items():
            if isinstance(value, (str, int)) and name != "group":
                self._columns[name] = _column(value)
            elif value is not None:
                raise DataError(f"{name} is given, but the files contain it; leave it out")
        if isinstance(weight, (str, int)):
            self._columns["weight"] = _column(weight)
        left_out = [_column(one) for one in _columns.given_columns(ignore, "ignore")]
        if left_out:
            self._columns["ignore"] = left_out
        if feature_names is not None or sort:
            raise DataError("feature_names and sort are for data in memory; files are read as they are")
        paths = [data] if isinstance(data, (str, os.PathLike)) else list(data)
        self._paths = [path_chars(path) for path in paths]

    def _open_table(
        self,
        table: _columns.Table,
        label: Any,
        qid: Any,
        group: Any,
        weight: Any,
        feature_names: Sequence[str] | None,
        ignore: Iterable[str | int],
        missing: float,
        sort: bool,
        categorical: Sequence[str | int],
    ) -> None:
        ids = list(range(len(table.columns)))
        by_name = {name: i for i, name in enumerate(table.names or [])}

        def column_of(value: Any, what: str) -> Any:
            column = _column_of(table, value, what)
            left_out.update([by_name[value]] if isinstance(value, str) else [])
            return column

        left_out: set[int] = set()
        label, qid = column_of(label, "label"), column_of(qid, "qid")
        weights = column_of(weight, "weight") if isinstance(weight, str) else None
        for one in ignore:
            if isinstance(one, str) and one not in by_name:
                raise DataError(f"no column {one!r} to ignore; there are {_columns.few(list(by_name))}")
            if not isinstance(one, str) and not 0 <= one < len(ids):
                raise DataError(f"no column {one} to ignore; there are {len(ids)}, from 0")
            left_out.add(by_name[one] if isinstance(one, str) else int(one))
        kept = [i for i in ids if i not in left_out]
        n = table.n_rows
        if n == 0 and _workers.count() == 1:
            raise DataError("Found array with 0 sample(s): data has no documents")
        _columns.check_shape(n, len(kept))
        if not kept:
            raise DataError(
                f"Found array with 0 feature(s) (shape=({n}, {len(kept)})) while a minimum of 1 is required."
            )
        self._has_labels = label is not None
        if label is None and qid is None and group is None:
            group = np.array([n])
        queries = Queries(n, qid, group, sort)
        queries.check_adjacent()
        self._order = queries.order
        labels = np.zeros(n, np.float32) if label is None else labels_of(label, n)
        if queries.order is not None:
            labels = labels[queries.order]
        self._labels = np.ascontiguousarray(labels)
        self._offset = queries.offset
        self._labels.flags.writeable = self._offset.flags.writeable = False  # properties return both
        for one in categorical:
            if one not in by_name and not (isinstance(one, int) and 0 <= one < len(ids)):
                raise DataError(f"no column {one!r} of categories; there are {_columns.few(list(by_name))}")
            i = by_name[one] if isinstance(one, str) else one
            if i not in left_out:
                table.columns[i] = _columns.as_category(table.columns[i], repr(one))
        self._table = _columns.Table(n, [table.columns[i] for i in kept], None, [table])
        for k, column in enumerate(self._table.columns):
            if column.words is not None:
                self._words[k] = column.words
        if feature_names is not None:
            self._names = _names(feature_names)
            if len(self._names) != len(kept):
                raise DataError(f"{len(self._names)} feature_names for {len(kept)} features")
        elif table.names is not None:
            self._names = [table.names[i] for i in kept]
        _columns.check_features(self._names or ())
        self._c_table = self._make_table(queries.ids, missing)
        if weights is not None:
            self._set_sides(weights, None, None, None, None)

    def _make_table(self, ids: list[bytes] | None, missing: float) -> Any:
        c = ffi.new("struct rw_table *")
        self._missing = missing
        c.n_docs, c.n_columns = self.n_docs, self.n_features
        self._keep = []
        if self._source is None:
            c.column = arrays = _tables.c_arrays(self._table)
            self._keep.append(arrays)
            chunk_offset = self._table.columns[0].chunk_offset
            if chunk_offset is not None:
                c.n_chunks = len(chunk_offset) - 1
                c.chunk_offset = _columns.pointer(chunk_offset)
        if self._feature_base is not None:
            features = np.arange(self._feature_base, self._feature_base + self.n_features, dtype=np.uint32)
            c.feature = _columns.pointer(features)
            self._keep.append(features)
        c.missing = _missing(missing)
        c.inexact = self._inexact = ffi.new("uint8_t[]", max(c.n_columns, 1))
        c.label = _columns.pointer(self._labels)
        c.n_queries = len(self._offset) - 1
        c.query_offset = _columns.pointer(self._offset)
        self._ids = ids
        if ids is not None:
            self._keep.append(self._hold_ids(c, ids))
        if self._order is not None:
            c.order = _columns.pointer(self._order)
        return c

    def _set_sides(
        self, weight: Any, query_weight: Any, start_scores: Any, position: Any, more_labels: Any, pairs: Any = None
    ) -> None:
        """Sets the given side columns, in the order of the data."""
        if query_weight is not None:
            given = _columns.numbers_of(vector(query_weight, "query_weight", None), "query_weight")
            self._sides["query-weights"] = given
            if len(given) != self.n_queries:
                raise DataError(f"query_weight has {len(given)} values for {self.n_queries} queries")
        for name, what, values in (
            ("weights", "weight", weight),
            ("start-scores", "start_scores", start_scores),
            ("positions", "position", position),
        ):
            if values is not None:
                self._set_side(name, _columns.numbers_of(vector(values, what, self.n_docs), what))
        if more_labels is not None:
            given = _columns.numbers_of(_columns.array_of(more_labels, "more_labels"), "more_labels")
            n = self.n_docs
            if given.ndim not in (1, 2) or len(given) != n or given.shape[1:] == (0,):
                raise DataError(f"more_labels has the shape {given.shape}; expected ({n},) or ({n}, k)")
            self._set_side("labels", given[:, np.newaxis] if given.ndim == 1 else given)
        if pairs is not None:
            self._set_pairs(pairs)

    def _set_side(self, name: str, given: npt.NDArray[np.float64]) -> None:
        self._sides[name] = self._in_own_order(given)
        if self._values is not None:  # files were read to count the documents
            self._add_side(self._values, name)

    def _set_pairs(self, pairs: Any) -> None:
        given = _columns.numbers_of(np.asarray(pairs), "pairs")
        if given.ndim != 2 or given.shape[1] not in (2, 3):
            raise DataError(f"pairs has the shape {given.shape}; expected (n, 2) or (n, 3)")
        documents = given[:, :2]
        wrong = (documents != np.floor(documents)) | (documents < 0) | (documents >= self.n_docs)
        if wrong.any():
            raise DataError(f"pairs has {documents[wrong][0]:g}; expected documents from 0 to {self.n_docs - 1}")
        made = np.zeros(len(given), dtype=[("better", np.uint32), ("worse", np.uint32), ("weight", np.float64)])
        position = np.empty(self.n_docs, dtype=np.uint32)  # position in the library's order
        position[self._in_own_order(np.arange(self.n_docs))] = np.arange(self.n_docs)
        made["better"], made["worse"] = position[documents.astype(np.int64)].T
        made["weight"] = given[:, 2] if given.shape[1] == 3 else 1.0
        self._pairs = made
        if self._values is not None:
            self._add_pairs(self._values)

    def _need_labels(self, name: str) -> None:
        if not self._has_labels:
            raise DataError(f"{name} has no labels, so it can only be scored: Dataset(data, label, ...)")

    # ---- properties ----

    def prepare(self, params: Mapping[str, Any] | None = None) -> Dataset:
        """Bin the data now instead of in the first training.

        Parameters
        ----------
        params : dict or None, default None
            Parameters of the later training. Binning uses ``bins``, ``absent``, ``device`` and ``threads``.

        Returns
        -------
        Dataset
            The data set itself.

        Raises
        ------
        ParameterError
            A parameter is unknown or out of range.

        Examples
        --------
        >>> data.prepare({"bins": 127})
        Dataset(1028 documents, 60 queries, 46 features)
        """
        self._for_training(Params(params))
        return self

    @property
    @locked
    def feature_names(self) -> list[str] | None:
        """Names of the features; None for features without names. CSV and TSV files have them in their header."""
        if self._paths is not None and self._names is None:
            if self._binned:
                binned = next(iter(self._binned.values()))
                c, n = lib.rw_binned_documents(binned), int(lib.rw_binned_n_features(binned))
            else:
                c = self._with_values()
                n = int(lib.rw_dataset_n_features(c))
            names = [text(lib.rw_dataset_feature_name(c, i)) for i in range(n)]
            self._names = names if any(names) else None
        return self._names

    @property
    def n_docs(self) -> int:
        """Number of documents."""
        return len(self._labels) if self._paths is None else int(lib.rw_dataset_n_docs(self._documents()))

    @property
    def n_queries(self) -> int:
        """Number of queries."""
        if self._paths is None:
            return len(self._offset) - 1
        return int(lib.rw_dataset_n_queries(self._documents()))

    @property
    @locked
    def n_features(self) -> int:
        """Number of features: the columns of a table; of files, the features that appear at least once."""
        if self._source is not None:
            return len(self.feature_names or ())
        if self._paths is None:
            return len(self._table.columns)
        for binned in self._binned.values():
            return int(lib.rw_binned_n_features(binned))
        return int(lib.rw_dataset_n_features(self._with_values()))

    @property
    def label(self) -> npt.NDArray[np.float32]:
        """Labels, float32 of shape (n_docs,), in the order of the data. DataError if the data set has no labels."""
        self._need_labels("the data set")
        if self._paths is None:
            return self._in_caller_order(self._labels)
        c = self._documents()
        return _columns.view(lib.rw_dataset_labels(c), self.n_docs, np.float32).copy()

    @property
    def query_offsets(self) -> npt.NDArray[np.uint32]:
        """First document of each query, then n_docs; uint32 of shape (n_queries + 1,). With ``sort``, the documents are
        counted query by query, not in the order of the data.
        """
        if self._paths is None:
            return self._offset
        offsets = lib.rw_dataset_query_offsets(self._documents())
        return _columns.view(offsets, self.n_queries + 1, np.uint32).copy()

    @property
    def qid(self) -> npt.NDArray[Any]:
        """Query of each document, shape (n_docs,), in the order of the data: int64 if all ids are whole numbers, else
        str. Queries given by ``group`` are numbered from 0.
        """
        if self._paths is None:
            texts = None if self._ids is None else [one.decode("utf-8", "surrogateescape") for one in self._ids]
        else:
            c = self._documents()
            texts = [text(lib.rw_dataset_query_id(c, q)) for q in range(self.n_queries)]
        ids: npt.NDArray[Any] = np.arange(self.n_queries) if texts is None else np.array(texts)
        if texts and all(re.fullmatch("0|-?[1-9][0-9]{0,17}", one) for one in texts):
            ids = np.array([int(one) for one in texts])
        return self._in_caller_order(np.repeat(ids, self.group))

    @property
    def group(self) -> npt.NDArray[np.int64]:
        """Number of documents of each query, shape (n_queries,), in the order of ``query_offsets``."""
        offsets = self.query_offsets.astype(np.int64)
        return offsets[1:] - offsets[:-1]

    @property
    def weight(self) -> Floats | None:
        """Weight of each document, shape (n_docs,), times that of its query; None without weights."""
        return self._side("weights")

    @property
    def start_scores(self) -> Floats | None:
        """Start score of each document, shape (n_docs,); None without start scores."""
        return self._side("start-scores")

    @property
    def position(self) -> npt.NDArray[np.int64] | None:
        """Displayed position of each document, shape (n_docs,); None without positions."""
        found = self._side("positions")
        return None if found is None else found.astype(np.int64)

    @property
    def more_labels(self) -> Floats | None:
        """Further labels, shape (n_docs, k); None without further labels."""
        return self._side("labels")

    def _side(self, name: str) -> Floats | None:
        found = self._read_side(self._documents(), name)
        return None if found is None else self._in_caller_order(found)

    def subset(self, documents: Any) -> Dataset:
        """Return a data set of some documents, with their queries, weights and other values.

        Parameters
        ----------
        documents : array of int or bool
            Numbers of the documents, from 0 in the order of the data, ascending; or True for each document to keep,
            shape (n_docs,). A query with fewer documents is a smaller query.

        Returns
        -------
        Dataset
            The data set. It has its own copy of the values.

        Raises
        ------
        DataError
            The numbers are not ascending, or out of range, or no document remains.
        UnsupportedError
            The data is in files or in batches.

        Examples
        --------
        >>> data.subset(data.qid < 40)
        Dataset(603 documents, 40 queries, 46 features)
        """
        if self._paths is not None or self._source is not None:
            raise UnsupportedError(
                "a subset needs data in memory; this data is in files or batches\n"
                "hint: read the files into a data frame first"
            )
        rows = self._rows_of(documents)
        order = np.arange(self.n_docs) if self._order is None else self._order.astype(np.int64)
        number = np.full(self.n_docs, -1)  # in the subset, by number in the data
        number[rows] = np.arange(len(rows))
        kept = np.flatnonzero(number[order] >= 0)  # positions in the library's order
        query = np.repeat(np.arange(self.n_queries), self.group)[kept]
        queries, first = np.unique(query, return_index=True)
        state = self.__getstate__()
        state["_table"] = _columns.Table(len(rows), [column.of(rows) for column in self._table.columns], None)
        state["_labels"] = np.ascontiguousarray(self._labels[kept])
        state["_offset"] = np.append(first, len(kept)).astype(np.uint32)
        state["_ids"] = None if self._ids is None else [self._ids[q] for q in queries]
        state["_order"] = None if self._order is None else number[order[kept]].astype(np.uint32)
        state["_sides"] = {
            name: values[queries if name == "query-weights" else kept] for name, values in self._sides.items()
        }
        if self._pairs is not None:
            place = np.full(self.n_docs, -1)
            place[kept] = np.arange(len(kept))
            pairs = self._pairs[(place[self._pairs["better"]] >= 0) & (place[self._pairs["worse"]] >= 0)]
            pairs["better"], pairs["worse"] = place[pairs["better"]], place[pairs["worse"]]
            state["_pairs"] = pairs
        out = type(self).__new__(type(self))
        out.__setstate__(state)
        return out

    def _rows_of(self, documents: Any) -> npt.NDArray[np.int64]:
        """Checks the argument of subset, and returns the numbers of the documents."""
        given = _columns.vector(documents, "documents", None)
        if given.dtype == np.bool_:
            if len(given) != self.n_docs:
                raise DataError(f"documents has {len(given)} values for {self.n_docs} documents")
            given = np.flatnonzero(given)
        if given.dtype.kind not in "iu" and len(given):
            raise DataTypeError(f"documents has type {given.dtype}; expected whole numbers, or True and False")
        rows = given.astype(np.int64)
        if len(rows) == 0:
            raise DataError("no documents remain")
        if rows.min() < 0 or rows.max() >= self.n_docs or (np.diff(rows) <= 0).any():
            raise DataError(f"documents has numbers that are not ascending, or not from 0 to {self.n_docs - 1}")
        return rows

    def __getstate__(self) -> dict[str, Any]:
        """Returns the source of the data: paths of files, a function that returns batches, or values."""
        state = {name: value for name, value in vars(self).items() if name in _STATE}
        if self._paths is None and self._source is None:
            columns = [column.in_arrays() for column in self._table.columns]
            state["_table"] = _columns.Table(self._table.n_rows, columns, None)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._begin()
        self.__dict__.update(state)
        if self._paths is None:
            self._labels.flags.writeable = self._offset.flags.writeable = False
            self._c_table = self._make_table(self._ids, self._missing)

    def __len__(self) -> int:
        return self.n_docs

    def __repr__(self) -> str:
        if self._paths is not None and not self._binned and self._values is None:
            return f"Dataset({', '.join(repr(os.fsdecode(path)) for path in self._paths)})"
        return f"Dataset({self.n_docs} documents, {self.n_queries} queries, {self.n_features} features)"


def need_labels(data: Any, name: str) -> Dataset:
    """Checks that an argument is a data set with labels."""
    dataset = need(data, Dataset, name)
    dataset._need_labels(name)
    return dataset


def _names(given: Any) -> list[str]:
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise DataTypeError(f"feature_names is {given!r}; expected a name for each feature")
    out = [str(name) for name in given]
    _columns.check_names(out)
    return out


def _missing(value: Any) -> float:
    try:
        return float("text" if isinstance(value, (str, bytes)) else value)
    except (TypeError, ValueError, OverflowError):
        raise DataTypeError(f"missing is {value!r}; expected a number") from None


def _column(one: str | int) -> str:
    """Returns a column as the library names it: its name, or its number from 1."""
    return one if isinstance(one, str) else str(int(one) + 1)


def _column_of(table: _columns.Table, value: Any, what: str) -> Any:
    """Returns the numbers of a named column; other values are returned unchanged."""
    names = list(table.names or [])
    if not isinstance(value, str):
        return value
    if value not in names:
        raise DataError(f"no column {value!r} for {what}; there are {_columns.few(names)}")
    return table.columns[names.index(value)].vector(what)
