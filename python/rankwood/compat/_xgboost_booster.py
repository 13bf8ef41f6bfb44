"""XGBoost's Booster over Rankwood's Model, and XGBoost's files."""

from __future__ import annotations

import json
import os
import re
import struct
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from rankwood._columns import names_in_file
from rankwood._core import DataError, FormatError, UnsupportedError
from rankwood._core import RankwoodError as XGBoostError
from rankwood._model import Model
from rankwood.compat import _shared
from rankwood.compat._xgboost_data import DMatrix
from rankwood.compat._xgboost_params import Plan, measured


class Booster:
    """A model, or parameters for one.

    Parameters
    ----------
    params : dict or None, default None
        XGBoost's parameters.
    cache : list or None, default None
        Ignored.
    model_file : Booster, str, path, bytes or None, default None
        Model to copy or load.

    Examples
    --------
    >>> bst = xgb.train({"objective": "rank:ndcg"}, dtrain, 5)
    >>> bst.save_model("model.json")
    >>> np.allclose(xgb.Booster(model_file="model.json").predict(dtrain), bst.predict(dtrain), atol=1e-5)
    True
    """

    def __init__(self, params: Any = None, cache: Any = None, model_file: Any = None) -> None:
        self._params: dict[str, Any] = {}
        self._model: Model | None = None
        self._n_rounds = 0
        self._attributes: dict[str, str] = {}
        self._base_score = 0.0
        self._planned_rates: list[float] | None = None  # during training
        self.is_cv = False
        self.feature_names: list[str] | None = None
        self.feature_types: list[str] | None = None
        if isinstance(model_file, Booster):
            self.__dict__.update(model_file.__dict__)
            self._attributes, self._params = dict(model_file._attributes), dict(model_file._params)
        elif model_file is not None:
            self.load_model(model_file)
        self._params.update(as_dict(params))

    @property
    def _trees(self) -> Model:
        if self._model is None:
            raise XGBoostError("the booster has no trees yet; callbacks can read its attributes and rounds")
        return self._model

    # ---- attributes and parameters ----

    def set_param(self, params: Any, value: Any = None) -> None:
        """Set parameters for a later training. During training only LearningRateScheduler can change one, the rate."""
        given = {params: value} if isinstance(params, str) else as_dict(params)
        if self._planned_rates is not None:
            at = self._n_rounds if self._n_rounds < len(self._planned_rates) else -1
            if any(name not in ("eta", "learning_rate") or one != self._planned_rates[at]
                   for name, one in given.items()):  # fmt: skip
                names = ", ".join(given)
                raise UnsupportedError(f"{names} cannot change during training; LearningRateScheduler changes the rate")
        self._params.update(given)

    def set_attr(self, **attributes: Any) -> None:
        """Set attributes, texts that model files keep; None deletes one."""
        for name, value in attributes.items():
            self._attributes.pop(name, None)
            if value is not None:
                self._attributes[name] = str(value)

    def attr(self, key: str) -> str | None:
        """Return an attribute; None if it is not set."""
        return self._attributes.get(key)

    def attributes(self) -> dict[str, str | None]:
        """Return all attributes."""
        return dict(self._attributes)

    def _of_stopping(self, name: str) -> str:
        if name not in self._attributes:
            raise AttributeError(f"`{name}` is only defined after early stopping")
        return self._attributes[name]

    @property
    def best_iteration(self) -> int:
        """Best round by early stopping, from 0. AttributeError without early stopping."""
        return int(self._of_stopping("best_iteration"))

    @best_iteration.setter
    def best_iteration(self, value: int) -> None:
        self.set_attr(best_iteration=value)

    @property
    def best_score(self) -> float:
        """Value of the best round. AttributeError without early stopping."""
        return float(self._of_stopping("best_score"))

    @best_score.setter
    def best_score(self, value: float) -> None:
        self.set_attr(best_score=value)

    def num_boosted_rounds(self) -> int:
        """Return the number of rounds."""
        return self._n_rounds

    def num_features(self) -> int:
        """Return the number of features."""
        return int(self._trees._width)

    def save_config(self) -> str:
        """Return the objective's parameters as JSON; with ``lambdarank_unbiased`` also the position bias."""
        of, bias = self._objective(), self._model.position_bias if self._model is not None else None
        if bias is not None and bias.unclicked is not None:
            of.update({"ti+": bias.propensity.tolist(), "tj-": bias.unclicked.tolist()})
        return json.dumps({"learner": {"objective": of, "learner_model_param": {"base_score": str(self._base_score)}}})

    def _objective(self) -> dict[str, Any]:
        """Returns the objective as model files have it: all values are texts."""
        given = {name: one for name, one in self._params.items() if name.startswith(("lambdarank_", "ndcg_"))}
        numbers = {name: int(one) if isinstance(one, bool) else one for name, one in given.items() if one is not None}
        texts = {name: str(one) for name, one in numbers.items()}
        name = str(self._params.get("objective") or "rank:ndcg")
        return {"name": name, "lambdarank_param": {"ndcg_exp_gain": "1", **texts}}

    # ---- predictions ----

    def _range(self, iteration_range: tuple[int, int]) -> Model:
        """Returns the model of rounds [begin, end); an end of 0 is the last round."""
        begin, end = iteration_range
        n, end = self._trees.n_trees, end or self._n_rounds
        if not 0 <= begin < end <= self._n_rounds:
            raise ValueError(f"iteration_range is {iteration_range}; the model has {self._n_rounds} rounds")
        return self._trees if begin == 0 and end >= n else self._trees[begin:end]

    def predict(
        self, data: DMatrix, *, output_margin: bool = False, pred_leaf: bool = False, pred_contribs: bool = False,
        approx_contribs: bool = False, pred_interactions: bool = False, validate_features: bool = True,
        training: bool = False, iteration_range: tuple[int, int] = (0, 0), strict_shape: bool = False,
    ) -> Any:  # fmt: skip
        """Return float32 scores of shape (n_docs,).

        ``pred_leaf=True`` returns the number of each tree's leaf among the nodes of the saved model, of shape
        (n_docs, n_trees). ``pred_contribs=True`` returns SHAP values of shape (n_docs, n_features + 1), the last column
        being the base value. ``iteration_range=(begin, end)`` uses these rounds only; an end of 0 is the last round.
        ``output_margin``, ``validate_features`` and ``training`` change nothing: scores are margins, and names are
        always checked. UnsupportedError: ``pred_interactions``.
        """
        if not isinstance(data, DMatrix):
            raise TypeError(f"data is a {type(data).__name__}; expected a DMatrix")
        if pred_interactions:
            raise UnsupportedError("pred_interactions is not supported; pred_contribs is")
        model, documents = self._range(iteration_range), data._dataset()
        start = data._info.get("base_margin", self._base_score)
        if pred_leaf:
            return _node_numbers(model, model.leaves(documents))
        if pred_contribs:
            values = _shared.contributions(model, documents, self.num_features())
            values[:, -1] += start
            return values.astype(np.float32)
        scores = (model.predict(documents) + start).astype(np.float32)
        return scores[:, np.newaxis] if strict_shape else scores

    def inplace_predict(
        self, data: Any, *, iteration_range: tuple[int, int] = (0, 0), predict_type: str = "value",
        missing: float = np.nan, validate_features: bool = True, base_margin: Any = None, strict_shape: bool = False,
    ) -> Any:  # fmt: skip
        """Return :meth:`predict` of data that is not a DMatrix."""
        given = DMatrix(data, missing=missing, base_margin=base_margin)
        return self.predict(given, iteration_range=iteration_range, strict_shape=strict_shape)

    def eval_set(self, evals: Sequence[tuple[DMatrix, str]], iteration: int = 0, feval: Any = None,
                 output_margin: bool = True) -> str:  # fmt: skip
        """Return the metrics of some sets as text."""
        plan, line = Plan(self._params), f"[{iteration}]"
        for data, name in evals:
            scores = self.predict(data)
            values = measured(plan, data._dataset(), scores) + custom_values(feval, scores, data)
            line += "".join(f"\t{name}-{metric}:{value!r}" for metric, value in values)
        return line

    def eval(self, data: DMatrix, name: str = "eval", iteration: int = 0) -> str:
        """Return the metrics of a set as text."""
        return self.eval_set([(data, name)], iteration)

    # ---- trees ----

    def __getitem__(self, rounds: int | slice) -> Booster:
        """Returns a booster of some rounds, without attributes."""
        at = slice(rounds, rounds + 1) if isinstance(rounds, int) else rounds
        begin, end, step = at.indices(self._n_rounds) if isinstance(at, slice) else (0, 0, 0)
        if step != 1 or begin >= end:
            raise ValueError(f"invalid slice {rounds} of {self._n_rounds} rounds; expected rounds without steps")
        out = Booster(model_file=self)
        out._model, out._n_rounds, out._attributes = self._range((begin, end)), end - begin, {}
        return out

    def copy(self) -> Booster:
        """Return a copy."""
        return Booster(model_file=self)

    def get_score(self, fmap: str = "", importance_type: str = "weight") -> dict[str, float]:
        """Return the importance of each feature in use.

        ``importance_type`` is ``"weight"`` (number of splits), ``"gain"`` (mean gain of a split) or ``"total_gain"``.
        Gains are Rankwood's. UnsupportedError: another type, or ``fmap``.
        """
        if fmap or importance_type not in ("weight", "gain", "total_gain"):
            found = f"importance_type={importance_type!r}, fmap={fmap!r}"
            raise UnsupportedError(f"{found}; expected weight, gain or total_gain, and no fmap")
        splits, gains = self._trees.importance("splits"), self._trees.importance("gain")
        value = {"weight": splits, "total_gain": gains, "gain": {one: gains[one] / splits[one] for one in splits}}
        return {f"f{one}" if isinstance(one, int) else one: of for one, of in value[importance_type].items()}

    def get_fscore(self, fmap: str = "") -> dict[str, float]:
        """Return the number of splits of each feature in use."""
        return self.get_score(fmap)

    # ---- files ----

    def save_raw(self, raw_format: str = "ubj") -> bytearray:
        """Return the model in XGBoost's format ``"ubj"`` (default) or ``"json"``, with attributes.

        UnsupportedError: the format cannot represent the model.
        """
        if raw_format not in ("json", "ubj"):
            raise ValueError(f"raw_format is {raw_format!r}; expected 'json' or 'ubj'")
        out = _shared.exported(self._trees, "xgboost" if raw_format == "json" else "xgboost-ubj")
        encode = _ubj if raw_format == "ubj" else _json
        names = self.feature_names or []
        for name, before, now in (
            ("attributes", {}, self._attributes),
            ("feature_names", names_in_file(names), names),
            ("base_score", "0E0", repr(self._base_score)),
            ("objective", {"name": "rank:ndcg"}, self._objective()),
        ):
            out = out.replace(encode({name: before})[1:-1], encode({name: now})[1:-1], 1)
        return bytearray(out)

    def save_model(self, fname: str | os.PathLike[str]) -> None:
        """Write the model in XGBoost's format, JSON if the name ends with ``.json``, otherwise UBJSON.

        A failed write leaves an existing file unchanged.
        """
        path = Path(fname).expanduser()
        data = self.save_raw("json" if path.suffix == ".json" else "ubj")
        unfinished = path.with_name(path.name + ".part")
        try:
            unfinished.write_bytes(data)
            unfinished.replace(path)
        finally:
            unfinished.unlink(missing_ok=True)

    def load_model(self, fname: Any) -> None:
        """Read a model that XGBoost or :meth:`save_model` wrote: a file, or bytes. FormatError: malformed."""
        data = bytes(fname) if isinstance(fname, (bytes, bytearray)) else Path(fname).expanduser().read_bytes()
        try:
            data, format, attributes, names, base = _opened(data)
        except (AttributeError, LookupError, TypeError, ValueError, struct.error) as error:
            raise FormatError(f"not a model of XGBoost: {error}") from None
        self._model, self._attributes, self._base_score = _shared.imported(data, format), attributes, base
        if (found := re.search(rb"rank:(?:ndcg|pairwise|map)", data[data.rfind(b"objective") :])) is not None:
            self._params["objective"] = found[0].decode()
        self._n_rounds, self.feature_names = self._model.n_trees, names or None


