"""QuickRank's XML for formats.py, read and scored by RankEval, a library by QuickRank's authors. Its last release needs
older setuptools and numpy, so it has a separate environment. If that cannot be made, its rows are left out, with the
reason on standard error."""
import os
import subprocess
import sys
import venv

import common

INSIDE = """
import sys
import numpy
from rankeval.model.rt_ensemble import RTEnsemble
from rankeval.scoring._efficient_scoring import basic_scoring, detailed_scoring
model = RTEnsemble(sys.argv[1], format="QuickRank")
x = numpy.load("x.npy")
numpy.save("scores.npy", basic_scoring(model, x))
numpy.save("leaves.npy", detailed_scoring(model, x)[0])
model.save("in.quickrank", "QuickRank")
"""


def make(peers_venv):
    """(interpreter, None), or (None, why not). To be called in the folder that the paths were given in."""
    folder = os.path.abspath(peers_venv) + "-quickrank"
    python = os.path.join(folder, "bin", "python")
    if common.attempt([python, "-c", "import rankeval.scoring._efficient_scoring"])[0] is not None:
        return python, None
    print(f"{common.script()}: making {folder} with RankEval in it", file=sys.stderr)
    try:
        venv.create(folder, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as failure:
        return None, str(failure)
    for packages in (["-r", os.path.join(common.HERE, "quickrank-requirements.txt")],
                     ["--no-build-isolation", "--no-deps", "rankeval==0.8.2"]):
        _, reason = common.attempt([python, "-m", "pip", "install", "-q", *packages])
        if reason:
            return None, reason
    return python, None


def both_ways(c, interpreter, model, docs_path, what, x):
    """Out, and in again as RankEval writes it. x: float32, column 0 of LETOR's feature 1; nothing missing, which
    QuickRank does not know."""
    import numpy as np

    c.run("export", model, "--to", "quickrank", "--verify", docs_path, "-o", "out.quickrank")
    np.save("x.npy", x)
    common.run([interpreter, "-c", INSIDE, "out.quickrank"])
    c.run("import", "in.quickrank", "--from", "quickrank", "-o", "in.model")
    scores, leaves = np.load("scores.npy").astype(float), np.load("leaves.npy")
    c.add(f"quickrank, {what}", "RankEval 0.8.2", model, docs_path, scores, leaves, False)
    c.add(f"from quickrank, {what}", "RankEval 0.8.2", "in.model", docs_path, scores, leaves, False)
