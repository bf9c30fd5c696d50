"""The slow road to every answer: enumerate all points of a small question, and random questions to try it on."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction

import numpy as np

from mace.problem.distance import norm
from mace.problem.exclusions import AvoidChanges, AvoidNear, AvoidPoint
from mace.problem.programs import rule_of
from mace.problem.question import Goal, Question
from mace.space.axes import GridAxis, Point
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble, Layer, Network, Tree, decision_for
from tests.small_spaces import SPECS

LARGEST = 4000


def points(question: Question) -> Iterator[Point]:
    """All points of the axes, in order."""
    sides = [
        range(axis.lower, axis.upper + 1) if isinstance(axis, GridAxis) else axis.levels() for axis in question.axes
    ]
    yield from itertools.product(*sides)


def nearest(question: Question) -> tuple[Fraction, Point] | None:
    """The least distance of a point that is allowed and has the goal, with such a point; None if there is none."""
    best = None
    for point in points(question):
        distance = question.distance_of(point)
        if (best is None or distance < best[0]) and question.obeys(point) and question.has_goal(point):
            best = (distance, point)
    return best


def random_space(rng: np.random.Generator) -> Space:
    """Two to four features of mixed kinds, with at most LARGEST points."""
    while True:
        features = []
        for number in range(int(rng.integers(2, 5))):
            name = f"f{number}"
            kind = rng.choice(["integer", "real", "binary", "categorical", "ordinal"])
            change = rng.choice(["any"] * 5 + ["fixed", "increase", "decrease"])
            if kind == "integer":
                low = int(rng.integers(-5, 5))
                features.append(Feature(name, "integer", low, low + int(rng.integers(1, 13)), change=change))
            elif kind == "real":
                step = rng.choice(["0.1", "0.25", "3"])
                low = int(rng.integers(-2, 3)) * 3
                high = low + 3 * int(rng.integers(1, 3)) if step == "3" else low + 1
                features.append(Feature(name, "real", low, high, step=step, change=change))
            elif kind == "binary":
                features.append(Feature(name, "binary", change=change))
            else:
                count = int(rng.integers(2, 6))
                levels = [f"l{k}" for k in range(count)]
                encodings = ["codes", "one-hot", "thermometer"] if kind == "ordinal" else ["codes", "one-hot"]
                if kind == "categorical" and change in ("increase", "decrease"):
                    change = "any"
                features.append(Feature(name, kind, levels=levels, change=change, encoding=str(rng.choice(encodings))))
        size = 1
        for feature in features:
            size *= (
                len(feature.levels)
                if not feature.numeric
                else int((feature.bounds()[1] - feature.bounds()[0]) / Fraction(str(feature.step or 1))) + 1
            )
        if size <= LARGEST:
            return Space(features)


def random_row(space: Space, rng: np.random.Generator) -> dict[str, object]:
    """A row of the space; some steps are left off their grid."""
    row: dict[str, object] = {}
    for feature in space.features:
        if not feature.numeric:
            row[feature.name] = feature.levels[int(rng.integers(len(feature.levels)))]
            continue
        low, high = feature.bounds()
        steps = int((high - low) / Fraction(str(feature.step or 1)))
        value = low + Fraction(str(feature.step or 1)) * int(rng.integers(steps + 1))
        if feature.kind == "real" and rng.random() < 0.2:
            value = min(high, value + Fraction(str(feature.step)) / 3)
        row[feature.name] = int(value) if feature.kind == "integer" else float(value)
    return row


def random_tree(space: Space, outputs: int, depth: int, rng: np.random.Generator) -> Tree:
    """A tree of random tests, with leaf values of a few random bits or of many."""
    column, threshold, left, right, value = [], [], [], [], []

    def grow(level: int) -> int:
        node = len(column)
        for part in (column, threshold, left, right):
            part.append(-1)
        coarse = rng.random() < 0.5
        share = rng.integers(0, 5, outputs) / 4 if coarse else rng.random(outputs)
        value.append(share)
        if level == depth or rng.random() < 0.15:
            return node
        number = int(rng.integers(len(space.columns)))
        chosen = space.columns[number]
        if chosen.values is not None:
            cut = float(rng.choice(chosen.values)) + float(rng.choice([0.0, 0.5, -0.5]))
        else:
            low, high = space.features[chosen.feature].bounds()
            cut = float(low + (high - low) * Fraction(int(rng.integers(0, 21)), 20)) + float(
                rng.choice([0.0, 0.5, 0.01])
            )
        column[node], threshold[node] = number, cut
        left[node] = grow(level + 1)
        right[node] = grow(level + 1)
        return node

    grow(0)
    return Tree(
        np.array(column, dtype=np.int32),
        np.array(threshold, dtype=np.float64),
        np.array(left, dtype=np.int32),
        np.array(right, dtype=np.int32),
        np.array(value, dtype=np.float64).reshape(len(column), outputs),
    )


def random_model(space: Space, rng: np.random.Generator, kind: str | None = None) -> Ensemble | Network:
    """A tree, a forest, a boosted sum, a linear model or a small network, of two or three classes."""
    kind = kind or str(rng.choice(["tree", "forest", "boosting", "linear", "network"]))
    columns = len(space.columns)
    if kind in ("tree", "forest", "boosting"):
        outputs = 1 if kind == "boosting" else int(rng.integers(2, 4))
        count = 1 if kind == "tree" else int(rng.integers(2, 6))
        trees = tuple(random_tree(space, outputs, int(rng.integers(1, 4)), rng) for _ in range(count))
        if kind == "boosting":
            trees = tuple(replace(tree, value=tree.value - 0.5) for tree in trees)
        return Ensemble(
            trees,
            columns,
            np.array([rng.normal() / 4]) if kind == "boosting" else np.zeros(outputs),
            "positive" if kind == "boosting" else "argmax",
            (0, 1) if kind == "boosting" else tuple(range(outputs)),
            divide=count if kind == "forest" else 1,
        )
    classes = int(rng.integers(2, 4))
    outputs = 1 if classes == 2 else classes
    hidden = () if kind == "linear" else tuple(int(n) for n in rng.integers(2, 5, int(rng.integers(1, 3))))
    layers, width = [], columns
    for size in (*hidden, outputs):
        # The last layer is linear.
        last = len(layers) == len(hidden)
        layers.append(
            Layer(rng.normal(size=(width, size)), rng.normal(size=size), "identity" if last else "relu"),
        )
        width = size
    rule = "argmax" if classes > 2 else ("positive" if kind == "linear" else "sigmoid")
    return Network(tuple(layers), columns, rule, tuple(range(classes)))


def random_question(seed: int, kind: str | None = None, extras: bool = True) -> Question:
    """A small random question; with `extras`, now and then rules, exclusions and a limit on changes."""
    rng = np.random.default_rng(seed)
    space = random_space(rng)
    model = random_model(space, rng, kind)
    axes = space.axes(random_row(space, rng))
    labels = frozenset([int(rng.integers(len(model.classes)))])
    if len(model.classes) > 2 and rng.random() < 0.4:
        labels = frozenset(model.classes) - labels
    spec = SPECS[int(rng.integers(len(SPECS)))]
    weights = [Fraction(int(rng.integers(1, 5)), 2) for _ in axes] if rng.random() < 0.3 else None
    question = Question(
        space,
        axes,
        model,
        Goal(str(labels), labels, decision_for(model, labels)),
        norm(spec, len(axes), weights),
    )
    if extras and rng.random() < 0.35:
        question = _with_extras(question, rng)
    return question


def _with_extras(question: Question, rng: np.random.Generator) -> Question:
    choice = int(rng.integers(5))
    somewhere = tuple(
        int(rng.integers(a.lower, a.upper + 1)) if isinstance(a, GridAxis) else int(rng.choice(a.levels()))
        for a in question.axes
    )
    match choice:
        case 0:
            return replace(question, most_changes=int(rng.integers(0, 3)))
        case 1:
            return question.away(AvoidPoint(somewhere))
        case 2:
            changed = question.changed(somewhere)
            return question.away(AvoidChanges(changed)) if changed else question
        case 3:
            return question.away(AvoidNear(somewhere, Fraction(int(rng.integers(1, 6)), 10)))
        case _:
            return replace(question, rules=(rule_of(random_rule(question.space, rng), question.space),))


def random_rule(space: Space, rng: np.random.Generator) -> str:
    """A condition between one or two features."""
    parts = []
    for feature in rng.permutation(np.arange(len(space.features)))[:2]:
        f = space.features[int(feature)]
        if f.numeric:
            low, high = f.bounds()
            parts.append(f"{f.name} {rng.choice(['<=', '>=', '=='])} {(low + high) / 2}")
        elif f.kind == "binary":
            parts.append(f"{f.name} == {int(rng.integers(2))}")
        else:
            parts.append(f'{f.name} {rng.choice(["==", "!="])} "{f.levels[int(rng.integers(len(f.levels)))]}"')
    return f" {rng.choice(['or', 'implies', 'and'])} ".join(parts)
