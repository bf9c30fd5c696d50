"""Sets of small whole numbers, written as the bits of one number."""

from __future__ import annotations


def members(mask: int) -> list[int]:
    """What a set holds, in order: the places of the bits that are set."""
    return [place for place in range(mask.bit_length()) if mask >> place & 1]
