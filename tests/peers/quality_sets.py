"""The sets that quality.py measures on, and the script's own NDCG. Standard library only.

A task is (train, stop, measure), each a list of files. Real sets: mq2008 and ohsumed, five folds of
three parts to train on, one to stop by and one to measure on; mslr-sample, one task. Made sets, each
one task: synth-mslr30k, synth-yahoo and synth-istella of `rankwood synth`, and like, of another
generator."""
import gzip
import json
import math
import os

from common import HERE, TOP, Library, run

FIVE_FOLD = ("mq2008", "ohsumed")
REAL = FIVE_FOLD + ("mslr-sample",)
# Queries to train on, as many documents each about; half as many stop, and `MEASURED` are measured on.
MADE = {"synth-mslr30k": 600, "synth-yahoo": 2500, "synth-istella": 200, "like": 600}
MEASURED = {"synth-mslr30k": 1000, "synth-yahoo": 2500, "synth-istella": 500, "like": 1000}
LIKE_SEED = 7


# ---------------------------------------------------------------- the evaluator


def ndcg(labels, scores, top=TOP):
    """NDCG@top of one query; 0 if nothing in it is relevant."""
    order = sorted(range(len(labels)), key=lambda i: (-scores[i], i))
    ideal = sorted(labels, reverse=True)

    def dcg(ranked):
        return sum((2.0**l - 1) / math.log2(2 + r) for r, l in enumerate(ranked[:top]))

    best = dcg(ideal)
    return dcg([labels[i] for i in order]) / best if best > 0 else 0.0


def ndcg_by_query(queries, scores):
    """queries: [(labels, ...)], scores: of all documents in a row; a list, one NDCG a query."""
    values, at = [], 0
    for labels in queries:
        values.append(ndcg(labels, scores[at : at + len(labels)]))
        at += len(labels)
    if at != len(scores):
        raise SystemExit(f"quality.py: {len(scores)} scores for {at} documents")
    return values


# ---------------------------------------------------------------- files


def text_labels(path):
    queries, last = [], None
    opened = gzip.open(path, "rt") if path.endswith(".gz") else open(path)
    with opened as file:
        for line in file:
            label, qid = line.split(None, 2)[:2]
            if qid != last:
                queries.append([])
                last = qid
            queries[-1].append(float(label))
    return queries


def cache_labels(path, library):
    library = Library(library, 0)
    data = library.read([path])
    labels = library.lib.rw_dataset_labels(data)
    offsets = library.lib.rw_dataset_query_offsets(data)
    queries = [labels[offsets[q] : offsets[q + 1]]
               for q in range(library.lib.rw_dataset_n_queries(data))]
    library.lib.rw_dataset_free(data)
    return queries


class Sets:
    """Tasks of the sets by name; made ones are made when they are first asked for, in `folder`."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder
        self.made, self.labels = {}, {}

    def missing(self, name):
        """Why a set cannot be had; None if it can."""
        if name in REAL and not os.path.isdir(os.path.join(self.args.data, name)):
            return f"no folder '{name}' in {self.args.data} (RANKWOOD_DATA)"
        if name == "like" and not self.args.like:
            return "no other generator (--like)"
        return None

    def tasks(self, name):
        """[(train, stop, measure)]"""
        folder = os.path.join(self.args.data, name)
        if name in FIVE_FOLD:
            part = [os.path.join(folder, f"S{1 + i}.txt.gz") for i in range(5)] * 2
            return [(part[k : k + 3], part[k + 3 : k + 4], part[k + 4 : k + 5]) for k in range(5)]
        if name in REAL:
            return [tuple([os.path.join(folder, f"{p}.txt.gz")] for p in ("train", "vali", "test"))]
        if name not in self.made:
            self.made[name] = self.make(name)
        return [self.made[name]]

    def make(self, name):
        sizes = [MADE[name], MADE[name] // 2, MEASURED[name]]
        sizes = [max(1, int(n * self.args.scale)) for n in sizes]
        files = [os.path.join(self.folder, f"{name}.{p}.rwb") for p in ("train", "stop", "measure")]
        if name == "like":
            job = {"job": "like", "path": os.path.abspath(self.args.like), "seed": LIKE_SEED,
                   "sizes": sizes, "files": files, "library": self.args.library}
            run([self.args.python, os.path.join(HERE, "quality_jobs.py"), json.dumps(job)])
        else:
            for seed, (n, path) in enumerate(zip(sizes, files), 1):
                run([self.args.rankwood, "synth", "--shape", name.removeprefix("synth-"),
                     "--queries", str(n), "--seed", str(seed), "-o", path])
        return tuple([path] for path in files)

    def labels_by_query(self, paths):
        key = tuple(paths)
        if key not in self.labels:
            self.labels[key] = [q for path in paths for q in (
                cache_labels(path, self.args.library) if path.endswith(".rwb")
                else text_labels(path))]
        return self.labels[key]
