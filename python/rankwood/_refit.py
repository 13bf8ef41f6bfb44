"""New values for the leaves of a model, and models of fewer trees."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rankwood import _ranks
from rankwood._core import ParameterError, ParameterTypeError, caller_names, check, context, ffi, lib, need, text
from rankwood._dataset import Dataset
from rankwood._model import Model
from rankwood._params import Params, as_mapping, need_device, need_measured
from rankwood._train import (
    Callback,
    _ctrl_c,
    _hook_metric,
    _meet_ranks,
    _on_error,
    _sets,
    _Training,
)


def refit(
    model: Model,
    data: Dataset,
    decay: float | None,
    params: Mapping[str, Any] | None,
    valid: Dataset | Mapping[str, Dataset] | Iterable[Dataset] | None,
    callbacks: Iterable[Callback],
    strict: bool | None,
) -> Model:
    """See :meth:`Model.refit`."""
    with _ranks.agreed():
        need_device(as_mapping(params))
        need(data, Dataset, "data")._need_labels("data")
        given = as_mapping(params)
        if decay is not None and {"refit_decay", "refit-decay"} & set(given):
            raise ParameterError("decay and the parameter 'refit_decay' are both given")
        if decay is not None:
            given["refit_decay"] = decay
        sets = _sets(valid, None)
        training = _Training([data, *sets.values()], ["train", *sets], callbacks)
    _meet_ranks(given, dict(zip(training.names, training.sets, strict=True)), model)
    hooks = ffi.new("struct rw_train_hooks *")
    handle = ffi.new_handle(training)
    hooks.user = handle
    hooks.on_start, hooks.on_round = lib._rw_on_start, lib._rw_on_round
    hooks.should_stop = lib._rw_should_stop
    if callable(given.get("objective")):
        training.gradients = given.pop("objective")
        hooks.gradients = lib._rw_gradients
    with _ranks.agreed():
        keep = _hook_metric(given, training, hooks)
        c = Params(given, strict)
        need_measured(c, hooks, bool(sets))
        values = [model._values_of(one) for one in training.sets]
    out = ffi.new("struct rw_model **")
    array = ffi.new("struct rw_dataset *[]", values)
    with _ctrl_c(training), caller_names(model.feature_names, training.names[1:]):
        status = lib.rw_refit(context(), c.c, model._c, values[0], array + 1, len(values) - 1, hooks, out)
    del keep
    with _ranks.agreed(), caller_names(model.feature_names, training.names[1:]):
        new = Model(training.result(status, out, lib.rw_model_free))
    new.evals_result = training.evals
    new.used_params = training.used
    new.feature_names = None if model.feature_names is None else list(model.feature_names)
    training.progress.end(f"{new.n_trees} trees refitted")
    return new


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


def _real(loss: Any) -> float:
    if isinstance(loss, bool):
        raise ParameterTypeError(f"loss is {loss!r}; expected a number, 0 or more")
    try:
        value = float(loss)
    except (TypeError, ValueError, OverflowError):
        raise ParameterTypeError(f"loss is {loss!r}; expected a number, 0 or more") from None
    if not 0 <= value < float("inf"):
        raise ParameterError(f"loss is {loss!r}; expected a number, 0 or more")
    return value


@ffi.def_extern(error=1, onerror=_on_error)
def _rw_on_prune_step(user: Any, done: int, total: int) -> int:
    pruning: _Training = ffi.from_handle(user)

    def tell() -> None:
        pruning.progress.step(done, total, "prune:")

    return pruning.guard(tell) or int(pruning.is_over())


def prune(
    model: Model, data: Dataset, metric: str, loss: float, order: Literal["any", "last"], how: dict[str, Any]
) -> Pruned:
    """See :meth:`Model.prune`."""
    need(data, Dataset, "data")._need_labels("data")
    if order not in ("any", "last"):
        raise ParameterError(f"order is {order!r}; expected 'any' or 'last'")
    params = Params({"metric": metric, **how})
    check(lib.rw_params_check_eval(context(), params.c))
    out = ffi.new("struct rw_pruned **")
    which = lib.RW_PRUNE_LAST if order == "last" else lib.RW_PRUNE_ANY
    most = _real(loss)
    settings, values = lib.rw_params_eval(params.c), model._values_of(data)
    pruning = _Training([data], ["data"], ())
    handle = ffi.new_handle(pruning)
    hooks = ffi.new("struct rw_prune_hooks *", {"user": handle, "on_step": lib._rw_on_prune_step})
    status = lib.rw_prune(context(), settings, model._c, values, most, which, hooks, out)
    c = pruning.result(status, out, lib.rw_pruned_free)
    rows = [
        PrunedRow(
            row.n_trees,
            row.n_leaves,
            row.n_bytes,
            row.compared.mean_b,
            row.compared.difference,
            row.compared.low,
            row.compared.high,
            row.held_out,
        )
        for row in (c.rows[i] for i in range(c.n_rows))
    ]
    smaller = Model(ffi.gc(c.model, lib.rw_model_free))
    c.model = ffi.NULL  # it has an owner now
    smaller.feature_names = None if model.feature_names is None else list(model.feature_names)
    pruning.progress.end(f"{smaller.n_trees} of {model.n_trees} trees are left")
    return Pruned(smaller, text(c.metric), rows, c.chosen)
