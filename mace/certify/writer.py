"""Write what was proved so that anyone can check it without mace.

In:  a Question, the bound, the witness, and the proof that an oracle built.
Out: a `Certificate`: the JSON object that proofs/FORMAT.md defines, and a file of it, plain or gzip.
Promise: this file writes and never judges; `proofs/check.py`, which shares no code with it, does. Numbers are written
as exact text. A file appears whole or not at all, and the same question gives the same bytes.
"""

from __future__ import annotations

import gzip
import hashlib
import json
from copy import deepcopy
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.base.cache import Kept
from mace.base.deadline import NEVER, Deadline
from mace.base.files import write_whole
from mace.base.views import view
from mace.certify.columns import packed
from mace.certify.elaboration import of_trees
from mace.certify.models import WRITING
from mace.certify.nodes import node_text, prices_in_columns
from mace.certify.numbers import canonical, text
from mace.certify.statement import norm_of, statement
from mace.errors import CertificateError
from mace.problem.distance import Norm
from mace.problem.proof import Cliques, Proof, ProofNode, is_whole, pieces
from mace.problem.question import Question
from mace.proofs.reader import Unusable, text_within, uncollected
from mace.space.axes import Point
from mace.tables.table import Network

if TYPE_CHECKING:
    from mace.proofs.check import Verdict

FORMAT = 2

# The last proof about a network is elaborated when it is checked, and written down soon after.
_NETWORKS: Kept[tuple[Proof, list[list[Any]]]] = Kept(1)


