#!/usr/bin/env python3
"""Makes lab/docs/histograms.md and its pictures from what `rankwood-lab SUITE --json` wrote.

    python3 -m venv venv && venv/bin/pip install -r lab/docs/requirements.txt
    rankwood-lab weighted --json > figures/weighted.json      (and so on)
    venv/bin/python lab/docs/plot_histograms.py figures/*.json

The prose stands in lab/docs/histograms.md.in. In it, HTML comments say what comes from the figures:

    <!-- device -->                   on what was measured
    <!-- suite NAME --> ... <!-- end -->   a part that needs a suite's JSON
    <!-- bars suite=S -->             which figures had to be reached
    <!-- pivot suite=S table=T rows=FIELD columns=FIELD+FIELD value=FIELD
         [where="FIELD=A|B FIELD=C"] [bold=max|min] [beside="TITLE: ROW=FIGURE ROW=FIGURE"]...
         [plot=NAME xlabel=TEXT ylabel=TEXT [xlog=1] [ylog=1]] -->
    <!-- features suite=S sums=SUMS plot=NAME -->    each feature by itself (Figure 10 of Xu et al.)
    <!-- map suite=S plot=NAME -->    which method is best, by values and bins
    <!-- tables suite=S [without="TABLE,TABLE"] [only="TABLE,TABLE"] -->  a suite's tables as they are
    <!-- count suite=S table=T text="{n} rows" -->    how many rows a table has; nothing without it

Where figures may be older than a table of theirs, absent="TEXT" in a directive says what stands there instead;
lead="TEXT" stands before what it makes, and is left out with it.

Figures of --quick runs are refused, and so is a template whose figures are missing: a table is whole
or it is not made. --partial leaves out the suites that were not given, --quick takes quick runs; both
are for trying.
"""

import argparse
import json
import math
import re
import shlex
import statistics
import sys
from pathlib import Path

DIRECTIVE = re.compile(r"<!-- (\w+)((?:[^-]|-(?!->))*?)\s*-->")
SPREAD_FIELDS = ("least_ms", "most_ms", "bytes")
# Values that are times, or rates made of one.
TIMED = ("median_ms", "gb_s", "code_gb_s", "gdoc_s", "g_updates_s", "read_share", "speedup")


class Wrong(Exception):
    """The template asks for what the figures do not have."""


# ---- figures ----------------------------------------------------------------------------------


def read_suites(paths, quick):
    suites = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
        name = document["suite"]
        if name in suites:
            raise Wrong(f"{path}: suite '{name}' was given twice")
        if document["quick"] and not quick:
            raise Wrong(f"{path}: figures of a --quick run")
        suites[name] = document
    return suites


def text_of(value):
    """A field as `where` and `beside` name it."""
    if value is None:
        return "-"
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def number_text(value):
    """Three figures that mean something, and all digits before the point."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, int):
        return str(value)
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:.{digits}f}"


def conditions(where):
    return [(field, alternatives.split("|"))
            for field, alternatives in (item.split("=", 1) for item in shlex.split(where))]


def select(suites, options):
    """Rows of a table that meet `where`."""
    suite, table = options["suite"], options["table"]
    if suite not in suites:
        raise Wrong(f"no figures of suite '{suite}'")
    rows = [row for row in suites[suite]["rows"] if row["table"] == table]
    for field, alternatives in conditions(options.get("where", "")):
        if rows and field not in rows[0]:
            raise Wrong(f"{suite}/{table} has no field '{field}'")
        rows = [row for row in rows if text_of(row[field]) in alternatives]
    if not rows:
        raise Wrong(f"{suite}/{table}: no rows where {options.get('where', 'all')}")
    return rows


def label_of(row, fields):
    """Names of one cell's column, or row: "collision zero-skip"."""
    words = []
    for field in fields.split("+"):
        value = row[field]
        if field == "zero_skip":
            value = "zero-skip" if value == 1 else ""
        if value not in ("", None):
            words.append(text_of(value))
    return " ".join(words) or "-"


# ---- tables -----------------------------------------------------------------------------------


