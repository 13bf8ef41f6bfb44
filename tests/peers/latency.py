#!/usr/bin/env python3
"""Latency of scoring requests of 200 documents x 136 features by 500 trees of 255 leaves, on 8 threads, while models
are reloaded and swapped: Rankwood, LightGBM and treelite, from Python and from C++.

Rankwood trains two models on made data (`rankwood synth`); LightGBM and treelite read what `rankwood export`
makes of them, so all walk the same trees, and the sums of their scores are compared. Each engine scores a
request on the thread that has it (num_threads=1, nthread=1). The swapping thread reads a model from its file
and makes it ready before it swaps it in. Two tables for each language:
  as fast as they can   each thread sends its next request when the last one is answered. With more threads than
                        processors, this measures waiting for a processor.
  at the same rate      all engines get as many requests a second, --rate or half of what LightGBM managed as
                        fast as it can, due at even times, from which latencies count

`ratio` is p99 over Rankwood's. The bar, 10 (aim 30), is judged by the peers at the same rate.

    python3 tests/peers/latency.py [--quick] [--python INTERPRETER] [--compile]

The interpreter needs numpy, the rankwood package (pip install .), lightgbm, treelite and, with --compile,
tl2cgen, whose C compiler needs minutes per model; missing packages are not measured. C++ needs g++.
"""
import argparse
import json
import os
import sys
import tempfile

from common import HERE, ROOT, add_program_arguments, add_records_argument, attempt, make_venv, run
from common import write_record

FULL = {"queries": 600, "trees": 500, "leaves": 255, "seconds": 20.0, "swap_ms": 2000.0}
QUICK = {"queries": 60, "trees": 20, "leaves": 31, "seconds": 1.0, "swap_ms": 200.0}
FEATURES, MUST, AIM = 137, 10, 30  # ids from 0; synth's are 1 to 136
REQUESTS = 50  # different ones
NAMES = {"rankwood": "Rankwood", "lightgbm": "LightGBM", "treelite": "treelite, GTIL",
         "compiled": "treelite, compiled (tl2cgen)"}
FIND = {"lightgbm": "import lightgbm, glob, os; d = os.path.dirname(lightgbm.__file__); "
                    "print(glob.glob(d + '/**/lib_lightgbm.so', recursive=True)[0])",
        "treelite": "import treelite, glob, os; d = os.path.dirname(treelite.__file__); "
                    "print(glob.glob(d + '/**/libtreelite.so', recursive=True)[0])"}
DENSE = """
import numpy, sys
from common import Library
library = Library(sys.argv[1], 1)
values, _, _ = library.arrays(library.read([sys.argv[2]]), list(range(int(sys.argv[3]))))
values[:int(sys.argv[5])].tofile(sys.argv[4])
"""
COMPILE = """
import sys, treelite, tl2cgen
model = treelite.frontend.load_lightgbm_model(sys.argv[1])
tl2cgen.export_lib(model, toolchain='gcc', libpath=sys.argv[2], params={'parallel_comp': 64}, nthread=4)
"""


def say(text):
    print(f"latency.py: {text}", file=sys.stderr, flush=True)


def make_models(args, folder):
    """{engine: two paths}, all of the same trees."""
    data = os.path.join(folder, "data.rwb")
    run([args.rankwood, "synth", "--shape", "mslr30k", "--queries", str(args.queries), "--seed", "1", "-o", data])
    paths = {"rankwood": [], "lightgbm": []}
    for rate in ("0.1", "0.12"):
        say(f"training {args.trees} trees of {args.leaves} leaves")
        model = os.path.join(folder, f"model-{rate}.txt")
        run([args.rankwood, "train", data, "--rounds", str(args.trees), "--leaves", str(args.leaves), "--min-docs", "1",
             "--early-stop", "0", "--rate", rate, "--quiet", "-o", model])
        paths["rankwood"].append(model)
        run([args.rankwood, "export", model, "--to", "lightgbm", "-o", model + ".lightgbm"])
        paths["lightgbm"].append(model + ".lightgbm")
    paths["treelite"] = paths["lightgbm"]
    values = os.path.join(folder, "values.f32")
    run([args.python, "-c", DENSE, args.library, data, str(FEATURES), values, str(REQUESTS * args.docs)],
        env={**os.environ, "PYTHONPATH": HERE})
    if args.compile:
        paths["compiled"] = []
        for i, model in enumerate(paths["lightgbm"]):
            say("compiling a model")
            path = os.path.join(folder, f"./compiled{i}.so")
            _, why = attempt([args.python, "-c", COMPILE, model, path], cwd=folder)
            if why:
                say(f"not compiled: {why}")
                del paths["compiled"]
                break
            paths["compiled"].append(path)
    return paths, values


class FromPython:
    name = "Python"

    def __init__(self, args, folder, values):
        self.args, self.values = args, values

    def measure(self, engine, models, rate):
        job = {"engine": engine, "models": models, "values": self.values, "docs": self.args.docs,
               "features": FEATURES, "threads": self.args.threads, "seconds": self.args.seconds,
               "swap_ms": self.args.swap_ms, "rate": rate}
        # Threads of numpy's linear algebra, which is unused, would disturb the times.
        return attempt([self.args.python, os.path.join(HERE, "latency_jobs.py"), json.dumps(job)],
                       env={**os.environ, "OPENBLAS_NUM_THREADS": "1"})


