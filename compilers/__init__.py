"""From a trained model to a program of the core language, exactly.

In:  a library's own model object.    Out: `read(model)`, a table of plain numbers (`mace.tables.table`), checked.
What is known of each library stands in its folder (`xgboost/library.py`, ..), and in the list in `libraries.py`.
The second half, table to program, is in `programs/`, behind `to_program`.
"""

# The folder installs as `mace.compilers`. Under a second name every class in it would exist twice.
if __name__ != "mace.compilers":
    raise ImportError(f"import `mace.compilers`, not `{__name__}`", name=__name__)

from mace.compilers.deployed import Deployed
from mace.compilers.libraries import libraries, readers
from mace.compilers.library import Library, Reader
from mace.compilers.load import PickleWarning, load_model
from mace.compilers.model_file import ModelFile
from mace.compilers.programs.program import Reading, to_program
from mace.compilers.reading import read, read_coded
from mace.compilers.registry import deployed, extras

__all__ = [
    "Deployed",
    "Library",
    "ModelFile",
    "PickleWarning",
    "Reader",
    "Reading",
    "deployed",
    "extras",
    "libraries",
    "load_model",
    "read",
    "read_coded",
    "readers",
    "to_program",
]