def markdown(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(row) + " |" for row in rows]
    return "\n".join(lines)


def spread_text(rows):
    spreads = [(row["most_ms"] - row["least_ms"]) / row["median_ms"] for row in rows
               if row.get("median_ms") and row.get("most_ms") is not None]
    if not spreads:
        return ""
    return (f"\n\nSpread of the runs (most less least, over the median): {100 * statistics.median(spreads):.1f} % "
            f"in the middle, {100 * max(spreads):.1f} % at most.")


def pivot_cells(rows, options):
    """{row label: {column label: value}}, both in the order of the figures."""
    cells, columns = {}, {}
    for row in rows:
        line = cells.setdefault(label_of(row, options["rows"]), {})
        column = label_of(row, options["columns"])
        columns.setdefault(column, None)
        if column in line:
            raise Wrong(f"{options['suite']}/{options['table']}: two figures for {column} of "
                        f"{label_of(row, options['rows'])}: 'where' must say which")
        line[column] = row[options["value"]]
    return cells, list(columns)


def besides(options):
    """[(title, {row label: figure})] of the document's own figures."""
    result = []
    for text in options.get("beside", []):
        title, _, figures = text.partition(": ")
        result.append((title, dict(item.split("=", 1) for item in shlex.split(figures))))
    return result


def decreasing(labels):
    """Do the figures' own rows fall (256 distinct values down to 1)?"""
    return len(labels) > 1 and float(labels[0]) > float(labels[1])


def emphasised(line, columns, bold):
    present = [line[column] for column in columns if line.get(column) is not None]
    best = {"max": max, "min": min}[bold](present) if bold and present else None
    texts = []
    for column in columns:
        text = number_text(line.get(column))
        texts.append(f"**{text}**" if best is not None and line.get(column) == best else text)
    return texts


def pivot(suites, options, pictures):
    rows = select(suites, options)
    cells, columns = pivot_cells(rows, options)
    beside = besides(options)
    for _, figures in beside:  # what the document has and we have not is a row, too
        for label in figures:
            cells.setdefault(label, {})
    if all(re.fullmatch(r"[0-9.]+", label) for label in cells) and beside:
        cells = dict(sorted(cells.items(), key=lambda item: float(item[0]),
                            reverse=decreasing(list(cells))))
    lines = [[label] + emphasised(line, columns, options.get("bold")) +
             [figures.get(label, "") for _, figures in beside] for label, line in cells.items()]
    head = [options.get("title", options["rows"])] + columns + [title for title, _ in beside]
    picture = pictures.lines(options, cells, columns) if "plot" in options else ""
    spread = spread_text(rows) if options["value"] in TIMED else ""
    return markdown(head, lines) + spread + picture


def bars(suites, options, _):
    rows = select(suites, {**options, "table": "bars"})
    return markdown(["what", "must", "aim", "figure", "met"],
                    [[row["what"], number_text(row["must"]), number_text(row["aim"]) or "-",
                      number_text(row["figure"]), row["met"]] for row in rows])


def device(suites, _options, _pictures):
    lines = [[name, document["device"], f"{document['read_gb_s']:.0f}",
              f"{document['read_least_gb_s']:.0f} to {document['read_most_gb_s']:.0f}",
              str(document["runs"]), str(document["seed"])] for name, document in suites.items()]
    return markdown(["suite", "device", "reads GB/s", "least to most", "runs a figure", "seed"], lines)


def tables(suites, options, _):
    suite = options["suite"]
    if suite not in suites:
        raise Wrong(f"no figures of suite '{suite}'")
    names = dict.fromkeys(row["table"] for row in suites[suite]["rows"])
    left_out = options.get("without", "").split(",") + ["bars"]
    only = options["only"].split(",") if "only" in options else names
    parts = []
    for name in names:
        rows = select(suites, {"suite": suite, "table": name})
        fields = [field for field in rows[0] if field != "table" and field not in SPREAD_FIELDS]
        if name in only and name not in left_out:
            parts.append(f"`{name}`:\n\n" + markdown(fields, [[number_text(row[field]) for field in fields]
                                                              for row in rows]) + spread_text(rows))
    return "\n\n".join(parts)


