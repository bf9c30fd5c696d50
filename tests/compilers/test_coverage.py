"""The table of what can be read is up to date."""

from pathlib import Path

import mace.compilers
from mace.compilers.coverage import table
from mace.compilers.refused import ADVICE, page, parts
from tests import house


def test_the_coverage_table_is_that_of_the_registry() -> None:
    assert (Path(mace.compilers.__file__).parent / "COVERAGE.md").read_text(encoding="utf-8") == table()


def test_nothing_is_refused_without_a_reason_and_advice_and_the_page_says_so() -> None:
    assert set(parts()) == set(ADVICE)
    assert (house.ROOT / "docs" / "refused.md").read_text(encoding="utf-8") == page()
