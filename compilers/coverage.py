"""What can be read, as a Markdown table made from the registry: `python -m mace.compilers.coverage`.

In:  READERS.    Out: text; COVERAGE.md beside this file holds it, and a test compares the two.
"""

from __future__ import annotations

import sys

from mace.compilers import READERS

_HEAD = """# What can be read

Made by `python -m mace.compilers.coverage > compilers/COVERAGE.md`. "exact": the table repeats the library bit by bit.
"margin": within a rigorous bound, so that answers stay sound and only points within the bound are in doubt. What is
refused is an error that names it.

| model | arithmetic | refused |
|---|---|---|
"""
_FOOT = """
Model files need no `--trust-pickle`: `.json` and `.ubj` (XGBoost), `.txt` (LightGBM), `.onnx`, `.skops`. XGBoost and
LightGBM files are read without those libraries; with them, answers are confirmed by the library's own `predict`. A
PyTorch `Sequential` is read through its ONNX export: `torch.onnx.export(model, torch.zeros(1, columns), "model.onnx")`.
"""


def table() -> str:
    """The whole document."""
    rows = [f"| `{path}` | {one.precision} | {one.refused or '-'} |" for path, one in sorted(READERS.items())]
    return _HEAD + "\n".join(rows) + "\n" + _FOOT


if __name__ == "__main__":
    sys.stdout.write(table())
