"""What training on clicks found."""

from __future__ import annotations

import os
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True)
class PositionBias:
    """What training with ``debias`` found of the positions at which documents were shown, after its last round.

    Attributes
    ----------
    round : int
        Rounds that were run; the model may be of fewer.
    given : bool
        The propensities were (``propensities``), and not found.
    position : array of uint32
        Those that have documents, ascending.
    n_docs : array of uint64
        How many documents each has.
    bias : array of float64 | None
        ``debias="additive"``: what a document's score had on top of it in training.
    propensity : array of float64
        How likely a click is there, as a multiple of the first position's, from 1/1024 to 1024.
        ``debias="ipw"``: t+ of Unbiased LambdaMART; ``"additive"``: exp(sigma (bias - the first one's)).
    unclicked : array of float64 | None
        ``debias="ipw"``: t-, the same of documents that were not clicked.
    """

    round: int
    given: bool
    position: npt.NDArray[np.uint32]
    n_docs: npt.NDArray[np.uint64]
    bias: npt.NDArray[np.float64] | None
    propensity: npt.NDArray[np.float64]
    unclicked: npt.NDArray[np.float64] | None

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes positions and their propensities to ``path``, for the parameter ``propensities`` of another
        training: ``position_bias.save("p.txt")``, then ``{"debias": "ipw", "propensities": "p.txt"}``.
        OSError: it cannot be written."""
        with open(path, "w", encoding="utf-8") as file:
            for one, value in zip(self.position, self.propensity, strict=True):
                file.write(f"{one} {float(value)!r}\n")
