"""Which oracle answers a question, and why another one does not.

In:  a question, and the name of an oracle or "auto".
Out: a `Chosen`: the oracle, and a note where it is not the one made for such a model.
Promise: `explain`, `verify` and `audit` all choose here. Each oracle says itself what it takes (`accepts`: the reason
why not, or None); what no prover takes goes to the solvers, which take every question.
"""

from __future__ import annotations

from typing import NamedTuple

from mace.base.escape import short
from mace.base.suggestions import meant
from mace.errors import MaceError
from mace.problem.distance import DistanceProgram
from mace.problem.question import Question
from mace.solve.ensembles.prover import EnsembleOracle
from mace.solve.forms.prover import FormsOracle
from mace.solve.networks.prover import NetworkOracle
from mace.solve.protocol import Oracle
from mace.tables.table import Ensemble, Formula

ORACLES = ("auto", "ensembles", "networks", "smt", "z3", "cvc5")
PROVERS: dict[str, type[EnsembleOracle] | type[NetworkOracle] | type[FormsOracle]] = {
    "ensembles": EnsembleOracle,
    "networks": NetworkOracle,
    "forms": FormsOracle,
}


class Chosen(NamedTuple):
    """An oracle, and what an answer must say about the choice; empty if nothing."""

    oracle: Oracle
    note: str


def known(name: str) -> None:
    """Raise MaceError for what is no name of an oracle."""
    if name == "search":
        raise MaceError(
            'oracle="search" only asks the model, and this is asked of a model that is read',
            hint=f"`mace.explain` and `mace explain` take it. Here use one of {', '.join(ORACLES)}.",
        )
    if name not in ORACLES:
        offered = (*ORACLES, "search")
        raise MaceError(f"unknown oracle {short(name)}", hint=meant(name, offered, f"Use one of {', '.join(offered)}."))


def choose(question: Question, name: str = "auto") -> Chosen:
    """The oracle of a name; for "auto" the prover for the question's kind of model where it takes it, else the solvers.

    Raises MaceError for an unknown name, where a prover asked for by name does not take the question, and where solvers
    are needed and none is installed.
    """
    known(name)
    prover = _made_for(question) if name == "auto" else name if name in PROVERS else None
    reason = PROVERS[prover].accepts(question) if prover is not None else None
    if prover is not None and reason is None:
        return Chosen(PROVERS[prover](question), "")
    if name in PROVERS:
        raise MaceError(f"the oracle {name!r} does not take this question: {reason}", hint='Use oracle="auto".')
    from mace.solve.smt.oracle import SOLVERS, SmtOracle
    from mace.solve.smt.process import absent, installed

    solvers = [solver for solver in SOLVERS if name == solver or name in ("smt", "auto") and installed(solver)]
    if not solvers:
        raise absent("neither z3 nor cvc5 is")
    note = "" if reason is None else f"answered by solvers, not by the prover {prover!r}: {reason}"
    return Chosen(SmtOracle(question, solvers), note)


def _made_for(question: Question) -> str | None:
    """The prover for a kind of model, and of distance; None for programs."""
    if isinstance(question.model, Formula):
        return None
    if isinstance(question.distance, DistanceProgram) and question.distance.forms is not None:
        return "forms"
    return "ensembles" if isinstance(question.model, Ensemble) else "networks"


__all__ = ["ORACLES", "PROVERS", "Chosen", "choose", "known"]
