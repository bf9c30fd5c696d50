"""When the plain search before trees makes way for the relaxation's.

In:  the bounds of both.    Out: whether the relaxation goes on.
"""

from __future__ import annotations

from typing import NamedTuple


class Handover(NamedTuple):
    """What the relaxation's first bound has to be, beside that of a plain search; one of both is enough.

    ahead:  it is more than so many times the other.
    behind: it leaves at most so many times as much of the distance open. For it is the bound of one box, which grows
            fast where that is divided, and a plain search that has not ended by then may take hours.
    """

    ahead: float = 1.0
    behind: float = 0.0

    def is_due(self, first: int, known: int, limit: int) -> bool:
        """first, known: the relaxation's first key and that of the plain search. limit: the key to be proved."""
        return first > self.ahead * known or limit - first <= self.behind * (limit - known)
