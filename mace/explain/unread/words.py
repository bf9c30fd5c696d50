"""What an answer says beside its points of a model that is only asked: who gave the bound, the levels, the miss.

In:  the score of a point, or a proposal that misses the goal.    Out: texts and levels for people.
"""

from __future__ import annotations

from fractions import Fraction

from mace.explain.proved.level import Level
from mace.explain.unread.enclosed import BOXES
from mace.problem.around import Neighbourhood
from mace.search.protocol import Proposal
from mace.search.score import Score

DISTANCE = "distance"
LEVELS = ("goal missed by", "constrained features changed", "outputs in doubt", DISTANCE, "features changed")
VALID = LEVELS.index(
    DISTANCE
)  # levels that say whether a point is valid; distances of those after are compared roughly


def levels(score: Score | None, distance: Fraction, proved: int) -> list[Level]:
    """The levels of the score; of a point that reaches the goal, or of the one that comes nearest to it.

    distance: of the point, exact: its score has nine digits.
    proved:   of how many levels, the first ones, no point has less of those that are as good in all before.
    """
    if score is None:
        return []
    values = [distance if name == DISTANCE else Fraction(value) for name, value in zip(LEVELS, score, strict=True)]
    sure = [place < proved or not value for place, value in enumerate(values)]
    return [
        Level(name, "optimal" if one else "bounded", value, value if one else Fraction(0), oracle="search")
        for name, value, one in zip(LEVELS, values, sure, strict=True)
    ]


def nearest_miss(around: Neighbourhood, one: Proposal) -> str:
    """What came nearest to a goal that was not reached, or was by none of the points that are wanted."""
    values, score = around.values(one.point), one.score
    changed = {name: value for name, value in values.items() if value != around.values(around.start)[name]}
    what = ", ".join(f"{name} = {value}" for name, value in list(changed.items())[:6]) or "the row as it is"
    if score.goal:
        return f"the nearest to the goal that was found misses it by {score.goal:.6g}: {what}"
    lacks = [
        f"{count:g} {one if count == 1 else several}"
        for count, one, several in (
            (score.constrained, "constrained feature changed", "constrained features changed"),
            (score.doubts, "output in doubt", "outputs in doubt"),
        )
        if count
    ]
    return f"the best point that was found has the goal with {' and '.join(lacks)}: {what}"


def oracle(note: str, proposer: str) -> str:
    """Who gave the bound, by what an answer's note says of it."""
    if note.startswith(BOXES):
        return "search (boxes)"
    return f"search ({proposer})" if note == "" else "search (every point)"
