"""Tests that 10,000 failing calls, those of failing.py in turn, leak no memory.

    python tests/python/leaks.py              any build: the process's memory after 2,000 calls and at the end
    python tests/python/leaks.py --sanitizer  a build with -Db_sanitize=address, whose libasan is preloaded
                                              (tests/python/python_leaks.sh): also unreachable memory

Prints the figures; exits with 1 if there is a leak.
"""

from __future__ import annotations

import ctypes
import gc
import logging
import sys
import time
from itertools import cycle, islice

from failing import failing

import rankwood
from conftest import make

CALLS, FIRST = 10_000, 2_000
# Between the two measurements each kind fails 157 times, so 1 KiB that one kind alone loses is 157 KiB, and an
# object that all lose is 8,000. Caches of Python's move by some hundred objects; the resident size by some MiB,
# with the pieces that the heaps of threads keep for later.
MOST_HEAP_KIB, MOST_OBJECTS, MOST_RESIDENT_KIB = 64, 2000, 8192


class Heap(ctypes.Structure):
    """glibc's struct mallinfo2; two members are read."""

    _fields_ = [
        ("not_read", ctypes.c_size_t * 4),
        ("mapped", ctypes.c_size_t),
        ("nor_these", ctypes.c_size_t * 2),
        ("in_use", ctypes.c_size_t),
        ("and_these", ctypes.c_size_t * 2),
    ]


def resident_kib() -> int:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4


def heap_kib() -> float:
    """What malloc has given and not got back; NaN where the C library does not say."""
    info = getattr(ctypes.CDLL(None), "mallinfo2", None)
    if info is None:
        return float("nan")
    info.restype = Heap
    heap = info()
    return (heap.in_use + heap.mapped) / 1024


def measure() -> tuple[float, int, int]:
    """(KiB of heap, Python's objects, resident KiB)."""
    gc.collect()
    return heap_kib(), sys.getallocatedblocks(), resident_kib()


def main() -> int:
    with_sanitizer = "--sanitizer" in sys.argv[1:]
    logging.disable()
    made = make(1, 8)
    model = rankwood.train({"rounds": 4, "leaves": 6, "min_docs": 2, "l2": 5}, made.dataset())
    calls = failing(made, model)
    begin, before = time.monotonic(), (0.0, 0, 0)
    for i, name in enumerate(islice(cycle(calls), CALLS)):
        if i == FIRST:
            before = measure()
        try:
            calls[name]()
        except rankwood.RankwoodError:
            continue
        print(f"not ok: '{name}' does not fail")
        return 1
    heap, objects, resident = (after - first for after, first in zip(measure(), before, strict=True))
    done = f"{CALLS} failing calls of {len(calls)} kinds in {time.monotonic() - begin:.1f} s"
    if with_sanitizer:  # its allocator delays the reuse of freed memory, and Python's is off
        print(done)
        return int(ctypes.CDLL(None).__lsan_do_recoverable_leak_check() != 0)
    print(f"{done}; from call {FIRST} on {heap:.1f} KiB of heap, {objects} objects and {resident} KiB resident more")
    if heap >= MOST_HEAP_KIB or objects >= MOST_OBJECTS or resident >= MOST_RESIDENT_KIB:
        print(f"not ok: expected less than {MOST_HEAP_KIB} KiB, {MOST_OBJECTS} and {MOST_RESIDENT_KIB} KiB")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
