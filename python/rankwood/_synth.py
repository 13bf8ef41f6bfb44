"""Synthetic data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankwood._columns import pointer, view
from rankwood._core import ParameterError, c_struct, context, ffi, lib, made

_FEATURE_IDS = 65536


def synth(
    shape: str = "letor", n_queries: int = 1000, *, seed: int = 1
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.uint32]]:
    """Make synthetic documents with labels and queries, like ``rankwood synth``.

    The data serves for trying things out and for speed measurements. It is not the public data set that it imitates.

    Parameters
    ----------
    shape : {"letor", "mslr30k", "yahoo", "istella"}, default "letor"
        Public data set to imitate in numbers of features and documents per query.
    n_queries : int, default 1000
        Number of queries, 1 to 10,000,000.
    seed : int, default 1
        Seed, 0 to 2^64 - 1. Sets of the same shape and different seeds share one distribution, so they can serve as
        training, validation and test sets.

    Returns
    -------
    X : array of float32, shape (n_docs, n_features)
        Features in Fortran order. A 0 is a value that LETOR text omits.
    y : array of float32, shape (n_docs,)
        Labels.
    qid : array of uint32, shape (n_docs,)
        Number of each document's query, from 0.

    Raises
    ------
    ParameterError
        The shape is unknown, or n_queries or seed is out of range.

    Examples
    --------
    >>> X, y, qid = rankwood.synth("letor", 60, seed=1)
    >>> X.shape, len(np.unique(qid))
    ((1028, 46), 60)
    """
    if not 1 <= n_queries <= 10_000_000 or not 0 <= seed < 2**64:
        raise ParameterError(f"n_queries is {n_queries} and seed is {seed}; expected 1 to 10000000, and 0 to 2^64 - 1")
    options, _held = c_struct("rw_synth_options", {"shape": shape.encode()}, n_queries=n_queries, seed=seed)
    out = ffi.new("struct rw_dataset **")
    dataset = made(lib.rw_synth(context(), options, ffi.NULL, out), out, lib.rw_dataset_free)
    n_docs = int(lib.rw_dataset_n_docs(dataset))
    features = [i for i in range(_FEATURE_IDS) if lib.rw_dataset_has_feature(dataset, i)]
    X = np.empty((n_docs, len(features)), np.float32, order="F")
    for column, feature in enumerate(features):
        lib.rw_dataset_feature(dataset, feature, 0.0, pointer(X[:, column]))
    offsets = view(lib.rw_dataset_query_offsets(dataset), n_queries + 1, np.uint32).astype(np.int64)
    labels = view(lib.rw_dataset_labels(dataset), n_docs, np.float32)
    return X, labels.copy(), np.repeat(np.arange(n_queries, dtype=np.uint32), np.diff(offsets))
