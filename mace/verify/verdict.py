"""What `verify` returns: proved, violated or unknown, with what shows it.

Promise: "violated" holds inputs on which the deployed model's own `predict` was asked again; "proved" rests on
refutations, with certificates where the prover gives them; whatever stopped short of both is "unknown" and says how far
it got.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mace.base.arguments import spelled
from mace.base.escape import one_line
from mace.base.figures import cell, counted
from mace.base.formats import schema_of
from mace.base.values import for_json, plain
from mace.base.views import view

if TYPE_CHECKING:
    from mace.certify.writer import Certificate
    from mace.space.space import Space

Status: TypeAlias = Literal["proved", "violated", "unknown"]
WIDTH = 28


class PropertyViolated(AssertionError):  # noqa: N818
    """Raised by `Verdict.raise_if_violated`; `verdict` is the whole answer."""

    def __init__(self, verdict: Verdict) -> None:
        self.verdict = verdict
        super().__init__(str(verdict))


@dataclass(frozen=True)
class Violation:
    """Inputs that break a property, and what the deployed model says of each.

    inputs:    one row, or two, as feature -> value in the space's own types.
    decisions: what `predict` returns for each; of `equivalent`, what each of the two models returns for the one row;
               of `bounded` with a class, the probability of that class.
    space:     has the names that people have for decisions.
    label:     the class whose probability `decisions` are; None where they are what `predict` returns.
    """

    inputs: tuple[dict[str, Any], ...]
    decisions: tuple[Any, ...]
    space: Space | None = field(default=None, repr=False, compare=False)
    label: Any = field(default=None, repr=False, compare=False)

    @property
    def changes(self) -> dict[str, tuple[Any, Any]]:
        """The features in which the two rows differ, with both values."""
        if len(self.inputs) < 2:
            return {}
        one, other = self.inputs
        return {name: (one[name], other[name]) for name in one if one[name] != other[name]}

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "inputs": [{name: for_json(value) for name, value in row.items()} for row in self.inputs],
            "decisions": [for_json(decision) for decision in self.decisions],
            "changes": {name: [for_json(a), for_json(b)] for name, (a, b) in self.changes.items()},
        }

    def __str__(self) -> str:
        lines = [" -> ".join(map(self._called, self.decisions)) + " (replayed through the deployed model)"]
        for name in self.inputs[0]:
            values = dict.fromkeys(self._shown(name, plain(row[name])) for row in self.inputs)
            mark = "*" if len(values) > 1 else " "
            lines.append(f"  {mark} {one_line(name):{WIDTH}} {' -> '.join(values)}")
        return "\n".join(lines)

    def _shown(self, name: str, value: Any) -> str:
        """A value as people write it, with its unit."""
        feature = None if self.space is None else next((f for f in self.space.features if f.name == name), None)
        return cell(value, "" if feature is None else feature.unit)

    def _called(self, decision: Any) -> str:
        """A decision as people call it, and the model's own label where that is another; a probability of whose."""
        if self.label is not None:
            known = self.label if self.space is None else self.space.called(self.label)
            return f"p({one_line(known)}) = {plain(decision)!r}"
        label = plain(decision)
        name = str(label) if self.space is None else self.space.called(label)
        return repr(label) if name == str(label) else f"{one_line(name)} ({one_line(repr(label))})"


@dataclass(frozen=True)
class Verdict:
    """The answer about one property.

    name:         the property's text, as the suite file and the command line write it.
    why:          what was shown, or why nothing was.
    violation:    inputs that break it, for "violated".
    witness:      for `reachable`: a row that shows that it holds.
    certificates: one for each question that was refuted, where all of them have one.
    asked, refuted: how many questions the property became, and how many of them were refuted.
    oracle:       which oracle answered ("structure": it follows from the shape of the model).
    figures:      numbers of the answer, for instance the radius of `robust`.
    finding:      of `reachable` and `unreachable`: "reachable" or "not reachable"; empty for all others.
    """

    name: str
    status: Status
    why: str
    violation: Violation | None = None
    witness: Violation | None = None
    certificates: Sequence[Certificate] = ()
    asked: int = 0
    refuted: int = 0
    oracle: str = ""
    seconds: float = 0.0
    notes: Sequence[str] = ()
    figures: dict[str, float] = field(default_factory=dict)
    finding: str = ""

    @property
    def certified(self) -> bool:
        """Whether every refutation that the verdict rests on has a certificate."""
        return bool(self.certificates) and len(self.certificates) == self.refuted

    @spelled
    def raise_if_violated(self, *, unknown: bool = False) -> Verdict:
        """Return the verdict itself, for tests.

        unknown: whether a verdict that is not "proved" fails as well.
        Raises PropertyViolated (an AssertionError) with the whole text.
        """
        if self.status == "violated" or unknown and self.status != "proved":
            raise PropertyViolated(self)
        return self

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; certificates by their digests."""
        return {
            **schema_of("verdict"),
            "property": self.name,
            "status": self.status,
            "finding": self.finding,
            "why": self.why,
            "violation": None if self.violation is None else self.violation.to_dict(),
            "witness": None if self.witness is None else self.witness.to_dict(),
            "certified": self.certified,
            "certificates": [certificate.digest for certificate in self.certificates],
            "questions": {"asked": self.asked, "refuted": self.refuted},
            "oracle": self.oracle,
            "seconds": self.seconds,
            "notes": list(self.notes),
            "figures": dict(self.figures),
        }

    def __repr__(self) -> str:
        count = len(self.certificates)
        proofs = f", {counted(count, 'certificate')}" if self.certified else ""
        return f"Verdict({self.status}: {one_line(self.name)}; {one_line(self.why)}{proofs})"

    def _repr_html_(self) -> str:
        return str(view("as HTML")(str(self)))

    def __str__(self) -> str:
        lines = [f"{self.status}: {one_line(self.name)}", f"  {one_line(self.why)}"]
        for shown in (self.violation, self.witness):
            if shown is not None:
                lines += [f"  {line}" for line in str(shown).splitlines()]
        return "\n".join(lines + [f"  note: {one_line(note)}" for note in self.notes])
