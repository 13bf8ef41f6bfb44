"""report_page.py: tests the page of `rankwood report`. Trains a small model, writes its page, and parses it: elements
are closed in order, ids are unique and every reference has one, the page loads nothing from outside and has no script.
Every figure must be that of eval, explain, show, predict and the training's log.

    python3 tests/peers/report_page.py [--rankwood PROGRAM] [--browser]

--browser    tests the page in headless Chromium, and its drawings, for this model and for hostile ones, in windows of
             390 to 2560 pixels. Names of features are complete, texts do not overlap or leave their drawing, no element
             is wider than its parent, charts fill the width of wide windows, and light and dark modes differ. Exit 77 if
             Chromium is missing.
Prints the first error and exits with 1. Standard library only."""
import argparse
import gzip
import html.parser
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

import common
import report_browser

VOID = {"meta", "br", "hr", "img", "link", "input", "wbr"}
TITLE = "A page & its <figures>"
LONG = "a_name_that_is_much_too_long_for_the_box_of_a_node_" * 2
# Of the features of --shape letor: some without, some of usual length, some that differ only at their ends.
NAMES = {feature: f"covered_query_term_number_{feature:02d}" for feature in range(1, 47) if feature % 5}
NAMES.update({3: "<b>bold</b>&\"quoted\"", 21: "body_bm25_normalized_stream", 29: LONG + "1", 30: "body_bm25_normalized_streams",
              37: LONG + "2"})
HOSTILE = ("</script><script>alert(1)</script>", "\u202eevil_right_to_left", "\u0627\u0633\u0645_\u0627\u0644\u0645\u064a\u0632\u0629<b>",
           "\u540d\u524d" * 30, "W" * 300, "W" * 299 + "V", "i" * 79, "e\u0301" * 40)


def fail(text):
    raise SystemExit(f"report_page.py: {text}")


def same(what, shown, expected):
    if shown != expected:
        fail(f"{what}: the page has {shown!r}, expected {expected!r}")


def figure(value):
    return "-" if value is None else f"{value:.6f}"


