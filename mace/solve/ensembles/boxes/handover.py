"""When the plain search over trees hands over to branch and bound on the linear relaxation.

In:  the lower bounds of both.    Out: whether the relaxation takes over.
"""

from __future__ import annotations

from typing import NamedTuple


class Handover(NamedTuple):
    """How good the relaxation's first bound has to be, compared with that of the plain search: one of both is enough.

    ahead:  it is more than so many times the other.
    behind: it leaves at most so many times as much of the distance open. It is the bound of the root alone, which grows
            fast once that is split, and a plain search that has not ended by then may take hours.
    """

    ahead: float = 1.0
    behind: float = 0.0

    def is_due(self, first: int, known: int, limit: int) -> bool:
        """first, known: the relaxation's first key and that of the plain search. limit: the key to be proved."""
        return first > self.ahead * known or limit - first <= self.behind * (limit - known)
