"""Failing calls of every kind, for test_hostile.py and leaks.py: each is one of our errors, every time."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp

import rankwood
from conftest import Made
from rankwood import Dataset, Model, Ranker, train


class NoStream:
    """Says that it has Arrow's interface, and returns `capsule`."""

    def __init__(self, capsule: Any) -> None:
        self.capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        return self.capsule


def damaged(X: np.ndarray[Any, Any], part: str, value: int) -> Any:
    """A sparse matrix with an impossible internal array."""
    out = sp.csr_matrix(X)
    getattr(out, part)[1] = value
    return out


def failing(made: Made, model: Model) -> dict[str, Callable[[], Any]]:
    """Failing calls by their error; most fail in the library, after an allocation."""
    X, y, qid, n = made.X, made.y, made.qid, len(made.y)
    data, data_of_one = made.dataset(), Dataset(X[:, :1], y, qid=qid)
    other = Dataset(X[::-1], y, qid=qid)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    infinite = np.where(X[9, 2] == X, np.inf, X)
    comes_back = np.r_[qid[:-1], qid[0]]
    text, small = model.to_bytes(), {"rounds": 1, "min_docs": 2}
    later = pickle.dumps(model).replace(b"rankwood model 6", b"rankwood model 9")

    def fit(features: Any, label: Any = y, **more: Any) -> Any:
        return train(small, Dataset(features, label, **({"qid": qid} | more)))

    return {
        "infinite, numpy": lambda: fit(infinite),
        "infinite, sorted": lambda: fit(infinite, sort=True),
        "infinite, values": lambda: model.predict(Dataset(infinite, y, qid=qid)),
        "infinite, rows": lambda: model.predict(infinite),
        "infinite, sparse": lambda: fit(sp.csr_matrix(infinite)),
        "damaged indices": lambda: fit(damaged(X, "indices", 10**8)),
        "damaged indptr": lambda: fit(damaged(X, "indptr", 10**8)),
        "no stream": lambda: fit(NoStream(3)),
        "column of text": lambda: fit(frame.assign(a="x")),
        "shape": lambda: fit(X[0]),
        "ragged": lambda: fit([[1.0], [1.0, 2.0]]),
        "2^31 documents": lambda: model.predict(np.broadcast_to(np.float32(1), (2**31, 6))),
        "2^31 features": lambda: fit(np.broadcast_to(np.float32(1), (n, 2**31))),
        "query comes back": lambda: fit(X, qid=comes_back),
        "query comes back, values": lambda: Dataset(X, y, qid=comes_back)._with_values(),
        "qid NaN": lambda: fit(X, qid=["a"] * (n - 1) + [np.nan]),
        "label NaN": lambda: fit(X, np.full(n, np.nan)),
        "label without a gain": lambda: fit(X, y * 40),
        "group overflows": lambda: fit(X, qid=None, group=np.array([2**62] * 4 + [n])),
        "weight": lambda: fit(X, weight=np.full(n, 65537.0)),
        "all weights are 0": lambda: fit(X, weight=np.zeros(n)),
        "no column": lambda: Dataset(frame, "grade", qid=qid),
        "no file": lambda: Dataset("/no/file").n_docs,
        "file of a model": lambda: Model.load("/no/file"),
        "folder that is not there": lambda: model.save("/no/folder/model.txt"),
        "parameter": lambda: train({"leavs": 1}, data),
        "value": lambda: train({"rounds": -1}, data),
        "device": lambda: train({"device": "tpu"}, data),
        "objective raises a DataError": lambda: train({"objective": lambda s, d: s, **small}, data),
        "hessian": lambda: train({"objective": lambda s, d: (s, s - 1), **small}, data),
        "gradient": lambda: train({"objective": lambda s, d: (s + 1e300, s + 1), **small}, data),
        "metric": lambda: train({"metric": lambda s, d: "x", **small}, data, valid=data),
        "metric NaN": lambda: train({"metric": lambda s, d: np.nan, **small}, data, valid=other),
        "init of more features": lambda: train(small, data_of_one, init=model),
        "cut model": lambda: Model.from_bytes(text[: len(text) // 2]),
        "damaged model": lambda: Model.from_bytes(text.replace(b"leaf 0", b"leaf 7", 1)),
        "pickle of a later version": lambda: pickle.loads(later),
        "features missing": lambda: model.predict(X[:, :2]),
        "features missing, explained": lambda: model.explain(data_of_one),
        "features missing, permuted": lambda: model.permutation_importance(data_of_one),
        "number of trees": lambda: model.predict(X, n_trees=99),
        "format": lambda: model.export("/no/file", "lightgmb"),
        "scores": lambda: rankwood.evaluate(data, np.full(n, np.nan)),
        "metric's name": lambda: rankwood.evaluate(data, y, "ndgc@10"),
        "program": lambda: rankwood.evaluate(data, y, like="lightgmb"),
        "folds": lambda: rankwood.cv({"early_stop": 0, **small}, data, n_folds=41),
        "compared": lambda: rankwood.compare(data, y, np.full(n, np.inf)),
        "audited": lambda: rankwood.audit(data, y, "ndgc@10"),
        "checked": lambda: rankwood.check("/no/file"),
        "report": lambda: model.report("/no/folder/report.html", data),
        "estimator": lambda: Ranker(leaves=-1).fit(X, y, qid=qid),
    }
