"""Fuzzes the targets of a build made with -Dfuzz=true, each for its share of the time.

  python3 tests/fuzz/fuzz.py BUILD [--seconds S] [--targets A,B] [--corpus FOLDER] [--found FOLDER]
  python3 tests/fuzz/fuzz.py BUILD --show [--corpus FOLDER]                 the counts of all runs, of both kinds

A build with sanitizers detects more bugs per input; one without runs several times as many inputs (with fewer feature
ids). Both share the corpus, and each has separate counts. Targets that found a new edge in the later half of their
inputs get four times the time of others.

The corpus folder (default: the build's fuzz-corpus, outside the tree) keeps the corpus, seeds made of real data
(RANKWOOD_DATA) and the counts of all runs for later runs. An input that crashes, leaks, hangs or uses too much memory
is written to FOUND, and the run fails. Save it in tests/fuzz/corpus/TARGET/ when you fix the bug.

Prints a table, of this run and of all runs: inputs, the share of inputs read to their end, the covered edges of the
code, and the number of inputs before the last new edge.
"""

import argparse
import json
import os
import re
import resource
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import given  # noqa: E402
import seeds  # noqa: E402

ASAN = "allocator_may_return_null=1:strict_string_checks=1:quarantine_size_mb=16:malloc_context_size=10"
COMMON = ["-timeout=60", "-entropic=0", "-print_final_stats=1", "-verbosity=1"]
# Formats with much around what matters need long inputs.
MOST_BYTES = {"cache": 16384, "import": 16384}
MOST_BYTES_ELSE = 4096
PLAIN_MEMORY = 512 << 20  # limit of the address space without sanitizers, which limit allocations themselves
LIMITS = ["-rss_limit_mb=2048", "-malloc_limit_mb=1024"]
# The sizes of a worker's allocations may come from another worker; a failed allocation is an error.
LIMITS_OF = {"ranks": ["-rss_limit_mb=4096", "-malloc_limit_mb=1000000"]}
ASAN_OF = {"ranks": ":max_allocation_size_mb=256"}
# Some need more time than others for as many inputs.
SHARES = {"ranks": 4, "calls": 3, "import": 2}
KINDS = {"with": "counts.json", "without": "counts-plain.json"}
EVENT = re.compile(r"^#(\d+)\s+(INITED|NEW|REDUCE|pulse|DONE)\s+cov: (\d+)")
TAKEN = re.compile(r"^fuzz: (\d+) of (\d+) inputs were read to their end")


def targets_of(build):
    names = os.listdir(given.folder(os.path.join(build, "tests", "fuzz")))
    return sorted(name[5:] for name in names if re.fullmatch(r"fuzz_[a-z]+", name))


def is_sanitized(build):
    with open(os.path.join(build, "meson-info", "intro-buildoptions.json"), encoding="utf-8") as file:
        return any(option["name"] == "b_sanitize" and option["value"] not in ("none", []) for option in json.load(file))


def share_of(name, counts):
    finds = counts.get("last_new", 0) * 2 >= counts.get("inputs", 0)
    return SHARES.get(name, 1) * (4 if finds else 1)


def limit_memory():
    resource.setrlimit(resource.RLIMIT_AS, (PLAIN_MEMORY, PLAIN_MEMORY))


def read_log(path, counts):
    """Adds the counts of a run's log to those of all runs. Returns this run's."""
    run = {"inputs": 0, "taken": 0, "edges": 0}
    known = counts.get("edges", 0)
    begun = None
    with open(path, encoding="utf-8", errors="replace") as log:
        for line in log:
            if event := EVENT.match(line):
                number, kind, edges = int(event[1]), event[2], int(event[3])
                if kind == "INITED":  # saved inputs are not new
                    begun, known = number, max(known, edges)
                elif begun is not None and edges > known:
                    known = edges
                    counts["last_new"] = counts.get("inputs", 0) + number - begun
                run["inputs"] = number - (begun or number)
                run["edges"] = max(run["edges"], edges)
            if taken := TAKEN.match(line):
                run["taken"], run["inputs"] = int(taken[1]), int(taken[2])
    counts["edges"] = known
    for key in ("inputs", "taken"):
        counts[key] = counts.get(key, 0) + run[key]
    counts.setdefault("last_new", 0)
    return run


def fuzz(build, name, seconds, corpus, found, counts):
    """Runs one target. Returns its status and this run's counts."""
    folders = [os.path.join(corpus, name), os.path.join(HERE, "corpus", name), os.path.join(corpus, "seeds", name)]
    os.makedirs(folders[0], exist_ok=True)
    log = os.path.join(found, name + ".log")
    command = [
        os.path.join(build, "tests", "fuzz", "fuzz_" + name),
        f"-max_total_time={seconds}",
        f"-artifact_prefix={found}/{name}-",
        f"-max_len={MOST_BYTES.get(name, MOST_BYTES_ELSE)}",
        *COMMON,
        *LIMITS_OF.get(name, LIMITS),
        *(folder for folder in folders if os.path.isdir(folder)),
    ]
    environment = dict(
        os.environ,
        ASAN_OPTIONS=ASAN + ASAN_OF.get(name, ""),
        UBSAN_OPTIONS="halt_on_error=1:print_stacktrace=1",
        LSAN_OPTIONS="print_suppressions=0:suppressions=" + os.path.join(HERE, "..", "lsan.supp"),
    )
    with open(log, "w", encoding="utf-8") as out:
        how = {"stdout": out, "stderr": out, "env": environment, "check": False, "cwd": found}
        if not is_sanitized(build):
            how["preexec_fn"] = limit_memory
        try:
            status = subprocess.run(command, timeout=2 * seconds + 600, **how).returncode
        except subprocess.TimeoutExpired:
            out.write("fuzz.py: did not end in time\n")
            status = 1
    return status, read_log(log, counts)


