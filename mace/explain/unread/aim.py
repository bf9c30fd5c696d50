"""What is wanted of a model that is only asked: a goal as it is written, and what it said of the row, to an `Aim`.

Raises GoalError for what such a model cannot be asked for: scores, probabilities or confidence that it does not give.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import Any

from mace.base.escape import short
from mace.base.suggestions import among
from mace.base.values import plain
from mace.errors import GoalError
from mace.explain.reading.settings import GoalSpec
from mace.problem.goal_text import parse, wanted
from mace.problem.goals import Margin, Probability, Value
from mace.search.aims import Aim, GoalAim, Targets, TargetsAim
from mace.search.blackbox import BlackBox
from mace.space.space import Space
from mace.tables.table import Label


def aim_of(
    box: BlackBox, space: Space, goal: GoalSpec, decision: Any, confidence: float | None,
    observed: Callable[[], set[Label]],
) -> tuple[Aim, str]:  # fmt: skip
    """What is wanted of a model, and its text; observed: the classes of rows that it is asked about for that."""
    if confidence is not None and (isinstance(confidence, bool) or not 0 <= confidence <= 1):
        raise GoalError(f"a confidence lies between 0 and 1, got {short(confidence)}")
    if isinstance(goal, Targets) or confidence is not None:
        sure = confidence is not None or bool(isinstance(goal, Targets) and goal.thresholds)
        if sure and box.confidence is None:
            raise GoalError("the goal asks for confidence", hint="Give mace.BlackBox(.., confidence=function).")
    if isinstance(goal, Targets):
        names = _names(box.outputs, goal, len(decision) if isinstance(decision, list) else 1)
        unknown = [name for name in (*goal.values, *goal.thresholds) if name not in names]
        if unknown:
            raise GoalError(f"the {box.name} has no output `{unknown[0]}`", hint=among(unknown[0], names))
        return TargetsAim(goal, names), str(goal)
    if isinstance(decision, list):
        raise GoalError(
            f"the {box.name} has {len(decision)} outputs",
            hint="Give goal=mace.Targets({name: value}); of a MultiOutputClassifier also mace.OneOutput(model, 0).",
        )
    classes = _classes(box, goal, decision, observed)
    spec = wanted(goal, classes, decision, space.decisions, space.names)
    if isinstance(spec, Margin) and spec.in_score:
        raise GoalError(f"`{spec}`: the scores of a model that is only asked are not known", hint="Ask for a class.")
    if isinstance(spec, (Probability, Margin)) and box.probabilities is None:
        raise GoalError(
            f"`{spec}` is about probabilities, which the {box.name} does not give",
            hint="Give mace.BlackBox(.., probabilities=function).",
        )
    return GoalAim(spec, classes, confidence), str(spec)


def _classes(box: BlackBox, goal: GoalSpec, decision: Any, observed: Callable[[], set[Label]]) -> tuple[Label, ...]:
    """The classes of the model: what it says of itself, or what its answers look like; none for numbers."""
    if box.classes is not None:
        return tuple(plain(label) for label in box.classes)
    if isinstance(decision, bool):
        return (False, True)
    if isinstance(decision, float) or isinstance(goal, Value) or isinstance(decision, int) and _is_interval(goal):
        return ()
    known = {decision} | observed()
    if goal is not None and not (isinstance(goal, str) and any(sign in goal for sign in "<>=(")):
        several = goal if isinstance(goal, (list, tuple, set, frozenset)) else [goal]
        known |= {plain(label) for label in several if not (isinstance(label, str) and label.startswith("not "))}
    if len(known) < 2:
        raise GoalError(
            f"the {box.name} said {short(decision)} of the row, and no other class is known",
            hint="Name the goal, give a background, or mace.BlackBox(.., classes=[..]).",
        )
    return tuple(sorted(known, key=lambda label: (type(label).__name__, label)))


def _names(outputs: Sequence[str], goal: Targets, count: int) -> tuple[Hashable, ...]:
    """What targets call the outputs: their names; of outputs without names their places, or texts in their order."""
    if outputs:
        return tuple(outputs)
    if all(isinstance(name, int) for name in goal.values):
        return tuple(range(count))
    return tuple(goal.values)


def _is_interval(goal: GoalSpec) -> bool:
    """Whether a goal is a text about a number."""
    if not isinstance(goal, str):
        return False
    try:
        parse(goal, ())
    except GoalError:
        return False
    return True
