"""Questions to `mace.explain`, each answered a second time by enumeration through the library's own `predict`.

A world is a fitted model over a small space and what the library says at every point; several questions are asked of
each. What is compared: status, both bounds, the certificate, or the record of the solvers.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from numpy.typing import NDArray

import mace
from mace.errors import CertificateError
from mace.explain.answer import Answer
from mace.solve.ensembles import many_levels
from mace.solve.ensembles.many_levels import MOST_LEVELS
from mace.space.space import Space
from tests import roads
from tests.fuzz import spaces
from tests.fuzz.models import DECIDE, FAMILIES, Family
from tests.fuzz.spaces import Draw, pick
from tests.roads import CLOSE
from tests.small_spaces import SPECS, Measure, Row, encoded, lacks_what_is_read, with_ways

SIZES = (*[Fraction(1)] * 3, Fraction(1, 10**12), Fraction(10**15), Fraction(3 * 10**25))  # of weights
RULES = ("linear", "implies", "rises", "follows", "seen", "most changes")
Frames = Callable[[Sequence[Row]], pd.DataFrame]


class WrongAnswerError(AssertionError):
    """mace and the library disagree."""


@dataclass(frozen=True, eq=False)
class Asked:
    """A world of `tests.roads`, the family it came from, and how rows reach the library."""

    family: roads.Family
    world: roads.World
    frames: Frames
    predict: Callable[[pd.DataFrame], NDArray[Any]]
    told: str

    def alone(self, row: Row) -> Any:
        """What the library says of one row that is given alone: the last bits may differ from those of a batch."""
        return self.predict(self.frames([row]))[0]


def labels_of(frame: pd.DataFrame, classes: int, rng: np.random.Generator) -> NDArray[Any]:
    """Noisy classes, or numbers, that depend on the columns; each class occurs."""
    columns = np.nan_to_num(frame.to_numpy(dtype=np.float64))
    score = (columns - columns.mean(0)) / (columns.std(0) + 1e-9) @ rng.normal(size=columns.shape[1])
    score = score + rng.normal(size=len(score)) * rng.choice([0.0, 0.3, 2.0])
    if not classes:
        return np.asarray(np.round(score, 2))
    ranks = np.argsort(np.argsort(score, kind="stable"), kind="stable")
    return np.asarray(ranks * classes // len(score))


def own_predict(model: Any) -> Callable[[pd.DataFrame], NDArray[Any]]:
    """The library's `predict` for a frame of columns, as its users call it; of an ONNX graph, onnxruntime's."""
    if type(model).__name__ == "ModelProto":
        import onnxruntime

        session = onnxruntime.InferenceSession(model.SerializeToString())
        return lambda frame: (session.run(None, {"x": frame.to_numpy(np.float32)})[0].ravel() > 0.5).astype(np.int64)
    named = hasattr(model, "feature_names_in_") and type(model).__module__.split(".")[0] == "sklearn"
    return lambda frame: np.asarray(model.predict(frame if named else frame.to_numpy()))


def plain_world(draw: Draw, name: str) -> Asked:
    """A fitted model over what a space encodes."""
    family = FAMILIES[name]
    space = spaces.space(draw, missing=family.missing)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    points = spaces.points(space)
    matrix = encoded(space, points)
    chosen = matrix.iloc[np.sort(rng.integers(0, len(points), 60))].reset_index(drop=True)
    classes = pick(draw, family.classes)
    y = labels_of(chosen, classes, rng)
    model = family.make(draw, chosen, y, rng)
    predict = own_predict(model)
    told = f"{model!r}\nfitted to {chosen.to_numpy().tolist()}\nwith {y.tolist()}"
    return asked_of(name, family, classes, space, model, points, lambda rows: encoded(space, rows), predict, told)


def asked_of(
    name: str, family: Family, classes: int, space: Space, model: Any, points: list[Row], frames: Frames,
    predict: Callable[[pd.DataFrame], NDArray[Any]], told: str, *, raw: bool = False,
) -> Asked:  # fmt: skip
    """What the library says at every point of a space."""
    whole = frames(points)
    goals = (*DECIDE, *family.goals) if classes else ("interval", "within")
    probable = getattr(model, "predict_proba", None) if {"probability", "margin"} & set(goals) else None
    scored = getattr(model, "decision_function", None) if "score" in goals else None
    given = whole if hasattr(model, "feature_names_in_") or raw else whole.to_numpy()
    world = roads.World(
        space, model, points, predict(whole), None if probable is None else np.asarray(probable(given)),
        None if scored is None else scored(given),
    )  # fmt: skip
    last = model.steps[-1][1] if hasattr(model, "steps") else model
    if type(last).__name__ == "IsolationForest":
        goals = ("another", "isolation")
    own = roads.Family(name, lambda *_: model, classes, goals, RULES, raw, family.exact)
    return Asked(own, world, frames, predict, told)


def question(draw: Draw, asked: Asked) -> roads.Problem | None:
    """A row, a goal, directions, a distance, rules; None where chance gave what says nothing."""
    world, family = asked.world, asked.family
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    place = int(rng.integers(len(world.points)))
    start = world.points[place]
    if "isolation" in family.goals:
        goal: Any = (None, world.said != world.said[place])
    else:
        goal = roads.random_goal(family, world, rng, world.said[place])
    if goal is None or goal[1][place] and rng.random() < 0.9:
        return None
    space = with_ways(world.space, rng)
    kind = pick(draw, ["none", "none", "none", *RULES])
    most = int(rng.integers(1, 4)) if kind == "most changes" else None
    rule = None if kind in ("none", "most changes") else roads.random_rule(kind, world, start, rng)
    weights = None
    if draw(st.integers(0, 3)) == 3:
        sizes = dict.fromkeys(space.names, pick(draw, SIZES))
        if draw(st.booleans()):  # one feature is dear, or cheap, beside the others
            sizes[space.names[int(rng.integers(len(space.names)))]] = pick(draw, SIZES)
        weights = {n: Fraction(int(rng.integers(0, 5)), 2) * size for n, size in sizes.items()}
    measure = Measure(pick(draw, SPECS), weights)
    allowed = [world.points[int(k)] for k in np.flatnonzero(goal[1] & world.within(start, space))]
    expected = min(
        (
            measure.between(space, start, point)
            for point in allowed
            if most is None or sum(point[n] != start[n] for n in start) <= most
            if rule is None or not lacks_what_is_read(space, rule[0], point) and rule[1](point)
        ),
        default=None,
    )
    return roads.Problem(family, world, space, start, goal[0], measure, [rule[0]] if rule else [], most, expected)


def near(problem: roads.Problem, oracle: str = "auto") -> Fraction:
    """How near is near enough, where answers are not exact: a part of what distances come to.

    Where one feature is far cheaper than others, it is a part of what that one costs and of the distance itself.
    """
    weights = [weight for weight in (problem.measure.weights or {}).values() if weight] or [Fraction(1)]
    unit = min(max(weights), max(min(weights), Fraction(1)))
    if oracle != "auto" or min(weights) > unit / 100:
        return CLOSE * unit
    return CLOSE * min(weights) + 10 * CLOSE * (problem.expected or 0)


def ask(asked: Asked, problem: roads.Problem, oracle: str = "auto") -> str:
    """One answer against enumeration: how it ended.

    Raises WrongAnswerError, with all that is needed to ask again.
    """
    told = (
        f"{asked.told}\n{problem.space}\nrow {problem.start}, goal {problem.goal!r}, distance {problem.measure}, rules "
        f"{problem.rules}, most_changes {problem.most_changes}, oracle {oracle}"
    )
    try:
        gap = 0 if asked.family.exact else None if oracle == "auto" else near(problem, oracle)
        answer = problem.explain(oracle=oracle, gap=gap)
    except mace.errors.MaceError as error:
        if "where its table does not" in error.message:  # The last net held, but a reader is wrong.
            raise WrongAnswerError(f"table and library differ: {error.message}\n{told}") from error
        return "refused: " + re.sub(r"[-\d.]+|`[^`]*`", "..", error.message.splitlines()[0])[:70]
    except Exception as error:
        raise WrongAnswerError(f"{type(error).__name__}: {error}\n{told}") from error
    if why := fault(asked, problem, answer, near(problem, oracle)):
        found = [c.values for c in answer.counterfactuals]
        raise WrongAnswerError(
            f"{why}\n{told}\nanswer: {answer.status} by {answer.oracle}, {answer.exact_lower_bound} .. "
            f"{answer.exact_distance}, {found}; {answer.why}; by enumeration: {problem.expected}"
        )
    return certified(answer, told, oracle)


def fault(asked: Asked, problem: roads.Problem, answer: Answer, room: Fraction) -> str:
    """What is wrong with an answer; empty for nothing.

    room: how far an optimum that is not exact may be from the nearest.
    """
    expected, exact = problem.expected, asked.family.exact
    if answer.status in ("unknown", "bounded"):
        if answer.exact_distance is not None and (expected is None or answer.exact_distance < expected):
            return doubtful(asked, problem, answer, "a counterfactual that the library refuses")
        low = answer.exact_lower_bound
        return "a lower bound above the distance" if expected is not None and low > expected + room else ""
    if expected is None:
        if answer.status == "infeasible":
            return ""
        return doubtful(asked, problem, answer, "optimal where no point has the goal")
    if answer.status == "infeasible":
        return doubtful(asked, problem, answer, "infeasible where a point has the goal")
    distance = answer.exact_distance
    assert distance is not None
    if distance == expected or not exact and abs(distance - expected) <= room:
        return "" if answer.exact_lower_bound <= expected + room else "a lower bound above the distance"
    return doubtful(asked, problem, answer, "another distance")


def doubtful(asked: Asked, problem: roads.Problem, answer: Answer, why: str) -> str:
    """`why`, unless the library says of these rows something else when each is given alone."""
    if asked.family.exact:
        return why
    alone = np.array([asked.alone(row) for row in asked.world.points])
    return "" if (alone != asked.world.said).any() else why


def certified(answer: Answer, told: str, oracle: str) -> str:
    """How the answer ended; its certificate must be accepted, or say why there is none."""
    bounded = answer.status == "infeasible" or answer.exact_lower_bound > 0
    if not bounded or answer.oracle == "smt" or oracle != "auto":
        return f"{answer.status} by {answer.oracle}"
    try:
        verdict = answer.certificate.check()
    except CertificateError as error:
        return f"{answer.status} by {answer.oracle}, no certificate: {error.message[:60]}"
    if not verdict.accepted:
        raise WrongAnswerError(f"certificate refused: {verdict.reason}\n{told}")
    return f"{answer.status} by {answer.oracle}, certificate accepted"


def questions(draw: Draw, name: str) -> Counter[str]:
    """Some questions about one world of a family; how they ended."""
    return several(draw, plain_world(draw, name))


def several(draw: Draw, asked: Asked, most: int = 12) -> Counter[str]:
    """Up to `most` questions about one world; how they ended."""
    ended: Counter[str] = Counter()
    with warnings.catch_warnings(), ExitStack() as later:
        warnings.simplefilter("ignore")
        # Spaces that can be enumerated have few levels: trees take even fewer here at times, and divide what has more.
        later.enter_context(mock.patch.object(many_levels, "MOST_LEVELS", pick(draw, [MOST_LEVELS] * 3 + [3, 2])))
        for _ in range(pick(draw, [1, most, most // 2, most])):
            problem = question(draw, asked)
            if problem is not None:
                oracle = pick(draw, ["auto"] * 60 + ["z3"])
                ended[ask(asked, problem, oracle)] += 1
                # Readers compare table and library each time: once a model is enough here, and finds more without it.
                for name in ("mace.compilers.reading.cross_check_matrix", "mace.compilers.pipeline.reader.cross_check"):
                    later.enter_context(mock.patch(name))
    return ended
