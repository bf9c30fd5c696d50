"""All that is known of PMML, a standard that no library owns.

What reads and scores its files is large, and imported with the first one.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from mace.compilers.library import Categories, FileType, Library, Reader
from mace.compilers.model_file import ModelFile
from mace.compilers.pmml.tags import UNREAD
from mace.tables.table import Table


def _read(content: Any) -> Table:
    from mace.compilers.pmml.reader import read_content

    return read_content(content)


def _opened(path: Path) -> ModelFile:
    from mace.compilers.pmml.scoring import opened

    return opened(path)


def _step_of(model: Any) -> Any:
    if not isinstance(model, ModelFile):
        return None
    from mace.compilers.pmml.scoring import step_of

    return step_of(model)


_FIELDS = (
    "fields derived by other functions than + - * /, or tests of sums of several; functions of the file's own; "
    "lists and several intervals of valid numbers"
)
_TREE = Reader(_read, "exact", f"models inside of nodes; {_FIELDS}; dates")
_SUM = "exact up to the order of sums"
LIBRARY = Library(
    name="PMML",
    package="pmml",
    distributions={},
    deployed=lambda model, given: model.deployed(given),
    readers={},
    files=(
        FileType(
            (".pmml",),
            lambda path, _: _opened(path),
            models={
                "TreeModel": _TREE,
                "MiningModel": Reader(
                    _read,
                    _SUM,
                    "segments for some rows only in means, votes and chains, or of models that add numbers up; "
                    "chains through classes; "
                    "medians, the largest of several; votes of other models than trees; several models in one file",
                ),
                "RegressionModel": Reader(
                    _read,
                    "margin",
                    "powers and products of predictors; simplemax, cloglog; sums that are probabilities (none)",
                ),
                "GeneralRegressionModel": Reader(
                    _read,
                    "margin",
                    "ordinal and Cox models; offsets, contrasts; products with a number; other links than identity, "
                    "log, logit, probit, cauchit",
                ),
                "Scorecard": Reader(_read, _SUM, "partial scores that are computed"),
                "RuleSetModel": Reader(_read, "exact", "weighted sums of rules"),
            },
            unread=UNREAD,
        ),
    ),
    categories=Categories(_step_of),
)
