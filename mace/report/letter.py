"""A letter to one person, in plain words: what was decided, what would have been enough, and how to have it checked.

In:  an `Audit` or an `Answer`, and the `Person` of the report.    Out: a `Letter`, plain values for the template.
Promise: "proved" is said of what was proved alone, and the letter names the certificate by its digest; there is no
letter about what the checker does not accept, nor about a row of which the audit knows no decision.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from mace.base.figures import number
from mace.errors import FileError
from mace.explain.answer import Answer
from mace.present.words import change
from mace.problem.goal_text import about_classes
from mace.report.parts import called, units_of

if TYPE_CHECKING:
    from mace.audit.result import Audit
    from mace.report.person import Person
    from mace.space.space import Space


class Letter(NamedTuple):
    """What the letter says.

    decided, wanted: the decision, and the one that would have been reached, as people call them.
    decision: whether what was wanted is a decision; else it is what a number or a probability was to be.
    changes: one sentence for each.
    certain: what is proved about them.
    digest:  of the certificate, or of the question; `what` says of which.
    """

    title: str
    decided: str
    wanted: str
    decision: bool
    changes: list[str]
    certain: str
    what: str
    digest: str


CERTAIN = {
    "optimal": "It is proved that no smaller change would have been enough, where the size of a change is counted as "
    "the audit counts it, and only what may change is changed.",
    "bounded": "A smaller change may be enough: the search was over before it was proved that none is.",
    "infeasible": "It is proved that no change of what may change would have been enough.",
    "unknown": "Whether any change would have been enough is not known: the search was over before that was proved.",
}
NOTHING = "What was wanted is what was decided: nothing would have to change."


def letter_of(audit: Audit, who: int | Answer, person: Person, space: Space | None, title: str | None) -> Letter:
    """The letter about a person of the audit, or an answer.

    Raises FileError where the checker does not accept the proof, or the model was not asked to the end.
    """
    for pair in person.proof:
        if pair.refused:
            raise FileError(
                f"no letter is written about what the checker does not accept ({pair.value})",
                hint="Ask again, and keep the certificates as they are written.",
            )
    if isinstance(who, Answer):
        goal: object = who.goal
        space, status, decision, wanted = who.space, who.status, who.decision, who.wanted
        found = who.counterfactuals[0].changes if who.counterfactuals else {}
        bounds = who.distance, who.lower_bound
    else:
        record = next(record for record in audit.records if record.row == who)
        if record.decision is None:
            why = record.why or record.outcome
            raise FileError(
                f"no letter is written about row {who}, of which the audit knows no decision ({why})",
                hint="`mace audit --resume` asks again about rows that failed.",
            )
        goal = audit.about.get("goal")
        wanted = "another decision" if goal is None else str(audit.about.get("wanted") or goal)
        status, decision = record.status, record.decision
        found = {name: (pair[0], pair[1]) for name, pair in record.changes.items()}
        bounds = record.distance, record.lower_bound or 0.0
    digests = [pair for pair in person.proof if pair.code and "igest" in pair.term]
    classes = goal is None or about_classes(str(goal))
    return Letter(
        title or "About your application",
        _called(audit, space, decision) if classes or not isinstance(decision, float) else number(decision, 12),
        _called(audit, space, wanted),
        classes,
        _sentences(found, units_of(audit.about, space)),
        NOTHING if status == "optimal" and not found else _certain(status, *bounds),
        digests[-1].term if digests else "",
        digests[-1].value if digests else "",
    )


def _certain(status: str, distance: float | None, lower: float) -> str:
    """What is proved of the changes; where the bounds do not meet, up to how large a part of them."""
    said = CERTAIN[status]
    if status != "optimal" or not distance or lower >= distance:
        return said
    part = number(100 * (distance - lower) / distance, 2, "up")
    return said.replace("no smaller change", f"no change that is smaller by more than {part}%")


def _called(audit: Audit, space: Space | None, label: object) -> str:
    """What people call a decision, as the space or the audit has it."""
    about = audit.about if audit.about.get("decisions") or space is None else {"decisions": space.decisions}
    return called(about, label)


def _sentences(changes: Mapping[str, tuple[Any, Any]], units: Mapping[str, str]) -> list[str]:
    """One sentence for each change."""
    return [change(name, units.get(name, ""), before, after) for name, (before, after) in changes.items()]
