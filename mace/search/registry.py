"""The proposers by name, with their usual settings."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import TypeAlias

from mace.base.escape import short
from mace.base.suggestions import meant
from mace.errors import MaceError
from mace.search.protocol import Proposer

ProposerSpec: TypeAlias = str | Proposer


def _made(module: str, name: str, **settings: object) -> Callable[[], Proposer]:
    """What makes a proposer of `mace.search`; each is imported when it is asked for."""

    def make() -> Proposer:
        found: Proposer = getattr(import_module(f"mace.search.{module}"), name)(**settings)
        return found

    return make


PROPOSERS: dict[str, Callable[[], Proposer]] = {
    "tabu": _made("tabu", "Tabu"),
    "lns": _made("neighbourhoods", "Neighbourhoods"),
    "mo": _made("observed", "MinimumObservable"),
    "ft": _made("tweaking", "FeatureTweaking", plausible=False),
    "pft": _made("tweaking", "FeatureTweaking"),
    "ar": _made("recourse", "ActionableRecourse"),
    "spheres": _made("spheres", "GrowingSpheres"),
    "face-knn": _made("face", "Face"),
    "face-radius": _made("face", "Face", graph="radius"),
    "swarm": _made("swarm", "Swarm"),
    "nsga2": _made("genetic", "Genetic"),
    "ga": _made("genetic", "Genetic", kind="ga"),
    "dice-random": _made("dice", "Dice"),
    "dice-genetic": _made("dice", "Dice", method="genetic"),
}


def proposer_of(spec: object) -> Proposer:
    """The proposer of a name, or the one that was given with its settings; raises MaceError."""
    if isinstance(spec, str):
        if spec not in PROPOSERS:
            hint = meant(spec, PROPOSERS, f"Use one of {', '.join(PROPOSERS)}.")
            raise MaceError(f"unknown proposer {short(spec)}", hint=hint)
        return PROPOSERS[spec]()
    if not isinstance(spec, type) and callable(getattr(spec, "batches", None)) and hasattr(spec, "refusal"):
        return spec  # type: ignore[return-value]
    raise MaceError(f"a proposer is a name or an object of mace.search, got {short(spec)}")
