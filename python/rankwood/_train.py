"""Training."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import Any

from rankwood import _workers
from rankwood._core import (
    ParameterError,
    ParameterTypeError,
    caller_names,
    chars,
    check,
    context,
    ffi,
    lib,
    logger,
    need,
    path_chars,
)
from rankwood._dataset import Dataset, need_labels
from rankwood._handles import check_apart
from rankwood._model import Model, exchange
from rankwood._params import Params, as_mapping, need_device
from rankwood._training import Callback, Round, Training, ctrl_c, named_params, need_measured, valid_sets

__all__ = ["Path", "Round", "train"]  # Round: pickles of earlier versions name it as this module's

Path = str | os.PathLike[str]


def _feature_names(train_set: Dataset, init: Model | None) -> list[str] | None:
    """The training set's; but features that `init` has by name stay where it has them."""
    mine, theirs = train_set.feature_names, init.feature_names if init is not None else None
    if mine is None or theirs is None or init is None:
        return mine
    used = [use.feature for use in init._uses()]
    if all(i < len(mine) and mine[i] == theirs[i] for i in used):
        return mine
    return theirs + [name for name in mine if name not in theirs]


def train(
    params: Mapping[str, Any] | None,
    train_set: Dataset,
    *,
    valid: Dataset | Mapping[str, Dataset] | Iterable[Dataset] | None = None,
    stop_on: str | None = None,
    init: Model | None = None,
    checkpoint: Path | None = None,
    checkpoint_every: int | str | None = None,
    resume: Path | None = None,
    callbacks: Iterable[Callback] = (),
    export_for: str | None = None,
    featureset: Path | None = None,
    strict: bool | None = False,
) -> Model:
    """Trains a model.

    Parameters
    ----------
    params
        By the names of ``rankwood train --help``, ``_`` or ``-``: ``{"leaves": 31, "rate": 0.05}``.
        ``objective`` and ``metric`` may be functions: ``objective(scores, dataset)`` returns gradient
        and hessian of the loss, (n_docs,) each, the hessian 0 or more (the sign of LightGBM and
        XGBoost); ``metric(scores, dataset)`` returns a number, and is better higher unless the function
        has a true attribute ``lower_is_better``. It stands first, and so stops training;
        ``[function, "map"]`` measures others, too.
    train_set
        Documents with labels and queries.
    valid
        Sets that are measured each round. The training set may be one of them, but never stops training.
    stop_on
        The set, by name, whose first metric stops training after ``early_stop`` rounds without a better
        value; the first one if not given, or the next one if that is the training set. Which one it is is logged.
    init
        A model to go on from: up to ``rounds`` more trees behind its own.
    checkpoint
        A file from which training can be resumed: written at intervals, beside training, and when training ends,
        by itself, by Ctrl-C or by an exception. It stays there.
    checkpoint_every
        The interval: a number of rounds, or a time, ``"30s"``, ``"10m"``, ``"2h"``; by default a minute, or more
        where writing takes more than 1 % of the time.
    resume
        A checkpoint to resume from, or ``"auto"``: that of ``checkpoint``, if it is there. The model is that of a
        training that never stopped, byte for byte. Data and parameters must be the same (``rounds`` may be more;
        ``threads``, ``device``, ``hist`` and ``batch`` may be others), and functions given as objective or metric
        must depend on their arguments alone.
    callbacks
        Each is called with a :class:`Round`; a true result stops training. One that resumes has the rounds that
        are new.
    export_for
        A format of :meth:`Model.export`: UnsupportedError before the first round where it may not be able to say the
        model (with ``feature_base="auto"``) without ``lossy``.
    featureset
        The feature set of ``export_for`` "opensearch" and "elasticsearch", as :meth:`Model.export` has it.

    strict
        True: a parameter that has no effect under the others given is a ParameterError, and not one
        :class:`rankwood.NoEffectWarning` per parameter and process. None: neither, for a dictionary that several
        trainings share. A parameter at its default is never reported, and one without effect is at its default in the
        model.

    Returns
    -------
    Model
        Up to its best round. After Ctrl-C the best until then, with ``finished`` False, and a warning.

    Raises
    ------
    ParameterError
        A parameter or metric that there is not or that is out of range; parameters that contradict one another or
        differ from the checkpoint's.
    DataError
        Data without labels, too large, or from which no tree can be made; a validation set whose metric cannot
        stop training, because it is the same for every ranking; other data than the checkpoint's.
    FormatError
        The file of `resume` is no checkpoint, damaged, or another version's; that of `featureset` is no feature set.
    OutOfMemoryError, UnsupportedError
        The device has too little memory, is not there, or is not built in; the format of `export_for` may not be
        able to say the model.

    Notes
    -----
    What takes longer than a second writes a line a second to a terminal, a bar in a notebook, and records
    of level INFO to the logger "rankwood" elsewhere; ``logging.getLogger("rankwood").setLevel("WARNING")``
    makes it silent.
    """
    with _workers.agreed():
        need_device(as_mapping(params))
        need_labels(train_set, "train_set")
        if init is not None:
            need(init, Model, "init")
        given = train_set._with_own(as_mapping(params))
        sets = valid_sets(valid, stop_on)
        training = Training([train_set, *sets.values()], ["train", *sets], callbacks)
        if checkpoint is not None:
            check_apart(checkpoint, *training.sets)
    training.meet_workers(given, init)
    with _workers.agreed():
        hooks, *keep = training.hooks(given)
        hooks.on_positions = lib._rw_on_positions
        keep.append(_hook_checkpoints(checkpoint, checkpoint_every, resume, hooks))
        Params(given, strict)
    if init is None and train_set._paths is not None:
        train_set._for_training(Params(given))  # its names come with it
    names = _feature_names(train_set, init)
    with named_params(given, strict, names, training.names[1:]) as c:
        _check_exportable(export_for, featureset, c, train_set, init)
        out = ffi.new("struct rw_model **")
        with ctrl_c(training):
            status = _run(c, train_set, list(sets.values()), hooks, init, names, out)
    del keep
    with _workers.agreed(), caller_names(names, training.names[1:]):
        model = Model(training.result(status, out, lib.rw_model_free))
    model._trained(training)
    if names is not None:  # the file has those in use
        model.feature_names = list(names)
    trees = f"{model.n_trees} {'tree' if model.n_trees == 1 else 'trees'}"
    best = f": the best of {training.n_rounds} rounds" if model.best_round else ""
    training.progress.end(f"{trees}{best}")
    if training.interrupted:
        logger.warning("interrupted: the model is the best so far, of %d trees", model.n_trees)
    return model


