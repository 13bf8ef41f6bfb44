"""What makes another model of a model: methods of Model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, cast

if TYPE_CHECKING:
    from rankwood._dataset import Dataset
    from rankwood._model import Model
    from rankwood._refit import Pruned


class Reworked:
    """The part of :class:`rankwood.Model` that makes others of it."""

    def refit(
        self,
        data: Dataset,
        *,
        decay: float | None = None,
        params: Mapping[str, Any] | None = None,
        valid: Dataset | Mapping[str, Dataset] | Iterable[Dataset] | None = None,
        callbacks: Iterable[Callable[..., Any]] = (),
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
        from rankwood import _refit

        return _refit.refit(cast("Model", self), data, decay, params, valid, callbacks, strict)

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
        from rankwood import _refit

        return _refit.prune(cast("Model", self), data, metric, loss, order, how)
