"""Questions of levels and of sets, each compared with enumeration, and their certificates with all checkers."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st

from mace.certify.writer import Certificate
from tests.cards import cards_agree
from tests.checkers import accepted_by_all
from tests.fuzz.spaces import Draw
from tests.levels import compared, plain, random_levels, random_rows
from tests.sets import agrees

KINDS = ("tree", "forest", "boosting", "linear", "network")
SETS = (*KINDS, "scorecard")


def level_questions(draw: Draw, kind: str) -> Counter[str]:
    """How the levels of one random question ended; one question in four asks how near real rows are."""
    seed = draw(st.integers(0, 2**32 - 1))
    question = plain(seed, kind)
    by_rows = seed % 4 == 0
    levels = compared(question, random_rows(seed, question) if by_rows else random_levels(seed, question.space))
    found = [level.certificate for level in levels if level.proof is not None]
    accepted_by_all(one for one in found if isinstance(one, Certificate))
    return Counter(level.status for level in levels)


def set_questions(draw: Draw, kind: str) -> Counter[str]:
    """How one random set ended, or several of one scorecard."""
    seed = draw(st.integers(0, 2**32 - 1))
    if kind == "scorecard":
        found = cards_agree(seed)
        accepted_by_all(one for one in found.values() if one is not None)
        return Counter(name.split()[0] for name in found)
    agreed = agrees(seed, kind)
    if agreed is None:
        return Counter(["too large to enumerate"])
    accepted_by_all([agreed.certificate] if agreed.certificate is not None else [])
    return Counter([agreed.status])
