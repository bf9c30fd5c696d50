"""Compile what answers questions about a kind of model and writes their proofs, or read it from disk.

In:  a kind of search, of `KINDS`.    Out: compiled code, kept by `mace.solve.code_files`.
`python -m mace.certify.ready ensembles`: in a process of its own, as `mace.solve.ahead` starts it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

from mace.base.deadline import NEVER
from mace.certify import elaboration, networks
from mace.solve import ahead, warm
from mace.solve.compiled import at_once
from mace.solve.ensembles.shortening.shorter import shorter


def of_trees() -> None:
    """Of ensembles."""
    warm.trees()
    warm.relaxation()
    question = warm.about_trees()
    elaboration.warm(question.model)
    assert shorter(question, warm.solved(question).lower, 9, NEVER) is not None


def of_means() -> None:
    """Of means of trees."""
    warm.trees()
    warm.members()


def of_networks() -> None:
    """Of networks and linear models."""
    warm.layers()
    warm.tightening()
    networks.warm()


KINDS: dict[str, Callable[[], None]] = {"ensembles": of_trees, "means": of_means, "networks": of_networks}

if __name__ == "__main__":
    at_once()
    with ahead.alone():
        KINDS[sys.argv[1]]()
