"""Small random questions about tree ensembles, and their answers by enumeration."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from mace.problem.distance import norm
from mace.problem.exclusions import Avoid, AvoidChanges, AvoidNear, AvoidPoint
from mace.problem.question import Goal, Question
from mace.space.axes import LevelAxis, Point
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.margins import compare_slack, exact_margin, exact_scores, possible, surely
from mace.tables.table import Compare, Decision, Ensemble, Tree, decision_for
from tests.small_spaces import SPECS

KINDS = ("integer", "step", "float32", "binary", "categorical", "ordinal")


def random_space(
    rng: np.random.Generator, *, floats: bool = True, kinds: Sequence[str] = KINDS, levels: int = 4
) -> tuple[Space, list[object]]:
    """Two to four features of some kinds with few values, up to so many levels, and a start row."""
    features, row = [], []
    for j in range(rng.integers(2, 5)):
        name, kind = f"x{j}", rng.choice(kinds)
        change = str(rng.choice(["any", "any", "any", "fixed", "increase", "decrease"]))
        if kind == "integer":
            low = int(rng.integers(-3, 2))
            features.append(Feature(name, "integer", low, low + int(rng.integers(1, 6)), change=change))
            row.append(int(rng.integers(features[-1].lower, features[-1].upper + 1)))
        elif kind == "step" or (kind == "float32" and not floats):
            features.append(Feature(name, "real", "-0.3", "0.6", step="0.1", change=change))
            row.append(float(rng.choice([0.1, 0.2, 0.25, -0.1, 0.6])))  # 0.25 lies off the steps
        elif kind == "float32":
            low = np.float32(rng.normal())
            high = low
            for _ in range(5):
                high = np.nextafter(high, np.float32(np.inf))
            features.append(Feature(name, "real", float(low), float(high), change=change, grid="float32"))
            row.append(float(rng.choice([low, high])))
        elif kind == "binary":
            features.append(Feature(name, "binary", change=change))
            row.append(int(rng.integers(2)))
        else:
            known = [f"v{k}" for k in range(rng.integers(2, levels + 1))]
            change = "any" if kind == "categorical" and change in ("increase", "decrease") else change
            encoding = str(rng.choice(["one-hot", "thermometer", "codes"]))
            features.append(Feature(name, kind, levels=known, change=change, encoding=encoding))
            row.append(str(rng.choice(known)))
    return Space(features), row


def random_tree(rng: np.random.Generator, rows: np.ndarray, outputs: int, depth: int, values: str) -> Tree:
    """A tree whose thresholds lie at, between and beside values of `rows`."""
    column, threshold, left, right, value = [], [], [], [], []

    def grow(level: int) -> int:
        node = len(column)
        column.append(-1), threshold.append(0.0), left.append(-1), right.append(-1)
        leaf = rng.random(outputs) if values == "random" else rng.integers(-2, 3, outputs) / 4
        if values == "fraction":
            counts = rng.integers(0, 7, outputs) + 1e-9
            leaf = np.round(counts) / max(np.round(counts).sum(), 1)
        value.append(leaf)
        if level < depth and rng.random() < 0.9:
            number = int(rng.integers(rows.shape[1]))
            seen = rows[rng.integers(len(rows)), number]
            other = rows[rng.integers(len(rows)), number]
            column[node] = number
            threshold[node] = float(
                rng.choice([seen, (seen + other) / 2, np.float32(seen), np.nextafter(seen, -np.inf)])
            )
            left[node] = grow(level + 1)
            right[node] = grow(level + 1)
        return node

    grow(0)
    return Tree(
        np.array(column, np.int32), np.array(threshold), np.array(left, np.int32), np.array(right, np.int32),
        np.array(value, np.float64).reshape(len(column), outputs),
    )  # fmt: skip


def points_of(question: Question) -> list[Point]:
    """Every point of the axes."""
    ranges = [a.levels() if isinstance(a, LevelAxis) else range(a.lower, a.upper + 1) for a in question.axes]
    return list(itertools.product(*ranges))


def random_question(seed: int, *, crowded: bool = False, kinds: Sequence[str] = KINDS, levels: int = 4) -> Question:
    """A question with few points: any norm, weights, exclusions, few changes allowed, several classes.

    crowded: of many deep trees, whose leaves contradict each other. kinds, levels: as of `random_space`.
    """
    rng = np.random.default_rng(seed)
    space, row = random_space(rng, kinds=kinds, levels=levels)
    axes = space.axes(row)
    free = space.free().axes(row)
    rows = np.array([space.matrix_row(free, p) for p in _sample(rng, free)])
    rule = str(rng.choice(["argmax", "argmax", "argmax", "positive", "nonnegative", "sigmoid", "value"]))
    outputs = int(rng.integers(2, 5)) if rule == "argmax" else 1
    count = int(rng.choice([8, 12, 16] if crowded else [1, 2, 3, 5, 8]))
    values = str(rng.choice(["random", "quarters", "fraction"]))
    depths = (3, 6) if crowded else (1, 5)
    trees = tuple(random_tree(rng, rows, outputs, int(rng.integers(*depths)), values) for _ in range(count))
    if outputs == 1 and values != "quarters":
        trees = tuple(Tree(t.column, t.threshold, t.left, t.right, t.value - 0.6) for t in trees)
    start = np.zeros(outputs) if rng.random() < 0.7 else rng.normal(size=outputs) / 10
    dtype = str(rng.choice(["float64", "float64", "float32"]))
    if dtype == "float32":
        start = start.astype(np.float32).astype(np.float64)
    classes = tuple(range(outputs if rule == "argmax" else 2))
    model = Ensemble(
        trees, len(space.columns), start, rule, classes, cast=str(rng.choice(["float32", "float64"])),
        test=str(rng.choice(["<=", "<"])), dtype=dtype, divide=count if rule == "argmax" else 1,
        ordered=bool(rng.random() < 0.8),
    )  # fmt: skip
    goal: Decision
    if rule == "value":
        middle = float(rng.normal() / 4)
        goal = ((Compare(0, None, middle), Compare(None, 0, -middle - 0.2, strict=True)), (Compare(0, None, 1.5),))
        wanted = frozenset({"interval"})
    else:
        here = Question(space, axes, model, Goal("", frozenset(), ()), norm("l1", len(axes))).scores(
            tuple(a.start for a in axes)
        )
        present = int(np.argmax(here)) if rule == "argmax" else int(here[0] > 0)
        others = [c for c in classes if c != present]
        wanted = frozenset(others if rng.random() < 0.5 else [int(rng.choice(others))])
        goal = decision_for(model, wanted)
    weights = None if rng.random() < 0.6 else [str(rng.choice(["1", "2", "0.3", "0"])) for _ in axes]
    most = int(rng.integers(1, 3)) if rng.random() < 0.2 else None
    distance = norm(SPECS[rng.integers(len(SPECS))], len(axes), weights)
    question = Question(space, axes, model, Goal(str(wanted), wanted, goal), distance, most_changes=most)
    if rng.random() < 0.3:
        question = Question(
            space, axes, model, question.goal, distance, (), random_avoid(rng, question), most_changes=most
        )
    return question


def started_elsewhere(seed: int, question: Question) -> Question:
    """The same question from a row that lies anywhere, far from what is allowed or in it, which may be less."""
    rng, axes = np.random.default_rng([7, seed]), list(question.axes)
    for j, axis in enumerate(axes):
        if isinstance(axis, LevelAxis) or rng.random() < 0.3:
            continue
        width = max(axis.upper - axis.lower, 1)
        start = int(rng.integers(axis.lower - 3 * width, axis.upper + 3 * width + 1))
        if rng.random() < 0.5 and not axis.fixed:
            start = int(rng.integers(axis.lower, axis.upper + 1))
            lower, upper = sorted(map(int, rng.integers(axis.lower, axis.upper + 1, 2)))
            axis = replace(axis, lower=lower, upper=upper)
        axes[j] = replace(axis, start=start)
    avoid = tuple(one for one in question.avoid if not isinstance(one, AvoidNear))
    return replace(question, axes=tuple(axes), avoid=avoid)


def _sample(rng: np.random.Generator, axes: object) -> list[Point]:
    found = []
    for _ in range(8):
        point = []
        for axis in axes:
            low, high = (0, axis.count - 1) if isinstance(axis, LevelAxis) else (axis.lower, axis.upper)
            point.append(int(rng.integers(low, high + 1)))
        found.append(tuple(point))
    return found


def random_avoid(rng: np.random.Generator, question: Question) -> tuple[Avoid, ...]:
    """One to three exclusions, some of them of points that have the goal."""
    points = points_of(question)
    goals = [p for p in points if question.has_goal(p)] or points
    goals = sorted(goals, key=lambda p: (question.distance_of(p), p))[:5]
    found: list[Avoid] = []
    for _ in range(rng.integers(1, 4)):
        point = goals[rng.integers(len(goals))]
        kind = rng.integers(3)
        if kind == 0:
            found.append(AvoidPoint(point))
        elif kind == 1:
            changed = question.changed(point)
            found += [AvoidChanges(changed)] if changed else []
        else:
            found.append(AvoidNear(point, Fraction(int(rng.integers(1, 30)), 100)))
    return tuple(found)


def optimum(question: Question) -> Fraction | None:
    """The smallest distance of an allowed point with the goal, by enumeration."""
    allowed = (p for p in points_of(question) if question.obeys(p) and question.has_goal(p))
    return min((question.distance_of(p) for p in allowed), default=None)


def bounds(question: Question) -> tuple[Fraction | None, Fraction | None]:
    """The least distance of an allowed point that may have the goal, and of one that has it for certain."""
    model = question.model
    if model.certain:
        return optimum(question), optimum(question)
    found: list[list[Fraction]] = [[], []]
    for point in filter(question.obeys, points_of(question)):
        scores = exact_scores(model, question.row(point))
        for place, decide in enumerate((possible, surely)):
            if any(
                all(decide(c, exact_margin(model, c, scores), compare_slack(model, c)) for c in part)
                for part in question.goal.decision
            ):
                found[place].append(question.distance_of(point))
    return min(found[0], default=None), min(found[1], default=None)
