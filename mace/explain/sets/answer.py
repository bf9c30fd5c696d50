"""An answer of several counterfactuals that are found together.

In:  a question, the conditions on every two answers, how many, and how single answers are looked for.
Out: an `Answer` whose distance and bounds are of the sum, less what differences are worth; where there is no set, the
     conditions that clash.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction

from mace.certify.statement import certifiable
from mace.errors import MaceError
from mace.explain.answer import Answer, Counterfactual, counterfactual_at
from mace.explain.deployed.confirmation import Confirmation
from mace.explain.nearest.assemble import doubts, noted
from mace.explain.nearest.search import Search, Searched
from mace.explain.proved.together import Together
from mace.explain.sets.choosing import Choosing, InRegion
from mace.explain.sets.one_goal import under_one_goal
from mace.problem import missing
from mace.problem.diversity import Diversity
from mace.problem.plausibility import said_of_rows
from mace.problem.question import Question
from mace.solve.ensembles.means.cover import Refuted
from mace.solve.protocol import Limits
from mace.solve.sidesteps import beside
from mace.space.axes import Point

MOST_TOGETHER = 50


def set_answer(
    question: Question, diversity: Diversity, count: int, search: Search, confirmation: Confirmation, limits: Limits
) -> Answer:
    """The set of `count` points with the goal and the least sum of distances, any two as different as is asked.

    Raises MaceError for a count that is too large.
    """
    if count > MOST_TOGETHER:
        raise MaceError(f"at most {MOST_TOGETHER} answers are found together, asked were {count:,}")
    question = replace(question, distance=search.located(question, question.distance))
    asked: list[Searched] = []
    refuted: list[Refuted] = []

    def nearest(one: Question, known: Sequence[Point], least: Fraction) -> InRegion:
        best = beside(one, known, lambda point: confirmation.confirms(one, point), least)
        asked.append(search.nearest(one, confirmation, limits, best, refuted))
        return InRegion(asked[-1].bracket, asked[-1].question, asked[-1].gap)

    done = Choosing(question, diversity, count, nearest, limits).run()
    told = under_one_goal(question, search.judge.table, done.facts, refuted, limits.deadline)
    notes = [] if question.start not in done.points else ["the row has the goal already"]
    if done.status == "infeasible":
        notes.append(_clash(done, nearest, limits))
    done.question, done.facts = told
    points = sorted(done.points, key=lambda point: (question.distance_of(point), point))
    done.points = points
    confirmation.settle(question, [question.start, *points])
    notes += [*filter(None, [said_of_rows(question.distance)]), *noted(asked)]
    if diversity.soft and done.status != "infeasible":
        notes.append(
            f"taken off the sum: {diversity.rewards}; no certificate: what differences are worth is no distance"
        )
    elif any(fact.proof is not None for fact in done.facts) and (reason := certifiable(question)) is not None:
        notes.append(f"no certificate: {reason}")
    else:
        notes += [f"no certificate: {fact.unproved}" for fact in done.facts if fact.unproved]
    in_doubt = doubts(question, points, done.refused, confirmation.judge)
    notes = [*dict.fromkeys(notes), *in_doubt, *missing.notes(question)]
    start = question.values(question.start)
    return Answer(
        status=done.status,
        counterfactuals=[_shown(question, done, point) for point in points],
        exact_lower_bound=done.lower,
        exact_distance=done.upper,
        start=start,
        goal=question.goal.text,
        distance_name=f"{'rewarded ' if diversity.soft else ''}summed {question.distance.name}",
        oracle=asked[-1].oracle if asked else "none",
        why=done.why,
        seconds=0.0,
        trace=[step for one in asked for step in one.bracket.trace],
        space=question.space,
        decision=confirmation.decided(question.start),
        notes=notes,
        question=question,
        together=done,
        named=question.goal.named(question.space.called),
    )


def _shown(question: Question, done: Together, point: Point) -> Counterfactual:
    distance = question.distance_of(point)
    return counterfactual_at(question, point, distance, min(done.lower_of(point), distance), done.status)


def _clash(done: Together, nearest: Callable[[Question, Sequence[Point], Fraction], InRegion], limits: Limits) -> str:
    """Find the conditions that clash, by leaving out one after the other; says which they are."""
    question, kept = done.question, done.diversity.hard
    names = [*kept.named, *(["most_changes"] if question.most_changes is not None else [])]
    core, minimal = [], True
    for name in names:
        fewer = kept if name == "most_changes" else kept.without(name)
        wider = replace(question, most_changes=None) if name == "most_changes" else question
        tried = Choosing(wider, fewer, done.count, nearest, limits, known=done.known, feasible=True).run()
        if tried.status == "infeasible":
            question, kept = wider, fewer
        else:
            core.append(name)
            minimal = minimal and bool(tried.points)
    done.core = tuple(core)
    if not core:
        return f"there are fewer than {done.count} allowed points with the goal"
    words = " and ".join([", ".join(core[:-1]), core[-1]]) if core[1:] else core[0]
    if len(core) == 1:
        ending = "without it there are" if minimal else "whether there are without it was not found out in time"
    else:
        ending = "without any one of them there are" if minimal else "whether all are needed was not found out in time"
    return f"no {done.count} answers meet {words}; {ending}"
