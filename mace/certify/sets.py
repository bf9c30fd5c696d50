"""Write what was proved of a set of answers: facts about regions, from which the checker repeats the choice.

In:  a question, the conditions on every two answers, the regions and the facts that bound them, the claim.
Out: a `Certificate` of the form that proofs/FORMAT.md calls a set.
Promise: as that of `mace.certify.writer`: this file writes and never judges.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, NamedTuple

from mace.certify.numbers import text
from mace.certify.statement import side_text, statement
from mace.certify.writer import Certificate, certificate
from mace.errors import CertificateError
from mace.problem.diversity import Diversity
from mace.problem.exclusions import Avoid
from mace.problem.proof import Proof
from mace.problem.question import Question
from mace.space.axes import Box, Point


class Fact(NamedTuple):
    """Nothing that `question` allows is nearer than `lower`, or (None) is there.

    proof:    None where solvers say so, or for what `unproved` says.
    """

    question: Question
    lower: Fraction | None
    proof: Proof | None
    unproved: str = ""


class Prices(NamedTuple):
    """What a point pays for what no two points of a set share, so that few choices of regions need a look.

    values:   (feature, index, price) for an index other than the start, where values must differ.
    features: (features, price) for a set of changed features, where these sets must differ.
    """

    values: Sequence[tuple[int, int, Fraction]]
    features: Sequence[tuple[tuple[int, ...], Fraction]]


@dataclass(frozen=True)
class SetClaim:
    """A set of `count` points; none has a smaller sum than `claim`, or (None) there is none."""

    count: int
    diversity: Diversity
    claim: Fraction | None
    prices: Prices | None = None


def set_certificate(
    question: Question,
    asked: SetClaim,
    points: Sequence[Point],
    regions: Sequence[Box],
    facts: Sequence[Fact],
    refused: Sequence[Avoid],
) -> Certificate:
    """The certificate of what is claimed of a set; `points` is one that was found, or empty.

    refused: what the deployed model refused, which the claim leaves out.
    Raises CertificateError where some fact has no proof, or cannot be written.
    """
    question = question.without(refused)
    said, diversity = statement(question, asked.claim), asked.diversity
    written = []
    for fact in facts:
        if fact.proof is None and fact.unproved:
            raise CertificateError(f"this answer has no certificate: {fact.unproved}")
        if fact.proof is None:
            raise CertificateError(
                "this answer has no certificate: a bound in it rests on solvers",
                hint='Certificates come from the provers (oracle="auto", "ensembles" or "networks").',
            )
        data = certificate(fact.question, fact.lower, None, fact.proof, said["model"]).data
        kept = {name: data["statement"][name] for name in ("avoid", "claim")}
        written.append({**kept, "cuts": data["cuts"], "proof": data["proof"]})
    sure = points and all(question.has_goal(point) for point in points)
    return Certificate(
        {
            "mace_set": 1,
            "about": {"model": question.model.name, "goal": question.goal.text, "diversity": str(diversity)},
            "statement": said,
            "set": {
                "count": asked.count,
                "features": diversity.features,
                "values": diversity.values,
                "apart": None if diversity.apart is None else text(diversity.apart),
                "regions": [list(map(side_text, box)) for box in regions],
                **_prices(asked.prices),
            },
            "witness": None
            if not sure
            else [{"point": [int(i) for i in p], "distance": text(question.distance_of(p))} for p in points],
            "facts": written,
        }
    )


def _prices(prices: Prices | None) -> dict[str, Any]:
    """The prices, where there are some."""
    if prices is None:
        return {}
    return {
        "prices": {
            "values": [[j, int(index), text(price)] for j, index, price in prices.values],
            "features": [[list(changed), text(price)] for changed, price in prices.features],
        }
    }
