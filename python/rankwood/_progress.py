"""How training, or other long work, goes: a line a second in a terminal, a bar in a notebook, else log records."""

from __future__ import annotations

import html
import importlib
import logging
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

from rankwood._core import context, lib, logger, shown

if TYPE_CHECKING:
    from rankwood._train import Round

SECONDS = 1.0  # between two lines, and before the first one: what is quicker says nothing


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")  # where it was not imported there is no notebook
    shell = ipython.get_ipython() if ipython is not None else None
    return shell is not None and hasattr(shell, "kernel")


def _text(done: Round) -> str:
    parts = [f"round {done.round}/{done.n_rounds}"]
    parts += [
        f"{name} {metric} {value:.5f}" for name, values in done.metrics.items() for metric, value in values.items()
    ]
    if done.best_round:
        parts.append(f"best {done.best_value:.5f} in round {done.best_round}")
    return "  ".join(parts)


class _Done(NamedTuple):
    """Rounds, or steps, of so many, and what is said of the last one."""

    number: int
    total: int
    text: str


class Progress:
    """Of one training. A level of the logger "rankwood" that is set above INFO makes it silent."""

    def __init__(self) -> None:
        self._last = time.monotonic()
        self._done: _Done | None = None
        self._words: Callable[[], str] = str
        self._intro = ""
        self._shown = 0  # the round of the last line; 0: none was shown
        self._bar: Any = None
        self._leads = lib.rw_ranks_number(context()) == 0  # of many ranks, one shows it
        silent = logger.level > logging.INFO
        self._bars = not silent and _in_notebook()
        self._prints = not silent and not self._bars and sys.stderr is not None and sys.stderr.isatty()

    def start(self, used: dict[str, int | float | str], stop_on: str | None, metric: str) -> None:
        """Before the first round. stop_on: the validation set that stops training, if there is one."""
        n = int(used["early_stop"])
        if self._leads and stop_on is not None and n > 0:
            self._intro = f"{stop_on!r} stops training: {metric}, after {n} rounds without a better value"
            logger.info("%s", self._intro)

    def round(self, done: Round) -> None:
        """After each round."""
        self._after(_Done(done.round, done.n_rounds, ""), lambda: _text(done))

    def step(self, number: int, total: int, what: str) -> None:
        """After some of all steps of other work."""
        self._after(_Done(number, total, ""), lambda: f"{what} {100 * number // max(total, 1)} %")

    def _after(self, done: _Done, words: Callable[[], str]) -> None:
        self._done, self._words = done, words
        now = time.monotonic()
        if self._leads and now - self._last >= SECONDS:
            self._last = now
            self._show(done._replace(text=words()))

    def is_shown(self) -> bool:
        """Was anything shown?"""
        return self._shown > 0

    def end(self, note: str) -> None:
        """After the last one. note: what became of it."""
        if self._done is not None and self._shown and self._shown < self._done.number:
            self._show(self._done._replace(text=self._words()))
        if self._shown and (self._bars or self._prints):
            self._write(note)
        elif self._leads:
            logger.info("%s", note)

    def _show(self, done: _Done) -> None:
        first, self._shown = not self._shown, done.number
        if first and self._intro and (self._bars or self._prints):
            self._write(self._intro)
        if self._bars:
            self._draw(done)
        elif self._prints:
            self._write(done.text)
        else:
            logger.info("%s", done.text)

    def _write(self, line: str) -> None:
        with suppress(OSError, ValueError):  # a closed terminal ends no training
            print(line, file=sys.stderr)

    def _draw(self, done: _Done) -> None:
        ipython = importlib.import_module("IPython.display")  # it is there: _in_notebook
        page = ipython.HTML(
            f'<progress value="{done.number}" max="{done.total}" style="vertical-align: middle"></progress> '
            f"<code>{html.escape(done.text)}</code>"
        )
        if self._bar is None:
            self._bar = ipython.display(page, display_id=True)
        else:
            self._bar.update(page)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Shows how far the calls within it are, if they take longer than a second."""
    progress = Progress()
    start = time.monotonic()
    with shown(lambda done, total: progress.step(done, total, what)):
        yield
    if progress.is_shown():
        progress.end(f"{what}: {time.monotonic() - start:.1f} s")
