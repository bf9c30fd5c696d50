"""Libraries that some proposers are made of, and that mace does without."""

from __future__ import annotations

from importlib.util import find_spec

from mace.errors import MaceError


def require(module: str, distribution: str, extra: str) -> None:
    """Raise MaceError, saying what to install, where a module is not there."""
    if find_spec(module) is None:
        raise MaceError(f"this proposer is {distribution}'s, which is not installed", hint=f"pip install '{extra}'.")
