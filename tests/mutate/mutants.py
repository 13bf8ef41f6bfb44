"""Mutants of C sources: plausible mistakes in a line.

Sources are split into tokens. Only the bodies of functions change; comments, texts, preprocessor lines, assertions and
messages do not."""

from __future__ import annotations

import hashlib
import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

TOKEN = re.compile(
    r"""(?P<skip>/\*.*?\*/|//[^\n]*|^[ \t]*\#(?:[^\n\\]|\\.)*)
      |(?P<text>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')
      |(?P<number>\.?\d(?:[eEpP][-+]|[\w.])*)
      |(?P<word>[A-Za-z_]\w*)
      |(?P<operator><<=|>>=|->|\+\+|--|<<|>>|&&|\|\||[-+*/%&|^<>=!]=|[^\s\w])""",
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
# Replacements of an operator or a word. Unary + - * & are not replaced.
INSTEAD = {
    "<": ("<=", ">="), "<=": ("<", ">"), ">": (">=", "<="), ">=": (">", "<"), "==": ("!=",), "!=": ("==",),
    "&&": ("||",), "||": ("&&",), "!": ("",),
    "+": ("-",), "-": ("+",), "*": ("/",), "/": ("*",), "%": ("/",),
    "<<": (">>",), ">>": ("<<",), "&": ("|",), "|": ("&",), "^": ("|",),
    "+=": ("-=",), "-=": ("+=",), "*=": ("/=",), "/=": ("*=",), "|=": ("&=",), "&=": ("|=",), "^=": ("|=",),
    "<<=": (">>=",), ">>=": ("<<=",), "++": ("--",), "--": ("++",),
    "true": ("false",), "false": ("true",), "break": ("continue",), "continue": ("break",),
}  # fmt: skip
BINARY = {"+", "-", "*", "&"}
# Calls whose arguments are read by people only, or have no effect.
SILENT = re.compile(r"assert|static_assert|_Static_assert|\w*fail\w*|\w*refuse\w*|\w*printf|\w*progress\w*|rw_log\w*")
KEYWORDS = {"return", "case", "else", "do", "sizeof", "goto", "if", "while", "for", "switch"}
DECLARED = re.compile(r"(const|static|struct|enum|unsigned)\b|\w+ \**\w+(\[.*\])?( =|;|,)")
# First words of statements that cannot be removed.
NOT_DROPPED = KEYWORDS | {"default", "typedef", "static", "const", "struct", "enum"}


@dataclass(frozen=True)
class Token:
    kind: str
    text: str
    at: int


@dataclass(frozen=True)
class Mutant:
    path: str  # of the source, in the tree
    function: str
    before: str  # the line, without and with the mutation
    after: str
    line: int  # from 1
    indent: str

    def key(self) -> str:
        """Identifies the mutant as long as its line does not change."""
        return "\n".join((self.path, self.function, self.before, self.after))

    def rank(self, seed: int) -> bytes:
        """Decides which mutants a seed takes: the same ones, whatever else is in the tree."""
        return hashlib.sha256(f"{seed}\n{self.key()}".encode()).digest()


def tokens_of(source: str) -> list[Token]:
    return [Token(m.lastgroup, m[0], m.start()) for m in TOKEN.finditer(source) if m.lastgroup not in (None, "skip")]


def closing(tokens: list[Token], at: int) -> int:
    """Of the bracket at `at`: where its other one is."""
    depth = 0
    for i in range(at, len(tokens)):
        depth += (tokens[i].text in "([{") - (tokens[i].text in ")]}")
        if depth == 0:
            return i
    return len(tokens) - 1


def opening(tokens: list[Token], at: int) -> int:
    depth = 0
    for i in range(at, -1, -1):
        depth += (tokens[i].text == ")") - (tokens[i].text == "(")
        if depth == 0:
            return i
    return 0


@dataclass(frozen=True)
class Body:
    name: str  # of the function
    begin: int  # its first token
    end: int  # the token after the last
    early: str  # statement that returns early; "": not possible


def bodies(tokens: list[Token]) -> Iterator[Body]:
    i, start = 0, 0
    while i < len(tokens):
        text = tokens[i].text
        if text == "{" and i > 0 and tokens[i - 1].kind == "text":  # extern "C"
            start = i + 1
        elif text in "([{":
            end = closing(tokens, i)
            if text == "{" and tokens[i - 1].text == ")":
                head = [t.text for t in tokens[start : opening(tokens, i - 1)]]
                yield Body(head[-1], i + 1, end, early_return(head, {t.text for t in tokens[i:end]}))
                start = end + 1
            i = end
        elif text in ";}":
            start = i + 1
        i += 1


def early_return(head: list[str], words: set[str]) -> str:
    if "*" in head:
        return ""
    if "void" in head:
        return "return;"
    return "return RW_OK;" if "int" in head and words & {"RW_OK", "RW_TRY", "RW_TRY_OUT"} else ""


class Source:
    def __init__(self, root: Path, path: str) -> None:
        self.path = path
        self.text = (root / path).read_text()
        self.lines = self.text.split("\n")
        self.starts = [0, *accumulate(len(line) + 1 for line in self.lines)]
        self.tokens = tokens_of(self.text)

    def line_of(self, at: int) -> int:
        return bisect_right(self.starts, at) - 1

    def put(self, begin: int, end: int, new: str) -> Mutant:
        """The mutant that has `new` in place of the text between two places of one line."""
        line = self.line_of(begin)
        before = self.lines[line]
        start = self.starts[line]
        after = before[: begin - start] + new + before[end - start :]
        indent = before[: len(before) - len(before.lstrip())]
        return Mutant(self.path, self.body.name, before.strip(), after.strip(), line + 1, indent)

    def mutants(self) -> Iterator[Mutant]:
        for body in bodies(self.tokens):
            self.body = body
            i = body.begin
            while i < body.end:
                t = self.tokens[i]
                if t.kind == "word" and SILENT.fullmatch(t.text) and self.tokens[i + 1].text == "(":
                    i = closing(self.tokens, i + 1)
                else:
                    yield from self.of_token(i)
                    yield from self.of_statement(i)
                i += 1

    def of_token(self, i: int) -> Iterator[Mutant]:
        t, before, after = self.tokens[i], self.tokens[i - 1], self.tokens[i + 1]
        if t.kind == "number":
            yield from (self.put(t.at, t.at + len(t.text), new) for new in other_numbers(t.text))
        elif t.kind == "word" and after.text == "(":
            if t.text in ("if", "while"):
                end = self.tokens[closing(self.tokens, i + 1)].at
                if self.line_of(end) == self.line_of(t.at):
                    yield self.put(after.at, end + 1, f"(!{self.text[after.at : end + 1]})")
            for one, other in (("min", "max"), ("max", "min")):
                if one in t.text:
                    yield self.put(t.at, t.at + len(t.text), t.text.replace(one, other))
        operand = (before.kind in ("number", "word") and before.text not in KEYWORDS) or before.text in (")", "]")
        if t.kind != "text" and (t.text not in BINARY or operand):
            yield from (self.put(t.at, t.at + len(t.text), new) for new in INSTEAD.get(t.text, ()))

    def of_statement(self, i: int) -> Iterator[Mutant]:
        """A statement of one line is left out; the function returns before a statement of its outermost block."""
        t = self.tokens[i]
        line = self.line_of(t.at)
        if self.lines[line][: t.at - self.starts[line]].strip() or self.tokens[i - 1].text in (",", "("):
            return
        whole = self.lines[line].strip()
        begins = t.kind == "word" and self.tokens[i - 1].text in (";", "{", "}", ")", "else", ":")
        if begins and t.text not in NOT_DROPPED and whole.endswith(";") and balanced(whole):
            yield self.put(t.at, t.at + len(whole), ";")
        if self.body.early and self.tokens[i - 1].text in (";", "{", "}") and not DECLARED.match(whole):
            outer = sum((u.text == "{") - (u.text == "}") for u in self.tokens[self.body.begin : i]) == 0
            if outer and t.text not in ("{", "}", "return") and not whole.endswith(":"):
                yield self.put(t.at, t.at + len(whole), f"{self.body.early} {whole}")


def balanced(text: str) -> bool:
    return all(text.count(a) == text.count(b) for a, b in ("()", "[]", "{}"))


def other_numbers(text: str) -> Iterator[str]:
    if re.fullmatch(r"\d+", text) and (text == "0" or text[0] != "0"):
        yield str(int(text) + 1)
        if int(text) > 0:
            yield str(int(text) - 1)
    else:
        yield f"({text} + 1)"


def mutants_of(root: Path, paths: list[str], seed: int, places: list[str]) -> list[Mutant]:
    """In the order in which a seed takes them: one of each line; or, where there are places, all of these."""
    made = sorted((m for path in paths for m in Source(root, path).mutants()), key=lambda m: m.rank(seed))
    if places:
        return [m for m in made if m.path in places or f"{m.path}:{m.line}" in places]
    first: dict[tuple[str, int], Mutant] = {}
    for m in made:
        first.setdefault((m.path, m.line), m)
    return list(first.values())
