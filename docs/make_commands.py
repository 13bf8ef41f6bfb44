"""Prints docs/reference/commands.md from the program's own help.

python3 docs/make_commands.py build/src/cli/rankwood > docs/reference/commands.md
"""

import re
import subprocess
import sys

HEAD = """# Commands

Every command of `rankwood` with its options. `rankwood COMMAND --help` prints the same options, and describes the \
parameters, which have [a page of their own](parameters.md).

{about}

`python3 docs/make_commands.py build/src/cli/rankwood > docs/reference/commands.md` makes this page.

## Exit codes
| code | meaning | retry? |
|---|---|---|
| 0 | success | |
| 1 | wrong data, model or parameter, or a failed check | no: correct the input |
| 2 | wrong usage, such as an unknown option | no: correct the command |
| 3 | failure of memory, a disk, a GPU or another worker | yes; `--resume` continues training |
| 4 | `compare --fail-below`: an improvement may be too small; `check --fail-above`: drift is above a limit | no |
| 130, 143 | ended by SIGINT or SIGTERM | yes; `--resume` continues training |

## Overview
| command | use |
|---|---|
"""
PARTS = {"bench": [["train"], ["load"], ["predict"]], "completion": [["bash"], ["zsh"], ["fish"]]}


def help_of(program: str, *words: str) -> str:
    return subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True).stdout


def joined(lines: list[str]) -> str:
    return " ".join(" ".join(lines).split())


def cell(text: str) -> str:
    return text.replace("<", "&lt;").replace("*", r"\*")


def rows(lines: list[str]) -> list[tuple[str, str]]:
    """Returns options and their descriptions."""
    out: list[list[str]] = []
    for line in lines:
        if found := re.match(r" {2,6}(-\S.*?)(?: {2,}(\S.*)|$)", line):
            out.append([found[1], found[2] or ""])
        elif line.strip():
            out[-1][1] += " " + line.strip()
    return [(option, " ".join(text.split())) for option, text in out]


def paragraph(lines: list[str]) -> str:
    """Returns a paragraph of the help. Lines of names and descriptions after a heading become a list."""
    if not re.match(r"\S+:$", lines[0]):
        return cell(joined(lines))
    items: list[list[str]] = []
    for line in lines[1:]:
        if found := re.match(r"  (\S+) +(.*)", line):
            items.append([found[1], found[2]])
        else:
            items[-1][1] += " " + line.strip()
    return f"{lines[0]}\n\n" + "\n".join(f"- `{name}`: {cell(text)}" for name, text in items)


def section(program: str, words: list[str]) -> str:
    usage_and_about, _, rest = help_of(program, *words).partition("\n\n")
    lines = usage_and_about.split("\n")
    n_usage = next(i for i, line in enumerate(lines) if not re.match(r"Usage:|  or: |       ", line))
    out = [f"## {' '.join(words)}", "```\n" + "\n".join(lines[:n_usage]) + "\n```", cell(joined(lines[n_usage:]))]
    options, _, parameters = rest.partition(" Parameters")
    first = re.search(r"^ {2,6}-", options, re.M)
    begin = first.start() if first else len(options)
    out += [paragraph(part.strip("\n").split("\n")) for part in options[:begin].split("\n\n") if part.strip()]
    listed = [(option, text) for option, text in rows(options[begin:].split("\n")) if "--help" not in option]
    if listed:
        out.append("\n".join(f"- `{option}`: {cell(text)}" for option, text in listed))
    names = [
        re.sub(r"[=\[].*", "", option)[2:] for option, _ in rows(parameters.split("\n")[1:]) if "--help" not in option
    ]
    if names:
        out.append("Parameters: " + ", ".join(f"[`{name}`](parameters.md#{name})" for name in names) + ".")
    return "\n\n".join(out)


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit((__doc__ or "").strip())
    program = sys.argv[1]
    overview = help_of(program)
    commands = re.findall(r"^  (\w+) +(\w.*)$", overview.split("COMMAND [OPTION...]")[1], re.M)
    about = joined(overview[overview.index("\nDATA is") : overview.index("\nExit codes")].split("\n"))
    print(
        HEAD.format(about=cell(about))
        + "\n".join(f"| [{name}](#{'-'.join([name, *PARTS.get(name, [[]])[0]])}) | {use} |" for name, use in commands)
    )
    for name, _ in commands:
        for part in PARTS.get(name, [[]]):
            print("\n" + section(program, [name, *part]))


if __name__ == "__main__":
    main()
