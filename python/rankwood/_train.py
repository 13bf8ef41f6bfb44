"""The function train: checks arguments, agrees with other workers, and runs the library's training.

_training has the callbacks and the progress. Names of features go to the library in a temporary file.
"""

from __future__ import annotations

import functools
import inspect
import json
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, ParamSpec

from rankwood import _workers
from rankwood._core import (
    ParameterError,
    ParameterTypeError,
    caller_names,
    check,
    context,
    ffi,
    in_python,
    lib,
    logger,
    need,
    text,
    warn,
)
from rankwood._dataset import Dataset, need_labels
from rankwood._handles import check_apart
from rankwood._manifest import Differs, Record, by_program, difference, expecting, parameters, recorded
from rankwood._manifest import read as read_manifest
from rankwood._model import Model, exchange
from rankwood._params import Params, as_mapping, hinted, need_device, with_parameters
from rankwood._training import (
    Callback,
    Path,
    Round,
    Training,
    ctrl_c,
    hook_checkpoints,
    named_params,
    need_measured,
    valid_sets,
)
from rankwood._tuning import by_folds, rounds_by_folds

__all__ = ["Path", "Round", "train", "verify"]  # Round: pickles of earlier versions name this module


# Surrounds each training, and gets its model (rankwood.mlflow); None: no function.
watch: Callable[[], AbstractContextManager[Callable[[Model], None]]] | None = None

_P = ParamSpec("_P")


def _watched(function: Callable[_P, Model]) -> Callable[_P, Model]:
    """Passes models of `function` to `watch`, with manifests. Several workers are not watched."""

    @functools.wraps(function)
    def call(*args: _P.args, **kwargs: _P.kwargs) -> Model:
        if watch is None or _workers.count() > 1:
            return function(*args, **kwargs)
        with watch() as trained:
            model = function(*args, **{"manifest": True, **kwargs})  # type: ignore[arg-type]
            trained(model)
        return model

    return call


def _feature_names(train_set: Dataset, init: Model | None) -> list[str] | None:
    """Returns the names of the features. Features that `init` knows by name keep its ids."""
    mine, theirs = train_set.feature_names, init.feature_names if init is not None else None
    if mine is None or theirs is None or init is None:
        return mine
    used = [use.feature for use in init._uses()]
    if all(i < len(mine) and mine[i] == theirs[i] for i in used):
        return mine
    return theirs + [name for name in mine if name not in theirs]