class FromCpp:
    name = "C++"

    def __init__(self, args, folder, values):
        self.args, self.values = args, values
        self.program = os.path.join(folder, "latency")
        source = os.path.dirname(os.path.abspath(args.library))
        self.why = None
        _, self.why = attempt(["g++", "-std=c++17", "-O2", os.path.join(HERE, "latency.cpp"), "-o", self.program,
                               "-I", os.path.join(ROOT, "src"), "-L", source, "-lrankwood-score",
                               f"-Wl,-rpath,{source}", "-ldl", "-pthread"])

    def measure(self, engine, models, rate):
        if self.why:
            return None, self.why
        library = "-"
        if engine in FIND:
            found, why = attempt([self.args.python, "-c", FIND[engine]])
            if why:
                return None, why
            library = found.strip()
        command = [self.program, engine, library, *models, self.values, FEATURES, self.args.docs, self.args.threads,
                   self.args.seconds, self.args.swap_ms, rate]
        return attempt([str(word) for word in command])


def table(args, language, title, models, rate):
    """The figures by engine; prints them."""
    print(f"\n{language.name}, {title}: {args.docs} documents, {args.threads} threads, models swapped every "
          f"{args.swap_ms:g} ms")
    print(f"{'engine':<30}{'requests':>9}{'a second':>10}{'p50 ms':>10}{'p99 ms':>10}{'most ms':>10}{'ratio':>8}"
          f"{'swaps':>7}  wrong")
    all_figures = {}
    for engine, paths in models.items():
        said, why = language.measure(engine, paths, rate)
        if why:
            print(f"{NAMES[engine]:<30}not measured: {why}", flush=True)
            continue
        figures = all_figures[engine] = json.loads(said)
        ratio = figures["p99_ms"] / all_figures["rankwood"]["p99_ms"] if "rankwood" in all_figures else 0
        figures["ratio"] = ratio
        print(f"{NAMES[engine]:<30}{figures['requests']:>9}{figures['requests'] / figures['seconds']:>10.0f}"
              f"{figures['p50_ms']:>10.3f}{figures['p99_ms']:>10.3f}{figures['most_ms']:>10.3f}{ratio:>8.1f}"
              f"{figures['swaps']:>7}  {figures['wrong']}", flush=True)
        write_record(args.records, {"part": "latency", "language": language.name, "table": title, "engine": engine,
                                    "docs": args.docs, "trees": args.trees, "leaves": args.leaves,
                                    "threads": args.threads, "rate": rate, **figures})
    return all_figures


def check(all_figures):
    """Engines have the same trees, and each answer is from one model."""
    sums = {engine: figures["sum"] for engine, figures in all_figures.items()}
    failed = [engine for engine, figures in all_figures.items() if figures["wrong"]]
    failed += [engine for engine, total in sums.items() if abs(total - sums["rankwood"]) > 1e-3 * abs(sums["rankwood"])]
    for engine in failed:
        print(f"{NAMES[engine]}: other scores than its models have")
    return bool(failed)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add_program_arguments(parser)
    add_records_argument(parser)
    parser.add_argument("--python", help="an interpreter as above [one in --venv, made if missing]")
    parser.add_argument("--quick", action="store_true", help="small models and short runs: to see that it works")
    parser.add_argument("--compile", action="store_true", help="compile models by tl2cgen, too")
    parser.add_argument("--languages", default="Python,C++", help="[Python,C++]")
    parser.add_argument("--docs", type=int, default=200, help="documents of a request [200]")
    parser.add_argument("--threads", type=int, default=8, help="[8]")
    parser.add_argument("--rate", type=float, help="requests a second of all threads [half of LightGBM's most]")
    for name, value in FULL.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(value), help=f"[{value}; --quick: {QUICK[name]}]")
    args = parser.parse_args()
    for name, value in (QUICK if args.quick else FULL).items():
        if getattr(args, name) is None:
            setattr(args, name, value)
    if not args.python:
        make_venv(args.venv)
        args.python = os.path.join(args.venv, "bin", "python")
    args.library = os.path.abspath(args.library)
    failed, met = False, []
    with tempfile.TemporaryDirectory() as folder:
        models, values = make_models(args, folder)
        for language in (FromPython, FromCpp):
            if language.name not in args.languages.split(","):
                continue
            it = language(args, folder, values)
            most = table(args, it, "as fast as they can", models, 0)
            rate = args.rate
            if rate is None and "lightgbm" in most:
                rate = max(1.0, most["lightgbm"]["requests"] / most["lightgbm"]["seconds"] / 2)
            figures = table(args, it, f"{rate:.0f} requests a second", models, rate) if rate else {}
            if "rankwood" not in most:
                failed = True
                continue
            failed |= check(most) or check(figures or most)
            least = min((one["ratio"] for engine, one in figures.items() if engine != "rankwood"), default=None)
            if least is not None:
                verdict = "-" if args.quick else "yes" if least >= MUST else "no"
                met.append(f"{language.name}: p99 of the nearest peer at the same rate / Rankwood's: {least:.1f}; "
                           f"must {MUST}, aim {AIM}, met {verdict}")
    print("\n" + "\n".join(met))
    return failed


if __name__ == "__main__":
    sys.exit(main())
