"""The proposers by name, with their usual settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from mace.base.escape import short
from mace.errors import MaceError
from mace.search.dice import Dice
from mace.search.face import Face
from mace.search.genetic import Genetic
from mace.search.neighbourhoods import Neighbourhoods
from mace.search.observed import MinimumObservable
from mace.search.protocol import Proposer
from mace.search.recourse import ActionableRecourse
from mace.search.spheres import GrowingSpheres
from mace.search.swarm import Swarm
from mace.search.tabu import Tabu
from mace.search.tweaking import FeatureTweaking

ProposerSpec: TypeAlias = str | Proposer

PROPOSERS: dict[str, Callable[[], Proposer]] = {
    "tabu": Tabu,
    "lns": Neighbourhoods,
    "mo": MinimumObservable,
    "ft": lambda: FeatureTweaking(plausible=False),
    "pft": FeatureTweaking,
    "ar": ActionableRecourse,
    "spheres": GrowingSpheres,
    "face-knn": Face,
    "face-radius": lambda: Face("radius"),
    "swarm": Swarm,
    "nsga2": Genetic,
    "ga": lambda: Genetic("ga"),
    "dice-random": Dice,
    "dice-genetic": lambda: Dice("genetic"),
}


def proposer_of(spec: object) -> Proposer:
    """The proposer of a name, or the one that was given with its settings; raises MaceError."""
    if isinstance(spec, str):
        if spec not in PROPOSERS:
            raise MaceError(f"unknown proposer {short(spec)}", hint=f"Use one of {', '.join(PROPOSERS)}.")
        return PROPOSERS[spec]()
    if not isinstance(spec, type) and callable(getattr(spec, "batches", None)) and hasattr(spec, "refusal"):
        return spec  # type: ignore[return-value]
    raise MaceError(f"a proposer is a name or an object of mace.search, got {short(spec)}")
