"""Trained models: scores, explanations, trees and files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from rankwood import _explain, _workers
from rankwood._columns import Floats, pointer
from rankwood._core import (
    FormatError,
    ParameterError,
    ParameterTypeError,
    c_struct,
    caller_names,
    chars,
    check,
    context,
    ffi,
    lib,
    logger,
    made,
    not_negative,
    path_chars,
    text,
    using_threads,
    whole,
)
from rankwood._dataset import Dataset, need_labels
from rankwood._explain import Explanation, Permuted, Spread
from rankwood._handles import check_apart
from rankwood._params import Params, as_mapping, hinted, need_device
from rankwood._scoring import Scorer
from rankwood._tables import is_paths
from rankwood._training import Callback, PositionBias, Training, ctrl_c, need_measured, valid_sets, working

_MOST_FEATURES = 10


def exchange(
    format: str,
    feature_base: int | Literal["auto"],
    lossy: bool,
    featureset: str | os.PathLike[str] | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Returns a struct rw_exchange for an export or import, and the objects that must outlive it."""
    texts = {
        "format": chars(format),
        "featureset": None if featureset is None else path_chars(featureset),
        "name": None if name is None else chars(name),
    }
    auto = isinstance(feature_base, str) and feature_base == "auto"
    base = lib.RW_FEATURE_BASE_AUTO if auto else whole(feature_base, "feature_base", -1, 1)
    return c_struct("rw_exchange", texts, feature_base=base, lossy=int(lossy))


@dataclass(frozen=True)
class Calibration:
    """Map from a model's scores to the probability that a label is at least ``relevant``.

    Attributes
    ----------
    method : str
        ``"isotonic"`` or ``"logistic"``.
    relevant : float
        Smallest label that counts as relevant.
    slope : float
        Slope of a logistic map, 1 / (1 + exp(-(slope * score + intercept))); 0 for an isotonic map.
    intercept : float
        Intercept of a logistic map; 0 for an isotonic map.
    scores : array of float64
        Scores at the knots of an isotonic map, ascending, shape (n_knots,); empty for a logistic map. The map is linear
        between knots.
    probabilities : array of float64
        Probabilities at the knots, shape (n_knots,).

    Examples
    --------
    >>> model.calibrate(valid, method="logistic").calibration.method
    'logistic'
    """

    method: str
    relevant: float
    slope: float
    intercept: float
    scores: Floats
    probabilities: Floats


@dataclass(frozen=True)
class PrunedRow:
    """A pruned model and its metric.

    Attributes
    ----------
    n_trees : int
        Number of trees.
    n_leaves : int
        Number of leaves of these trees.
    n_bytes : int
        Size of the model file in bytes.
    mean : float
        Mean of the metric.
    difference : float
        Difference from the whole model's mean; NaN if no query counts.
    low : float
        Lower end of the difference's 95 % bootstrap interval over queries.
    high : float
        Upper end of the interval.
    held_out : float
        Difference in each half of the queries with the trees that the other half chose, averaged over both halves. NaN
        for ``order="last"``, which makes no choice.

    Examples
    --------
    >>> rows = model.prune(valid, loss=0.01).rows
    >>> rows[0].n_trees, rows[0].difference
    (20, 0.0)
    """

    n_trees: int
    n_leaves: int
    n_bytes: int
    mean: float
    difference: float
    low: float
    high: float
    held_out: float


@dataclass(frozen=True)
class Pruned:
    """Result of :meth:`Model.prune`: a smaller model, and the loss for other numbers of trees.

    Attributes
    ----------
    model : Model
        Model with the fewest trees within the tolerated loss.
    metric : str
        Name of the metric, such as ``"ndcg@10"``.
    rows : list[PrunedRow]
        The whole model, then smaller and smaller models.
    chosen : int
        Index of the row of ``model``, from 0.

    Examples
    --------
    >>> pruned = model.prune(valid, loss=0.01)
    >>> pruned.rows[pruned.chosen].n_trees == pruned.model.n_trees
    True
    """

    model: Model
    metric: str
    rows: list[PrunedRow]
    chosen: int


def _paths_of(data: Dataset | None) -> str | None:
    """Returns the paths of a data set of files, joined by commas."""
    return ", ".join(os.fsdecode(one) for one in data._paths) if data is not None and data._paths else None


