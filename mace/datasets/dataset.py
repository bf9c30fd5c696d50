"""A table, its target, and its space."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from mace.space.space import Space

FOLDER = Path(__file__).parent


@dataclass(frozen=True, eq=False)
class Dataset:
    """A table of people and the decision about each.

    name:   "loans", "adult", "credit", "compas" or "german".
    frame:  features and target, one row a person; level names are texts, amounts and counts are integers.
    target: the column that holds the decision, 0 or 1.
    goal:   the favourable one of the two: 1 everywhere but in COMPAS, where 0 means that the person did not re-offend.
    """

    name: str
    frame: pd.DataFrame
    target: str
    goal: int = 1

    @property
    def X(self) -> pd.DataFrame:  # noqa: N802
        """The features as people see them; shape (rows, features)."""
        return self.frame.drop(columns=self.target)

    @property
    def y(self) -> pd.Series[int]:
        """The target as it is in the table; shape (rows,). Compare with `goal`."""
        return self.frame[self.target]

    @property
    def space_file(self) -> Path:
        """The TOML file of the space; a start for a space of one's own."""
        return FOLDER / f"{self.name}.toml"

    @cached_property
    def space(self) -> Space:
        """Ranges, steps, immutable and one-way features, and the rules between features."""
        from mace.space.space import Space

        return Space.load(self.space_file)

    @cached_property
    def free_space(self) -> Space:
        """The same features, free to change in any direction, and no rules: Karimi et al. 2020, section 5."""
        return self.space.free()

    def __repr__(self) -> str:
        rows, columns = self.frame.shape
        share = float((self.y == self.goal).mean())
        return (
            f"Dataset({self.name!r}, {rows} rows, {columns - 1} features, {self.target} == {self.goal} in {share:.0%})"
        )
