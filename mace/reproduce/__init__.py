"""The tables and figures of the papers that this project is built from, each by one command, beside what they print.

In:  the name of an entry (`registry.py` lists them), how many rows, where to keep what was answered.
Out: a `Reproduced`: our figures beside the paper's, and why they differ where they do, as text, CSV and HTML.
Promise: a run that was killed goes on where it was; what was not proved is counted; absent data are a FileError.
"""

from __future__ import annotations

from mace.reproduce.registry import entries, entry
from mace.reproduce.result import Reproduced
from mace.reproduce.run import reproduce
from mace.reproduce.work import Work

__all__ = ["Reproduced", "Work", "entries", "entry", "reproduce"]
