"""Distances from the nearest of several rows: one proof for each row, in which it stands in the place of the start."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from mace.proofs.kernel.fields import anything, maybe, read
from mace.proofs.kernel.floats import Refused, need, rational
from mace.proofs.kernel.proof import fits, read_statement, verify
from mace.proofs.kernel.statement import Statement

CERTIFICATE = {
    "mace_rows": anything, "about?": anything, "statement": anything, "rows": [anything], "witness": anything,
    "facts": [maybe(lambda data, where: read(data, {"cuts": anything, "proof": anything}, where))],
}  # fmt: skip


class Rows:
    """A statement whose distance is the least of those from its rows; `distance`: that of the witness, if there is one.

    Lemma: the least of the distances from the rows is below a number only if one of them is; and each row's fact says
    that no allowed point with the goal is so near to it.
    """

    def __init__(self, data: Any, fired: dict[str, int], model: Any = None) -> None:
        found = read(data, CERTIFICATE, "the certificate")
        need(found.mace_rows == 1 and type(found.mace_rows) is int, "the certificate: unknown format")
        self.said, self.statement = found.statement, read_statement(found.statement, model)
        self.model, claim = self.statement.model, self.statement.claim
        if claim is None:
            raise Refused("statement: claim: expected closer_than")
        self.claim = claim
        own = self.said["most_changes"] is None and all(region.kind != "changes" for region in self.statement.avoid)
        need(own, "statement: changes are counted from no row")
        need(found.rows and len(found.rows) == len(found.facts), "facts: expected one for each of at least one row")
        self.shape = tuple(axis.index for axis in self.statement.axes)
        self.rows = [read(row, self.shape, f"row {n}") for n, row in enumerate(found.rows)]
        if None in found.facts:
            fits(self.statement)
        self.distance = self.witness(found.witness, fired)
        for n, (row, fact) in enumerate(zip(self.rows, found.facts, strict=True)):
            try:
                self.fact(row, fact, fired)
            except Refused as error:
                raise Refused(f"fact {n}: {error}") from None

    def begun(self, row: Sequence[int], **more: Any) -> dict[str, Any]:
        """The statement with a row in the place of the start."""
        features = [{**one, "start": index} for one, index in zip(self.said["features"], row, strict=True)]
        return {**self.said, "features": features, **more}

    def fact(self, row: Sequence[int], fact: Any, fired: dict[str, int]) -> None:
        """No point against the claim is so near to a row: by a proof, or, for `null`, since no allowed point is."""
        if fact is not None:
            whole = {"mace_certificate": 2, "statement": self.begun(row), "witness": None}
            verify({**whole, "cuts": fact.cuts, "proof": fact.proof}, fired, self.model)
            return
        statement = Statement(self.begun(row), self.model)
        least = sum(statement.least([axis.full for axis in statement.axes]))
        need(Fraction(least, statement.common) >= self.claim, "it has no proof")

    def witness(self, data: Any, fired: dict[str, int]) -> Fraction | None:
        """The distance of an allowed point with the goal from the row that is nearest to it, not below the claim."""
        if data is None:
            return None
        found = read(data, {"point": self.shape, "distance": rational}, "witness")
        far = [Statement(self.begun(row), self.model).distance(found.point) for row in self.rows]
        need(min(far) == found.distance, "witness: wrong distance")
        need(found.distance >= self.claim, "witness: it is nearer than the claim")
        # As if it were the start: what is left to be seen is that it is allowed, and has the goal.
        said = self.begun(found.point, claim={"closer_than": "0"})
        whole = {"mace_certificate": 2, "statement": said, "witness": {"point": data["point"], "distance": "0"}}
        cuts = [None] * len(getattr(self.model, "tests", ()))
        try:
            verify({**whole, "cuts": cuts, "proof": [["distance"]]}, fired, self.model)
        except Refused as error:
            raise Refused(f"witness: as a start: {error}") from None
        return Fraction(found.distance)


def verify_rows(data: Any, fired: dict[str, int], model: Any = None) -> Rows:
    """A certificate of distances from rows whose claim holds; refuses any other."""
    return Rows(data, fired, model)
