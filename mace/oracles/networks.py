"""The nearest input of a linear model or a ReLU network that gets the goal: branch and bound on boxes and ReLU phases.

In:  a Question whose model is a `Network` (a linear model is one without hidden layers) and whose distance is a `Norm`.
Out: `Found` with a point that the deployed model accepts for certain and the distance below which nothing is, proved;
     `Refuted` with a proof; `Unknown` when a limit was reached before either.
Promise: a proof is written only from leaves that closed again in exact arithmetic (`networks_exact`) at the distance
claimed. The floats of the search (`networks_kernels`) may cost time, never soundness.
How: a node is a box and a set of ReLU phases, inside the ball of the best known distance. Its bound is the dual of its
linear relaxation. The least node is split where its relaxation loses most: a ReLU, a level, an integer, an l0 jump.
A `gap` of zero is read as 1e-9, which is in the unit of the distance; but where every feature has steps, the bound is
the distance itself, unless the proof of that would be far longer.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING

from mace.axes import Point
from mace.distance import Norm
from mace.diversity import AvoidPoint
from mace.oracles.protocol import Found, Gap, Limits, Refuted, Reply, Unknown
from mace.question import Question
from mace.tables import Network

if TYPE_CHECKING:
    from mace.oracles.networks_search import Search

_UNSETTLED = "some point lies so near to the boundary of the goal that rounding decides about it"


class NetworkOracle:
    """Answers about one question, see `mace.oracles.protocol`.

    Raises TypeError for a model that is not a network and for a distance that is not a norm, ModelError for a column
    that is not an affine function of its feature.
    """

    name = "networks"
    optimises = True

    def __init__(self, question: Question) -> None:
        if not isinstance(question.model, Network) or not isinstance(question.distance, Norm):
            raise TypeError("the networks oracle takes linear models and ReLU networks, with a norm as distance")
        for column in question.columns:
            if column.values is None:
                column.affine()
        self.question = question

    def forbid(self, point: Point) -> None:
        """Exclude a point; proofs written later number it after the question's own exclusions."""
        self.question = self.question.away(AvoidPoint(point))

    def close(self) -> None:
        """Nothing to end: the search keeps no process."""

    def ask(
        self,
        radius: Fraction | None,
        limits: Limits,
        *,
        strict: bool = False,
        best: Point | None = None,
        gap: Gap = Gap(),  # noqa: B008
    ) -> Reply:
        """Find the nearest point with the goal within the radius, to within the gap, or prove that there is none."""
        from mace.oracles.networks_search import Search

        search = Search(self.question, gap, limits, radius, strict)
        if best is not None:
            search.offer(best, trusted=True)
        return _reply(search)


def _reply(search: Search) -> Reply:
    """Run a search and say what it found."""
    from mace.oracles.networks_proof import prove, prove_bound

    ended = search.run()
    found, radius = search.best, search.radius
    if not ended:
        lower, proof = prove_bound(search, search.lower())
        return Found(found, lower, proof, search.why) if found else Unknown(search.why, lower)
    lower, proof = prove(search)
    if found is not None and (radius is None or search.within(search.distance)):
        why = search.why or _UNSETTLED
        return Found(found, min(lower, search.distance), proof, why if lower < search.distance else "")
    if search.anywhere and proof is not None or radius is not None and lower >= radius:
        return Refuted(proof)
    return Unknown(search.why or _UNSETTLED, lower)


__all__ = ["NetworkOracle"]
