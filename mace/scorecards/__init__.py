"""Counterfactuals of scorecards, as choices of bins: exact, diverse, proved."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mace.scorecards.card import Bin, Card, Variable, card_of, read_card
    from mace.scorecards.counterfactual import Counterfactual

__all__ = ["Bin", "Card", "Counterfactual", "Variable", "card_of", "read_card"]


def __getattr__(name: str) -> Any:
    """Import what is asked for: pandas and numpy only where they are used."""
    if name == "Counterfactual":
        from mace.scorecards.counterfactual import Counterfactual

        return Counterfactual
    if name in __all__:
        from mace.scorecards import card

        return getattr(card, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
