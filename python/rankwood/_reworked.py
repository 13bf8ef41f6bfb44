"""What makes another model of a model: new values for its leaves, fewer trees, a map of its scores."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from rankwood import _ranks
from rankwood._columns import Floats
from rankwood._core import ParameterError, caller_names, chars, check, context, ffi, lib, made, not_negative
from rankwood._dataset import Dataset, need_labels
from rankwood._params import Params, as_mapping, need_device
from rankwood._scoring import Scorer
from rankwood._training import Callback, Training, ctrl_c, meet_ranks, need_measured, on_error, valid_sets


def refit(
    model: Scorer,
    data: Dataset,
    decay: float | None,
    params: Mapping[str, Any] | None,
    valid: Dataset | Mapping[str, Dataset] | Iterable[Dataset] | None,
    callbacks: Iterable[Callback],
    strict: bool | None,
) -> tuple[Any, Training]:
    """The C model, and how it went: see :meth:`Model.refit`."""
    with _ranks.agreed():
        need_device(as_mapping(params))
        need_labels(data, "data")
        given = as_mapping(params)
        if decay is not None and {"refit_decay", "refit-decay"} & set(given):
            raise ParameterError("decay and the parameter 'refit_decay' are both given")
        if decay is not None:
            given["refit_decay"] = decay
        sets = valid_sets(valid, None)
        training = Training([data, *sets.values()], ["train", *sets], callbacks)
    meet_ranks(given, dict(zip(training.names, training.sets, strict=True)), model)
    with _ranks.agreed():
        hooks, *keep = training.hooks(given)
        c = Params(given, strict)
        need_measured(c, hooks, bool(sets))
        values = [model._values_of(one) for one in training.sets]
    out = ffi.new("struct rw_model **")
    array = ffi.new("struct rw_dataset *[]", values)
    with ctrl_c(training), caller_names(model.feature_names, training.names[1:]):
        status = lib.rw_refit(context(), c.c, model._c, values[0], array + 1, len(values) - 1, hooks, out)
    del keep
    with _ranks.agreed(), caller_names(model.feature_names, training.names[1:]):
        return training.result(status, out, lib.rw_model_free), training


@ffi.def_extern(error=1, onerror=on_error)
def _rw_on_prune_step(user: Any, done: int, total: int) -> int:
    pruning: Training = ffi.from_handle(user)

    def tell() -> None:
        pruning.progress.step(done, total, "prune:")

    return pruning.guard(tell) or int(pruning.is_over())


def prune(
    model: Scorer, data: Dataset, metric: str, loss: float, order: str, how: dict[str, Any]
) -> tuple[Any, Training]:
    """struct rw_pruned, and how it went: see :meth:`Model.prune`."""
    need_labels(data, "data")
    if order not in ("any", "last"):
        raise ParameterError(f"order is {order!r}; expected 'any' or 'last'")
    params = Params({"metric": metric, **how})
    settings = params.measuring()
    out = ffi.new("struct rw_pruned **")
    which = lib.RW_PRUNE_LAST if order == "last" else lib.RW_PRUNE_ANY
    most, values = not_negative(loss, "loss"), model._values_of(data)
    pruning = Training([data], ["data"], ())
    handle = ffi.new_handle(pruning)
    hooks = ffi.new("struct rw_prune_hooks *", {"user": handle, "on_step": lib._rw_on_prune_step})
    status = lib.rw_prune(context(), settings, model._c, values, most, which, hooks, out)
    return pruning.result(status, out, lib.rw_pruned_free), pruning


def calibrate(model: Scorer, data: Dataset, method: str, relevant: float, device: str) -> tuple[Any, dict[str, Any]]:
    """The C model, and figures: see Model.calibrate."""
    need_labels(data, "data")
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


def probabilities(model: Scorer, scores: Floats) -> Floats:
    """Of scores by all trees, in their place. DataError: the model has no map."""
    at = ffi.cast("double *", scores.ctypes.data)
    check(lib.rw_model_probabilities(context(), model._c, at, len(scores), at))
    return scores
