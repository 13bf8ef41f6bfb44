#!/usr/bin/env python3
"""The structures that common.py hands to the library through ctypes have the members of rankwood.h,
in order: python3 library_check.py. Exit 1 if not."""
import os
import re
import sys

import common


def members(header, name):
    body = re.search(r"\nstruct " + name + r" \{\n(.*?)\n\};", header, re.S).group(1)
    code = re.sub(r"/\*.*?\*/", "", body, flags=re.S)
    return [re.search(r"\(\*(\w+)\)|(\w+)$", line.strip()).group(1, 2) for line in code.split(";")
            if line.strip()]


with open(os.path.join(common.ROOT, "src", "rankwood.h")) as file:
    HEADER = file.read()
WRONG = 0
for name, ours in (("rw_train_hooks", common.Hooks), ("rw_synth_options", common.SynthOptions)):
    theirs = [callback or field for callback, field in members(HEADER, name)]
    here = [field[0] for field in ours._fields_]
    if here != theirs:
        print(f"struct {name}: {', '.join(theirs)}; in common.py: {', '.join(here)}")
        WRONG = 1
sys.exit(WRONG)
