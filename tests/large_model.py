"""Tests that a model file of more than 2^31 bytes is read, scored and continued like a small one.

    python3 tests/large_model.py PROGRAM [--folder FOLDER] [--trees N]

Trains a tree of 65,536 leaves, and writes a model of 310 such trees. `info` must count them, `predict` must return the
tree's score added that many times, and `train --init` must write all of them unchanged and add one. Takes some minutes,
5 GB of the disk and 7 GB of memory. The last line is 'N passed, M failed'."""
import argparse
import os
import re
import subprocess
import sys
import tempfile
import zlib

import given

LEAVES = 65536


def write_model(one, path, n_trees):
    """n_trees times the tree of the model file `one`. Returns its bytes: (before the trees, of all of them)."""
    with open(one, "rb") as file:
        body = file.read()
    body = body[: body.rindex(b"checksum ")]
    at = body.index(b"\ntrees 1\n\n") + 1
    head = body[:at].replace(b"\nrounds = 1\n", b"\nrounds = %d\n" % n_trees)
    head += b"trees %d\n\n" % n_trees
    tree = body[at + len(b"trees 1\n\n"):]
    checksum = size = 0
    with open(path, "wb") as file:
        for number in range(n_trees + 1):
            text = tree.replace(b"tree 1 ", b"tree %d " % number, 1) if number else head
            checksum = zlib.crc32(text, checksum)
            size += file.write(text)
        file.write(b"checksum %08x\n" % checksum)
    return len(head), size - len(head)


def same_bytes(path, at, other, other_at, n):
    with open(path, "rb") as a, open(other, "rb") as b:
        a.seek(at)
        b.seek(other_at)
        while n > 0:
            piece = a.read(min(n, 1 << 24))
            if not piece or piece != b.read(len(piece)):
                return False
            n -= len(piece)
    return True


def scores(path):
    with open(path, encoding="ascii") as file:
        return [float(line) for line in file]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=given.program)
    parser.add_argument("--folder", type=given.folder, help="where the files are")
    parser.add_argument("--trees", type=int, default=310)
    args = parser.parse_args()
    program, trees = args.program, args.trees
    results = []

    def told(what, right):
        results.append(right)
        print(f"{'ok' if right else 'not ok'} {what}", flush=True)

    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        def run(*words):
            return subprocess.run([program, *words], cwd=folder, check=True, capture_output=True,
                                  text=True).stdout

        run("synth", "--shape", "letor", "--queries", "8000", "-o", "data.rwb")
        run("synth", "--shape", "letor", "--queries", "20", "--seed", "2", "-o", "few.txt")
        run("train", "data.rwb", "--rounds", "1", "--leaves", str(LEAVES), "--min-docs", "1", "--min-hessian", "0",
            "--device", "cpu", "-o", "one.txt")
        leaves = int(re.search(r"\nleaves +(\d+)", run("info", "one.txt"))[1])
        one, large = os.path.join(folder, "one.txt"), os.path.join(folder, "large.txt")
        at, size = write_model(one, large, trees)
        print(f"{os.path.getsize(large)} bytes, {trees} trees of {leaves} leaves")
        if trees >= 310:
            told("more than 2^31 bytes", os.path.getsize(large) > 1 << 31)
        info = run("info", "large.txt")
        counts = re.search(r"trees +(\d+)\nleaves +(\d+)\n", info)
        told("info counts trees and leaves", counts[1] == str(trees) and counts[2] == str(trees * leaves))
        run("predict", "one.txt", "few.txt", "-o", "one.scores")
        run("predict", "large.txt", "few.txt", "-o", "large.scores")
        wanted = []
        for score in scores(os.path.join(folder, "one.scores")):
            total = 0.0
            for _ in range(trees):
                total += score
            wanted.append(total)
        told("scores are the tree's, added up", scores(os.path.join(folder, "large.scores")) == wanted)
        run("train", "few.txt", "--init", "large.txt", "--rounds", "1", "--leaves", "7", "--min-docs", "1",
            "--device", "cpu", "-o", "more.txt")
        more = os.path.join(folder, "more.txt")
        with open(more, "rb") as file:
            more_at = re.search(rb"\ntrees %d\n\n" % (trees + 1), file.read(1 << 16)).end()
        told("training goes on from it", same_bytes(large, at, more, more_at, size))
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed")
    return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
