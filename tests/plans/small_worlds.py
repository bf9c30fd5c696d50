"""Random small worlds, spaces and models, and their optima by enumeration of every order and every value.

The referee of the planner: nothing here encloses anything. The end of every plan is asked of the model's own `predict`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.space.axes import Axis
from mace.worlds.steps import Refused, State, Step, point_of, start_state

KINDS = ("tree", "forest", "linear", "network")


def space_of(rng: np.random.Generator) -> mace.Space:
    """Three numbers, two of them on grids, and a category."""
    return mace.Space(
        [
            mace.Feature("a", "integer", lower=0, upper=12),
            mace.Feature("b", "real", lower=0, upper=10, step="0.5"),
            mace.Feature("c", "real", lower=-2, upper=6, step="0.25"),
            mace.Feature("job", "categorical", levels=["none", "clerk", "chef"]),
        ],
        rules=["a + b <= 18"] if rng.random() < 0.3 else [],
    )


def frame_of(space: mace.Space, rng: np.random.Generator, rows: int = 80) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "a": rng.integers(0, 9, rows),
            "b": rng.integers(0, 13, rows) / 2,
            "c": rng.integers(-8, 17, rows) / 4,
            "job": rng.choice(["none", "clerk", "chef"], rows),
        }
    )


def model_of(kind: str, space: mace.Space, rng: np.random.Generator) -> Any:
    frame = frame_of(space, rng)
    matrix = space.encode(frame)
    score = rng.normal(size=matrix.shape[1]) @ matrix.to_numpy().T + np.abs(matrix.to_numpy()[:, 0] - 5)
    labels = (score > np.quantile(score, 0.7)).astype(int)
    seed = int(rng.integers(1000))
    made = {
        "tree": DecisionTreeClassifier(max_depth=4, random_state=seed),
        "forest": RandomForestClassifier(7, max_depth=4, random_state=seed),
        "linear": LogisticRegression(max_iter=2000),
        "network": MLPClassifier((6, 5), max_iter=150, random_state=seed),
    }[kind]
    return made.fit(matrix, labels)


EFFECTS = (
    ("    parameter v: int in [1, 4]\n    a = a + v\n", "v"),
    ("    parameter v: int in [-3, 3]\n    a = a + v\n    b = b + 0.5\n", "abs(v) + 0.5"),
    ("    parameter v: real in [0.5, 3] step 0.5\n    before b < 9\n    b = b + v\n    c = c - v / 3\n", "v * 0.7"),
    ("    parameter v: real in [-1, 2] step 0.25\n    c = c + v\n    after c <= 5\n", "abs(v) * 1.3 + 0.1"),
    ('    before job != "chef"\n    job = "chef"\n    c = min(6, c + 1)\n', "2"),
    (
        '    parameter v: one of "clerk", "none"\n    before job != "none" or a > 2\n    job = v\n',
        '1 if v == "none" else 1.5',
    ),
    ("    parameter v: int in [0, 3]\n    b = b * (4 - v) / 4\n    after b > 0.5\n", "v * (1 + b / 10)"),
    (
        "    parameter v: int in [1, 3]\n    if a > 6:\n        a = a - v\n    else:\n        c = c + v / 2\n",
        "v * v / 3",
    ),
)  # fmt: skip
EDGES = (
    "consequence a -> b: 0.5 if a > 5 else 1\n",
    "consequence a -> c: max(0, 1 - a / 20)\n",
    'consequence job -> c: 0.25 if job == "chef" else 0.75\n',
    'consequence job -> a: 0.6 if job == "clerk" else 1\n',
    "consequence b -> c:\n    if b > 3:\n        return 0.4\n    return 0.9\n",
)


def text_of(rng: np.random.Generator) -> str:
    """Two or three actions and some consequences."""
    chosen = rng.permutation(len(EFFECTS))[: int(rng.integers(2, 4))]
    actions = [f"action do {k}:\n{EFFECTS[k][0]}    cost {EFFECTS[k][1]}\n" for k in chosen]
    edges = [edge for edge in EDGES if rng.random() < 0.5]
    return "".join([*actions, *edges])


def plans(
    world: mace.World, axes: tuple[Axis, ...], horizon: int
) -> Iterator[tuple[State, Fraction, tuple[Step, ...]]]:
    """Every plan that the interpreter takes: its end, its cost and its steps."""
    start = start_state(world, axes)
    todo: list[tuple[State, Fraction, tuple[Step, ...]]] = [(start, Fraction(0), ())]
    while todo:
        state, cost, steps = todo.pop()
        yield state, cost, steps
        if len(steps) == horizon:
            continue
        taken = {step.action for step in steps}
        for action in world.actions:
            if action.name in taken:
                continue
            choices = [range(one.first, one.last + 1) for one in action.parameters]
            for indices in itertools.product(*choices):
                values = {p.name: p.value(i) for p, i in zip(action.parameters, indices, strict=True)}
                step = world.step(axes, state, action.name, values)
                if not isinstance(step, Refused):
                    todo.append((step.after, cost + step.cost, (*steps, step)))


def least(planner: mace.Planner, x: Any, goal: int, horizon: int) -> Fraction | None:
    """The least cost by enumeration, the ends asked of the model's own `predict` in one call."""
    question, _ = planner.explainer.question(x, goal)
    ends: dict[tuple[int, ...], Fraction] = {}
    for state, cost, _ in plans(planner.world, question.axes, horizon):
        point = point_of(question.axes, state)
        if point not in ends or cost < ends[point]:
            ends[point] = cost
    allowed = [point for point in ends if question.obeys(point)]
    frame = pd.DataFrame([question.values(point) for point in allowed])
    said = planner.explainer.decisions(frame)
    return min((ends[p] for p, label in zip(allowed, said, strict=True) if label == goal), default=None)
