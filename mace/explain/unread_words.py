"""What an answer of `unread.py` says beside its points: who gave the bound, the levels, the nearest miss.

In:  the score of a point, or a proposal that misses the goal.    Out: texts and levels for people.
"""

from __future__ import annotations

from fractions import Fraction

from mace.explain.enclosed import BOXES
from mace.explain.level import Level
from mace.problem.around import Neighbourhood
from mace.search.protocol import Proposal
from mace.search.score import Score

LEVELS = ("goal missed by", "constrained features changed", "outputs in doubt", "distance", "features changed")


def levels(score: Score | None) -> list[Level]:
    """The levels of the score; of a point that reaches the goal, or of the one that comes nearest to it."""
    if score is None:
        return []
    return [
        Level(name, "optimal" if not value else "bounded", Fraction(value), Fraction(0), value, oracle="search")
        for name, value in zip(LEVELS, score, strict=True)
    ]


def nearest_miss(around: Neighbourhood, one: Proposal) -> str:
    """What came nearest to a goal that was not reached."""
    values = around.values(one.point)
    changed = {name: value for name, value in values.items() if value != around.values(around.start)[name]}
    what = ", ".join(f"{name} = {value}" for name, value in list(changed.items())[:6]) or "the row as it is"
    return f"the nearest to the goal that was found misses it by {one.score.goal:.6g}: {what}"


def oracle(note: str, proposer: str) -> str:
    """Who gave the bound, by what an answer's note says of it."""
    if note.startswith(BOXES):
        return "search (boxes)"
    return f"search ({proposer})" if note == "" else "search (every point)"
