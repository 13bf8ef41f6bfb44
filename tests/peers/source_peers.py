"""Source code for formats.py: compiles Rankwood's exports as C, Java, Go and Python, and compares scores by ==. A
language without its compiler has no rows."""
import ctypes
import os
import subprocess
import sys
import tempfile

import languages
import numpy as np


class Compiled:
    """A model in C. Each has a file of its own, or the loader would take the next one for it."""

    def __init__(self, path):
        with tempfile.NamedTemporaryFile(dir=".", suffix=".so", delete=False) as file:
            subprocess.run([os.environ.get("CC", "cc"), "-O1", "-shared", "-fPIC", "-o", file.name, path], check=True)
        self.library = ctypes.CDLL(os.path.abspath(file.name))
        self.library.score.restype = ctypes.c_double
        self.library.score.argtypes = [ctypes.POINTER(ctypes.c_float)]

    def category(self, feature, word):
        self.library.category.restype = ctypes.c_float
        self.library.category.argtypes = [ctypes.c_uint, ctypes.c_char_p]
        return self.library.category(feature, word.encode())

    def scores(self, x):
        x = np.ascontiguousarray(x, dtype=np.float32)
        rows = x.ctypes.data_as(ctypes.POINTER(ctypes.c_float))
        return np.array([self.library.score(ctypes.cast(ctypes.addressof(rows.contents) + i * x.strides[0],
                                                        ctypes.POINTER(ctypes.c_float))) for i in range(len(x))])


def add(c, language, by, model, docs_path, what, scores_of):
    with tempfile.TemporaryDirectory() as folder:
        path = languages.file_of(language, folder)
        c.run("export", model, "--to", language, "--feature-base", "0", "--verify", docs_path, "-o", path)
        scores = scores_of(folder, path)
    c.add(f"{language}, {what}", by, model, docs_path, np.array(scores), None, True, float("inf"))


def outwards(c, model, docs_path, what, x):
    """x: [documents][columns]"""
    add(c, "c", "a C compiler", model, docs_path, what, lambda _, path: Compiled(path).scores(x))
    for language in languages.LANGUAGES:
        tool = languages.missing_tool(language)
        if tool:
            print(f"formats.py: not compared with {language}: no {tool}", file=sys.stderr)
            continue
        add(c, language, languages.version(language), model, docs_path, what,
            lambda folder, _: languages.scores(languages.compiled(language, folder), folder, x.tolist()))
