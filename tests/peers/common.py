"""Functions that the comparisons with other trainers share: running programs, the peers' environment, and librankwood
through ctypes. Standard library only."""
import ctypes
import json
import math
import os
import statistics
import subprocess
import sys
import venv

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))

import given  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(HERE))
PEERS = ("lightgbm", "xgboost", "catboost")
TOP = 10


def script():
    return os.path.basename(sys.argv[0])


def attempt(command, **more):
    """(standard output, None), or (None, why not: the last line said)."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, **more)
    except (OSError, subprocess.TimeoutExpired) as failure:
        return None, str(failure)
    if done.returncode == 0:
        return done.stdout, None
    said = [line.strip() for line in done.stderr.splitlines()
            if line.strip() and not line.startswith("rankwood: hint")]
    return None, said[-1].removeprefix("rankwood: error: ") if said else f"exit {done.returncode}"


def run(command, **more):
    try:
        done = subprocess.run(command, capture_output=True, text=True, **more)
    except OSError as failure:
        given.end(failure)
    if done.returncode:
        raise SystemExit(f"{script()}: {' '.join(command)}: exit {done.returncode}\n{done.stderr}")
    return done.stdout


def make_venv(folder, requirements="requirements.txt"):
    if not os.path.exists(os.path.join(folder, "bin", "python")):
        print(f"{script()}: making {folder} with the peers in it", file=sys.stderr)
        venv.create(folder, with_pip=True)
    run([os.path.join(folder, "bin", "python"), "-m", "pip", "install", "-q", "-r",
         os.path.join(HERE, requirements)])


def add_program_arguments(parser):
    parser.add_argument("--rankwood", type=given.program, default=os.path.join(ROOT, "build", "src", "cli", "rankwood"),
                        help="the program [build/src/cli/rankwood]")
    parser.add_argument("--library", default=os.path.join(ROOT, "build", "src", "librankwood.so"),
                        help="the shared library [build/src/librankwood.so]")
    parser.add_argument("--venv", default=os.path.join(ROOT, "build-peers"),
                        help="the peers' environment [build-peers]")


def add_records_argument(parser):
    parser.add_argument("--records", metavar="FILE", help="append a JSON record a line to FILE, too")


def write_record(path, record):
    """path None: nowhere."""
    if path:
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + "\n")


def standard_error(values):
    return statistics.stdev(values) / math.sqrt(len(values)) if len(values) > 1 else None


# ---------------------------------------------------------------- the library


class SynthOptions(ctypes.Structure):
    """struct rw_synth_options of rankwood.h."""

    _fields_ = [("shape", ctypes.c_char_p), ("n_queries", ctypes.c_uint32),
                ("seed", ctypes.c_uint64)]


class Hooks(ctypes.Structure):
    """struct rw_train_hooks of rankwood.h."""

    STAGE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_double,
                             ctypes.c_size_t)
    METRIC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p,
                              ctypes.POINTER(ctypes.c_double), ctypes.POINTER(ctypes.c_double))
    ON_ROUND = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)
    _fields_ = [("user", ctypes.c_void_p), ("on_start", ctypes.c_void_p), ("on_round", ON_ROUND),
                ("on_stage", STAGE), ("should_stop", ctypes.c_void_p),
                ("gradients", ctypes.c_void_p), ("metric", METRIC),
                ("metric_name", ctypes.c_char_p), ("metric_lower_is_better", ctypes.c_int),
                ("checkpoints", ctypes.c_void_p), ("on_positions", ctypes.c_void_p),
                ("allow_no_trees", ctypes.c_int)]


class Library:
    """librankwood, as far as the scripts need it. threads 0: all."""

    def __init__(self, path, threads):
        self.lib = ctypes.CDLL(given.file(path))
        for name in ("rw_last_error", "rw_params_get"):
            getattr(self.lib, name).restype = ctypes.c_char_p
        self.lib.rw_dataset_labels.restype = ctypes.POINTER(ctypes.c_float)
        self.lib.rw_dataset_query_offsets.restype = ctypes.POINTER(ctypes.c_uint32)
        self.ctx = ctypes.c_void_p()
        self.lib.rw_ctx_new(ctypes.byref(self.ctx))
        self.lib.rw_ctx_set_threads(self.ctx, threads)

    def call(self, function, *arguments):
        if getattr(self.lib, function)(self.ctx, *arguments) < 0:
            raise SystemExit(f"{script()}: " + self.lib.rw_last_error(self.ctx).decode())

    def read(self, paths):
        data = ctypes.c_void_p()
        names = (ctypes.c_char_p * len(paths))(*(os.fsencode(p) for p in paths))
        self.call("rw_dataset_read", names, len(paths), ctypes.byref(data))
        return data

    def synth(self, shape, n_queries, seed):
        data = ctypes.c_void_p()
        options = SynthOptions(shape.encode(), n_queries, seed)
        self.call("rw_synth", ctypes.byref(options), None, ctypes.byref(data))
        return data

    def feature_ids(self, data):
        return [f for f in range(65536) if self.lib.rw_dataset_has_feature(data, f)]

    def arrays(self, data, ids=None):
        """(values [n_docs, n_features], labels, documents of each query); frees the dataset. ids: the features to
        return, default all; the value is 0 if the dataset lacks a feature. Needs numpy, so for scripts in the peers'
        environment."""
        import numpy

        n_docs = self.lib.rw_dataset_n_docs(data)
        n_queries = self.lib.rw_dataset_n_queries(data)
        ids = self.feature_ids(data) if ids is None else ids
        values = numpy.zeros((n_docs, len(ids)), dtype=numpy.float32)
        column = numpy.empty(n_docs, dtype=numpy.float32)
        for i, feature in enumerate(ids):
            if not self.lib.rw_dataset_has_feature(data, feature):
                continue
            self.lib.rw_dataset_feature(data, feature, ctypes.c_float(0),
                                        column.ctypes.data_as(ctypes.c_void_p))
            values[:, i] = column
        labels = numpy.ctypeslib.as_array(self.lib.rw_dataset_labels(data), (n_docs,)).copy()
        offsets = numpy.ctypeslib.as_array(self.lib.rw_dataset_query_offsets(data),
                                           (n_queries + 1,)).astype(numpy.int64)
        self.lib.rw_dataset_free(data)
        return values, labels, numpy.diff(offsets)

    def write(self, values, labels, sizes, path):
        """A cache of a dataset in numpy arrays, features from 1."""
        import numpy

        offsets = numpy.concatenate([[0], numpy.cumsum(sizes)]).astype(numpy.uint32)
        values = numpy.ascontiguousarray(values, dtype=numpy.float32)
        labels = numpy.ascontiguousarray(labels, dtype=numpy.float32)
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (values, labels, offsets)]
        data, params = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("rw_dataset_from_memory", *pointers, len(labels), values.shape[1], len(sizes), 1,
                  ctypes.byref(data))
        self.call("rw_params_new", ctypes.byref(params))
        self.call("rw_dataset_write_cache", data, params, os.fsencode(path))
        self.lib.rw_params_free(params)
        self.lib.rw_dataset_free(data)
