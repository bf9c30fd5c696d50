"""What was found, as an `Answer`, and what an answer must say beside its bounds."""

from __future__ import annotations

from collections.abc import Sequence

from mace.base.escape import short
from mace.base.figures import counted
from mace.certify.statement import unwritable
from mace.explain.answer import Answer, Counterfactual, counterfactual_at
from mace.explain.deployed.judge import Judge
from mace.explain.nearest.search import Searched
from mace.explain.proved.bound import LONG_PROOF
from mace.problem import missing
from mace.problem.another import no_other
from mace.problem.exclusions import Avoid, AvoidBox
from mace.problem.programs import Rule
from mace.problem.question import Question
from mace.solve.conditions import broken
from mace.space.axes import Point, whole
from mace.tables.table import Formula, Label

IN_DOUBT = "rounding leaves in doubt"
WRITTEN_LATER = "the proof is long: its certificate is written when you ask for it, which the time limit does not count"


def answer_of(
    question: Question,
    decision: Label,
    found: Sequence[Searched],
    count: int,
    judge: Judge,
    assumed: Sequence[str] = (),
) -> Answer:
    """The answer to a question of `count` answers, as far as they were found.

    assumed: what was taken for granted of the space, for the answer's notes.
    """
    first = found[0].bracket
    shown = [counterfactual_of(question, one) for one in found if one.bracket.point is not None]
    start, unit = question.values(question.start), found[0].unit
    points = [question.start, *(one.bracket.point for one in found if one.bracket.point is not None)]
    return Answer(
        status=first.status,
        counterfactuals=shown,
        exact_lower_bound=first.lower * unit,
        exact_distance=None if first.upper is None else first.upper * unit,
        start=start,
        goal=question.goal.text,
        distance_name=question.distance.name,
        oracle=found[-1].oracle,
        why=first.why,
        seconds=0.0,
        trace=[asked for one in found for asked in one.bracket.trace],
        space=question.space,
        decision=decision,
        notes=[*_notes(question, found, count, judge), *assumed],
        question=found[0].question,
        proof=first.proof,
        unproved=first.unproved,
        witness=first.point,
        levels=list(found[0].levels),
        unit=unit,
        named=question.goal.named(question.space.called),
        judged=lambda: judge.outcomes(question, points),
    )


def counterfactual_of(question: Question, found: Searched) -> Counterfactual:
    """The point that was found, in the space's own values."""
    bracket, unit = found.bracket, found.unit
    assert bracket.point is not None and bracket.upper is not None
    upper, lower = bracket.upper * unit, bracket.lower * unit
    reached = {level.name: level.of_answer for level in found.levels if level.of_answer is not None}
    return counterfactual_at(question, bracket.point, upper, lower, bracket.status, reached)


def _notes(question: Question, found: Sequence[Searched], count: int, judge: Judge) -> list[str]:
    """What an answer must say beside its bounds."""
    notes = []
    points = [one.bracket.point for one in found if one.bracket.point is not None]
    if points and points[0] == question.start:
        missed = [level for level in found[0].levels[:1] if level.missed]
        known = "brings" if all(level.least for level in missed) else "is known that brings"
        nearer = f"no change {known} the row nearer to the goal"
        notes.append(nearer if missed else "the row has the goal already")
    elif points and len(points) < count:
        last = found[-1].bracket
        ending = (
            f"proved: {no_other(found[-1].question.avoid)}" if last.status == "infeasible" else last.why or last.status
        )
        notes.append(f"{len(points)} of {count} answers found ({ending})")
    if found[0].bracket.status == "infeasible":
        notes += _never(question)
    notes += noted(found)
    if found[0].bracket.proof is not None and (reason := unwritable(found[0].question)) is not None:
        notes.append(f"no certificate: {reason}")
    elif len(found[0].bracket.proof or ()) >= LONG_PROOF:
        notes.append(WRITTEN_LATER)
    notes += doubts(question, points, [avoid for one in found for avoid in one.bracket.refused], judge)
    if points[:1] != [question.start]:
        notes += missing.notes(question)
    return notes


def _never(question: Question) -> list[str]:
    """The rules that nothing obeys which the row may become: a slip of whoever wrote them, whatever the model is."""
    everything = whole(question.axes)
    return [
        f"nothing that the row may become obeys the rule {short(rule.source.strip())}, whatever the model says"
        for number, rule in enumerate(question.rules)
        if isinstance(rule, Rule) and broken(question, number, everything)
    ]


def noted(found: Sequence[Searched]) -> list[str]:
    """What searches said of the choice of their oracles, and why a bound has no certificate."""
    lost = [f"no certificate: {one.bracket.unproved}" for one in found if one.bracket.unproved]
    return list(dict.fromkeys([*(one.note for one in found if one.note), *lost]))


def doubts(question: Question, points: Sequence[Point], refused: Sequence[Avoid], judge: Judge) -> list[str]:
    """What an answer must say of the model, and of rows that rounding leaves in doubt."""
    notes = []
    if not isinstance(question.model, Formula):
        notes += [said for said in (judge.deployed.note, judge.deployed.assumed) if said]
    if any(question.has_goal(point) is None for point in points):
        notes.append(f"{IN_DOUBT} the counterfactual: the deployed model, asked about this row alone, accepts it")
    if refused:
        what = counted(len(refused), "point")
        alike = any(isinstance(avoid, AvoidBox) for avoid in refused)
        notes.append(
            f"{IN_DOUBT} {what} that the deployed model, asked about each row alone, refuses: the bound is about "
            f"all others{', also without what reaches the same leaves' if alike else ''}"
        )
    return notes
