"""Hooks for mkdocs: README becomes the first page, and the files that pages link to become part of the site, in tree/.

Long names in the code of tables may break after `_`, so that tables fit the window.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
CELL = re.compile(r"<td.*?</td>", re.S)
CODE = re.compile(r"<code>[^<]*</code>")
LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")


def _target(page: str, link: str) -> str | None:
    """The path in the tree that a page of docs/ links to, if it is outside docs/."""
    if re.match(r"[a-z]+:", link):
        return None
    path = posixpath.normpath(posixpath.join("docs", posixpath.dirname(page), link))
    return None if path.startswith("docs/") else path


def _rewritten(page: str, text: str, linked: dict[str, str]) -> str:
    """The page with links into the tree made links into tree/, which `linked` gets: name in the site, path."""

    def link(found: re.Match[str]) -> str:
        path = _target(page, found[2])
        if path is None:
            return found[0]
        if path == "README.md":
            return f"]({posixpath.relpath('index.md', posixpath.dirname(page) or '.')}{found[3] or ''})"
        # As text: pages of other folders are not pages of the site, and a folder is its list of files.
        name = f"tree/{path}" + (".txt" if path.endswith(".md") or (ROOT / path).is_dir() else "")
        linked[name] = path
        return f"]({posixpath.relpath(name, posixpath.dirname(page) or '.')})"

    return LINK.sub(link, text)


def _content(path: Path) -> bytes:
    return "\n".join(sorted(one.name for one in path.iterdir())).encode() if path.is_dir() else path.read_bytes()


def _index() -> str:
    """README, whose links begin at the root, as a page of docs/."""
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    here = LINK.sub(lambda m: m[0] if re.match(r"[a-z]+:", m[2]) else f"](../{m[2]}{m[3] or ''})", text)
    return here.replace("](../docs/", "](")


def on_files(files: Files, config: Any) -> Files:
    pages = {file.src_uri: file.content_string for file in files if file.src_uri.endswith(".md")}
    linked: dict[str, str] = {}
    for name, text in {"index.md": _index(), **pages}.items():
        if name in files.src_uris:
            files.remove(files.src_uris[name])
        files.append(File.generated(config, name, content=_rewritten(name, text, linked)))
    for name, path in sorted(linked.items()):
        files.append(File.generated(config, name, content=_content(ROOT / path)))
    return files


def on_page_content(html: str, **_: Any) -> str:
    def breakable(cell: re.Match[str]) -> str:
        return CODE.sub(lambda code: code[0].replace("_", "_<wbr>"), cell[0])

    return CELL.sub(breakable, html)
