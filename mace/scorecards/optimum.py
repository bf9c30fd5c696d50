"""The best set of choices by either method of `Counterfactual`, and, where there is none, the conditions that clash.

In:  a `Problem`, a `SetRequest`, a deadline.    Out: a `Chosen` set or None; names of conditions.
Raises TimeOverError; sets that were found before it are handed to `seen`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace

from mace.base.deadline import Deadline, TimeOverError
from mace.errors import MaceError
from mace.scorecards.choosing import Chosen, Rules, any_set, best_set, next_level
from mace.scorecards.hierarchy import allowed, by_priority
from mace.scorecards.problem import DIFFERENCES, Problem
from mace.scorecards.request import SOFT, SetRequest


def optimum(problem: Problem, asked: SetRequest, deadline: Deadline, seen: Callable[[Chosen], None]) -> Chosen | None:
    """The best set; None if there is none.

    seen: is given sets of that size that need not be the best.
    """
    aims, soft, count, rules = asked.objectives, asked.soft, asked.count, asked.rules
    ranked = {**aims, **{name: soft[name] for name in SOFT if name in soft and (count > 1 or name not in DIFFERENCES)}}
    if asked.method == "hierarchical" and len(ranked) > len(aims):
        names, apart = sorted(ranked, key=lambda name: -ranked[name]), Rules(rules.features, rules.values)
        return by_priority(problem, names, count, apart, asked.tolerance, deadline, seen)
    if asked.method == "weighted" or len(aims) == 1:
        return best_set(problem, aims, count, rules, deadline, seen)
    one, *others = sorted(aims, key=lambda name: -aims[name])
    best = best_set(problem, {one: 1.0}, count, rules, deadline, seen)
    if best is None:
        return None
    limit = allowed(best.cost, asked.tolerance)
    return next_level(problem, (one, limit), dict.fromkeys(others, 1.0), count, rules, deadline)


def clashing(problem: Problem, count: int, rules: Rules, deadline: Deadline) -> tuple[str, ...]:
    """Conditions without any one of which there is a set: left out one after the other (a deletion filter).

    Where there is none without all of them: "n_cf" if a single choice of bins would do, else "y".
    """
    core = []
    for name in (*DIFFERENCES, "max_changes"):
        fewer, wider = rules, [problem]
        if name == "max_changes":
            # Most often one change more is enough, and there are far fewer choices of so few.
            more = range(problem.most_changes + 1, len(problem.choices) + 1)
            wider = [replace(problem, most_changes=most) for most in more]
        else:
            fewer = rules._replace(**{name.removeprefix("diversity_"): False})
        if not wider or name != "max_changes" and fewer == rules:  # it asks nothing
            continue
        try:
            needed = any(any_set(one, count, fewer, deadline) for one in wider)
        except (TimeOverError, MaceError):
            needed = True  # not found out: it stays
        if needed:
            core.append(name)
        else:
            problem, rules = wider[-1], fewer
    if core:
        return tuple(core)
    try:
        return ("n_cf",) if any_set(problem, 1, rules, deadline) else ("y",)
    except (TimeOverError, MaceError):
        return ()


def sums(problem: Problem, chosen: Chosen, objectives: Mapping[str, float]) -> dict[str, float]:
    """The sum of each objective over a set."""
    found = {}
    if "proximity" in objectives:
        found["proximity"] = math.fsum(
            problem.weights[j] * abs(problem.values[j][bins[j]] - problem.values[j][problem.start[j]])
            for bins in chosen.bins for j in problem.changed(bins)
        )  # fmt: skip
    if "closeness" in objectives:
        found["closeness"] = float(problem.closeness(chosen.bins).sum())
    return found
