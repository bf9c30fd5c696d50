"""Questions of two or three levels, each compared with enumeration, their certificates with the checker."""

from __future__ import annotations

from collections import Counter

from hypothesis import strategies as st

from tests.fuzz.spaces import Draw
from tests.levels import certified, compared, plain, random_levels

KINDS = ("tree", "forest", "boosting", "linear", "network")


def level_questions(draw: Draw, kind: str) -> Counter[str]:
    """How the levels of one random question ended."""
    seed = draw(st.integers(0, 2**32 - 1))
    question = plain(seed, kind)
    levels = compared(question, random_levels(seed, question.space))
    certified(levels)
    return Counter(level.status for level in levels)
