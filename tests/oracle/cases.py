"""The command line of oracles that make cases of their own, and count the figures that agree."""

import argparse
import random
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

import given  # noqa: E402


def run(cases, least):
    """cases: functions of (program, rng, folder), each of which gets an empty folder, and gives the figures that it
    found to agree. The exit status: 0 if they are more than `least`."""
    arguments = argparse.ArgumentParser()
    arguments.add_argument("program", type=given.program)
    arguments.add_argument("--seed", type=int, default=1)
    options = arguments.parse_args()
    rng = random.Random(options.seed)
    n = 0
    for case in cases:
        with tempfile.TemporaryDirectory() as folder:
            n += case(options.program, rng, Path(folder))
    print(f"{n} figures agree")
    return 0 if n > least else 1
