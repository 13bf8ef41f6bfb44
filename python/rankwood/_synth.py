"""Made data."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from rankwood._columns import pointer, view
from rankwood._core import ParameterError, c_struct, context, ffi, lib, made

_FEATURE_IDS = 65536


def synth(
    shape: str = "letor", n_queries: int = 1000, *, seed: int = 1
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32], npt.NDArray[np.uint32]]:
    """Documents as ``rankwood synth`` makes them, to try things and to measure speed.

    Parameters
    ----------
    shape
        The public set that it imitates: "mslr30k", "yahoo", "istella", "letor".
    n_queries
        1 to 10,000,000.
    seed
        Sets of one shape and of different seeds are fresh queries of one world: they serve as training,
        validation and test sets.

    Returns
    -------
    X, y, qid
        Features (n_docs, n_features) in Fortran order, where 0 is what LETOR text would leave out; labels
        (n_docs,); the number of each document's query from 0 (n_docs,).

    Raises
    ------
    ParameterError
        No such shape, or too few or too many queries.
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
