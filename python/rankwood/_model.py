"""A trained model: scores, reasons, trees, files."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import numpy.typing as npt

from rankwood import _columns, _tables
from rankwood._core import (
    DataError,
    FormatError,
    OutOfMemoryError,
    ParameterError,
    ParameterTypeError,
    caller_names,
    chars,
    check,
    context,
    ffi,
    lib,
    made,
    need,
    path_chars,
    text,
    whole,
)
from rankwood._dataset import Dataset
from rankwood._exchange import Exchange
from rankwood._nodes import nodes_of
from rankwood._params import Params, number_or_text
from rankwood._positions import PositionBias
from rankwood._progress import working
from rankwood._reworked import Reworked

if TYPE_CHECKING:
    from rankwood._calibrate import Calibration
    from rankwood._explain import Explanation, Permuted

Floats = npt.NDArray[np.float64]
_ROWS = 65536  # scored at a time, where values must be converted first
_INTEGERS = (np.int8, np.int16, np.int32, np.int64, np.uint8, np.uint16, np.uint32, np.uint64)
_AS_FLOAT = frozenset(np.dtype(kind) for kind in (np.float64, np.float16, *_INTEGERS))  # converted at once
_ALONE = 1024  # fewer rows are scored by the calling thread: a server has threads of its own


def _finite(
    values: npt.NDArray[np.float32], missing: float, names: Sequence[str] | None, first: int = 0
) -> npt.NDArray[np.float32]:
    """Values (n_docs, n_features) as Dataset takes them: NaN for `missing`, which is compared as float32.

    names: of the features. DataError: one is infinite; the documents are `first` and those after it.
    """
    if missing == missing:
        values = np.where(values == np.float32(missing), np.float32(np.nan), values)
    values = np.ascontiguousarray(values)
    if not values.size:
        return values
    at = ffi.new("uint32_t[2]")
    given = ffi.from_buffer("float[]", values)
    if lib.rw_rows_infinite(context(), given, len(values), values.shape[1], at, at + 1):
        name = names[at[1]] if names is not None and at[1] < len(names) else ""
        raise DataError(
            f"value of document {first + at[0]} (from 0), feature {repr(name) if name else at[1]} is infinite; "
            "expected a number, or NaN for missing"
        )
    return values


@dataclass(frozen=True)
class _Use:
    """A feature in use."""

    feature: int
    name: str
    n_splits: int
    gain: float


class Model(Reworked):
    """An ensemble of trees. Made by :func:`rankwood.train` or read by :meth:`load`.

    Threads may share a model; scoring lets go of the interpreter's lock.

    Attributes
    ----------
    feature_names : list[str] | None
        The names of the columns that it was trained on, in their order; None if they had none. Of a model
        that was read from a file: up to the last feature in use, "" for those that are not.
    evals_result : dict[str, dict[str, list[float]]]
        By set ("train", then those of ``valid``: "valid" if it was one alone), then by metric: the value
        after each round. Empty unless the model was just trained, or unpickled.
    used_params : dict[str, int | float | str]
        All parameters as training took them, with what was ``auto`` as numbers. Empty as evals_result is.
    position_bias : PositionBias | None
        What training with ``debias`` found of positions; None of other models, and as evals_result is empty.
    calibration_figures : dict[str, dict[str, float]]
        What :meth:`calibrate` measured when it made this model; else empty.
    """

    def __init__(self, c: Any) -> None:
        self._c = c
        self._used = self._features_in_use()
        self._n_needed = max((use.feature for use in self._used), default=-1) + 1
        width = ffi.new("uint32_t *")
        self._knows_columns = lib.rw_model_columns(c, width) != lib.RW_COLUMNS_UNKNOWN
        self._width = width[0]  # the columns of an array that fits
        self._scorers: dict[int, Any] = {}  # by number of trees
        self._making = threading.Lock()
        self.evals_result: dict[str, dict[str, list[float]]] = {}
        self.used_params: dict[str, int | float | str] = {}
        self.position_bias: PositionBias | None = None
        self.calibration_figures: dict[str, dict[str, float]] = {}
        self.feature_names: list[str] | None = self._names_in_file()

    # ---- files ----

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Reads the model's file at ``path``. FileError: there is none; FormatError: it is damaged, or of a
        later version."""
        out = ffi.new("struct rw_model **")
        return cls(made(lib.rw_model_read(context(), path_chars(path), out), out, lib.rw_model_free))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the model's file to ``path``, whole or not at all. FileError: it cannot be written."""
        check(lib.rw_model_write(context(), self._c, path_chars(path)))

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """The model whose file is ``data``. FormatError: it is damaged, or of a later version."""
        try:
            held = ffi.from_buffer(data)
        except (TypeError, ValueError, BufferError):
            raise ParameterTypeError(f"data is a {type(data).__name__}; expected a model's bytes") from None
        out = ffi.new("struct rw_model **")
        status = lib.rw_model_read_memory(context(), b"model", held, len(held), out)
        return cls(made(status, out, lib.rw_model_free))

    def to_bytes(self) -> bytes:
        """What :meth:`save` would write."""
        data, n = ffi.new("char **"), ffi.new("size_t *")
        check(lib.rw_model_write_memory(context(), self._c, data, n))
        try:
            return bytes(ffi.buffer(data[0], n[0]))
        finally:
            lib.rw_text_free(data[0])

    def __reduce__(self) -> tuple[Any, ...]:
        state = self.__getstate__()
        return _unpickled, (state.pop("model"),), state

    def __getstate__(self) -> dict[str, Any]:
        """Plain objects alone, which skops keeps, too: the file's bytes, and what the file does not have."""
        kept = ("evals_result", "used_params", "position_bias", "feature_names")
        return {"model": self.to_bytes(), **{name: getattr(self, name) for name in kept}}

    def __setstate__(self, state: Any) -> None:
        names = {"evals_result", "used_params", "feature_names"}
        if not isinstance(state, dict) or state.keys() - {"position_bias", "model"} != names:
            raise FormatError("a Model that another version of rankwood has pickled; Model.save and load serve all")
        state = dict(state)
        if "model" in state:  # of skops, which makes an empty object first
            self.__init__(Model.from_bytes(state.pop("model"))._c)  # type: ignore[misc]
        self.__dict__.update(state)

    def export(
        self,
        path: str | os.PathLike[str],
        format: str,
        *,
        feature_base: int | Literal["auto"] = -1,
        lossy: bool = False,
        featureset: str | os.PathLike[str] | None = None,
        name: str | None = None,
    ) -> None:
        """Writes the model for another program, so that each document goes to the same leaves there.

        path: the file, written whole or not at all. format: "lightgbm", "xgboost", "xgboost-ubj",
        "xgboost-dump", "eslr-raw", "catboost", "onnx", "onnx5", "pmml", "ranklib", "quickrank", "solr",
        "vespa", "c", "opensearch" or "elasticsearch". feature_base: which of our features has the format's first
        id, 0 or 1; -1: ids stay as they are; "auto": 0 for a model that has a feature 0, else 1, which is logged.
        lossy: leave out, with a warning, what the format cannot say.

        "opensearch" and "elasticsearch", the body of the learning-to-rank plugin's _createmodel, need two more.
        featureset: a file with the plugin's answer to GET _ltr/_featureset/NAME; a model with names of features
        finds them there by name, else feature_base is the set's first. name: what the model is called there.

        ONNX has one input, "features", float32 (n_docs, n_features) with NaN for missing values and columns
        in the order of training, and one output, "score", float32 (n_docs, 1).
        Categories go to "lightgbm", "c" and "pmml"; whole numbers to "xgboost", "xgboost-ubj" and both ONNX, too.

        Raises UnsupportedError where the format cannot say so and ``lossy`` is False, ParameterError for a
        format that there is not, FileError.
        """
        how = Exchange(format, feature_base, lossy, featureset, name)
        with caller_names(self.feature_names):
            check(lib.rw_model_export(context(), self._c, how.c, path_chars(path)))

    @classmethod
    def import_from(
        cls, path: str | os.PathLike[str], format: str, *, feature_base: int | Literal["auto"] = -1
    ) -> Model:
        """Reads another program's model, which then scores as that program does.

        path: its file. format: "lightgbm", "xgboost", "xgboost-ubj", "catboost", "onnx", "onnx5",
        "ranklib", "quickrank" or "solr". feature_base: as for :meth:`export`, but "auto" is 0 where a
        format that counts from 0 names its columns, else 1, as LETOR text counts (a table's columns count from 0).
        Not given, ids stay as they are, and numbered columns without names are those of an array, which is logged;
        a model that was trained on ``load_svmlight_file``'s columns takes 1 to score LETOR text.
        Categories come in as words: :attr:`categories`.

        Raises FormatError for what is damaged or cannot be had here, ParameterError for a format that is
        not read, FileError.
        """
        out = ffi.new("struct rw_model **")
        how = Exchange(format, feature_base, False)
        status = lib.rw_model_import(context(), path_chars(path), how.c, out)
        return cls(made(status, out, lib.rw_model_free))

    # ---- what it is ----

    @property
    def n_trees(self) -> int:
        """Trees."""
        return int(lib.rw_model_n_trees(self._c))

    @property
    def best_round(self) -> int:
        """The round that a validation set chose, from 1; 0 without one."""
        return int(lib.rw_model_best_round(self._c))

    @property
    def finished(self) -> bool:
        """False: training was interrupted, and this is the best until then."""
        return bool(lib.rw_model_is_finished(self._c))

    @property
    def params(self) -> dict[str, int | float | str]:
        """The parameters that shaped the trees; those that were ``auto`` as the numbers chosen."""
        out: dict[str, int | float | str] = {}
        value = ffi.new("const char **")
        for i in range(lib.rw_model_n_params(self._c)):
            name = lib.rw_model_param_at(self._c, i, value)
            out[text(name).replace("-", "_")] = number_or_text(text(value[0]))
        return out

    def __repr__(self) -> str:
        return f"Model({self.n_trees} trees)"

    def _repr_html_(self) -> str:
        """Trees, best round, metrics and the most important features, for a notebook."""
        from rankwood import _report

        return _report.html(self)

    def report(
        self,
        path: str | os.PathLike[str] | None,
        data: Dataset,
        *,
        metric: str | Sequence[str] = "ndcg@10",
        title: str | None = None,
        n_trees: int = 3,
        n_repeats: int = 1,
        like: str | None = None,
        **how: Any,
    ) -> str | None:
        """Writes a web page on the model and how it ranks ``data``, as ``rankwood report`` does: learning
        curves, metrics by query, features, the first trees. It needs no other file and no network.

        path: the file, written whole or not at all; None returns the page as text. metric: one or
        several; the first one is shown by query. n_trees: how many are drawn, 0 to 100. n_repeats:
        permutations of each feature, 0 (none) to 1000. like: measure by the conventions of another
        program. how: ``empty``, ``ties``, ``label_gain``, ``relevant``, ``seed`` (of the permutations).
        title: of the page; "Ranking report" if not given.

        Raises DataError for data without labels, ParameterError, FileError.
        """
        from rankwood import _report

        return _report.report(self, path, data, metric, title, n_trees, n_repeats, like, how)

    def _uses(self) -> list[_Use]:
        return self._used

    def _features_in_use(self) -> list[_Use]:
        n = lib.rw_model_features(self._c, ffi.NULL, 0)
        uses = ffi.new("struct rw_feature_use[]", max(n, 1))
        if n < 0 or lib.rw_model_features(self._c, uses, n) < 0:
            raise OutOfMemoryError("out of memory")
        return [
            _Use(one.feature, text(one.name), one.n_splits, one.gain) for one in (uses[i] for i in range(n))
        ]

    def _names_in_file(self) -> list[str] | None:
        n = max(self._width, self._n_needed)
        names = [text(lib.rw_model_feature_name(self._c, i)) for i in range(n)]
        return names if any(names) else None

    def importance(self, kind: str = "gain") -> dict[int | str, float]:
        """What each feature in use does, most first; by name where there are names.

        kind: "gain", the sum of its splits' gains, or "splits", how many there are; else ParameterError.
        """
        if kind not in ("gain", "splits"):
            raise ParameterError(f"kind is {kind!r}; expected 'gain' or 'splits'")
        out: dict[int | str, float] = {}
        for use in self._uses():
            name = self._name(use.feature)
            out[name] = float(use.gain if kind == "gain" else use.n_splits)
        return dict(sorted(out.items(), key=lambda item: -item[1]))

    def _name(self, feature: int) -> int | str:
        names = self.feature_names
        return names[feature] if names is not None and feature < len(names) and names[feature] else feature

    def trees(self) -> list[dict[str, Any]]:
        """All nodes, one dictionary each: tree, node, leaf, feature, threshold (a text where a split is by
        categories), missing_left, left, right, gain, value. :meth:`trees_to_dataframe` is a table of them."""
        return nodes_of(self._c, self._name)

    def trees_to_dataframe(self) -> Any:
        """A pandas data frame of all nodes, with the columns of :meth:`trees`."""
        import pandas

        columns = ["tree", "node", "leaf", "feature", "threshold", "missing_left", "left", "right", "gain", "value"]
        return pandas.DataFrame(self.trees(), columns=columns)

    # ---- scores ----

    def predict(
        self,
        data: Any,
        *,
        n_trees: int | None = None,
        device: str = "cpu",
        missing: float = np.nan,
        probability: bool = False,
        feature_base: int | None = None,
        n_features: int | None = None,
    ) -> Floats:
        """Scores (n_docs,), the higher the better; in the order of the data.

        data: a :class:`Dataset`, or whatever one is made of, without labels and queries. A data frame's
        columns are found by name if the model has names, in whatever order they stand. A column "qid" holds
        query ids, and is left out unless the model has a feature of that name.
        n_trees: only the first so many. device: "cpu", "cuda", "cuda:N" or "auto", for data sets.
        missing: a value that means missing, beside NaN and null. The model does not remember the one of
        the data that it was trained on; a Dataset has its own.
        probability: in place of a score what the map of :meth:`calibrate` makes of it.
        feature_base, n_features: as for :class:`Dataset`; only for data that is not a Dataset.

        Of an array the first call makes the model ready, once for all threads: some milliseconds for
        hundreds of trees. A server calls it once before it swaps a model in. The quickest are float32 rows
        in C order; fewer than 1024 of them are scored by the calling thread alone.

        Raises
        ------
        DataError
            A feature of the model is not there; shapes or types that do not fit; infinite values; the
            model has no map to probabilities.
        ParameterError
            The model has not so many trees, or there is no such device; probabilities by fewer trees.
        """
        if not probability:
            return self._predict(data, self._count(n_trees), device, missing, feature_base, n_features)
        from rankwood import _calibrate

        if n_trees is not None:
            raise ParameterError("probability is of the scores by all trees: leave out n_trees")
        _calibrate.probabilities(self, np.empty(0))  # before the scores
        return _calibrate.probabilities(self, self._predict(data, 0, device, missing, feature_base, n_features))

    def calibrate(
        self, data: Dataset, *, method: str = "isotonic", relevant: float = 1.0, device: str = "cpu"
    ) -> Model:
        """A copy of the model with a map of its scores to the probability that a label is at least
        ``relevant``, fitted to ``data``, which should not be what the model was trained on; weights count.

        method: "isotonic" or "logistic" (Platt's). device: as for :meth:`predict`. The copy's
        calibration_figures has log_loss, brier and error (the expected calibration error): "before", of
        1 / (1 + exp(-score)), "fitted", on ``data``, and "held_out", on queries without which maps were fitted.

        Raises DataError for data without labels, or in which no document is relevant or all are, or that
        lacks a feature of the model; ParameterError for a method or device that there is not.
        """
        from rankwood import _calibrate

        c, figures = _calibrate.calibrate(self, data, method, relevant, device)
        out = Model(c)
        out.feature_names, out.calibration_figures = self.feature_names, figures
        return out

    @property
    def calibration(self) -> Calibration | None:
        """The map of scores to probabilities; None without one."""
        from rankwood import _calibrate

        return _calibrate.of_model(self)

    @property
    def categories(self) -> dict[int | str, list[str]]:
        """The words that training gave a code of their own, by feature; {} if no feature is categorical. All
        others, and words that training never saw, are one more category."""
        out: dict[int | str, list[str]] = {}
        n_words = ffi.new("uint32_t *")
        for i in range(lib.rw_model_n_categorical(self._c)):
            feature = lib.rw_model_categorical(self._c, i, n_words)
            words = [text(lib.rw_model_category(self._c, i, k)) for k in range(n_words[0])]
            out[self._name(feature)] = words
        return out

    def _with_categories(self, data: Any, missing: float) -> Dataset:
        """What is no Dataset, for a model with categories: features that it knows as such are."""
        more: dict[str, Any] = {} if _tables.is_paths(data) else {"ignore": self._not_used(data), "missing": missing}
        return Dataset(data, categorical_features=_tables.names_in(data, list(self.categories)), **more)

    def _predict(
        self, data: Any, n: int, device: str, missing: float, feature_base: int | None, n_features: int | None
    ) -> Floats:
        if isinstance(data, Dataset) or _tables.is_paths(data):
            of_columns = {"feature_base": feature_base, "n_features": n_features}
            given = ["missing"] * (missing == missing) + [name for name, one in of_columns.items() if one is not None]
            if given:
                raise ParameterError(f"{given[0]} is for data that is no Dataset: it is one of Dataset's arguments")
            if isinstance(data, Dataset):
                dataset = data
            else:
                dataset = self._with_categories(data, missing) if self.categories else Dataset(data)
            dataset._has_labels &= dataset is data  # of CSV and TSV neither labels nor queries are read
            return self._predict_dataset(dataset, n, device)
        if device != "cpu":
            Params().set("device", device)  # is it one at all? arrays are scored on the CPU
        if lib.rw_model_n_categorical(self._c):
            return self._predict_dataset(self._with_categories(data, missing), n, device)
        if type(data) is np.ndarray and data.ndim == 2:
            is_float = data.dtype == np.float32
            if is_float or (data.dtype in _AS_FLOAT and len(data) <= _ROWS):
                _columns.check_shape(*data.shape)
                base = _columns.feature_base_of(feature_base)
                _columns.check_n_features(n_features, data.shape[1])
                self._check_width(data.shape[1], base)
                with np.errstate(over="ignore"):  # what is too large becomes infinite, and that is an error
                    values = data if is_float else data.astype(np.float32, order="C")
                return self._score(_finite(values, missing, self.feature_names), n, base)
        table = _tables.of_any(data, self._not_used(data))
        table.drop_qid(self.feature_names)
        if any(column.index is not None for column in table.columns):
            made = Dataset(data, missing=missing, feature_base=feature_base, n_features=n_features)
            return self._predict_dataset(made, n, device)
        base = _columns.feature_base_of(feature_base)
        _columns.check_n_features(n_features, len(table.columns))
        columns = self._columns_by_feature(table, base)
        scores = np.empty(table.n_rows, np.float64)
        for first in range(0, table.n_rows, _ROWS):
            rows = slice(first, min(first + _ROWS, table.n_rows))
            values = np.full((rows.stop - first, len(columns)), np.nan, np.float32)
            with np.errstate(over="ignore"):  # what is too large becomes infinite, and that is an error
                for i, column in enumerate(columns):
                    if column is not None:
                        values[:, i] = column.part(rows)
            scores[rows] = self._score(_finite(values, missing, self.feature_names, first), n, base)
        return scores

    def _count(self, n_trees: int | None) -> int:
        if n_trees is None:
            return 0
        return whole(n_trees, "n_trees", 1, self.n_trees)

    def _not_used(self, data: Any) -> frozenset[str]:
        """Names of a frame's columns that no tree asks for: of any type."""
        names = list(getattr(data, "columns", ()))
        if not all(isinstance(name, str) for name in names):
            return frozenset()
        if self.feature_names is None:
            return frozenset(name for name in names if name == _columns.QID)
        used = {self.feature_names[use.feature] for use in self._uses()}
        held = _columns.names_in_file(names)
        return frozenset(name for name, other in zip(names, held, strict=True) if not used & {name, other})

    def _columns_by_feature(self, table: _columns.Table, base: int | None) -> list[_columns.Column | None]:
        """A column for each feature id, None for those that the model does not use."""
        names = self.feature_names
        if names is None or table.names is None or base is not None:
            self._check_width(len(table.columns), base)
            return list(table.columns)
        used = {use.feature for use in self._uses()}
        at = _columns.positions_of(table.names)
        missing = [names[i] for i in sorted(used) if names[i] not in at]
        if missing:
            shown = ", ".join(repr(name) for name in missing[:5])
            raise DataError(f"the data lacks {len(missing)} of the model's features: {shown}")
        columns = [table.columns[at[name]] if i in used else None for i, name in enumerate(names)]
        return columns + [None] * (self._width - len(columns))

    def _check_width(self, n_features: int, feature_base: int | None = None) -> None:
        """DataError: an array of so many columns does not fit."""
        if feature_base is None:
            if n_features != self._width or not self._knows_columns:
                check(lib.rw_model_check_rows(context(), self._c, n_features, 0))
        elif feature_base + n_features < self._n_needed:
            raise DataError(
                f"data has features {feature_base} to {feature_base + n_features - 1} with feature_base="
                f"{feature_base}; the model needs feature {self._n_needed - 1}"
            )

    def _scorer(self, n_trees: int) -> Any:
        """struct rw_scorer. Of all trees it is kept; of fewer, the last one is."""
        scorer = self._scorers.get(n_trees)
        if scorer is None:
            with self._making:
                scorer = self._scorers.get(n_trees)
                if scorer is None:
                    out = ffi.new("struct rw_scorer **")
                    status = lib.rw_scorer_new(context(), self._c, n_trees, out)
                    scorer = made(status, out, lib.rw_scorer_free)
                    kept = {0: self._scorers[0]} if 0 in self._scorers else {}
                    self._scorers = {**kept, n_trees: scorer}
        return scorer

    def _score(self, values: npt.NDArray[np.float32], n_trees: int, base: int | None = None) -> Floats:
        if base == 0 and values.shape[1] != self._width:  # columns that no tree asks for
            narrow = np.zeros((len(values), self._width), np.float32)
            n_kept = min(self._width, values.shape[1])
            narrow[:, :n_kept] = values[:, :n_kept]
            values = narrow
        values = np.ascontiguousarray(values)
        n_docs, n_features = values.shape
        scores = np.empty(n_docs, np.float64)
        if n_docs:
            scorer = self._scorer(n_trees)
            given, to = ffi.from_buffer("float[]", values), ffi.from_buffer("double[]", scores)
            ctx = ffi.NULL if n_docs < _ALONE else context()
            status = lib.rw_scorer_rows(ctx, scorer, given, n_docs, n_features, base or 0, to)
            if status != lib.RW_OK:  # once more, for the text of the error
                check(lib.rw_scorer_rows(context(), scorer, given, n_docs, n_features, base or 0, to))
        return scores

    def _values_of(self, data: Dataset) -> Any:
        """struct rw_dataset with the features where the model has them, by name if both have names."""
        need(data, Dataset, "data")
        if self.feature_names is not None and (data._paths is not None or data.feature_names is not None):
            needed = sorted(use.feature for use in self._uses())
            values = data._with_values_as(self.feature_names, needed, self._width)
        else:
            self._check_columns(data)
            values = data._with_values()
        check(lib.rw_model_check_data(context(), self._c, values))
        data._warn_lacking(self._c, values)
        return values

    def _check_columns(self, data: Dataset) -> None:
        """_check_width of a data set in memory."""
        if data._paths is not None:
            return
        try:
            self._check_width(data.n_features, data._feature_base)
        except DataError as error:
            if not data._is_sparse() or not self._knows_columns or data.n_features > self._width:
                raise
            raise DataError(
                f"{error}\nhint: a sparse matrix without the last columns gets them by n_features={self._width}"
            ) from None

    def _predict_dataset(self, data: Dataset, n_trees: int, device: str) -> Floats:
        if data._source is not None and data._values is None:
            return self._predict_batches(data, n_trees, device)
        values = self._values_of(data)
        scores = np.empty(data.n_docs, np.float64)
        to = ffi.cast("double *", scores.ctypes.data)
        with caller_names(self.feature_names):
            check(lib.rw_predict_on(context(), self._c, values, n_trees, chars(device), to))
        return data._in_caller_order(scores)

    def _predict_batches(self, data: Dataset, n_trees: int, device: str) -> Floats:
        scores = np.empty(data.n_docs, np.float64)
        to = ffi.cast("double *", scores.ctypes.data)
        if self.feature_names is None:
            self._check_columns(data)
        out = ffi.new("struct rw_predictor **")
        status = lib.rw_predictor_open(context(), self._c, n_trees, chars(device), out)
        predictor = made(status, out, lib.rw_predictor_close)
        needed = sorted(use.feature for use in self._uses())
        for first, batch in data._value_batches(self.feature_names, needed, self._width):
            check(lib.rw_predictor_run(predictor, batch, to + first))
        return scores

    # ---- reasons ----

    def shap_values(self, data: Dataset, cover: Dataset | None = None) -> tuple[Floats, float, list[int]]:
        """SHAP values (n_docs, n_used), the base value, and the ids of the features in use.

        base + the sum of a document's values is its score (Lundberg, Erion and Lee 2018,
        path-dependent: an unknown value goes both ways, in the shares of the documents that each tree
        was trained on). cover: documents to count in place of them; `data` itself if not given and the
        model has no counts, as one of an older version, or imported from a format without counts.

        Raises DataError where a feature of the model is not there, UnsupportedError for a tree that is
        thousands of splits on different features deep.
        """
        out, c = ffi.new("struct rw_explainer **"), self._values_of(data)
        if cover is None and not lib.rw_model_has_covers(self._c, 0):
            cover = data
        of = ffi.NULL if cover is None else c if cover is data else self._values_of(cover)
        explainer = made(
            lib.rw_explainer_new(context(), self._c, 0, of, out), out, lib.rw_explainer_free
        )
        n, features = lib.rw_explainer_n_features(explainer), lib.rw_explainer_features(explainer)
        values = np.empty((data.n_docs, n), np.float64)
        to = ffi.cast("double *", values.ctypes.data)
        with working("explanations"):
            check(lib.rw_explainer_run(context(), explainer, c, 0, data.n_docs, to))
        ids = [int(features[i]) for i in range(n)]
        return data._in_caller_order(values), float(lib.rw_explainer_base(explainer)), ids

    def explain(self, data: Dataset, cover: Dataset | None = None) -> Explanation:
        """SHAP values of each document of ``data``, with the features' names and values; ``cover`` and
        what it raises (DataError, UnsupportedError) are those of :meth:`shap_values`."""
        from rankwood import _explain

        return _explain.explain(self, data, cover)

    def permutation_importance(
        self,
        data: Dataset,
        *,
        metric: str = "ndcg@10",
        n_repeats: int = 5,
        n_trees: int | None = None,
        **how: Any,
    ) -> list[Permuted]:
        """What the metric loses when a feature's values are shuffled among all documents, for each
        feature that the model asks for, most first.

        data: documents with labels. metric: as :func:`rankwood.evaluate` takes it. n_repeats: 1 to 1000
        shuffles of each. n_trees: only the first so many. how: ``empty``, ``ties``, ``label_gain``,
        ``relevant``, ``seed``.

        Raises DataError for data without labels or without a feature of the model, ParameterError.
        """
        from rankwood import _explain

        return _explain.permutation_importance(self, data, metric, n_repeats, n_trees, how)

    def to_shap(self, cover: Dataset | None = None) -> dict[str, Any]:
        """The trees as ``shap.TreeExplainer`` reads them: ``shap.TreeExplainer(model.to_shap())``.

        cover: documents to count in place of the model's own counts, as in :meth:`shap_values`; 4 bytes
        per document and tree are used, so a sample may do. Columns of what is explained are features by
        id, as float32, NaN where missing.

        Raises UnsupportedError for a model without counts if ``cover`` is not given, or with splits by
        categories; DataError where a feature of the model is not in ``cover``.
        """
        from rankwood import _explain

        return _explain.to_shap(self, cover)


def _unpickled(data: bytes) -> Model:
    """A function, for Ray's and joblib's pickles take a class's methods to pieces."""
    return Model.from_bytes(data)
