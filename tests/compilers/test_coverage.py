"""The table of what can be read is up to date."""

from pathlib import Path

import mace.compilers
from mace.compilers.coverage import table


def test_the_coverage_table_is_that_of_the_registry() -> None:
    assert (Path(mace.compilers.__file__).parent / "COVERAGE.md").read_text(encoding="utf-8") == table()
