"""Writes rank.ipynb: the cells of rank.py, executed.

    python make_notebook.py     # needs jupytext, nbclient and ipykernel, and what rank.py needs
"""

from __future__ import annotations

from pathlib import Path

import jupytext
import nbclient
import nbformat

HERE = Path(__file__).parent


def cells() -> nbformat.NotebookNode:
    """The notebook before it is executed."""
    script = jupytext.read(HERE / "rank.py")
    notebook = nbformat.v4.new_notebook(cells=script.cells)
    for i, cell in enumerate(notebook.cells):
        cell.id = f"cell-{i}"
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    return notebook


def execute(notebook: nbformat.NotebookNode) -> None:
    """CellExecutionError: a cell raises."""
    folder = {"metadata": {"path": str(HERE)}}
    nbclient.NotebookClient(notebook, timeout=300, resources=folder, record_timing=False).execute()


if __name__ == "__main__":
    made = cells()
    execute(made)
    nbformat.write(made, HERE / "rank.ipynb")