@hinted
@_watched
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
    groups: Any = None,
    strict: bool | None = False,
    manifest: bool = False,
) -> Model:
    """Train a model.

    Parameters
    ----------
    params : dict or None
        Training parameters by name, listed below. Names may contain ``_`` or ``-``: ``{"leaves": 31, "min_docs": 50}``.
        Two of them may be functions. ``objective(scores, dataset)`` returns gradient and hessian of the loss, arrays of
        shape (n_docs,), with hessians of 0 or more and the signs of LightGBM and XGBoost. ``metric(scores, dataset)``
        returns a number. Higher is better, unless the function has a true attribute ``lower_is_better``. A metric
        function comes first and so stops training; ``[function, "map"]`` adds further metrics. A metric whose first
        argument is named ``y_true``, as in scikit-learn, is called as ``metric(labels, scores)``, with the documents of
        all queries together and without weights; lower is better if its name ends with ``_error``, ``_loss`` or
        ``_deviance``. ``rate`` may be a list with the rate of each round, or a function of the round, from 0 at the
        model's first one, which is called for all rounds before training. ``seed`` may be a random generator of numpy.
    train_set : Dataset
        Documents with labels and queries.
    valid : Dataset, dict of Dataset, list of Dataset or None, default None
        Validation sets, measured after each round. ``train_set`` may be one of them, but never stops training. None:
        ``early_stop_rule="folds"`` chooses the number of rounds by cross-validation, otherwise all rounds are kept.
    stop_on : str or None, default None
        Name of the validation set whose first metric stops training, after ``early_stop`` rounds without improvement.
        The default is the first one that is not ``train_set``. The choice is logged.
    init : Model or None, default None
        Model to continue from; up to ``rounds`` trees are added to it.
    checkpoint : str, path or None, default None
        File for checkpoints. It is written at intervals in the background, and when training ends normally, by Ctrl-C
        or by an exception. The file remains after training.
    checkpoint_every : int, str or None, default None
        Interval: a number of rounds, or a time such as ``"30s"``, ``"10m"`` or ``"2h"``. The default is a minute, or
        longer if writing takes more than 1 % of the time.
    resume : str, path or None, default None
        Checkpoint to resume from. ``"auto"`` uses the file of ``checkpoint`` if it exists. The model is identical to
        that of an uninterrupted training. Data and parameters must be unchanged, except that ``rounds`` may grow and
        ``threads``, ``device``, ``hist`` and ``batch`` may differ. A function as ``rate`` keeps ``rounds`` fixed.
        Objective and metric functions must depend on their arguments only.
    callbacks : list of callable, default ()
        Functions that are called with a :class:`Round` after each round. A true result stops training. After a resume,
        they are called for new rounds only.
    export_for : str or None, default None
        Format of :meth:`Model.export` that the model must fit, with ``feature_base="auto"`` and without ``lossy``.
        Training fails before the first round if the format may be unable to represent the model.
    featureset : str, path or None, default None
        Feature set for ``export_for`` ``"opensearch"``, ``"elasticsearch"`` and ``"elasticsearch-ml"``, as in
        :meth:`Model.export`.
    groups : array or None, default None
        With ``early_stop_rule="folds"``: group of each document or query, which no fold divides, as in
        :func:`rankwood.cv`.
    strict : bool or None, default False
        Treatment of parameters that have no effect with the others. False issues one :class:`NoEffectWarning` per
        parameter and process, True raises a :class:`ParameterError`, and None does neither. Parameters at their default
        are never reported.
    manifest : bool, default False
        True keeps a description of the training in :attr:`Model.manifest`, for :func:`verify`. It computes checksums of
        the data.

    Returns
    -------
    Model
        Model that ends at the round that ``early_stop_rule`` keeps. Ctrl-C before the last round ends training: the
        model is the best so far, and ``finished`` is False. Ctrl-C in the last round leaves the model complete. Both
        log a warning.

    Raises
    ------
    ParameterError
        A parameter or metric is unknown or out of range, parameters contradict each other, or they differ from the
        checkpoint's.
    DataError
        The data has no labels, is too large, differs from the checkpoint's, or yields no tree. Also if the metric of
        the validation set is the same for every ranking, so that it cannot stop training.
    FormatError
        The file of ``resume`` is not a checkpoint, is damaged, or is of another version. Also if the file of
        ``featureset`` is not a feature set.
    OutOfMemoryError
        The device has too little memory.
    UnsupportedError
        The device is missing or not built in, or the format of ``export_for`` may be unable to represent the model.

    Training parameters
    -------------------
    (one entry per parameter, from the library's table)

    Notes
    -----
    Training of more than a second shows a line per second in a terminal, and a progress bar in a notebook. Elsewhere it
    logs to ``"rankwood"`` with level INFO. ``logging.getLogger("rankwood").setLevel("WARNING")`` silences it.

    Examples
    --------
    >>> params = {"rounds": 50, "leaves": 8, "metric": ["ndcg@10", "map"], "early_stop": 10}
    >>> model = rankwood.train(params, data, valid=valid)
    >>> 1 <= model.best_round <= 50
    True
    >>> list(model.evals_result["valid"])
    ['ndcg@10', 'map']
    """
    with _workers.agreed():
        n_before = 0 if init is None else len(need(init, Model, "init")._round_ends())
        given = as_mapping(params, n_before)
        need_device(given)
        given = need_labels(train_set, "train_set")._with_own(given)
        as_given = dict(given)
        sets = valid_sets(valid, stop_on)
        if by_folds(given):
            if sets or init is not None:
                raise ParameterError(f"early_stop_rule='folds' has no use with {'valid' if sets else 'init'}")
            given, strict = rounds_by_folds(given, train_set, groups, strict), None  # the search has reported them
        elif groups is not None:
            raise ParameterError("groups has no effect without early_stop_rule='folds'")
        training = Training([train_set, *sets.values()], ["train", *sets], callbacks)
        if not isinstance(manifest, bool):
            raise ParameterTypeError(f"manifest is {manifest!r}; expected True or False")
        if manifest:
            training.record = Record(as_given, ffi.NULL if init is None else init._c)
        if checkpoint is not None:
            check_apart(checkpoint, *training.sets)
    training.meet_workers(given, init)
    with _workers.agreed():
        hooks, *keep = training.hooks(given)
        hooks.on_positions = lib._rw_on_positions
        keep.append(hook_checkpoints(checkpoint, checkpoint_every, resume, hooks))
        Params(given, strict)
    if init is None and train_set._paths is not None:
        train_set._for_training(Params(given))  # this also reads the feature names
    names = _feature_names(train_set, init)
    with named_params(given, strict, names, training.names[1:]) as c:
        _check_exportable(export_for, featureset, c, train_set, init)
        out = ffi.new("struct rw_model **")
        with ctrl_c(training), recorded(training.record):
            status = _run(c, train_set, list(sets.values()), hooks, init, names, out)
    del keep
    with _workers.agreed(), caller_names(names, training.names[1:]):
        model = Model(training.result(status, out, lib.rw_model_free))
        if status == lib.RW_OK and not model.n_trees:  # with no_trees_allowed
            warn(f"{in_python(text(lib.rw_last_error(context())))}; the model scores all documents 0")
    model._trained(training)
    if training.record is not None and model.finished:
        model.manifest = training.record.end(model._c, training.sets)
    if names is not None:  # the file has only names of features in use
        model.feature_names = list(names)
    trees = f"{model.n_trees} {'tree' if model.n_trees == 1 else 'trees'}"
    n_bags, last = model.n_bags, lib.rw_model_run(model._c, model._info.n_runs - 1).n_trees
    rounds = [f"{last // n_bags} {'round' if last == n_bags else 'rounds'} of {n_bags} bags"] if n_bags > 1 else []
    if model.best_round:
        rounds.append(f"kept round: {model.best_round} of {training.n_rounds}")
    training.progress.end(f"{trees} ({'; '.join(rounds)})" if rounds else trees)
    if training.interrupted:
        end = " in the last round: the model is complete" if model.finished else ": the model is the best so far"
        logger.warning("interrupted%s, with %d trees", end, model.n_trees)
    return model


