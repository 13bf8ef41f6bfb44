"""Maps of a model's scores to probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from rankwood._core import chars, check, context, ffi, lib, made, need, text
from rankwood._dataset import Dataset
from rankwood._params import Params

if TYPE_CHECKING:
    from rankwood._model import Model

Floats = npt.NDArray[np.float64]


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


def of_model(model: Model) -> Calibration | None:
    """See Model.calibration."""
    c = ffi.new("struct rw_calibration *")
    if not lib.rw_model_calibration(model._c, c):
        return None
    scores, probabilities = (
        np.array(ffi.unpack(knots, c.n_knots) if c.n_knots else [], np.float64)
        for knots in (c.score, c.probability)
    )
    return Calibration(text(c.method), c.relevant, c.slope, c.intercept, scores, probabilities)


def calibrate(model: Model, data: Dataset, method: str, relevant: float, device: str) -> tuple[Any, dict[str, Any]]:
    """The C model, and figures: see Model.calibrate."""
    need(data, Dataset, "data")._need_labels("data")
    params = Params({"relevant": relevant, "device": device})
    given = ffi.new("char[]", chars(method)), ffi.new("char[]", chars(device))
    how = ffi.new("struct rw_calibrate *", {"method": given[0], "device": given[1]})
    how.relevant = lib.rw_params_eval(params.c).relevant
    check(lib.rw_calibrate_check(context(), how))
    figures, out = ffi.new("struct rw_calibrated *"), ffi.new("struct rw_model **")
    status = lib.rw_model_calibrate(context(), model._c, model._values_of(data), how, figures, out)
    c = made(status, out, lib.rw_model_free)
    kinds = {"before": figures.before, "fitted": figures.fitted, "held_out": figures.held_out}
    return c, {
        kind: {"log_loss": one.log_loss, "brier": one.brier, "error": one.error} for kind, one in kinds.items()
    }


def probabilities(model: Model, scores: Floats) -> Floats:
    """Of scores by all trees, in their place. DataError: the model has no map."""
    at = ffi.cast("double *", scores.ctypes.data)
    check(lib.rw_model_probabilities(context(), model._c, at, len(scores), at))
    return scores
