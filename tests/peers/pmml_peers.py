"""PMML for formats.py: checks Rankwood's exports with the schema of the standard and scores them by JPMML
(jpmml_evaluator, leaf by leaf) and PMML4S (pypmml). Both need Java; without it the rows show the reason."""
import json
import os
import re
import shutil

BLOCK = 10000  # documents handed over at a time


def why_not():
    """None, or why nothing can be scored here."""
    if not shutil.which("java") and not os.environ.get("JAVA_HOME"):
        return "skipped: no java"
    try:
        import jpmml_evaluator  # noqa: F401
        import jpype  # noqa: F401
        import pypmml  # noqa: F401
    except ImportError as missing:
        return f"skipped: {missing}"
    return None


def rows_of(x):
    """Blocks of rows of numbers and words; None is missing."""
    for begin in range(0, len(x), BLOCK):
        yield [[None if v != v else v for v in row] for row in x[begin:begin + BLOCK].tolist()]


def validate(path):
    """Checks with JPMML's copy of the schema; Java raises errors."""
    import jpype

    schema = jpype.JClass("org.dmg.pmml.PMML").class_.getResource("/pmml.xsd")
    factory = jpype.JClass("javax.xml.validation.SchemaFactory").newInstance(
        "http://www.w3.org/2001/XMLSchema")
    source = jpype.JClass("javax.xml.transform.stream.StreamSource")(
        jpype.JClass("java.io.File")(os.path.abspath(path)))
    factory.newSchema(schema).newValidator().validate(source)


def with_leaves(text, n_trees):
    """The same model, which also tells which node of each tree it came to."""
    fields = "".join(f'<OutputField name="leaf{t}" optype="categorical" dataType="string" '
                     f'feature="entityId" segmentId="{t}"/>\n' for t in range(1, n_trees + 1))
    return text.replace("</MiningSchema>\n<Segmentation",
                        f"</MiningSchema>\n<Output>\n{fields}</Output>\n<Segmentation", 1)


def jpmml_version():
    """Of the evaluator that the package brings along."""
    import jpmml_evaluator

    jars = os.listdir(os.path.join(os.path.dirname(jpmml_evaluator.__file__), "dependencies"))
    found = [re.fullmatch(r"pmml-evaluator-([0-9.]+)\.jar", jar) for jar in jars]
    return next((match[1] for match in found if match), jpmml_evaluator.__version__)


def score_jpmml(path, x, columns):
    """scores, leaf ids [n][trees]"""
    import jpmml_evaluator
    import jpmml_evaluator.jpype
    import numpy as np
    import pandas as pd

    backend = jpmml_evaluator.jpype.JPypeBackend()
    validate(path)
    with open(path, encoding="utf-8") as file:
        text = file.read()
    n_trees = text.count("<TreeModel ")
    with open("leaves.pmml", "w", encoding="utf-8") as file:
        file.write(with_leaves(text, n_trees))
    validate("leaves.pmml")
    evaluator = jpmml_evaluator.make_evaluator("leaves.pmml", backend=backend).verify()
    scores, leaves = [], []
    for rows in rows_of(x):
        found = evaluator.evaluateAll(pd.DataFrame(rows, columns=columns, dtype=object))
        scores += found["score"].tolist()
        ids = [[int(re.fullmatch(r"l(\d+)", node)[1]) for node in found[f"leaf{t}"]]
               for t in range(1, n_trees + 1)]
        leaves += zip(*ids)
    return np.array(scores, dtype=float), np.array(leaves)


def score_pmml4s(path, x, columns):
    import pypmml
    import numpy as np

    model = pypmml.Model.load(path)
    scores = []
    for rows in rows_of(x):  # as JSON with every digit: from a frame it would take ten
        frame = json.dumps({"columns": columns, "data": rows})
        scores += [row[0] for row in json.loads(model.predict(frame))["data"]]
    return np.array(scores, dtype=float), pypmml.__version__


def outwards(c, model, docs_path, what, x, columns=None):
    """x: [documents][features] floats or words, NaN where missing; columns: their names, f0, f1, ... unless given."""
    columns = columns or [f"f{i}" for i in range(x.shape[1])]
    reason = why_not()
    if reason:
        c.rows.append((f"pmml, {what}", reason, 0, 0))
        return
    c.run("export", model, "--to", "pmml", "--verify", docs_path, "-o", "out.pmml")
    scores, leaves = score_jpmml("out.pmml", x, columns)
    c.add(f"pmml, {what}", f"JPMML {jpmml_version()}", model, docs_path, scores, leaves, True, 53)
    scores, version = score_pmml4s("out.pmml", x, columns)
    c.add(f"pmml, {what}", f"PMML4S {version}", model, docs_path, scores, None, True, 53)