def count(suites, options, _):
    n = sum(row["table"] == options["table"] for row in suites[options["suite"]]["rows"])
    return options["text"].format(n=n) if n else ""


# ---- special ones -----------------------------------------------------------------------------


def features(suites, options, pictures):
    """Two methods, feature by feature, and how often which of them wins."""
    rows = select(suites, {**options, "table": "feature", "where": f"sums={options['sums']}"})
    cells, columns = pivot_cells(rows, {**options, "table": "feature", "rows": "place",
                                        "columns": "method+zero_skip", "value": "code_gb_s"})
    def wins(numerator, denominator, factor):
        pairs = [(line[numerator], line[denominator]) for line in cells.values()
                 if numerator in line and denominator in line]
        return f"{100 * sum(a >= factor * b for a, b in pairs) / len(pairs):.0f} %" if pairs else "-"
    lines = []
    for skip in ("", " zero-skip"):
        a, b = "collision-reduced" + skip, "collision" + skip
        lines.append([f"`{a}` against `{b}`", wins(a, b, 1), wins(a, b, 2), wins(a, b, 10)])
    lines.append(["the document's, without zero-skip", "80 %", "", "\"above 50 %\", about one order of magnitude"])
    picture = pictures.lines({**options, "xlabel": "feature, by the time of `collision`",
                              "ylabel": "GB/s of codes", "ylog": "1"}, cells, columns)
    return markdown(["share of the features", "faster", "twice as fast", "ten times as fast"], lines) + \
        spread_text(rows) + picture


def best_map(suites, options, pictures):
    rows = select(suites, {**options, "table": "map"})
    cells, columns = pivot_cells(rows, {**options, "table": "map", "rows": "values", "columns": "bins",
                                        "value": "best"})
    lines = [[label] + [line.get(column, "") for column in columns] for label, line in cells.items()]
    return markdown(["values \\ bins"] + columns, lines) + pictures.grid(options, cells, columns)


# ---- pictures ---------------------------------------------------------------------------------


class Pictures:
    """SVG files beside the text: small, and the same bytes from the same figures."""

    def __init__(self, folder):
        import matplotlib
        matplotlib.use("svg")
        matplotlib.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "rankwood", "font.size": 9,
                                    "axes.grid": True, "grid.alpha": 0.3, "axes.spines.top": False,
                                    "axes.spines.right": False})
        from matplotlib import pyplot
        self.pyplot = pyplot
        self.folder = folder

    def save(self, figure, name, alt):
        path = self.folder / f"{name}.svg"
        figure.tight_layout()
        figure.savefig(path, metadata={"Date": None, "Creator": None})
        self.pyplot.close(figure)
        return f"\n\n![{alt}]({path.name})"

    def lines(self, options, cells, columns):
        figure, axes = self.pyplot.subplots(figsize=(7, 3.6))
        labels = list(cells)
        numeric = all(re.fullmatch(r"[0-9.]+", label) for label in labels)
        places = [float(label) for label in labels] if numeric else list(range(len(labels)))
        marker = "o" if len(labels) < 40 else ""
        for column in columns:
            points = [(place, line[column]) for place, line in zip(places, cells.values())
                      if line.get(column) is not None]
            if points:
                axes.plot(*zip(*points), marker=marker, markersize=3, linewidth=1.2, label=column)
        if numeric and options.get("xlog"):
            axes.set_xscale("symlog" if min(places) <= 0 else "log", base=2)
            axes.set_xticks(places, labels if len(labels) <= 14 else None)
            axes.minorticks_off()
        elif not numeric:
            axes.set_xticks(places, labels, rotation=20, ha="right")
        if options.get("ylog"):
            axes.set_yscale("log")
        else:
            axes.set_ylim(bottom=0)
        axes.set_xlabel(options.get("xlabel", options.get("rows", "")))
        axes.set_ylabel(options.get("ylabel", options.get("value", "")))
        axes.legend(fontsize=7, frameon=False, ncols=2, title_fontsize=7,
                    title=options.get("columns", "").replace("+", ", ") or None)
        return self.save(figure, options["plot"], options.get("ylabel", options["plot"]))

    def grid(self, options, cells, columns):
        names = list(dict.fromkeys(value for line in cells.values() for value in line.values()))
        colours = self.pyplot.get_cmap("Pastel1").colors
        figure, axes = self.pyplot.subplots(figsize=(7, 4))
        image = [[colours[names.index(line[column]) % len(colours)] if column in line else (1, 1, 1)
                  for column in columns] for line in cells.values()]
        axes.imshow(image, aspect="auto", origin="lower")
        for y, line in enumerate(cells.values()):
            for x, column in enumerate(columns):
                axes.text(x, y, line.get(column, ""), ha="center", va="center", fontsize=6)
        axes.set_xticks(range(len(columns)), columns)
        axes.set_yticks(range(len(cells)), [f"2^{math.log2(int(label)):.0f}" for label in cells])
        axes.grid(False)
        axes.set_xlabel("bins")
        axes.set_ylabel("values")
        return self.save(figure, options["plot"], "the fastest method by values and bins")


