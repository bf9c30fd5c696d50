"""Write what was proved of the distance from the nearest of several rows: a fact for each row, from which it is begun.

In:  a question whose distance is a `NearestRow`, the claim, a witness, and what was proved from each row.
Out: a `Certificate` of the form that proofs/FORMAT.md calls one of rows.
Promise: as that of `mace.certify.writer`: this file writes and never judges.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

from mace.certify.numbers import text
from mace.certify.statement import statement
from mace.certify.writer import Certificate, certificate
from mace.problem.distance import NearestRow
from mace.problem.plausibility import from_row
from mace.problem.proof import FromRow, Leaf, Proof
from mace.problem.question import Question
from mace.space.axes import Point, started


def rows_certificate(question: Question, claim: Fraction, witness: Point | None, proof: Proof) -> Certificate:
    """The certificate that no allowed point with the goal is nearer than the claim to any of the question's rows.

    proof: a `FromRow` for each row from which something had to be proved; the others are too far from what is allowed.
    Raises CertificateError if the question cannot be written, with the reason.
    """
    distance = question.distance
    assert isinstance(distance, NearestRow)
    proved = {node.row: node for node in proof if isinstance(node, FromRow)}
    refused = list(dict.fromkeys(avoid for node in proved.values() for avoid in node.refused))
    begun = {row: from_row(question, distance, row) for row in distance.rows}
    own = len(begun[distance.rows[0]].avoid)
    begun = {row: asked.without(refused) for row, asked in begun.items()}
    base = begun[distance.rows[0]]
    said = statement(replace(base, axes=started(base.axes, question.start)), claim)
    facts: list[dict[str, Any] | None] = []
    for row in distance.rows:
        if row not in proved:
            facts.append(None)
            continue
        place = [*range(own), *(own + refused.index(avoid) for avoid in proved[row].refused)]
        nodes = [
            replace(node, number=place[node.number]) if isinstance(node, Leaf) and node.rule == "avoid" else node
            for node in proved[row].proof
        ]
        data = certificate(begun[row], claim, None, nodes, said["model"]).data
        facts.append({"cuts": data["cuts"], "proof": data["proof"]})
    sure = witness is not None and question.has_goal(witness)
    return Certificate(
        {
            "mace_rows": 1,
            "about": {"model": question.model.name, "goal": question.goal.text, "distance": distance.name},
            "statement": said,
            "rows": [[int(index) for index in row] for row in distance.rows],
            "witness": {"point": [int(i) for i in witness or ()], "distance": text(question.distance_of(witness or ()))}
            if sure
            else None,
            "facts": facts,
        }
    )
