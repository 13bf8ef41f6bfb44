"""library.py: compares the speed of a program that uses the library with `rankwood train`, on an idle and on a busy
machine. Builds library_train.c, trains by both in turn on the same data, and compares the model files. Prints the
seconds (median, least, most) and the ratio of the medians, once on idle processors and once with busy processes in
parallel.

    python3 tests/peers/library.py [--build FOLDER] [--queries N] [--rounds N] [--turns N] [--busy N]

Exit 1 if a model differs or a ratio is above --most. Standard library only."""
import argparse
import contextlib
import filecmp
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

import given  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..")


@contextlib.contextmanager
def busy(count):
    others = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()


def seconds(command):
    start = time.monotonic()
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build"), help="a Meson build [build]")
    parser.add_argument("--queries", type=int, default=162, help="of --shape mslr30k [162: 19,500 documents]")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--turns", type=int, default=7)
    parser.add_argument("--busy", type=int, default=1, help="processes beside ours in the second half [1]")
    parser.add_argument("--most", type=float, default=1.1, help="greatest ratio [1.1]")
    a = parser.parse_args()
    program = given.program(os.path.join(a.build, "src", "cli", "rankwood"))
    library = os.path.join(a.build, "src")
    met = True
    with tempfile.TemporaryDirectory() as folder:
        at = lambda name: os.path.join(folder, name)
        subprocess.run(["cc", "-O2", "-I", os.path.join(ROOT, "src"), os.path.join(HERE, "library_train.c"), "-o",
                        at("train"), "-L", library, "-lrankwood", "-Wl,-rpath," + os.path.abspath(library)], check=True)
        subprocess.run([program, "synth", "--shape", "mslr30k", "--queries", str(a.queries), "--seed", "1", "-o",
                        at("data.txt")], check=True)
        with open(at("data.txt"), encoding="ascii") as data:
            print(f"{sum(1 for _ in data)} documents, {a.rounds} rounds, {os.cpu_count()} processors, {a.turns} turns")
        ways = {"rankwood train": [program, "train", at("data.txt"), "--device", "cpu", "--rounds", str(a.rounds),
                                   "--quiet", "-o", at("ours")],
                "over the library": [at("train"), at("data.txt"), str(a.rounds), at("theirs")]}
        print(f"{'beside':<12} {'way':<18} {'median_s':>9} {'least_s':>9} {'most_s':>9} {'ratio':>6}")
        for count in (0, a.busy):
            times = {way: [] for way in ways}
            with busy(count):
                for turn in range(a.turns):
                    for way in sorted(ways, reverse=turn % 2 == 1):
                        times[way].append(seconds(ways[way]))
            ours = statistics.median(times["rankwood train"])
            for way, taken in times.items():
                ratio = statistics.median(taken) / ours
                met = met and ratio <= a.most
                print(f"{f'{count} busy':<12} {way:<18} {statistics.median(taken):9.3f} {min(taken):9.3f} "
                      f"{max(taken):9.3f} {ratio:6.2f}")
        if not filecmp.cmp(at("ours"), at("theirs"), shallow=False):
            sys.exit("library.py: the models differ")
    print("at most %g: %s" % (a.most, "yes" if met else "no"))
    sys.exit(0 if met else 1)


main()
