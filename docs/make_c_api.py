"""Prints docs/reference/c-api.md from the comments and declarations of the public headers.

python docs/make_c_api.py > docs/reference/c-api.md
"""

from __future__ import annotations

import re
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src"
HEAD = """# C API

Every public function, struct and constant of the C library, from its headers. New to the library? Start with \
[how to use it](../how-to/c-library.md).

`rankwood_score.h` reads models and scores rows in memory, in the small library `librankwood-score`. `rankwood.h` \
includes it and has everything else. `python docs/make_c_api.py > docs/reference/c-api.md` makes this page.
"""
NAME = re.compile(r"(?:struct |enum )?\b(?:rw|RW)_\w+(?:\(\))?")
DECLARED = re.compile(
    r"^(?:[^(]*?[ *])?(rw_\w+)\(|^(?:struct|enum) (rw_\w+)(?: \{|;)|^#define (RW_\w+)"
    r"|^typedef .*?\(\*(rw_\w+)\)|^enum \{ (RW_\w+)"
)
GUARDS = re.compile(r"#if(n?def)? .*\n(#define RANKWOOD\w*\n)?|#(include|else|endif).*\n|extern \"C\" \{\n|^\}\n", re.M)
HEADERS = ("rankwood_score.h", "rankwood.h")


def _prose(text: str) -> str:
    """Returns the sentences of a comment as Markdown: names as code, lists and examples as they are."""
    out: list[str] = []
    for paragraph in re.split(r"\n[ ]*\n", text.strip("\n")):
        lines = paragraph.split("\n")
        if all(line.startswith("    ") or not line for line in lines):
            out.append("```c\n" + "\n".join(line[4:] for line in lines) + "\n```")
        elif lines[0].startswith("  "):  # a table: a word, two blanks and its meaning
            out.append("\n".join(_rows(lines)))
        else:
            out.append(_sentences("\n".join(lines)))
    return "\n\n".join(out)


def _rows(lines: list[str]) -> list[str]:
    rows: list[str] = []
    for line in lines:
        if found := re.match(r"  (\S+(?: \S+)*)  +(\S.*)", line):
            rows.append(f"- `{found[1]}`: {found[2]}")
        else:
            rows[-1] += " " + line.strip()
    return [_sentences(row) for row in rows]


def _sentences(text: str) -> str:
    text = re.sub(r"\n(?!- ) *", " ", text)
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        marked = NAME.sub(lambda found: f"`{found[0]}`", parts[i])
        cells = re.split(r"(`[^`]*`)", marked)
        cells[::2] = [re.sub(r"([*_<\[])", r"\\\1", cell) for cell in cells[::2]]
        parts[i] = "".join(cells)
    return "".join(parts)


def _comment(text: str) -> str:
    """Returns the text between the marks of a block comment."""
    lines = text[2:-2].rstrip().split("\n")
    return "\n".join([lines[0].lstrip()] + [re.sub(r"^ \* ?", "", line) for line in lines[1:]]).strip("\n")


def _names(code: str) -> list[str]:
    depth, names = 0, list[str]()
    for line in code.split("\n"):
        if depth == 0 and (found := DECLARED.search(line)):
            names.append(next(name for name in found.groups() if name))
        depth += line.count("{") - line.count("}")
    return list(dict.fromkeys(names))


def _section(text: str) -> str:
    """Returns the entries of a section: each a comment and the declarations that follow it."""
    out: list[str] = []
    lines, prose, code = text.split("\n"), "", list[str]()

    def flush() -> None:
        shown = "\n".join(code).strip("\n")
        if not shown:
            return
        if names := _names(shown):
            out.append("### " + ", ".join(f"`{name}`" for name in names))
        out.append(f"```c\n{shown}\n```" + (f"\n{_prose(prose)}" if prose else ""))

    at = depth = 0
    while at < len(lines):
        if depth == 0 and lines[at].startswith("/*"):
            flush()
            code, begin = [], at
            while "*/" not in lines[at]:
                at += 1
            prose = _comment("\n".join(lines[begin : at + 1]))
        elif depth == 0 and not lines[at]:
            flush()
            prose, code = "", []
        else:
            code.append(lines[at])
            depth += lines[at].count("{") - lines[at].count("}")
        at += 1
    flush()
    return "\n\n".join(out)


def _header(name: str) -> str:
    text = (SOURCE / name).read_text("utf-8")
    head, _, rest = text.partition("*/")
    out = [f"# {name}", _prose(_comment(head + "*/"))]
    body = GUARDS.sub("", rest)
    body = re.sub(r"#define RW_API.*\n", "", body).replace("RW_API ", "")
    sections = re.split(r"^/\* ---- (.*?) ----(?: \*/\n|\n((?: \*.*\n)*?.*)\*/\n)", body, flags=re.M)
    out.append(_section(sections[0]))
    for title, about, entries in zip(sections[1::3], sections[2::3], sections[3::3], strict=True):
        out.append(f"## {title[0].upper()}{title[1:]}")
        if about:
            out.append(_prose(_comment("/*\n" + about + "*/")))
        out.append(_section(entries))
    return "\n\n".join(part for part in out if part)


def page() -> str:
    """Returns the page."""
    return "\n\n".join([HEAD.strip()] + ["#" + _header(name) for name in HEADERS]) + "\n"


if __name__ == "__main__":
    print(page(), end="")