def _opened(data: bytes) -> tuple[bytes, str, dict[str, str], list[str], float]:
    """Returns a file's content with a base score of 0, its format, attributes, feature names and base score.

    Without the attribute best_iteration, all trees are imported.
    """
    if data[:1] == b"{" and data[1:].lstrip()[:1] == b'"':
        content = json.loads(data)
        attributes, param = dict(content["learner"].pop("attributes", {})), content["learner"]["learner_model_param"]
        base, param["base_score"] = str(param.get("base_score", "0")), "0E0"
        names = list(content["learner"].get("feature_names", ()))
        return json.dumps(content).encode(), "xgboost", attributes, names, float(base.strip("[]"))
    names, attributes = _texts_of(data, "feature_names"), _pairs(_texts_of(data, "attributes"))
    base = _pairs(_texts_of(data, "learner_model_param")).get("base_score", "0")
    data = data.replace(b"best_iteration", b"any__iteration", 1)
    data = data.replace(_ubj({"base_score": base})[1:-1], _ubj({"base_score": "0E0"})[1:-1], 1)
    return data, "xgboost-ubj", attributes, names, float(base.strip("[]"))


def _json(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def _ubj(value: Any) -> bytes:
    """Encodes texts, and lists and dictionaries of them, as XGBoost does in UBJSON."""
    if isinstance(value, list):
        return struct.pack(">3sq", b"[#L", len(value)) + b"".join(map(_ubj, value))
    if isinstance(value, dict):
        return b"{" + b"".join(_ubj(str(name))[1:] + _ubj(one) for name, one in value.items()) + b"}"
    text: bytes = value.encode()
    return struct.pack(">ccq", b"S", b"L", len(text)) + text


def _texts_of(data: bytes, name: str) -> list[str]:
    """Returns the texts at the beginning of a list or dictionary in UBJSON; of a dictionary, keys and values."""
    texts: list[str] = []
    key = _ubj({name: ""})[1:-11]
    at = data.find(key) + len(key)
    is_list = data[at : at + 3] == b"[#L"
    at += 11 if is_list else 1
    while at > len(key) and (sign := re.match(b"SL" if is_list or len(texts) % 2 else b"L", data[at : at + 2])):
        at += len(sign[0]) + 8
        (n,) = struct.unpack_from(">q", data, at - 8)
        texts.append(data[at : at + n].decode())
        at += n
    return texts


def _pairs(texts: list[str]) -> dict[str, str]:
    return dict(zip(texts[::2], texts[1::2], strict=False))


def _node_numbers(model: Model, leaves: Any) -> Any:
    """Returns the numbers of leaves among all nodes, which are numbered by level as in the saved model."""
    nodes = {(one["tree"], one["node"]): one for one in model.trees()}
    out = np.empty(leaves.shape, np.float32)
    for tree in range(leaves.shape[1]):
        order = [0 if (tree, 0) in nodes else -1]
        for node in order:  # grows during iteration
            if node >= 0:
                order += [nodes[tree, node]["left"], nodes[tree, node]["right"]]
        number = np.zeros(len(order), np.float32)
        for at, node in enumerate(order):
            if node < 0:
                number[~node] = at
        out[:, tree] = number[leaves[:, tree]]
    return out


def as_dict(params: Any) -> dict[str, Any]:
    """Returns parameters as a dictionary; of a list of pairs, eval_metric may be given several times."""
    if isinstance(params, Mapping) or params is None:
        return dict(params or {})
    metrics = [value for name, value in params if name == "eval_metric"]
    return {**dict(params), **({"eval_metric": metrics} if metrics else {})}


def custom_values(metric: Any, scores: Any, data: DMatrix) -> list[tuple[str, float]]:
    """Returns the values of the caller's metric, which returns a pair or several."""
    if metric is None:
        return []
    found = metric(scores.astype(np.float32), data)
    try:
        return [(str(name), float(value)) for name, value in (found if isinstance(found, list) else [found])]
    except (TypeError, ValueError):
        raise DataError(f"the metric returned {found!r}; expected (name, value) or a list of them") from None
