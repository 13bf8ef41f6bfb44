"""What a GPU did in a tree's time, kernel by kernel, and where it waited.

  python3 lab/timeline/timeline.py FILE [--skip TREES]

FILE is what timeline.c wrote of a training. A tree begins where its lambdas are quantised; the first ones (10) are left
out, in which methods are chosen. Prints, of a mean tree: its time, how long the GPU was busy and idle; the time of each
kernel, less what it overlaps the one before; and between which two the GPU was idle for how long.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
from typing import NamedTuple

BEGINS = "quantise_kernel"


class Event(NamedTuple):
    start: int  # nanoseconds
    end: int
    name: str


def name_of(mangled: str) -> str:
    found = re.search(r"[a-z][a-z_]*_kernel", mangled)
    return found.group(0) if found else mangled


def read(path: str) -> list[Event]:
    """By their beginning."""
    events = []
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            words = line.split()
            if len(words) != 6 or not all(word.isdigit() for word in words[:2] + words[3:]):
                raise ValueError(f"{path}, line {number}: expected a begin, an end, a name and three numbers")
            events.append(Event(int(words[0]), int(words[1]), name_of(words[2])))
    return sorted(events)


class Tree:
    """Sums over all trees, in nanoseconds, and how often."""

    def __init__(self) -> None:
        self.n = self.time = self.busy = 0
        self.kernels: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
        self.gaps: dict[tuple[str, str], list[int]] = collections.defaultdict(lambda: [0, 0])

    def add(self, events: list[Event], after: Event) -> None:
        """The events of one, and the first of the next."""
        self.n += 1
        self.time += after.start - events[0].start
        until, last = events[0].start, ""
        for event in events + [after]:
            if event.start > until:
                gap = self.gaps[last, event.name]
                gap[0] += event.start - until
                gap[1] += 1
            if event is after:
                break
            took = max(0, event.end - max(event.start, until))
            self.busy += took
            self.kernels[event.name][0] += took
            self.kernels[event.name][1] += 1
            until, last = max(until, event.end), event.name


def sum_trees(events: list[Event], skip: int) -> Tree:
    tree = Tree()
    begins = [i for i, event in enumerate(events) if event.name == BEGINS][skip:]
    for first, after in zip(begins, begins[1:]):
        tree.add(events[first:after], events[after])
    return tree


def print_rows(tree: Tree, heading: str, rows: list[tuple[str, list[int]]]) -> None:
    print(f"\n{heading:<44}{'us a tree':>11}{'times':>8}{'us each':>9}")
    for name, (sum_ns, n) in sorted(rows, key=lambda row: (-row[1][0], row[0])):
        print(f"{name:<44}{sum_ns / tree.n / 1e3:11.1f}{n / tree.n:8.1f}{sum_ns / n / 1e3:9.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description="What a GPU did in a tree's time.")
    parser.add_argument("file")
    parser.add_argument("--skip", type=int, default=10, help="trees that are left out [default 10]")
    options = parser.parse_args()
    if options.skip < 0:
        parser.error(f"--skip: {options.skip}; expected 0 or more trees")
    try:
        tree = sum_trees(read(options.file), options.skip)
    except (OSError, ValueError) as error:
        sys.exit(f"timeline.py: {error}")
    if tree.n == 0:
        sys.exit(f"timeline.py: {options.file} has no whole tree after the first {options.skip}")
    us = [ns / tree.n / 1e3 for ns in (tree.time, tree.busy, tree.time - tree.busy)]
    print(f"{tree.n} trees; us: {us[0]:.1f}, busy {us[1]:.1f}, idle {us[2]:.1f}")
    print_rows(tree, "kernel", list(tree.kernels.items()))
    print_rows(tree, "idle between", [(f"{a} and {b}", times) for (a, b), times in tree.gaps.items()])


if __name__ == "__main__":
    main()
