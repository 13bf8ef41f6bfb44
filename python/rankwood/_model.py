"""A trained model: scores, reasons, trees, files."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Literal

import numpy as np

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
    whole,
)
from rankwood._dataset import Dataset, need_labels
from rankwood._explain import Explanation, Permuted
from rankwood._handles import check_apart
from rankwood._params import Params, as_mapping, need_device
from rankwood._scoring import Scorer
from rankwood._training import Callback, PositionBias, Training, ctrl_c, need_measured, valid_sets, working

_MOST_FEATURES = 10


def exchange(
    format: str,
    feature_base: int | Literal["auto"],
    lossy: bool,
    featureset: str | os.PathLike[str] | None = None,
    name: str | None = None,
) -> tuple[Any, Any]:
    """struct rw_exchange, how a model goes to another program or comes from one, and what it points to."""
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
    """The map of a model's scores to the probability that a label is at least ``relevant``.

    Attributes
    ----------
    method : str
        "isotonic" or "logistic".
    relevant : float
        The label.
    slope : float
        Of a logistic map: 1 / (1 + exp(-(slope * score + intercept))); else 0.
    intercept : float
        The same.
    scores : array of float64
        Of an isotonic map: its knots' (n_knots,), ascending, with straight lines between them; else empty.
    probabilities : array of float64
        The knots' (n_knots,).
    """

    method: str
    relevant: float
    slope: float
    intercept: float
    scores: Floats
    probabilities: Floats


@dataclass(frozen=True)
class PrunedRow:
    """What is left of a model.

    Attributes
    ----------
    n_trees : int
        Trees.
    n_leaves : int
        Leaves of these trees.
    n_bytes : int
        Bytes of the model's file.
    mean : float
        The metric.
    difference : float
        From the whole model's; NaN if no query counts.
    low : float
        The lower end of the difference's 95 % bootstrap interval over queries.
    high : float
        The upper end.
    held_out : float
        The difference in half of the queries by trees that the other half chose, in the mean of both halves; NaN
        with order "last", which chooses none.
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
    """A model of fewer trees, and what other numbers of trees would lose.

    Attributes
    ----------
    model : Model
        The model of the fewest trees within the loss.
    metric : str
        Its name: "ndcg@10".
    rows : list[PrunedRow]
        The whole model, then fewer and fewer trees.
    chosen : int
        The row of `model`, from 0.
    """

    model: Model
    metric: str
    rows: list[PrunedRow]
    chosen: int


def _table(rows: Sequence[Sequence[Any]], heads: Sequence[str]) -> str:
    head = "".join(f"<th>{escape(str(cell))}</th>" for cell in heads)
    body = ""
    for row in rows:
        body += "<tr>" + "".join(f"<td>{escape(str(cell))}</td>" for cell in row) + "</tr>"
    return f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


