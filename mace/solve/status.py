"""What is known of an optimum when a search for it ends."""

from __future__ import annotations

from typing import Literal, TypeAlias, get_args

Status: TypeAlias = Literal["optimal", "bounded", "infeasible", "unknown"]
STATUSES: tuple[Status, ...] = get_args(Status)


def is_final(status: str) -> bool:
    """Whether more time would change nothing: the optimum is proved, or it is proved that there is none."""
    return status in ("optimal", "infeasible")