def _check_exportable(
    export_for: str | None, featureset: Path | None, c: Params, train_set: Dataset, init: Model | None
) -> None:
    if export_for is None and featureset is not None:
        raise ParameterError("featureset has no effect without export_for")
    if export_for is None:
        return
    with _workers.agreed():
        # a name is what only the export asks for
        how, _held = exchange(export_for, "auto", False, featureset, None if featureset is None else "model")
        check(lib.rw_exchange_check(context(), how, ffi.NULL, ffi.NULL, ffi.NULL))
        binned = train_set._for_training(c)
        mine = ffi.NULL if init is None else init._c
        check(lib.rw_exchange_check(context(), how, c.c, binned, mine))


def _hook_checkpoints(checkpoint: Path | None, every: int | str | None, resume: Path | None, hooks: Any) -> Any:
    """What must live as long as the hooks."""
    if every is not None and checkpoint is None:
        raise ParameterError("checkpoint_every has no effect without checkpoint")
    if isinstance(resume, str) and resume == "auto" and checkpoint is None:
        raise ParameterError("resume='auto' needs checkpoint, the file that it resumes from")
    if checkpoint is None and resume is None:
        return None
    out = ffi.new("struct rw_checkpoints *")
    out.on_resume = lib._rw_on_resume
    out.or_start = resume == "auto"
    paths = [None if one is None else ffi.new("char[]", path_chars(one)) for one in (checkpoint, resume)]
    out.path = paths[0] or ffi.NULL
    if resume is not None:
        out.resume = out.path if resume == "auto" else paths[1]
    if isinstance(every, bool) or not isinstance(every, (int, str, type(None))):
        raise ParameterTypeError(f"checkpoint_every is a {type(every).__name__}; expected rounds, or a time: '30s'")
    if every is not None:
        check(lib.rw_checkpoints_set_every(context(), out, chars(str(every))))
    hooks.checkpoints = out
    return [out, *paths]


def _run(
    c: Params,
    train_set: Dataset,
    valid: list[Dataset],
    hooks: Any,
    init: Model | None,
    names: list[str] | None,
    out: Any,
) -> int:
    with _workers.agreed():
        check(lib.rw_params_check(context(), c.c, lib.RW_PARAMS_TRAIN if valid else lib.RW_PARAMS_TRAIN_ALONE))
        need_measured(c, hooks, bool(valid))
    known = set(train_set.feature_names or ())
    needed = [i for i, name in enumerate(names or ()) if name in known]
    width = len(names or ()) if init is None else init._width

    def values_of(one: Dataset) -> Any:
        with _workers.agreed():
            return one._with_values() if names is None else one._with_values_as(names, needed, width)

    values = [values_of(one) for one in valid]
    array = ffi.new("struct rw_dataset *[]", values)
    training = ffi.new("struct rw_training *", {"valid": array, "n_valid": len(values), "hooks": hooks})
    if init is not None:
        init._values_of(train_set)  # has it what the model's trees ask for?
        training.init = init._c
        training.train = values_of(train_set)
    else:
        with _workers.agreed():
            training.binned = train_set._for_training(c)
    return int(lib.rw_train_on(context(), c.c, training, out))
