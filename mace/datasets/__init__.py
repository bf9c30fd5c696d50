"""Tables to try mace on, each with its space: what a feature is, how it may change, which rules tie features together.

In:  a name, and for the real tables a folder of files (or a network). Out: a `Dataset`.
Promise: what `load` returns is exactly the table that mace's tests and figures speak of, or a FileError says why not.
"""

from __future__ import annotations

from mace.datasets.cscf import PERSONS, Persons
from mace.datasets.dataset import Dataset
from mace.datasets.source import NAMES, load

__all__ = ["NAMES", "PERSONS", "Dataset", "Persons", "load"]