class Page(html.parser.HTMLParser):
    """Tables by section (rows of texts), texts of drawings, ids; reports malformed HTML."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.ids, self.named, self.texts = [], [], [], []
        self.tables, self.titles, self.section = {}, {}, None
        self.row = self.cell = None
        self.feed(text)
        self.close()
        if self.open:
            fail(f"not closed: {self.open}")
        same("ids that are there twice", sorted(i for i in set(self.ids) if self.ids.count(i) > 1), [])
        for name in self.named:
            if name not in self.ids:
                fail(f"nothing has the id '{name}'")

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.check_attributes(tag, attrs)
        if tag == "script":
            fail("a script is in the page")
        if tag == "section":
            self.section = attrs["id"]
        elif tag == "table":
            self.tables.setdefault(self.section, []).append([])
        elif tag == "tr":
            self.row = []
        elif tag in ("td", "th"):
            self.cell = ""
        elif tag == "svg" and "svg" not in self.open and attrs.get("aria-hidden") != "true" and attrs.get("role") != "img":
            fail("a drawing without a role")
        if tag not in VOID:
            self.open.append(tag)

    def check_attributes(self, tag, attrs):
        for name, value in attrs.items():
            if name.startswith("on"):
                fail(f"<{tag} {name}>")
            if name in ("src", "srcset", "data", "action", "xlink:href", "poster"):
                fail(f"<{tag} {name}={value!r}>")
            if name == "href":
                if not value.startswith("#"):
                    fail(f"<{tag} href={value!r}>")
                self.named.append(value[1:])
            if name == "id":
                self.ids.append(value)
            if name == "aria-labelledby":
                self.named.extend(value.split())

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open[-1] != tag:
            fail(f"</{tag}> within {self.open}")
        self.open.pop()
        if tag in ("td", "th"):
            self.row.append(self.cell.strip())
            self.cell = None
        elif tag == "tr":
            table = self.tables[self.section][-1]
            if table and len(table[0]) != len(self.row):
                fail(f"a row of {len(self.row)} cells in a table of {len(table[0])}: {self.row}")
            table.append(self.row)

    def handle_data(self, data):
        if self.cell is not None:
            self.cell += data
        if self.open and self.open[-1] in ("text", "span"):
            self.texts.append(data)
        if self.open and self.open[-1] == "title" and "svg" in self.open:
            self.titles.setdefault(self.section, []).append(data)


def check_alone(text):
    """Nothing outside is named. (The file names of this test have no '//'.)"""
    for word in ("http:", "https:", "//", "@import", "url(", "<script", "<iframe", "<link", "<img", "<object", "<embed",
                 "javascript:"):
        if word in text.lower():
            fail(f"'{word}' is in the page: ...{text[max(0, text.lower().index(word) - 60):][:120]!r}")
    if "default-src 'none'" not in text.replace("&#39;", "'"):
        fail("no policy that keeps everything else out")


class Made:
    """A model and data, and the output of the other commands for them."""

    def __init__(self, program, folder):
        self.program, self.folder = program, folder
        self.data, self.model = self.path("valid.txt"), self.path("model.txt")
        for name, seed, queries in (("train.txt", 5, 60), ("valid.txt", 6, 80)):
            self.run("synth", "--shape", "letor", "--queries", str(queries), "--seed", str(seed), "-o",
                     self.path(name))
        with open(self.path("names"), "w", encoding="utf-8") as names:
            names.writelines(f"{feature} {name}\n" for feature, name in NAMES.items())
        self.run("train", self.path("train.txt"), "--valid", self.data, "--train-metric", "on", "--metric",
                 "ndcg@10,map", "--rounds", "60", "--early-stop", "15", "--leaves", "9", "--names",
                 self.path("names"), "--log", self.path("log"), "-o", self.model)

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, *command):
        return common.run([self.program, *command], cwd=self.folder)

    def eval(self, data, *more):
        return json.loads(self.run("eval", data, "--model", self.model, "--json", *more))

    def report(self):
        page = self.path("page.html")
        self.run("report", self.model, "--valid", self.data, "--metric", "ndcg@10,map", "--repeats", "2",
                 "--title", TITLE, "-o", page)
        with open(page, encoding="utf-8") as file:
            return file.read()


def hostile_pages(made):
    """Pages of data and models that ask for much room, or for little: (what, text, names of features)."""
    names = dict(enumerate(HOSTILE, 1))
    data, model, page = made.path("hostile"), made.path("hostile.model"), made.path("hostile.html")
    with open(data, "w", encoding="utf-8") as file:
        for query in range(24):
            for doc in range(12000 + query if query < 2 else 3 + query):
                values = " ".join(f"{f}:{(doc * (2 * f + 3) * 7919 + query * f) % 1009}" for f in names)
                file.write(f"{(doc * 31 + query) % 14 * 0.37:.2f} qid:{'Q' * 60}{query} {values}\n")
    with open(made.path("hostile.names"), "w", encoding="utf-8") as file:
        file.writelines(f"{feature} {name}\n" for feature, name in names.items())
    for what, options, names_option in (
            ("255 leaves, hostile names", ["--leaves", "255", "--min-docs", "1", "--rounds", "3"], True),
            ("2 leaves, no names", ["--leaves", "2", "--rounds", "3"], False),
            ("one round", ["--leaves", "4", "--rounds", "1"], False)):
        more = ["--names", made.path("hostile.names")] if names_option else []
        made.run("train", data, "--valid", data, "--metric", "rmse,ndcg@10", "--early-stop", "0", "--quiet", *options, *more,
                 "-o", model)
        made.run("report", model, "--valid", data, "--metric", "rmse", "--title", "W" * 200, "--quiet", "-o", page)
        with open(page, encoding="utf-8") as file:
            yield what, file.read(), names if names_option else {}


# ---------------------------------------------------------------- figures

def check_metrics(page, made):
    said = made.eval(made.data, "--metric", "ndcg@10,map")
    rows = [[m["metric"], figure(m["mean"]), str(m["queries"])] for m in said["metrics"]]
    same("metrics", [row[:3] for row in page.tables["metrics"][0][1:]], rows)
    mean = "mean " + rows[0][1]
    if mean not in page.texts:
        fail(f"no drawing says '{mean}'")


def check_curves(page, made):
    rounds = {}
    with open(made.path("log"), encoding="utf-8") as log:
        for record in map(json.loads, log):
            if record["record"] == "metrics":
                rounds[record["round"]] = record
    table = page.tables["curves"][0]
    if len(table) < 20:
        fail(f"{len(table)} rounds")
    best = 0
    for row in table[1:]:
        number = int(row[0].split()[0])
        best = number if "best" in row[0] else best
        record = rounds[number]
        for name, shown in zip(table[0][1:], row[1:]):
            same(f"{name} of round {number}", shown, figure(record["values"][name]))
    same("the last round", int(table[-1][0].split()[0]), max(rounds))
    text = f"best: round {best}"
    same("drawings with the best round", page.texts.count(text), 2)


def query_values(made):
    path = made.path("per-query")
    made.run("eval", made.data, "--model", made.model, "--per-query", path)
    with open(path, encoding="utf-8") as file:
        lines = [line.split("\t") for line in file.read().splitlines()[1:]]
    return {name: float(value) for name, value in lines if value != "nan"}


def check_queries(page, made):
    bins, worst, best = page.tables["queries"]
    values = query_values(made)
    same("queries in bins", sum(int(row[2]) for row in bins[1:]), len(values))
    for row in bins[1:]:
        low, high = float(row[0]), float(row[1])
        same(f"queries from {low} to {high}", int(row[2]),
             sum(low <= v < high or v == high == 1.0 for v in values.values()))
    ordered = sorted(values.values())
    for table, expected in ((worst, ordered[:10]), (best, ordered[::-1][:10])):
        same("values of named queries", [row[3] for row in table[1:]], [figure(v) for v in expected])
        for name, docs, relevant, value in table[1:]:
            same(f"the value of query {name}", value, figure(values[name]))
            labels = [line.split()[0] for line in made.lines[name]]
            same(f"documents of query {name}", (int(docs), int(relevant)),
                 (len(labels), sum(float(label) > 0 for label in labels)))


def check_sizes(page, made):
    """A file of the queries of each group: eval must agree with the page."""
    seen = 0
    for row in page.tables["sizes"][0][1:]:
        low, high = (row[0].split("\u2013") * 2)[:2]
        names = [q for q, lines in made.lines.items() if int(low) <= len(lines) <= int(high)]
        with open(made.path("part"), "w", encoding="utf-8") as part:
            part.writelines(line for q in names for line in made.lines[q])
        said = made.eval(made.path("part"))["metrics"][0]
        same(f"queries of {row[0]} documents", row[1:4],
             [str(len(names)), str(said["queries"]), figure(said["mean"])])
        if row[0] not in page.texts or f"{row[0]} documents: mean {row[3]}" not in page.titles["sizes"]:
            fail(f"the drawing has no box of {row[0]} documents")
        seen += len(names)
    same("queries of all sizes", seen, len(made.lines))


def check_labels(page, made):
    scores = [float(x) for x in made.run("predict", made.model, made.data).split()]
    labels = [line.split()[0] for lines in made.lines.values() for line in lines]
    for row in page.tables["scores"][0][1:]:
        of = [s for s, label in zip(scores, labels) if float(label) == float(row[0])]
        same(f"documents of label {row[0]}", int(row[1]), len(of))
        if abs(float(row[2]) - sum(of) / len(of)) > 1e-6:
            fail(f"the mean score of label {row[0]} is {row[2]}, expected {sum(of) / len(of)}")
        median = sorted(of)[(len(of) + 1) // 2 - 1]
        same(f"the median score of label {row[0]}", row[5], f"{median:.4g}")


def check_features(page, made):
    said = json.loads(made.run("explain", made.model, made.data, "--repeats", "2", "--json"))["features"]
    said.sort(key=lambda f: (-f["gain"], f["feature"]))
    total = sum(f["gain"] for f in said)
    rows = [row for table in page.tables["features"] for row in table[1:]]
    same("features", [[r[0], r[1], r[2], r[3], r[5], r[6]] for r in rows],
         [[str(f["feature"]), f["name"], str(f["splits"]), f"{100 * f['gain'] / total:.2f}", figure(f["loss"]),
           figure(f["deviation"])] for f in said])


def check_trees(page, made):
    leaf_ids = [line.split() for line in made.run("predict", made.model, made.data, "--leaf-ids").splitlines()]
    ways = {}
    same("trees", len(page.tables["trees"]), 3)
    for t, table in enumerate(page.tables["trees"]):
        shown = made.run("show", made.model, "--tree", str(t + 1))
        leaves = dict(re.findall(r"leaf (\d+): (\S+)", shown))
        nodes = {node[0]: node[1:] for node in
                 re.findall(r"node (\d+): feature (\d+).*? <= (\S+), missing (\w+), gain (\S+)", shown)}
        for depth, what, test, gain, docs in table[1:]:
            kind, number = what.split()
            if kind == "leaf":
                same(f"{what} of tree {t + 1}", test, leaves[number])
                same(f"documents of {what} of tree {t + 1}", int(docs), sum(row[t] == number for row in leaf_ids))
            elif "not drawn" not in test:
                feature, cut, missing, of_split = nodes[number]
                end = f" \u2264 {cut}, missing to {'yes' if missing == 'left' else 'no'}"
                if not test.startswith(f"feature {feature} ") or not test.endswith(end):
                    fail(f"{what} of tree {t + 1}: '{test}', expected feature {feature} {end}")
                same(f"the gain of {what} of tree {t + 1}", gain, f"{float(of_split):.6g}")
                ways[missing] = ways.get(missing, 0) + 1
            if depth == "0":
                same("documents of the root", int(docs), len(leaf_ids))
    for answer, side in (("yes, missing", "left"), ("no, missing", "right")):
        same(f"branches with '{answer}'", page.texts.count(answer), ways.get(side, 0))


def check_model(page, made):
    rows = {row[0]: row[1] for table in page.tables["model"] for row in table}
    said = json.loads(made.run("info", made.model, "--json"))
    same("trees", rows["trees"], str(said["trees"]))
    same("kept round", rows["kept round"], str(said["best_round"]))
    for name, value in said["params"].items():
        if isinstance(value, bool):
            value = "on" if value else "off"
        elif isinstance(value, float):
            value = f"{value:g}"
        same(f"parameter {name}", rows[name], str(value) + (" (auto)" if name in said["auto"] else ""))
    same("version", "rankwood " + rows["rankwood"], made.run("--version").splitlines()[0])


def check_figures(text, made):
    page = Page(text)
    for check in (check_metrics, check_curves, check_queries, check_sizes, check_labels, check_features, check_trees,
                  check_model):
        check(page, made)
    return page


def read_lines(path):
    """The lines of each query, by its id, in the order of the file."""
    queries = {}
    opener = gzip.open if path.endswith(".gz") else open
    with opener(path, "rt", encoding="utf-8") as file:
        for line in file:
            queries.setdefault(line.split()[1].removeprefix("qid:"), []).append(line)
    return queries


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rankwood", type=common.given.program, default=os.path.join(common.ROOT, "build", "src", "cli", "rankwood"),
                        help="the program [build/src/cli/rankwood]")
    parser.add_argument("--browser", action="store_true", help="ask Chromium, too")
    common.add_records_argument(parser)
    arguments = parser.parse_args()
    program = arguments.rankwood
    folder = tempfile.mkdtemp()
    try:
        browser = report_browser.find(folder) if arguments.browser else None
        if arguments.browser and not browser:
            print("no Chromium that starts")
            sys.exit(77)
        made = Made(program, folder)
        made.lines = read_lines(made.data)
        text = made.report()
        check_alone(text)
        page = check_figures(text, made)
        n_cells = sum(len(row) for tables in page.tables.values() for table in tables for row in table)
        print(f"page: {len(text)} bytes, {n_cells} cells of tables, {len(page.texts)} texts of drawings: as eval, "
              "explain, predict, show and the log have them; nothing outside is asked for")
        if browser:
            dom = report_browser.dom(browser, made.path("page.html"))
            check_figures(dom.replace("<tbody></tbody>", ""), made)
            n_texts = report_browser.check_layout(browser, text, folder, NAMES)
            for what, other, names in hostile_pages(made):
                check_alone(other)
                Page(other)
                try:
                    n_texts += report_browser.check_layout(browser, other, folder, names)
                except SystemExit as wrong:
                    raise SystemExit(f"{wrong} ({what})") from None
            report_browser.check_colours(browser, text, folder)
            print(f"{browser.version}: the same figures in its document; {n_texts} texts drawn, whole, at "
                  f"{len(report_browser.WIDTHS)} widths, none over another; charts fill the width; light and dark")
        common.write_record(arguments.records, {"part": "report", "bytes": len(text), "cells": n_cells,
                                                "browser": browser.version if browser else None})
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