@dataclass(frozen=True)
class Certificate:
    """A statement, a witness where there is one, and a proof, as plain JSON values, which are not to be changed."""

    data: dict[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The JSON object of FORMAT.md; a copy, since certificates of one model share what they say of it."""
        return deepcopy(self.data)

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the statement: two certificates with one digest speak of the same question and claim."""
        return hashlib.sha256(canonical(self.data["statement"])).hexdigest()

    def __repr__(self) -> str:
        return f"Certificate({self.digest[:12]}, {self.size / 1e3:,.1f} kB; .check() asks the checker)"

    def _repr_html_(self) -> str:
        claim, about = self.data["statement"].get("claim"), self.data.get("about", {})
        said = [f"{name}: {about[name]}" for name in ("model", "goal") if name in about]
        if isinstance(claim, dict):
            nearer = f"is closer than {claim['closer_than']}" if "closer_than" in claim else "is there"
            said.append(f"claims that no allowed point with the goal {nearer}")
        return str(view("as HTML")("\n".join([repr(self), *said])))

    @property
    def length(self) -> int:
        """Characters of the whole certificate."""
        return len(canonical(self.data))

    @property
    def size(self) -> int:
        """Bytes of the whole certificate, gzipped; most of it is the model."""
        return len(zipped(canonical(self.data)))

    @property
    def proof_size(self) -> int:
        """Bytes of the proof alone, gzipped."""
        return len(zipped(canonical(self.data["proof"])))

    def check(self) -> Verdict:
        """What the checker says: see `mace.proofs.check`."""
        from mace.proofs.check import check

        with uncollected():
            # By way of the text, so that the checker sees what a file would hold.
            return check(json.loads(canonical(self.data)))

    def save(self, path: str | Path) -> Path:
        """Write the certificate as JSON, gzipped if the name ends in `.gz`.

        Raises CertificateError for one that no checker reads, since it is too large, and FileError if the file cannot
        be written; then nothing is left behind.
        """
        path = Path(path)
        raw = fitting(canonical(self.data))
        return write_whole(path, zipped(raw) if path.suffix == ".gz" else raw)


def load(path: str | Path) -> Certificate:
    """Read a certificate and its model, without checking it; raises CertificateError for a file that is none."""
    from mace.proofs.check import Unusable
    from mace.proofs.check import load as load_data

    try:
        data = load_data(path)
    except (OSError, Unusable) as error:
        hint = "Give a file that `save`, `mace explain` or `mace audit` wrote."
        raise CertificateError(f"{path}: {error}", hint=hint) from None
    if not isinstance(data, dict) or not isinstance(data.get("statement"), dict):
        raise CertificateError(f"{path}: this is JSON, but no certificate")
    return Certificate(data)


def certificate(
    question: Question,
    lower: Fraction | None,
    witness: Point | None,
    proof: Proof,
    model: dict[str, Any] | None = None,
    deadline: Deadline = NEVER,
    known: Any = None,
) -> Certificate:
    """The certificate of a bound.

    lower:   no allowed point with the goal is closer; None if there is none at all.
    witness: an allowed point with the goal, if one is known. It is left out where only the deployed library, and no
             checker, can tell that it has the goal: when its last bits depend on the order of summation.
    model:   what stands for the model, for callers that write many certificates of one model and keep its
             `model_part` in a file of its own; None: that part itself.
    known:   what the kernel's `read_model` made of that part, with `model`.
    Raises CertificateError if the question cannot be written, with the reason; TimeOverError.
    """
    said = statement(question, lower, model, deadline)
    deadline.look(WRITING)
    with uncollected():
        cuts, written = _elaborated(question, lower, proof, said, known, deadline)
    about = {"model": question.model.name, "goal": question.goal.text, "columns": [c.name for c in question.columns]}
    return Certificate(
        {
            "mace_certificate": FORMAT,
            "about": about,
            "statement": said,
            "witness": None
            if witness is None or not question.has_goal(witness)
            else {"point": [int(i) for i in witness], "distance": text(question.distance_of(witness))},
            "cuts": cuts,
            "proof": written,
        }
    )


def _elaborated(
    question: Question, lower: Fraction | None, proof: Proof, said: dict[str, Any], known: Any, deadline: Deadline
) -> tuple[list[int | None], list[list[Any]] | dict[str, Any]]:
    """The cuts and the proof of a certificate."""
    if isinstance(question.model, Network):
        if not isinstance(question.distance, Norm):
            return [], [node_text(node, question) for node in proof]
        asked = (question.axes, question.columns, question.goal.decision, question.distance)
        # With the proof itself, whose id is then no other's.
        made = _NETWORKS.get(
            question.model,
            (id(proof), lower, *asked),
            lambda: (proof, _of_network(question, lower, proof, said, known, deadline)),
        )
        return [], made[1]
    if not isinstance(question.distance, Norm):
        question, lower = replace(question, distance=norm_of(question)[0]), None
    found = of_trees(question, lower, proof, deadline)
    if found is None:
        from mace.proofs.convert import elaborated  # late: few proofs need it

        nodes = [node_text(node, question) for node in proof]
        cuts, nodes = elaborated(said, nodes, known, lambda: deadline.look(WRITING))
        return cuts, packed([prices_in_columns(node, question.model) for node in nodes], question.model)
    written = []
    for number, one in enumerate(proof):
        one = found.only_reached(one, question) if isinstance(one, Cliques) else one
        node, pruned = node_text(one, question), found.pruned.get(number)
        if pruned is not None and node[0] in ("trees", "cell"):
            node += pruned
        elif pruned is not None:
            written.append(["prune", *pruned])
        written.append(prices_in_columns(node, question.model))
    return found.cuts, packed(written, question.model)


def _of_network(
    question: Question, lower: Fraction | None, proof: Proof, said: dict[str, Any], known: Any, deadline: Deadline
) -> list[list[Any]]:
    """The nodes of a certificate about a network."""
    from mace.certify.networks import of_network

    def look() -> None:
        deadline.look(WRITING)

    def write(node: ProofNode) -> list[Any]:
        return node_text(node, question)

    found: list[list[Any]] = []
    for piece in pieces(proof):
        part, begin, end = piece
        found += [] if part is None else [write(proof[begin - 1])]
        asked = question if part is None else question.at_part(part)
        own = of_network(asked, lower, proof[begin:end], write, look) if is_whole(proof, piece) else None
        if own is None:
            from mace.proofs.convert import elaborated

            converted: list[list[Any]] = elaborated(said, [write(node) for node in proof], known, look)[1]
            return converted
        found += own
    return found + [write(node) for node in proof[end:]]


def fitting(raw: bytes) -> bytes:
    """The text of a certificate, or of a model; raises CertificateError for a longer one than a checker reads."""
    try:
        text_within(raw)
    except Unusable as error:
        hint = "Smaller models, and bounds with shorter proofs, have certificates."
        raise CertificateError(f"the certificate has {error}, which no checker reads", hint=hint) from None
    return raw


def zipped(raw: bytes) -> bytes:
    """Gzip without name and time: the same bytes of the same text."""
    # The finest of the nine levels saves a hundredth more, for twice the time.
    return gzip.compress(raw, 6, mtime=0)