train.__doc__ = with_parameters(train.__doc__)


def verify(
    manifest: Mapping[str, Any] | Path,
    train_set: Dataset | None = None,
    *,
    valid: Dataset | Mapping[str, Dataset] | Iterable[Dataset] | None = None,
    init: Model | None = None,
    params: Mapping[str, Any] | None = None,
) -> str | None:
    """Repeat the training that a manifest describes, and compare data and model.

    Parameters
    ----------
    manifest : dict, str or path
        :attr:`Model.manifest`, or a JSON file with one. The program's ``train --manifest`` writes such files.
    train_set : Dataset or None, default None
        Training set. None reads the files that the manifest names, as the program's ``verify`` does.
    valid : Dataset, dict of Dataset, list of Dataset or None, default None
        Validation sets in the order of the training; the one that stopped it comes first.
    init : Model or None, default None
        Model that the training continued.
    params : dict or None, default None
        Parameters that do not change the model (``threads``, ``device``), and the training's functions ``objective``
        and ``metric``.

    Returns
    -------
    str or None
        None if data and model are identical. Otherwise the first difference of data, version, parameters and model.
        Data that differs ends the training before its second round.

    Raises
    ------
    FileError
        The manifest cannot be read.
    FormatError
        The manifest is damaged, or of a later version.
    ParameterError
        ``train_set`` is None and other arguments are given, or a function of the training is missing in ``params``.
    DataError
        The files that the manifest names cannot be read.

    Examples
    --------
    >>> model = rankwood.train({"rounds": 5}, data, manifest=True)
    >>> rankwood.verify(model.manifest, data) is None
    True
    >>> rankwood.verify(model.manifest, valid).partition(":")[0]
    'data train documents'
    """
    content = read_manifest(manifest)
    if train_set is None:
        if valid is not None or init is not None or params is not None:
            raise ParameterError("valid, init and params have no effect without train_set")
        return by_program(manifest)
    for name, function in content.get("functions", {}).items():
        if name not in (params or {}):
            raise ParameterError(f"{name} was the function {function!r}; pass it in params")
    text = json.dumps(content)
    given = parameters(content, params or {})
    try:
        with expecting(text):
            again = inspect.unwrap(train)(given, train_set, valid=valid, init=init, strict=None, manifest=True)
    except Differs as found:
        return str(found)
    return difference(text, json.dumps(again.manifest)) if again.manifest else "the training was interrupted"


def _check_exportable(
    export_for: str | None, featureset: Path | None, c: Params, train_set: Dataset, init: Model | None
) -> None:
    if export_for is None and featureset is not None:
        raise ParameterError("featureset has no effect without export_for")
    if export_for is None:
        return
    with _workers.agreed():
        # only the export itself uses the name
        how, _held = exchange(export_for, "auto", False, featureset, None if featureset is None else "model")
        check(lib.rw_exchange_check(context(), how, ffi.NULL, ffi.NULL, ffi.NULL))
        binned = train_set._for_training(c)
        mine = ffi.NULL if init is None else init._c
        check(lib.rw_exchange_check(context(), how, c.c, binned, mine))


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
        init._values_of(train_set)  # checks that the data has the model's features
        training.init = init._c
        training.train = values_of(train_set)
    else:
        with _workers.agreed():
            training.binned = train_set._for_training(c)
    return int(lib.rw_train_on(context(), c.c, training, out))