def read_counts(path):
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def inputs_of(all_counts):
    return sum(counts.get("inputs", 0) for counts in all_counts.values())


def row(name, run, counts, seconds):
    share = 100 * run["taken"] / run["inputs"] if run["inputs"] else 0
    share_all = 100 * counts["taken"] / counts["inputs"] if counts["inputs"] else 0
    return (
        f"{name:<11}{run['inputs']:>10}{run['inputs'] / seconds:>9.0f}{share:>7.1f} %"
        f"{counts['inputs']:>13}{share_all:>7.1f} %{counts['edges']:>8}{counts['last_new']:>13}"
    )


def show(corpus):
    total = 0
    for kind, name in KINDS.items():
        all_counts = read_counts(os.path.join(corpus, name))
        total += inputs_of(all_counts)
        print(f"{kind + ' sanitizers':<20}inputs     ended   edges  last new at")
        for target, counts in sorted(all_counts.items()):
            share = 100 * counts["taken"] / counts["inputs"] if counts["inputs"] else 0
            print(f"{target:<14}{counts['inputs']:>12}{share:>8.1f} %{counts['edges']:>8}{counts['last_new']:>13}")
        print(f"{'all':<14}{inputs_of(all_counts):>12}")
    print(f"{total} inputs in all runs ({total:.2g})")
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("build")
    parser.add_argument("--seconds", type=int, default=60, help="of all targets together")
    parser.add_argument("--targets", help="names, with commas between them")
    parser.add_argument("--corpus")
    parser.add_argument("--found")
    parser.add_argument("--show", action="store_true", help="only the counts of all runs")
    args = parser.parse_args()
    build = os.path.abspath(args.build)
    corpus = os.path.abspath(args.corpus or os.path.join(build, "fuzz-corpus"))
    found = os.path.abspath(args.found or os.path.join(build, "fuzz-found"))
    if args.show:
        return show(given.folder(corpus))
    there = targets_of(build)
    if not there:
        given.end(f"'{build}' has no targets: it was made without -Dfuzz=true, or without `ninja fuzz_targets`")
    names = args.targets.split(",") if args.targets else there
    if unknown := [name for name in names if name not in there]:
        given.end(f"no target '{unknown[0]}' in '{build}': {', '.join(there)}")
    data = os.environ.get("RANKWOOD_DATA", os.path.join(HERE, "..", "..", "..", "shared", "data"))
    os.makedirs(corpus, exist_ok=True)
    os.makedirs(found, exist_ok=True)
    if not os.path.isdir(os.path.join(corpus, "seeds")):
        program = os.path.join(build, "src", "cli", "rankwood")
        os.environ["ASAN_OPTIONS"] = "detect_leaks=0"
        n = seeds.make(program, data, os.path.join(corpus, "seeds")) if os.path.exists(program) else 0
        print(f"{n} seeds of real files" if n else "no seeds of real files: saved inputs alone")
    paths = [os.path.join(corpus, name) for name in KINDS.values()]
    path, other_path = paths if is_sanitized(build) else paths[::-1]
    all_counts, other_counts = read_counts(path), read_counts(other_path)
    failed, rows = 0, []
    n_shares = sum(share_of(name, all_counts.get(name, {})) for name in names)
    shares = {name: share_of(name, all_counts.get(name, {})) / n_shares for name in names}
    for name in names:
        each = max(1, int(args.seconds * shares[name]))
        counts = all_counts.setdefault(name, {})
        at = time.monotonic()
        status, run = fuzz(build, name, each, corpus, found, counts)
        rows.append(row(name, run, counts, max(1.0, time.monotonic() - at)))
        with open(path + ".new", "w", encoding="utf-8") as file:
            json.dump(all_counts, file, indent=1)
        os.replace(path + ".new", path)
        if status == 0:
            print(f"ok fuzz {name}: {run['inputs']} inputs in {each} s")
        else:
            failed += 1
            print(f"not ok fuzz {name}: see {found}")
            with open(os.path.join(found, name + ".log"), encoding="utf-8", errors="replace") as log:
                print("".join("    " + line for line in log.readlines()[-40:]))
        sys.stdout.flush()
    print("target         inputs      a s     ended    in all runs     ended   edges   last new at")
    print("\n".join(rows))
    n_inputs = inputs_of(all_counts)
    print(f"{n_inputs} inputs in all runs {'with' if is_sanitized(build) else 'without'} sanitizers ({n_inputs:.2g})")
    n_inputs += inputs_of(other_counts)
    print(f"{n_inputs} inputs in all runs ({n_inputs:.2g})")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
