"""The command line of oracles that make cases of their own, and count the figures that agree."""

import argparse
import random
import tempfile
from pathlib import Path


def run(cases, least):
    """cases: functions of (program, rng, folder), each of which gets an empty folder, and gives the figures that it
    found to agree. The exit status: 0 if they are more than `least`."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program")
    arguments.add_argument("--seed", type=int, default=1)
    given = arguments.parse_args()
    rng = random.Random(given.seed)
    n = 0
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            n += case(given.program, rng, Path(folder))
    print(f"{n} figures agree")
    return 0 if n > least else 1
