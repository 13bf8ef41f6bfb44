#!/usr/bin/env python3
"""Draws README's picture, docs/speed.svg, from the first two tables of docs/benchmarks/speed.md.

    python3 docs/plot_speed.py
"""
import pathlib
import re

HERE = pathlib.Path(__file__).parent
ROWS = {"Rankwood": "Rankwood", "LightGBM": "LightGBM 4.7.0", "XGBoost": "XGBoost 3.2.0"}
WIDTH, LEFT, BAR, GAP, HEAD = 640, 130, 20, 6, 34


def tables(text):
    """(leaves, {trainer: milliseconds}) of the training tables on two threads, in the page's order."""
    for title, body in re.findall(r"^train: synth, ([^\n]*), 2 threads\n(.*?)\n\n", text, re.M | re.S):
        times = dict(re.findall(r"^  (\w+) +([\d.]+) .*$", body, re.M))
        yield re.search(r"(\d+) leaves", title)[1], {name: float(times[name]) for name in ROWS}


def main():
    parts, y = [], 8
    found = list(tables((HERE / "benchmarks" / "speed.md").read_text()))
    scale = (WIDTH - LEFT - 90) / max(max(times.values()) for _, times in found)
    for leaves, times in found:
        parts.append(f'<text x="8" y="{y + 16}" font-weight="bold">{leaves} leaves, milliseconds per tree '
                     "(shorter is better)</text>")
        y += HEAD - 8
        for name, label in ROWS.items():
            ms = times[name]
            fill = "#1a7f5a" if name == "Rankwood" else "#8c959f"
            parts.append(f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{label}</text>'
                         f'<rect x="{LEFT}" y="{y}" width="{ms * scale:.1f}" height="{BAR}" fill="{fill}"/>'
                         f'<text x="{LEFT + ms * scale + 6:.1f}" y="{y + 15}">{ms:.0f}</text>')
            y += BAR + GAP
        y += 8
    svg = (f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{y}" viewBox="0 0 {WIDTH} {y}" '
           'font-family="sans-serif" font-size="13" fill="#1f2328">\n'
           f'<rect width="{WIDTH}" height="{y}" fill="#ffffff"/>\n' + "\n".join(parts) + "\n</svg>\n")
    (HERE / "speed.svg").write_text(svg)


if __name__ == "__main__":
    main()
