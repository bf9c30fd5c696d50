"""Table 7: the same audit as table 4, asked what it costs not to be made younger."""

from __future__ import annotations

from mace.reproduce.entry import Entry
from mace.reproduce.recourse.age import TABLE_7, run
from mace.reproduce.recourse.printed import NORMS, SOURCE
from mace.reproduce.result import Reproduced
from mace.reproduce.work import Work


def _run_7(work: Work) -> Reproduced:
    return run(work, TABLE_7)


ENTRY = Entry(TABLE_7.name, TABLE_7.title, f"{SOURCE}, table 7", _run_7, NORMS)
