"""Which rules and restrictions leave a row without recourse: a minimal unsatisfiable core.

In:  a row that is infeasible under all rules and all restrictions, of change and of what is missing.
Out: some of them that alone make it infeasible, and of which none can be spared; and those whose removal opens a way.
How: by deletion. What is proved to be superfluous is dropped for good, so one question a constraint is enough; where a
question stays undecided the constraint is kept and the core is not called minimal.
Source: Chinneck and Dravnieks 1991, the deletion filter.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Literal

from mace.audit.record import Record
from mace.explain.combinatorics.subsets import spared

if TYPE_CHECKING:
    from mace.audit.task import Query, Task
    from mace.base.deadline import Deadline
    from mace.explain.explainer import Explainer

Reply = Literal["blocked", "open", "unknown"]


def core_of(explainer: Explainer, query: Query, task: Task, blank: Record, deadline: Deadline) -> Record:
    """The core of one row, as a record whose status is "infeasible" if the row is blocked at all.

    What is not decided at the deadline stays in the core, which is then not called minimal.
    """
    rules = {f"rule: {rule.source}": rule for rule in explainer.rules}
    restricted = {
        f"{feature.name} is {feature.change}"
        if feature.change == "fixed"
        else f"{feature.name} may only {feature.change}": feature.name
        for feature in explainer.space.features
        if feature.change != "any"
    }
    axes = explainer.space.axes(query.values)
    kept_missing = {
        f"{feature.name} stays missing": feature.name
        for feature, axis in zip(explainer.space.features, axes, strict=True)
        if feature.missing == "keep" and feature.show(axis, axis.start) is None
    }

    def ask(kept: set[str]) -> Reply:
        variant = copy.copy(explainer.filling if kept_missing else explainer)
        variant.rules = tuple(rule for name, rule in rules.items() if name in kept)
        freed = {feature: "any" for name, feature in restricted.items() if name not in kept}
        filled = [feature for name, feature in kept_missing.items() if name not in kept]
        variant.space = explainer.space.change(**freed).filling(filled)  # type: ignore[arg-type]
        # Whether there is any counterfactual, not which is nearest: the first witness is enough.
        answer = variant.explain(
            query.values,
            goal=task.goal,
            rgap=1,
            oracle=task.oracle,
            timeout=deadline,
            memory_mb=task.memory_mb,
        )
        if answer.counterfactuals:
            return "open"
        return "blocked" if answer.status == "infeasible" else "unknown"

    return minimal(blank, [*rules, *restricted, *kept_missing], ask)


def minimal(blank: Record, names: list[str], ask: Callable[[set[str]], Reply]) -> Record:
    """The deletion filter over named constraints; `ask` says what a row can do under some of them."""
    everything = set(names)
    first = ask(everything)
    if first != "blocked":
        why = "it has recourse" if first == "open" else "whether it has recourse is not known"
        return replace(blank, status="unknown", why=why)
    said = {"blocked": True, "open": False, "unknown": None}
    core, certain = spared(names, lambda kept: said[ask(kept)])
    # A constraint whose removal alone opens a way lies in every core, so only these few need the question.
    opens = [name for name in core if ask(everything - {name}) == "open"]
    return replace(blank, status="infeasible", core=core, opens=opens, core_minimal=certain)