# ---- the text ---------------------------------------------------------------------------------

PARTS = {"device": device, "bars": bars, "pivot": pivot, "features": features, "map": best_map,
         "tables": tables, "count": count}


def parse_options(text):
    options = {}
    for word in shlex.split(text):
        key, _, value = word.partition("=")
        if key == "beside":
            options.setdefault(key, []).append(value)
        else:
            options[key] = value
    return options


def choose_parts(template, suites, partial):
    """Leaves out, if `partial`, what stands between the marks of suites that are not there."""
    def one(match):
        name, body = match.group(1), match.group(2)
        if name in suites:
            return body
        if partial:
            return ""
        raise Wrong(f"no figures of suite '{name}': give its JSON, or --partial")
    return re.sub(r"<!-- suite (\w+) -->\n(.*?)<!-- end -->\n", one, template, flags=re.S)


def is_absent(suites, options):
    """Are these figures older than the table?"""
    tables_asked = options.get("only", options.get("table", "")).split(",")
    suite = suites.get(options.get("suite"), {"rows": []})
    return not any(row["table"] in tables_asked for row in suite["rows"])


def fill(template, suites, pictures, partial):
    def one(match):
        name, options = match.group(1), match.group(2)
        if name not in PARTS:
            raise Wrong(f"unknown directive '{name}'")
        parsed = parse_options(options)
        if "absent" in parsed and is_absent(suites, parsed):
            return parsed["absent"]
        try:
            made = PARTS[name](suites, parsed, pictures)
        except KeyError as missing:
            raise Wrong(f"<!-- {name}{options} -->: no {missing}") from missing
        return f"{parsed['lead']}\n\n{made}" if "lead" in parsed else made
    text = DIRECTIVE.sub(one, choose_parts(template, suites, partial))
    return re.sub(r"\n{3,}", "\n\n", text)  # where something is absent


def main():
    here = Path(__file__).resolve().parent
    parser = argparse.ArgumentParser(description="makes lab/docs/histograms.md from the benches' JSON")
    parser.add_argument("json", nargs="+", help="what 'rankwood-lab SUITE --json' wrote, a file a suite")
    parser.add_argument("--template", type=Path, default=here / "histograms.md.in")
    parser.add_argument("--output", type=Path, default=here / "histograms.md", help="pictures go beside it")
    parser.add_argument("--partial", action="store_true", help="leave out suites that are not given")
    parser.add_argument("--quick", action="store_true", help="take figures of --quick runs, for trying")
    arguments = parser.parse_args()
    try:
        suites = read_suites(arguments.json, arguments.quick)
        template = arguments.template.read_text(encoding="utf-8")
        text = fill(template, suites, Pictures(arguments.output.parent), arguments.partial)
    except (Wrong, OSError, ValueError) as error:
        sys.exit(f"plot_histograms.py: {error}")
    arguments.output.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