class Model(Scorer):
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
        super().__init__(c)
        self.evals_result: dict[str, dict[str, list[float]]] = {}
        self.used_params: dict[str, int | float | str] = {}
        self.position_bias: PositionBias | None = None
        self.calibration_figures: dict[str, dict[str, float]] = {}

    def _trained(self, training: Training) -> None:
        """What the file does not have."""
        self.evals_result = training.evals
        self.used_params = training.used
        self.position_bias = training.position_bias

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
        how, _held = exchange(format, feature_base, lossy, featureset, name)
        with caller_names(self.feature_names):
            check(lib.rw_model_export(context(), self._c, how, path_chars(path)))

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
        how, _held = exchange(format, feature_base, False)
        status = lib.rw_model_import(context(), path_chars(path), how, out)
        return cls(made(status, out, lib.rw_model_free))

    # ---- what it is ----

    @property
    def best_round(self) -> int:
        """The round that a validation set chose, from 1; 0 without one."""
        return int(self._info.best_round)

    @property
    def finished(self) -> bool:
        """False: training was interrupted, and this is the best until then."""
        return bool(self._info.is_finished)

    def __repr__(self) -> str:
        return f"Model({self.n_trees} trees)"

    def _repr_html_(self) -> str:
        """Trees, best round, metrics and the most important features, for a notebook."""
        params = self.params
        facts = [f"{self.n_trees} trees"]
        if "objective" in params:
            facts.append(f"objective {params['objective']}")
        if self.best_round:
            facts.append(f"best round {self.best_round}")
        if not self.finished:
            facts.append("interrupted: the best until then")
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
        need_labels(data, "data")
        if path is not None:
            check_apart(path, data)
        n_trees, n_repeats = whole(n_trees, "n_trees", 0, 100), whole(n_repeats, "n_repeats", 0, 1000)
        if path is None:
            import tempfile

            with tempfile.TemporaryDirectory(prefix="rankwood-") as folder:
                file = os.path.join(folder, "report.html")
                self.report(
                    file, data, metric=metric, title=title, n_trees=n_trees, n_repeats=n_repeats, like=like, **how
                )
                with open(file, encoding="utf-8", errors="replace") as written:
                    return written.read()
        params = Params({"metric": metric, **how})
        settings = params.measuring()
        of_files = None if data._paths is None else ", ".join(os.fsdecode(one) for one in data._paths)
        texts = {"title": title, "like": like, "data_name": of_files}
        held = {name: None if value is None else chars(value) for name, value in texts.items()}
        options, _held = c_struct("rw_report_options", held, n_trees=n_trees, n_repeats=n_repeats)
        out = ffi.new("struct rw_out_file *")
        c = self._values_of(data)
        check(lib.rw_out_file_open(context(), out, path_chars(path)))
        try:
            check(lib.rw_report(context(), settings, self._c, c, options, out.file))
            check(lib.rw_out_file_commit(context(), out))
        finally:
            lib.rw_out_file_abandon(out)
        return None

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

    def trees(self) -> list[dict[str, Any]]:
        """All nodes, one dictionary each: tree, node, leaf, feature, threshold (a text where a split is by
        categories), missing_left, left, right, gain, value. :meth:`trees_to_dataframe` is a table of them."""
        return _explain.nodes_of(self)

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
        if n_trees is not None:
            raise ParameterError("probability is of the scores by all trees: leave out n_trees")
        self._probabilities(np.empty(0))  # before the scores
        return self._probabilities(self._predict(data, 0, device, missing, feature_base, n_features))

    def _probabilities(self, scores: Floats) -> Floats:
        """Of scores by all trees, in their place. DataError: the model has no map."""
        at = pointer(scores)
        check(lib.rw_model_probabilities(context(), self._c, at, len(scores), at))
        return scores

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
        need_labels(data, "data")
        params = Params({"relevant": relevant, "device": device})
        given = {"method": chars(method), "device": chars(device)}
        how, _held = c_struct("rw_calibrate", given, relevant=lib.rw_params_eval(params.c).relevant)
        check(lib.rw_calibrate_check(context(), how))
        figures, out = ffi.new("struct rw_calibrated *"), ffi.new("struct rw_model **")
        status = lib.rw_model_calibrate(context(), self._c, self._values_of(data), how, figures, out)
        new = Model(made(status, out, lib.rw_model_free))
        new.feature_names = self.feature_names
        for kind in ("before", "fitted", "held_out"):
            one = getattr(figures, kind)
            new.calibration_figures[kind] = {"log_loss": one.log_loss, "brier": one.brier, "error": one.error}
        return new

    @property
    def calibration(self) -> Calibration | None:
        """The map of scores to probabilities; None without one."""
        c = ffi.new("struct rw_calibration *")
        if not lib.rw_model_calibration(self._c, c):
            return None
        scores, probabilities = (
            np.array(ffi.unpack(knots, c.n_knots) if c.n_knots else [], np.float64)
            for knots in (c.score, c.probability)
        )
        return Calibration(text(c.method), c.relevant, c.slope, c.intercept, scores, probabilities)

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
        return _explain.shap_values(self, data, cover)

    def explain(self, data: Dataset, cover: Dataset | None = None) -> Explanation:
        """SHAP values of each document of ``data``, with the features' names and values; ``cover`` and
        what it raises (DataError, UnsupportedError) are those of :meth:`shap_values`."""
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
        return _explain.permutation_importance(self, data, metric, n_repeats, n_trees, how)

    def to_shap(self, cover: Dataset | None = None) -> dict[str, Any]:
        """The trees as ``shap.TreeExplainer`` reads them: ``shap.TreeExplainer(model.to_shap())``.

        cover: documents to count in place of the model's own counts, as in :meth:`shap_values`; 4 bytes
        per document and tree are used, so a sample may do. Columns of what is explained are features by
        id, as float32, NaN where missing.

        Raises UnsupportedError for a model without counts if ``cover`` is not given, or with splits by
        categories; DataError where a feature of the model is not in ``cover``.
        """
        return _explain.to_shap(self, cover)

    # ---- models made of it ----

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
        """A model of the same trees, whose leaves have new values from ``data``; this one stays as it is.

        decay: a leaf becomes decay times its old value and 1 - decay times its new one; 0.9 if not given, as
        LightGBM's ``Booster.refit`` has it; 0 forgets the old ones. params: ``objective``, ``rate``, ``l2`` and what
        else leaf values depend on; what is not given is as the model was trained, or the default where it does not say
        (an imported model). ``objective`` and ``metric`` may be functions, as in :func:`rankwood.train`. valid: sets
        that are measured after each tree; all trees are kept. callbacks: as train's, but a true result ends the refit.
        strict: as train's.

        Raises ParameterError, DataError, and KeyboardInterrupt where it was ended: trees that are refitted in part
        are no model. A parameter without effect on a refit is a :class:`rankwood.NoEffectWarning`.
        """
        with _workers.agreed():
            need_device(as_mapping(params))
            need_labels(data, "data")
            given = as_mapping(params)
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
        """The model of the fewest trees whose metric on ``data`` is worse by at most ``loss``, and what other
        numbers of trees would lose.

        data: documents with labels, not those of training. loss: 0 or more. order: which trees go, "any", those that
        are missed least (the loss then has to be so small in queries that did not choose them, too), or the
        "last" ones. how: ``empty``, ``ties``, ``label_gain``, ``relevant``, ``seed`` (of intervals and halves).

        Raises ParameterError, DataError where no query counts, and KeyboardInterrupt where it was ended.
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
        c.model = ffi.NULL  # it has an owner now
        smaller.feature_names = None if self.feature_names is None else list(self.feature_names)
        logger.info("%d of %d trees are left", smaller.n_trees, self.n_trees)
        return Pruned(smaller, text(c.metric), rows, c.chosen)


def _unpickled(data: bytes) -> Model:
    """A function, for Ray's and joblib's pickles take a class's methods to pieces."""
    return Model.from_bytes(data)