def _table(rows: Sequence[Sequence[Any]], heads: Sequence[str]) -> str:
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in heads)
    body = ""
    for row in rows:
        body += "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Model(Scorer):
    """Ensemble of trees, made by :func:`rankwood.train` or read by :meth:`load`.

    Several threads may use a model at once. Scoring releases the interpreter's lock. ``model[:50]`` is a model of the
    first 50 rounds, and ``model[10:50]`` of those from the 11th to the 50th; their scores are the sums of these trees.

    Parameters
    ----------
    c : object
        Internal handle. Use :func:`rankwood.train`, :meth:`load`, :meth:`from_bytes` or :meth:`import_from`.

    Attributes
    ----------
    feature_names : list[str] | None
        Names of the training data's columns, in order; None for columns without names. For a model read from a file,
        the list ends with the last feature in use, and unused features have the name ``""``.
    evals_result : dict[str, dict[str, list[float]]]
        Metric values after each round, by set and metric. Sets are ``"train"`` and those of ``valid``; a single
        validation set is ``"valid"``. Only a freshly trained or unpickled model has them.
    used_params : dict[str, int | float | str]
        All training parameters, with numbers in place of ``"auto"``. Only a freshly trained or unpickled model has
        them.
    position_bias : PositionBias | None
        Position bias that training with ``debias`` estimated; otherwise None.
    manifest : dict[str, Any] | None
        Description of the training for :func:`verify`, which ``json`` can write: version, build, checksums of the data,
        parameters and the checksum of the model. Only ``train(..., manifest=True)`` makes it, and only for a finished
        model. It is the same on other devices and with other numbers of threads and workers.
    calibration_figures : dict[str, dict[str, float]]
        Measurements of the :meth:`calibrate` call that returned this model; otherwise empty, also
        after loading or unpickling.

    Examples
    --------
    >>> model = rankwood.train({"rounds": 20, "leaves": 8}, data)
    >>> model
    Model(20 trees)
    >>> scores = model.predict(X_valid)
    >>> scores.shape == y_valid.shape
    True
    >>> model[5:]
    Model(15 trees)
    """

    def __init__(self, c: Any) -> None:
        super().__init__(c)
        self.evals_result: dict[str, dict[str, list[float]]] = {}
        self.used_params: dict[str, int | float | str] = {}
        self.position_bias: PositionBias | None = None
        self.manifest: dict[str, Any] | None = None
        self.calibration_figures: dict[str, dict[str, float]] = {}
        self._best_score: float | None = None  # first metric of the set that stops training, in the kept round

    def _trained(self, training: Training) -> None:
        """Keeps the results of training that a model file does not contain."""
        self.evals_result = training.evals
        self.used_params = training.used
        self.position_bias = training.position_bias
        measured = training.evals.get(training.stop_on or next(iter(training.names[1:]), ""), {})
        curve = next(iter(measured.values()), [])
        kept = self.best_round or len(self._round_ends())
        at = kept - training.n_rounds + len(curve) - 1  # rounds of an `init` have no values
        self._best_score = curve[at] if 0 <= at < len(curve) else None

    # ---- files ----

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Model:
        """Read a model file.

        Parameters
        ----------
        path : str or path
            File that :meth:`save` or the command-line program wrote.

        Returns
        -------
        Model
            The model.

        Raises
        ------
        FileError
            The file cannot be read.
        FormatError
            The file is damaged or was written by a later version.

        Examples
        --------
        >>> model.save("model.txt")
        >>> rankwood.Model.load("model.txt")
        Model(20 trees)
        """
        out = ffi.new("struct rw_model **")
        return cls(made(lib.rw_model_read(context(), path_chars(path), out), out, lib.rw_model_free))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, atomically.

        The file is identical to the one that ``rankwood train`` writes. A failed write leaves an existing file
        unchanged.

        Parameters
        ----------
        path : str or path
            File to write.

        Returns
        -------
        None

        Raises
        ------
        FileError
            The file cannot be written.

        Examples
        --------
        >>> model.save("model.txt")
        """
        check(lib.rw_model_write(context(), self._c, path_chars(path)))

    @classmethod
    def from_bytes(cls, data: bytes) -> Model:
        """Read a model from the bytes of its file.

        Parameters
        ----------
        data : bytes
            Content of a model file, as :meth:`to_bytes` returns it.

        Returns
        -------
        Model
            The model.

        Raises
        ------
        FormatError
            The bytes are damaged or were written by a later version.
        ParameterTypeError
            ``data`` has a wrong type.

        Examples
        --------
        >>> rankwood.Model.from_bytes(model.to_bytes())
        Model(20 trees)
        """
        try:
            held = ffi.from_buffer(data)
        except (TypeError, ValueError, BufferError):
            raise ParameterTypeError(f"data is a {type(data).__name__}; expected a model's bytes") from None
        out = ffi.new("struct rw_model **")
        status = lib.rw_model_read_memory(context(), b"model", held, len(held), out)
        return cls(made(status, out, lib.rw_model_free))

    def __reduce__(self) -> tuple[Any, ...]:
        state = self.__getstate__()
        return _unpickled, (state.pop("model"),), state

    def __getstate__(self) -> dict[str, Any]:
        """Returns plain objects only, which skops can store too: the file's bytes, and results that a file lacks."""
        kept = ("evals_result", "used_params", "position_bias", "feature_names")
        return {"model": self.to_bytes(), **{name: getattr(self, name) for name in kept}}

    def __setstate__(self, state: Any) -> None:
        names = {"evals_result", "used_params", "feature_names"}
        if not isinstance(state, dict) or state.keys() - {"position_bias", "model"} != names:
            raise FormatError(
                "the Model was pickled by another version of rankwood; Model.save and Model.load work across versions"
            )
        state = dict(state)
        if "model" in state:  # skops creates an empty object first
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
        """Write the model in another program's format. Each document reaches the same leaves there.

        Parameters
        ----------
        path : str or path
            File to write; a failed write leaves an existing file unchanged.
        format : str
            ``"lightgbm"``, ``"xgboost"``, ``"xgboost-ubj"``, ``"xgboost-dump"``, ``"eslr-raw"``, ``"catboost"``,
            ``"onnx"``, ``"onnx5"``, ``"pmml"``, ``"ranklib"``, ``"quickrank"``, ``"solr"``, ``"vespa"``, ``"c"``,
            ``"java"``, ``"go"``, ``"python"``, ``"opensearch"``, ``"elasticsearch"`` or
            ``"elasticsearch-ml"``.
        feature_base : {-1, 0, 1, "auto"}, default -1
            Feature that gets the format's first id. -1 keeps the ids. ``"auto"`` is 0 for a model that uses feature 0,
            and otherwise 1; the choice is logged.
        lossy : bool, default False
            Omit, with a warning, everything that the format cannot represent.
        featureset : str or path or None, default None
            For ``"opensearch"`` and ``"elasticsearch"`` (required): file with the plugin's answer to GET
            _ltr/_featureset/NAME. For ``"elasticsearch-ml"`` (required): file with the features and their queries,
            ``{"feature_extractors": [...]}``, or a feature set of the plugin. For ``"solr"``: file with the answer to
            GET schema/feature-store/NAME, or with the uploaded features; None writes the model's names. A model with
            feature names finds its features there by name. Otherwise, ``feature_base`` is the first feature of the set.
        name : str or None, default None
            For ``"opensearch"``, ``"elasticsearch"`` and ``"elasticsearch-ml"`` (required): name of the model there.
            For ``"solr"``, None means ``"rankwood"``.

        Returns
        -------
        None

        Raises
        ------
        UnsupportedError
            The format cannot represent the model, and ``lossy`` is False.
        ParameterError
            The format or another argument is invalid.
        FileError
            The file cannot be written.

        Notes
        -----
        ONNX models have one input ``"features"``, float32 of shape (n_docs, n_features). Columns are in the order of
        training and NaN is a missing value. The output is ``"score"``, float32 of shape (n_docs, 1). ``"lightgbm"``,
        ``"pmml"``, ``"c"``, ``"java"``, ``"go"`` and ``"python"`` represent all categories. ``"xgboost"``,
        ``"xgboost-ubj"``, ``"onnx"`` and ``"onnx5"`` represent categories that are whole numbers.

        Examples
        --------
        >>> model.export("model.xgb.json", "xgboost")
        """
        how, _held = exchange(format, feature_base, lossy, featureset, name)
        with caller_names(self.feature_names):
            check(lib.rw_model_export(context(), self._c, how, path_chars(path)))

    @classmethod
    def import_from(
        cls, path: str | os.PathLike[str], format: str, *, feature_base: int | Literal["auto"] = -1
    ) -> Model:
        """Read another program's model. It scores as in that program.

        Parameters
        ----------
        path : str or path
            File of the model.
        format : str
            ``"lightgbm"``, ``"xgboost"``, ``"xgboost-ubj"``, ``"catboost"``, ``"onnx"``, ``"onnx5"``, ``"ranklib"``,
            ``"quickrank"`` or ``"solr"``.
        feature_base : {-1, 0, 1, "auto"}, default -1
            Feature id of the format's first feature. -1 keeps the ids; numbered columns without names are then array
            columns, which is logged. ``"auto"`` is 0 for formats that count from 0 and name their columns, and
            otherwise 1, as in LETOR text. Models trained on columns of ``load_svmlight_file`` need 1 to score LETOR
            text.

        Returns
        -------
        Model
            The model. Categories are imported as words; see :attr:`categories`.

        Raises
        ------
        FormatError
            The file is damaged, or contains something that Rankwood cannot represent.
        ParameterError
            The format cannot be imported.
        FileError
            The file cannot be read.

        Examples
        --------
        >>> model.export("model.xgb.json", "xgboost")
        >>> same = rankwood.Model.import_from("model.xgb.json", "xgboost")
        >>> np.allclose(same.predict(X_valid), model.predict(X_valid), atol=1e-5)
        True
        """
        out = ffi.new("struct rw_model **")
        how, _held = exchange(format, feature_base, False)
        status = lib.rw_model_import(context(), path_chars(path), how, out)
        return cls(made(status, out, lib.rw_model_free))

    # ---- properties ----

    @property
    def best_round(self) -> int:
        """Round that a validation set chose, from 1; 0 without a validation set."""
        return int(self._info.best_round)

    @property
    def finished(self) -> bool:
        """False if training was interrupted before its last round; the model is then the best so far."""
        return bool(self._info.is_finished)

    def __repr__(self) -> str:
        return f"Model({self.n_trees} trees)"

    def _repr_html_(self) -> str:
        """Returns trees, kept round, metrics and the most important features as HTML for a notebook."""
        params = self.params
        facts = [f"{self.n_trees} trees"]
        if "objective" in params:
            facts.append(f"objective {params['objective']}")
        if self.best_round:
            facts.append(f"kept round {self.best_round}")
        if not self.finished:
            facts.append("interrupted: the best so far")
        out = [f"<p><b>rankwood.Model</b>: {escape(', '.join(facts))}</p>"]
        metrics = [
            (name, metric, f"{values[at]:.5f}")
            for name, by_metric in self.evals_result.items()
            for metric, values in by_metric.items()
            if (at := (self.best_round or len(values)) - 1) in range(len(values))
        ]
        if metrics:
            out.append(_table(metrics, ("set", "metric", "value")))
        gains = self.importance()
        total = sum(gains.values())
        splits = self.importance("splits")
        shown = list(gains.items())[:_MOST_FEATURES]
        if shown and total > 0:
            rows = [(name, f"{100 * gain / total:.1f} %", int(splits[name])) for name, gain in shown]
            out.append(_table(rows, ("feature", "gain", "splits")))
            if len(gains) > len(shown):
                out.append(f"<p>and {len(gains) - len(shown)} more features</p>")
        return f"<div>{''.join(out)}</div>"

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
        against: Dataset | None = None,
        **how: Any,
    ) -> str | None:
        """Write a web page about the model and its ranking of ``data``, like ``rankwood report``.

        The page shows learning curves, metrics by query, features and the first trees. It needs no network and no other
        file.

        Parameters
        ----------
        path : str, path or None
            File to write; a failed write leaves an existing file unchanged. None returns the page as text.
        data : Dataset
            Documents with labels and queries.
        metric : str or list of str, default "ndcg@10"
            Metrics, as in :func:`rankwood.evaluate`; the first one is shown by query.
        title : str or None, default None
            Title of the page; ``"Ranking report"`` by default.
        n_trees : int, default 3
            Number of trees to draw, 0 to 100.
        n_repeats : int, default 1
            Permutations of each feature for its importance, 0 to 1000; 0 omits it.
        like : str or None, default None
            Program whose conventions apply, as in :func:`rankwood.evaluate`.
        against : Dataset or None, default None
            Reference, such as the training set: the page then also shows drift, as in :func:`rankwood.check`.
        **how
            ``empty``, ``ties``, ``label_gain`` and ``relevant``, as in :func:`rankwood.evaluate`, and ``seed`` of the
            permutations.

        Returns
        -------
        str or None
            The page if ``path`` is None.

        Raises
        ------
        DataError
            The data has no labels, or lacks a feature of the model.
        ParameterError
            An argument is out of range, or ``path`` is a file that ``data`` is read from.
        FileError
            The file cannot be written.

        Examples
        --------
        >>> model.report("report.html", valid, n_repeats=0)
        """
        need_labels(data, "data")
        if against is not None:
            need_labels(against, "against")
        if path is not None:
            check_apart(path, data, *([] if against is None else [against]))
        n_trees, n_repeats = whole(n_trees, "n_trees", 0, 100), whole(n_repeats, "n_repeats", 0, 1000)
        if path is None:
            import tempfile

            with tempfile.TemporaryDirectory(prefix="rankwood-") as folder:
                file = os.path.join(folder, "report.html")
                shown: dict[str, Any] = {"title": title, "n_trees": n_trees, "n_repeats": n_repeats, "like": like}
                self.report(file, data, metric=metric, against=against, **shown, **how)
                with open(file, encoding="utf-8", errors="replace") as written:
                    return written.read()
        params = Params({"metric": metric, **how})
        settings = params.measuring()
        texts = {"title": title, "like": like, "data_name": _paths_of(data), "against_name": _paths_of(against)}
        held = {name: None if value is None else chars(value) for name, value in texts.items()}
        options, _held = c_struct("rw_report_options", held, n_trees=n_trees, n_repeats=n_repeats)
        out = ffi.new("struct rw_out_file *")
        c = self._values_of(data, exact=against is not None)
        options.against = ffi.NULL if against is None else self._values_of(against, exact=True)
        check(lib.rw_out_file_open(context(), out, path_chars(path)))
        try:
            check(lib.rw_report(context(), settings, self._c, c, options, out.file))
            check(lib.rw_out_file_commit(context(), out))
        finally:
            lib.rw_out_file_abandon(out)
        return None

    def importance(self, kind: str = "gain") -> dict[int | str, float]:
        """Return the importance of each feature in use, largest first.

        Parameters
        ----------
        kind : {"gain", "splits"}, default "gain"
            Sum of the gains of the feature's splits, or their number.

        Returns
        -------
        dict
            Importance by feature name; by id for features without names.

        Raises
        ------
        ParameterError
            The kind is unknown.

        Examples
        --------
        >>> gains = model.importance()
        >>> splits = model.importance("splits")
        >>> sum(splits.values()) == sum(1 for node in model.trees() if node["leaf"] is None)
        True
        """
        if kind not in ("gain", "splits"):
            raise ParameterError(f"kind is {kind!r}; expected 'gain' or 'splits'")
        out: dict[int | str, float] = {}
        for use in self._uses():
            name = self._name(use.feature)
            out[name] = float(use.gain if kind == "gain" else use.n_splits)
        return dict(sorted(out.items(), key=lambda item: -item[1]))

    def trees(self) -> list[dict[str, Any]]:
        """Return all nodes of all trees.

        Returns
        -------
        list of dict
            One dictionary per node, with ``tree``, ``node``, ``leaf``, ``feature``, ``threshold``, ``missing_left``,
            ``left``, ``right``, ``gain`` and ``value``. ``threshold`` is a text for a split by categories.

        Examples
        --------
        >>> root = model.trees()[0]
        >>> root["tree"], root["node"]
        (0, 0)
        """
        return _explain.nodes_of(self)

    def trees_to_dataframe(self) -> Any:
        """Return all nodes of all trees as a pandas data frame.

        Returns
        -------
        pandas.DataFrame
            One row per node, with the columns of :meth:`trees`.

        Examples
        --------
        >>> table = model.trees_to_dataframe()
        >>> int(table["leaf"].notna().sum()) <= 20 * 8  # 20 trees of at most 8 leaves
        True
        """
        import pandas

        columns = ["tree", "node", "leaf", "feature", "threshold", "missing_left", "left", "right", "gain", "value"]
        return pandas.DataFrame(self.trees(), columns=columns)

    # ---- scores ----

    @hinted
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
        threads: int | None = None,
    ) -> Floats:
        """Score documents; a higher score is a better rank.

        Parameters
        ----------
        data : Dataset, array, sparse matrix, data frame, Arrow table, str or path
            The documents; labels and queries are not needed. If the model has feature names, columns of a data frame
            are found by name, in any order. A column ``"qid"`` is ignored, unless the model has a feature of that name.
        n_trees : int or None, default None
            Use the first ``n_trees`` trees only. With ``bags``, a multiple of ``n_bags``.
        device : str, default "cpu"
            ``"cpu"``, ``"cuda"``, ``"cuda:N"`` or ``"auto"``. It applies to data sets; arrays are scored on the CPU.
        missing : float, default NaN
            Value that means missing, in addition to NaN and null. The model does not store the one used in training. A
            :class:`Dataset` has its own.
        probability : bool, default False
            Return probabilities instead of scores. The model must come from :meth:`calibrate`.
        feature_base : {0, 1} or None, default None
            Feature id of column 0, as in :class:`Dataset`; not for a Dataset.
        n_features : int or None, default None
            Number of columns of a sparse matrix, as in :class:`Dataset`; not for a Dataset.
        threads : int or None, default None
            Number of threads, 1 to 4096; by default, that of the last training in the calling thread, or all. It does
            not change the scores.

        Returns
        -------
        array of float64, shape (n_docs,)
            Scores, or probabilities, in the order of the data.

        Raises
        ------
        DataError
            The data lacks a feature of the model, or has a wrong shape, wrong types or infinite values. Also if
            ``probability`` is True for a model that is not calibrated.
        ParameterError
            ``n_trees`` is too large, the device is unknown, or ``probability`` is combined with ``n_trees``.

        Notes
        -----
        The first call with an array prepares the model for all threads, which takes milliseconds for hundreds of trees.
        Make this call before a server uses the model. Float32 arrays in C order are scored fastest. Up to 1023 rows are
        scored by the calling thread alone.

        Examples
        --------
        >>> scores = model.predict(X_valid)
        >>> first = qid_valid == 0
        >>> order = np.argsort(-scores[first])  # best documents of query 0 first
        """
        if probability:
            if n_trees is not None:
                raise ParameterError("probability needs the scores of all trees: leave out n_trees")
            self._probabilities(np.empty(0))  # fails before scoring
        n = self._count(n_trees)
        with using_threads(threads):
            scores = self._predict(data, n, device, missing, feature_base, n_features)
        return self._probabilities(scores) if probability else scores

    def leaves(
        self, data: Any, *, n_trees: int | None = None, missing: float = np.nan, threads: int | None = None
    ) -> npt.NDArray[np.int32]:
        """Return the leaf that each document reaches in each tree.

        Parameters
        ----------
        data : Dataset, array, sparse matrix, data frame, Arrow table, str or path
            The documents, as in :meth:`predict`.
        n_trees : int or None, default None
            Use the first ``n_trees`` trees only.
        missing : float, default NaN
            Value that means missing, as in :meth:`predict`; not for a Dataset or a path.
        threads : int or None, default None
            Number of threads, as in :meth:`predict`.

        Returns
        -------
        array of int32, shape (n_docs, n_trees)
            Leaves from 0, the numbers in the column ``leaf`` of :meth:`trees`, in the order of the data.

        Raises
        ------
        DataError
            The data lacks a feature of the model, or has a wrong shape, wrong types or infinite values.
        ParameterError
            ``n_trees`` or ``threads`` is out of range.

        Examples
        --------
        >>> model.leaves(X_valid).shape == (len(X_valid), model.n_trees)
        True
        """
        n = self._count(n_trees) or self.n_trees
        if missing == missing and (isinstance(data, Dataset) or is_paths(data)):
            raise ParameterError("missing is only for data that is not a Dataset; pass it to Dataset instead")
        if getattr(data, "shape", (1,))[:1] == (0,):
            return np.empty((0, n), np.int32)
        dataset = self._dataset_of(data, missing)
        with using_threads(threads), caller_names(self.feature_names):
            batches = self._values_by_batch(dataset)
            leaves = np.empty((dataset.n_docs, n), np.int32)
            for first, values in batches:
                check(lib.rw_predict_leaves(context(), self._c, values, n, pointer(leaves) + first * n))
        return dataset._in_caller_order(leaves)

    def _probabilities(self, scores: Floats) -> Floats:
        """Converts scores of all trees to probabilities in place. DataError for a model without a map."""
        at = pointer(scores)
        check(lib.rw_model_probabilities(context(), self._c, at, len(scores), at))
        return scores

    def calibrate(
        self, data: Dataset, *, method: str = "isotonic", relevant: float = 1.0, device: str = "cpu"
    ) -> Model:
        """Return a copy of the model that can predict probabilities.

        It fits a map from scores to the probability that a label is at least ``relevant``. Document weights count.

        Parameters
        ----------
        data : Dataset
            Documents with labels. Do not use the training data.
        method : {"isotonic", "logistic"}, default "isotonic"
            Isotonic regression or Platt's logistic map.
        relevant : float, default 1.0
            Smallest label that counts as relevant.
        device : str, default "cpu"
            Device for scoring, as in :meth:`predict`.

        Returns
        -------
        Model
            The copy. Its ``calibration_figures`` has ``log_loss``, ``brier`` and ``error`` (expected calibration error)
            for three cases. ``"before"`` is 1 / (1 + exp(-score)), ``"fitted"`` is measured on ``data``, and
            ``"held_out"`` on queries that were left out of fitting.

        Raises
        ------
        DataError
            The data has no labels, lacks a feature of the model, or has no relevant or only relevant documents.
        ParameterError
            The method or device is unknown.

        Examples
        --------
        >>> calibrated = model.calibrate(valid)
        >>> p = calibrated.predict(X_valid, probability=True)
        >>> bool(0 <= p.min() <= p.max() <= 1)
        True
        """
        need_labels(data, "data")
        params = Params({"relevant": relevant, "device": device})
        given = {"method": chars(method), "device": chars(device)}
        how, _held = c_struct("rw_calibrate", given, relevant=lib.rw_params_eval(params.c).relevant)
        check(lib.rw_calibrate_check(context(), how))
        figures, out = ffi.new("struct rw_calibrated *"), ffi.new("struct rw_model **")
        status = lib.rw_model_calibrate(context(), self._c, self._values_of(data), how, figures, out)
        new = Model(made(status, out, lib.rw_model_free))
        new.feature_names = None if self.feature_names is None else list(self.feature_names)
        for kind in ("before", "fitted", "held_out"):
            one = getattr(figures, kind)
            new.calibration_figures[kind] = {"log_loss": one.log_loss, "brier": one.brier, "error": one.error}
        return new

    @property
    def calibration(self) -> Calibration | None:
        """Map from scores to probabilities; None for a model that is not calibrated."""
        c = ffi.new("struct rw_calibration *")
        if not lib.rw_model_calibration(self._c, c):
            return None
        scores, probabilities = (
            np.array(ffi.unpack(knots, c.n_knots) if c.n_knots else [], np.float64)
            for knots in (c.score, c.probability)
        )
        return Calibration(text(c.method), c.relevant, c.slope, c.intercept, scores, probabilities)

    def spread(self, data: Dataset) -> Spread:
        """Measure how much scores and ranks differ between the bags of the model.

        Each bag of a training with ``bags`` above 1 is a complete model of its own. Where the bags disagree, another
        seed would change the ranking. The spread shows what varies in training; it is not the probability that a
        ranking is wrong. All bags have learned from the same documents, so they share the errors of these.

        Parameters
        ----------
        data : Dataset
            The documents with their queries; labels are not needed.

        Returns
        -------
        Spread
            For each document, in the order of the data: the standard deviation of its score over the bags, and its
            best and worst rank.

        Raises
        ------
        ParameterError
            The model has one bag, or was continued from a model with another number of bags.
        DataError
            The data lacks a feature of the model.

        Examples
        --------
        >>> bags = rankwood.train({"bags": 4, "rounds": 20, "sample_queries": 0.7}, data)
        >>> spread = bags.spread(valid)
        >>> bool(np.all(spread.rank_low <= spread.rank_high))
        True
        """
        return _explain.spread(self, data)

    # ---- explanations ----

    def shap_values(self, data: Dataset, cover: Dataset | None = None) -> tuple[Floats, float, list[int]]:
        """Return the SHAP values of documents as arrays.

        A document's score is the base value plus the sum of its values. The values are path-dependent (Lundberg, Erion
        and Lee 2018): unknown features follow both branches, weighted by the numbers of training documents.

        Parameters
        ----------
        data : Dataset
            Documents to explain.
        cover : Dataset or None, default None
            Documents to count instead of the training documents. Models without counts use ``data`` by default; they
            come from older versions, or from formats without counts.

        Returns
        -------
        values : array of float64, shape (n_docs, n_used)
            SHAP values, in the order of the data.
        base : float
            Base value.
        features : list of int
            Ids of the features in use.

        Raises
        ------
        DataError
            The data lacks a feature of the model.
        UnsupportedError
            A tree has thousands of different features on one path.

        Examples
        --------
        >>> values, base, features = model.shap_values(valid)
        >>> np.allclose(base + values.sum(axis=1), model.predict(valid))
        True
        """
        return _explain.shap_values(self, data, cover)

    def explain(self, data: Dataset, cover: Dataset | None = None) -> Explanation:
        """Return the SHAP values of documents, with names and values of the features.

        Parameters
        ----------
        data : Dataset
            Documents to explain.
        cover : Dataset or None, default None
            Documents to count instead of the training documents, as in :meth:`shap_values`.

        Returns
        -------
        Explanation
            SHAP values, base value, and features with names and values.

        Raises
        ------
        DataError
            The data lacks a feature of the model.
        UnsupportedError
            A tree has thousands of different features on one path.

        Examples
        --------
        >>> explanation = model.explain(valid)
        >>> explanation.values.shape == (valid.n_docs, len(explanation.features))
        True
        """
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
        """Return the loss of a metric when a feature's values are shuffled, for each feature in use.

        Parameters
        ----------
        data : Dataset
            Documents with labels and queries.
        metric : str, default "ndcg@10"
            One metric, as in :func:`rankwood.evaluate`.
        n_repeats : int, default 5
            Shuffles of each feature, 1 to 1000.
        n_trees : int or None, default None
            Use the first ``n_trees`` trees only.
        **how
            ``empty``, ``ties``, ``label_gain`` and ``relevant``, as in :func:`rankwood.evaluate`, and ``seed``.

        Returns
        -------
        list of Permuted
            Features with their loss, largest first.

        Raises
        ------
        DataError
            The data has no labels, or lacks a feature of the model.
        ParameterError
            An argument is out of range, or the metric is unknown.

        Examples
        --------
        >>> rows = model.permutation_importance(valid, n_repeats=2)
        >>> len(rows) == len(model.importance())
        True
        """
        return _explain.permutation_importance(self, data, metric, n_repeats, n_trees, how)

    def to_shap(self, cover: Dataset | None = None) -> dict[str, Any]:
        """Return the trees in the form that ``shap.TreeExplainer`` reads.

        Parameters
        ----------
        cover : Dataset or None, default None
            Documents to count instead of the training documents. It uses 4 bytes per document and tree, so a sample may
            be enough.

        Returns
        -------
        dict
            Argument for ``shap.TreeExplainer``. Explain float32 arrays with feature ids as columns and NaN for missing.

        Raises
        ------
        UnsupportedError
            The model has splits by categories, or has no counts and ``cover`` is None.
        DataError
            ``cover`` lacks a feature of the model.

        Examples
        --------
        >>> trees = model.to_shap()
        >>> len(trees["trees"])
        20
        """
        return _explain.to_shap(self, cover)

    # ---- models made from this one ----

    def __getitem__(self, rounds: slice | int) -> Model:
        """Returns a model of some rounds: ``model[:50]`` has the first 50, ``model[10:]`` all but the first 10.

        Its scores are the sums of these rounds' trees. It has no metrics, best round or map to probabilities.
        ParameterError: no round remains. IndexError: there is no such round.
        """
        ends = self._round_ends()
        if isinstance(rounds, slice):
            try:
                chosen = range(len(ends))[rounds]
            except (TypeError, ValueError):
                raise ParameterTypeError(f"the rounds are {rounds}; expected whole numbers") from None
            if not chosen or chosen.step < 0:
                raise ParameterError(f"the rounds are {rounds}; expected one or more of {len(ends)}, ascending")
        else:
            at = whole(rounds, "the round", -(2**31), 2**31)
            if not -len(ends) <= at < len(ends):  # an IndexError ends iteration
                raise IndexError(f"no round {at}; the model has {len(ends)} rounds")
            chosen = range(at % len(ends), at % len(ends) + 1)
        keep = np.zeros(self.n_trees, np.uint8)
        for i in chosen:
            keep[ends[i - 1] if i else 0 : ends[i]] = 1
        out = ffi.new("struct rw_model **")
        status = lib.rw_model_select(context(), self._c, ffi.from_buffer("unsigned char[]", keep), out)
        new = Model(made(status, out, lib.rw_model_free))
        new.feature_names = None if self.feature_names is None else list(self.feature_names)
        return new

    @hinted
    def refit(
        self,
        data: Dataset,
        *,
        decay: float | None = None,
        params: Mapping[str, Any] | None = None,
        valid: Dataset | Mapping[str, Dataset] | Iterable[Dataset] | None = None,
        callbacks: Iterable[Callback] = (),
        strict: bool | None = False,
    ) -> Model:
        """Return a model with the same trees and new leaf values from ``data``.

        Parameters
        ----------
        data : Dataset
            Documents with labels and queries.
        decay : float or None, default None
            Weight of the old leaf values, 0 to 1; new values have weight 1 - decay. The default 0.9 is that of
            LightGBM's ``Booster.refit``. 0 discards the old values.
        params : dict or None, default None
            Parameters that leaf values depend on, such as ``objective``, ``rate`` and ``l2``. Others keep the value of
            the model's training, or the default for imported models. ``objective`` and ``metric`` may be functions, as
            in :func:`rankwood.train`.
        valid : Dataset, dict or list of Dataset, or None, default None
            Sets to measure after each tree. All trees are kept.
        callbacks : list of callable, default ()
            Functions as in :func:`rankwood.train`; a true result aborts the refit.
        strict : bool or None, default False
            Treatment of parameters without effect, as in :func:`rankwood.train`.

        Returns
        -------
        Model
            The new model; this one is unchanged.

        Raises
        ------
        ParameterError
            A parameter is invalid.
        DataError
            The data has no labels, or lacks a feature of the model.
        KeyboardInterrupt
            A callback or Ctrl-C aborted the refit; a partly refitted model is not returned.

        Examples
        --------
        >>> model.refit(valid, decay=0.5)
        Model(20 trees)
        """
        with _workers.agreed():
            given = as_mapping(params)
            need_device(given)
            need_labels(data, "data")
            if decay is not None and {"refit_decay", "refit-decay"} & set(given):
                raise ParameterError("decay and the parameter 'refit_decay' are both given")
            if decay is not None:
                given["refit_decay"] = decay
            sets = valid_sets(valid, None)
            training = Training([data, *sets.values()], ["train", *sets], callbacks)
        training.meet_workers(given, self)
        with _workers.agreed():
            hooks, *keep = training.hooks(given)
            c = Params(given, strict)
            need_measured(c, hooks, bool(sets))
            values = [self._values_of(one) for one in training.sets]
        out = ffi.new("struct rw_model **")
        array = ffi.new("struct rw_dataset *[]", values)
        with ctrl_c(training), caller_names(self.feature_names, training.names[1:]):
            status = lib.rw_refit(context(), c.c, self._c, values[0], array + 1, len(values) - 1, hooks, out)
        del keep
        with _workers.agreed(), caller_names(self.feature_names, training.names[1:]):
            new = Model(training.result(status, out, lib.rw_model_free))
        new._trained(training)
        new.feature_names = None if self.feature_names is None else list(self.feature_names)
        training.progress.end(f"{new.n_trees} trees refitted")
        return new

    def prune(
        self,
        data: Dataset,
        *,
        metric: str = "ndcg@10",
        loss: float = 0.001,
        order: Literal["any", "last"] = "any",
        **how: Any,
    ) -> Pruned:
        """Remove trees as long as a metric loses at most ``loss``.

        Parameters
        ----------
        data : Dataset
            Documents with labels and queries that were not used in training.
        metric : str, default "ndcg@10"
            One metric, as in :func:`rankwood.evaluate`.
        loss : float, default 0.001
            Tolerated loss, 0 or more.
        order : {"any", "last"}, default "any"
            ``"any"`` removes the trees with the smallest effect; the loss must then also hold in queries that did not
            take part in the choice. ``"last"`` removes the last trees.
        **how
            ``empty``, ``ties``, ``label_gain`` and ``relevant``, as in :func:`rankwood.evaluate`, and ``seed`` of
            intervals and halves.

        Returns
        -------
        Pruned
            The smallest model within the loss, and the loss for other numbers of trees.

        Raises
        ------
        ParameterError
            An argument is out of range, or the metric is unknown.
        DataError
            No query counts, or the data lacks a feature of the model.
        KeyboardInterrupt
            Ctrl-C aborted pruning.

        Examples
        --------
        >>> pruned = model.prune(valid, loss=0.01)
        >>> pruned.model.n_trees <= model.n_trees
        True
        """
        need_labels(data, "data")
        if order not in ("any", "last"):
            raise ParameterError(f"order is {order!r}; expected 'any' or 'last'")
        params = Params({"metric": metric, **how})
        settings = params.measuring()
        which = lib.RW_PRUNE_LAST if order == "last" else lib.RW_PRUNE_ANY
        most, values = not_negative(loss, "loss"), self._values_of(data)
        out = ffi.new("struct rw_pruned **")
        with working("pruning"):
            status = lib.rw_prune(context(), settings, self._c, values, most, which, out)
            c = made(status, out, lib.rw_free)
        rows = [
            PrunedRow(
                row.n_trees, row.n_leaves, row.n_bytes, row.compared.mean_b, row.compared.difference,
                row.compared.low, row.compared.high, row.held_out,
            )
            for row in (c.rows[i] for i in range(c.n_rows))
        ]  # fmt: skip
        smaller = Model(ffi.gc(c.model, lib.rw_model_free))
        c.model = ffi.NULL  # `smaller` owns it now
        smaller.feature_names = None if self.feature_names is None else list(self.feature_names)
        logger.info("%d of %d trees are left", smaller.n_trees, self.n_trees)
        return Pruned(smaller, text(c.metric), rows, c.chosen)


def _unpickled(data: bytes) -> Model:
    """Restores a pickled model. It is a function because pickles of Ray and joblib cannot hold a class's method."""
    return Model.from_bytes(data)
