"""All entries by name. A new one is a file that defines `ENTRY`, and its module's name here."""

from __future__ import annotations

from importlib import import_module

from mace.base.escape import short
from mace.base.suggestions import meant
from mace.errors import MaceError
from mace.reproduce.entry import Entry

MODULES = {
    "cscf": "mace.reproduce.plans",
    "mace-table-2": "mace.reproduce.recourse.coverage",
    "mace-table-3": "mace.reproduce.recourse.improvement",
    "mace-table-4": "mace.reproduce.recourse.age",
    "mace-table-5": "mace.reproduce.recourse.three_ways",
    "mace-table-6": "mace.reproduce.recourse.seconds",
    "mace-table-7": "mace.reproduce.recourse.age_lowered",
    "mace-figure-4": "mace.reproduce.recourse.distances",
    "mace-figure-5": "mace.reproduce.recourse.questions",
    "swarm-table-2": "mace.reproduce.swarm.table_2",
    "levels-t1-t7": "mace.reproduce.levels",
}


def entry(name: str) -> Entry:
    """The entry of a name; raises MaceError for another one."""
    if name not in MODULES:
        hint = meant(name, MODULES, f"Names: {', '.join(MODULES)}.")
        raise MaceError(f"there is nothing to reproduce under the name {short(name)}", hint=hint)
    found: Entry = import_module(MODULES[name]).ENTRY
    assert found.name == name
    return found


def entries() -> list[Entry]:
    """Every entry, in the order of the papers."""
    return [entry(name) for name in MODULES]
