"""The sets that quality.py measures on, and the script's own NDCG. Standard library only.

A task is (train, stop, measure), each a list of files. Real sets: mq2008 and ohsumed, five folds of
three parts to train on, one to stop by and one to measure on; mslr-sample, one task; those of MORE, five
splits each. Public ones, that a user has a copy of: PUBLIC. Made sets, each one task: synth-mslr30k, synth-yahoo and synth-istella of
`rankwood synth`, and like, of another generator."""
import gzip
import json
import math
import os

from common import HERE, TOP, Library, run

FIVE_FOLD = ("mq2008", "ohsumed")
# Small sets of other kinds: a file each in the folder `more`, and splits.tsv, which deals their queries.
MORE = ("cars", "cranfield", "f1", "netflix", "trecnews")
REAL = FIVE_FOLD + ("mslr-sample",) + MORE
# Queries to train on, as many documents each about; half as many stop, and `MEASURED` are measured on.
MADE = {"synth-mslr30k": 600, "synth-yahoo": 2500, "synth-istella": 200, "like": 600}
MEASURED = {"synth-mslr30k": 1000, "synth-yahoo": 2500, "synth-istella": 500, "like": 1000}
LIKE_SEED = 7
# Where the publishers' archives have the files of a public set: (folders, one of which has them, the
# files of each task), each as it is or with .gz. Without a part to stop by, every STOP_SHARE-th query
# of the training part is that.
PUBLIC = {
    "mslr-web30k": (("MSLR-WEB30K", "."),
                    [tuple(f"Fold{k}/{part}.txt" for part in ("train", "vali", "test"))
                     for k in range(1, 6)]),
    "yahoo-set1": (("ltrc_yahoo", "."),
                   [("set1.train.txt", "set1.valid.txt", "set1.test.txt")]),
    "istella": (("istella-letor/full", "full"), [("train.txt", None, "test.txt")]),
}
STOP_SHARE = 5


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


def open_text(path):
    return gzip.open(path, "rb") if path.endswith(".gz") else open(path, "rb")


def text_labels(path):
    queries, last = [], None
    with open_text(path) as file:
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


def split_queries(path, train, stop):
    """Writes every STOP_SHARE-th query of LETOR text to `stop`, the others to `train`."""
    queries, last = 0, None
    with open_text(path) as file, open(train, "wb") as kept, open(stop, "wb") as taken:
        for line in file:
            qid = line.split(None, 2)[1]
            queries += qid != last
            last = qid
            (kept if queries % STOP_SHARE else taken).write(line)


def find_public(data, name):
    """({fold: (train, stop or None, measure)} of those that are there, {fold: a file that another lacks})"""
    folders, tasks = PUBLIC[name]
    folders = [os.path.join(data, f) for f in folders]
    folder = next((f for f in folders if any(present(f, file) for t in tasks for file in t)), folders[0])
    found, lacking = {}, {}
    for fold, task in enumerate(tasks, 1):
        absent = [file for file in task if file and not present(folder, file)]
        if absent:
            lacking[fold] = os.path.join(folder, absent[0])
        else:
            found[fold] = tuple(present(folder, file) for file in task)
    return found, lacking


def present(folder, file):
    """Its path, with .gz if that file exists; None if neither exists, or file is None."""
    paths = [os.path.join(folder, file + end) for end in ("", ".gz")] if file else []
    return next((p for p in paths if os.path.isfile(p)), None)


class Sets:
    """Tasks of the sets by name; made ones are made when they are first asked for, in `folder`."""

    def __init__(self, args, folder):
        self.args, self.folder = args, folder # args.folds: those wanted; empty for all
        self.made, self.labels = {}, {}

    def wanted(self, by_fold):
        """Of {fold: what}, the folds that --folds names; all without it."""
        return [what for fold, what in by_fold.items() if fold in (self.args.folds or by_fold)]

    def lacking(self, name):
        """Why a set, or some of its tasks, cannot be had: a line each."""
        if name in REAL and not os.path.isdir(os.path.join(self.args.data, "more" if name in MORE else name)):
            return [f"no folder '{os.path.join(self.args.data, 'more' if name in MORE else name)}'"]
        if name in PUBLIC:
            lacking = self.wanted(find_public(self.args.data, name)[1])
            return [f"no file '{path}'" for path in lacking]
        if name == "like" and not self.args.like:
            return ["no other generator (--like)"]
        return []

    def tasks(self, name):
        """[(train, stop, measure)] of those that are there and wanted."""
        if name not in self.made:
            self.made[name] = self.find(name) if name in PUBLIC or not self.lacking(name) else {}
        return self.wanted(self.made[name])

    def find(self, name):
        """{fold: (train, stop, measure)}"""
        folder = os.path.join(self.args.data, name)
        if name in FIVE_FOLD:
            part = [os.path.join(folder, f"S{1 + i}.txt.gz") for i in range(5)] * 2
            return {1 + k: (part[k : k + 3], part[k + 3 : k + 4], part[k + 4 : k + 5])
                    for k in range(5)}
        if name in MORE:
            return {1 + k: self.split(name, k) for k in range(5)}
        if name in REAL:
            return {1: tuple([os.path.join(folder, f"{p}.txt.gz")] for p in ("train", "vali", "test"))}
        if name in PUBLIC:
            return {fold: tuple([path] for path in self.with_stop(name, task))
                    for fold, task in find_public(self.args.data, name)[0].items()}
        return {1: self.make(name)}

    def split(self, name, number):
        """(train, stop, measure) of one of five splits, written once."""
        parts = {code: os.path.join(self.folder, f"{name}.{number}.{code}.txt") for code in "tve"}
        with open(os.path.join(self.args.data, "more", "splits.tsv")) as file:
            rows = (line.split() for line in file)
            of = {row[1]: row[2][number] for row in rows if row[0] == name}
        files = {code: open(path, "wb") for code, path in parts.items()}
        with open_text(os.path.join(self.args.data, "more", f"{name}.txt.gz")) as file:
            for line in file:
                files[of[line.split(None, 2)[1].decode().removeprefix("qid:")]].write(line)
        for file in files.values():
            file.close()
        return tuple([path] for path in parts.values())

    def with_stop(self, name, task):
        train, stop, measure = task
        if stop is None:
            parts = [os.path.join(self.folder, f"{name}.{p}.txt") for p in ("train", "stop")]
            split_queries(train, *parts)
            train, stop = parts
        return train, stop, measure

    def make(self, name):
        scale, measured = self.args.scale, self.args.measure_scale or self.args.scale
        sizes = [MADE[name] * scale, MADE[name] // 2 * scale, MEASURED[name] * measured]
        sizes = [max(1, int(n)) for n in sizes]
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
