"""Random small worlds, spaces and models, and their optima by enumeration of every order and every value.

The referee of the planner: nothing here encloses anything. The end of every plan is asked of the model's own `predict`.
"""

from __future__ import annotations

import contextlib
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


def model_of(
    kind: str, space: mace.Space, rng: np.random.Generator, share: float = 0.7, layers: tuple[int, ...] | None = None
) -> Any:
    """A fitted model that refuses about this share; layers: of a network."""
    frame = frame_of(space, rng)
    matrix = space.encode(frame)
    score = rng.normal(size=matrix.shape[1]) @ matrix.to_numpy().T + np.abs(matrix.to_numpy()[:, 0] - 5)
    labels = (score > np.quantile(score, share)).astype(int)
    seed = int(rng.integers(1000))
    made = {
        "tree": DecisionTreeClassifier(max_depth=4, random_state=seed),
        "forest": RandomForestClassifier(7, max_depth=4, random_state=seed),
        "linear": LogisticRegression(max_iter=2000),
        "network": MLPClassifier((6, 5) if layers is None else layers, max_iter=150, random_state=seed),
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


HARD_EFFECTS = """
    parameter v: int in [-2, 0]
    a = a + v
    after a >= 2
    cost -v

    parameter v: int in [0, 0]
    b = b + 1
    cost 1 + v

    parameter v: int in [1, 3]
    before a == 4 or b == 5 or c == 0
    a = a + v
    cost v / 2

    parameter v: int in [1, 3]
    a = a + v / 3
    b = b + 2 * v / 3
    after a != before_a or b > 3
    cost v

    parameter v: real in [0.1, 0.3] step 0.1
    a = a * (1 + v)
    c = c / (1 + b)
    cost 10 * v * v

    parameter v: int in [1, 2]
    before start_a <= 6
    b = start_b + v
    after b != before_b
    cost abs(b - before_b)

    before c < 3
    c = max(a / 4, b / 3, c)
    after c > before_c
    cost max(0, c - before_c)

    parameter v: int in [1, 2]
    if job == "chef":
        b = b + 2 * v
    else:
        b = b + v / 2
    cost v

    before job == "none"
    job = "clerk"
    cost 1

    before job == "clerk"
    job = "chef"
    after start_job != "chef"
    cost 2 if a < 5 else 1

    parameter v: one of "none", "clerk", "chef"
    before v != job
    job = v
    a = a + 1 if v == "chef" else a
    cost 0.3 + b / 20

    for k in 1..2:
        if a >= 3 * k: b = b + 1
    after b <= 9 and b > before_b
    cost max(0, 6 - b)

    parameter v: int in [0, 2]
    b = 10 - v
    after b >= before_b
    cost abs(b - before_b) * abs(b - before_b) / 9
""".strip("\n").split("\n\n")
HARD_EDGES = """
consequence a -> job: 0 if a == 5 else 0.7

consequence b -> a: 1 - b / 20

consequence c -> b: 0.2 if start_c < c and c >= 1 else 0.9

consequence b -> job:
    share = 1
    for k in 1..4:
        if b >= 2 * k: share = share * 0.8
    return share
""".strip("\n").split("\n\n")


CURVED_EFFECTS = """
    parameter v: int in [-3, 3]
    before abs(v) >= 1
    a = a + v
    cost (abs(v) / abs(before_b - 4)) * (abs(v) / abs(before_b - 4))

    parameter v: real in [-2, 2] step 0.5
    c = c + v
    cost (abs(v) / before_a) * (abs(v) / before_a)

    parameter v: int in [-2, 2]
    before a > 0
    b = b * (a + v) / a
    a = a + v
    cost abs(v) / (1 + c * c)

    parameter v: int in [1, 3]
    before start_a >= 0 and a > -1
    c = c + v / 2
    cost v / (before_a + before_b) + v / 9

    parameter v: int in [1, 4]
    b = b + v
    cost v * v / abs(before_b - a)

    before job != "chef"
    job = "chef"
    cost 0.4

    parameter v: int in [0, 3]
    b = b - v
    after b >= 0
    cost (0.1 + v) / abs(before_c) * abs(before_c - 1) / (7 - before_c)
""".strip("\n").split("\n\n")


def curved_text(rng: np.random.Generator) -> str:
    """Two to four actions whose costs are quotients and products of features, and divide by zero in some states."""
    chosen = rng.permutation(len(CURVED_EFFECTS))[: int(rng.integers(2, 5))]
    return "".join(
        [
            *(f"action do {k}:\n{CURVED_EFFECTS[k]}\n" for k in chosen),
            *(edge for edge in EDGES if rng.random() < 0.2),
        ]
    )


def hard_text(rng: np.random.Generator, space: mace.Space) -> str:
    """Two to four actions of few values, and consequences that stack; conditions hold at the ends of intervals."""
    chosen = rng.permutation(len(HARD_EFFECTS))[: int(rng.integers(2, 5))]
    text = "".join(f"action do {k}:\n{HARD_EFFECTS[k]}\n" for k in chosen)
    edges = [*EDGES, *HARD_EDGES]
    for edge in rng.permutation(len(edges)):
        if rng.random() < 0.6:
            more = f"{text}{edges[edge]}\n"
            with contextlib.suppress(mace.errors.ProgramError):  # it closes a circle
                mace.World.read(more, space)
                text = more
    return text
