"""Three roads to one answer: the provers, a solver, and the library's own word at every point of a small space.

A `Family` says how to make a model and what may be asked of it; `agree` makes problems of it, each a model over a
small random space, a row, a goal, a distance and rules, and lets the roads disagree. Only the library is believed: what
it predicts at all points, and distances, directions and rules worked out here, by hand.
"""

from __future__ import annotations

import itertools
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import mace
from mace import rules
from mace.compilers import deployed
from mace.explain.answer import Answer
from mace.space.feature import Feature
from mace.space.space import Space
from tests.small_spaces import (
    SPECS,
    Measure,
    Row,
    encoded,
    lacks_what_is_read,
    reachable,
    shown,
    values,
    with_ways,
)

CLOSE = Fraction(1, 10**9)
EACH = 10  # problems a fitted model
Rng = np.random.Generator
Mask = NDArray[np.bool_]
Rule = tuple[str, Callable[[Row], bool]]
LABELS = ("another", "class", "set", "probability", "margin")
NUMBERS = ("interval", "within")


@dataclass(frozen=True)
class Family:
    """Models of one kind, and what is asked of them.

    make:  fits a model to a matrix (or, where it is `raw`, a frame of raw columns), and labels or numbers.
    exact: whether answers are exact; else within `CLOSE`, and now and then rounding decides and there is no verdict.
    boxed: they have no table, and are bounded over boxes.
    features: of the space, where they are not chosen by chance or (of raw columns) `RAW`.
    """

    name: str
    make: Callable[[pd.DataFrame, NDArray[Any], Rng], Any]
    classes: int = 2  # 0 for a model that predicts a number
    goals: tuple[str, ...] = LABELS
    rules: tuple[str, ...] = ()
    raw: bool = False
    exact: bool = True
    features: tuple[Feature, ...] = ()
    boxed: bool = False


# --- spaces, and the library at all of their points -------------------------------------------------------------------

PLAIN = (
    Feature("n", "integer", 0, 4),
    Feature("x", "real", 0, 2, step="0.5"),
    Feature("t", "real", "-0.3", "0.2", step="0.1"),
    Feature("c", "categorical", levels=["u", "v", "w"]),
    Feature("k", "categorical", levels=["p", "q", "r"], encoding="codes"),
    Feature("o", "ordinal", levels=["low", "middle", "high"], encoding="thermometer"),
    Feature("b", "binary"),
)
RAW = (
    Feature("age", "integer", 0, 5, missing=True),
    Feature("income", "real", 0, 3000, step=500, missing=True),
    Feature("region", "categorical", levels=["north", "east", "south"], missing=True),
    Feature("grade", "ordinal", levels=["low", "middle", "high"]),
)


def frame_of(space: Space, rows: list[Row], raw: bool) -> pd.DataFrame:
    """Rows as a frame for people, or as the model's matrix; without the space's own `encode`."""
    if not raw:
        return encoded(space, rows)
    columns: dict[str, Any] = {}
    for feature in space.features:
        cells = [row[feature.name] for row in rows]
        as_read = float if feature.numeric else (lambda cell: cell)
        columns[feature.name] = [float("nan") if cell is None else as_read(cell) for cell in cells]
    return pd.DataFrame(columns)


@dataclass(frozen=True, eq=False)
class World:
    """A fitted model and what its library says at every point: decisions or numbers, probabilities, scores."""

    space: Space
    model: Any
    points: list[Row]
    said: NDArray[Any]
    probabilities: NDArray[Any] | None
    scores: NDArray[Any] | None

    def within(self, start: Row, changes: Space) -> Mask:
        """The points that a row may become."""
        known = [set(reachable(f, start[f.name])) for f in changes.features]
        return np.array([all(v in k for v, k in zip(p.values(), known, strict=True)) for p in self.points])


@lru_cache(maxsize=2)
def world(family: Family, seed: int) -> World:
    """The model of a seed, fitted to a few noisy rows of its space."""
    rng = np.random.default_rng([seed, len(family.name), family.classes])
    picked = [*rng.permutation(3)[:2], *(3 + rng.permutation(len(PLAIN) - 3)[:2])]  # rules need two numbers
    features = family.features or (RAW if family.raw else tuple(PLAIN[int(j)] for j in sorted(picked)))
    space = Space(features)
    sides = [[*values(f), *([None] if f.missing and f.numeric else [])] for f in features]
    points = [dict(zip(space.names, point, strict=True)) for point in itertools.product(*sides)]
    chosen = rng.integers(0, len(points), 80)
    whole = frame_of(space, points, family.raw)
    fitted = whole.iloc[chosen].reset_index(drop=True)
    numbers = frame_of(space, [points[k] for k in chosen], raw=False).fillna(0.0).to_numpy()
    y = (numbers - numbers.mean(0)) / (numbers.std(0) + 1e-9) @ rng.normal(size=numbers.shape[1])
    y = y + rng.normal(size=len(y)) / 3
    if family.classes:
        y = np.digitize(y, np.quantile(y, np.arange(1, family.classes) / family.classes))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = family.make(fitted, y, rng)
        own = deployed(model, raw="frame") if family.raw else deployed(model)
        scores = getattr(model, "decision_function", None)
        probable = (
            own.probabilities
            if family.classes and not {"probability", "likely", "margin"}.isdisjoint(family.goals)
            else None
        )
        return World(
            space,
            model,
            points,
            np.asarray(own.predict(whole)),
            None if probable is None else np.asarray(probable(whole), dtype=np.float64),
            None if scores is None or "score" not in family.goals else scores(whole if own.names else whole.to_numpy()),
        )


# --- goals and rules, each as a text and by hand ----------------------------------------------------------------------


def between(numbers: NDArray[Any], rng: Rng, exact: bool) -> float:
    """A number that some point has to the last bit, or one halfway between two neighbours."""
    known = np.unique(np.asarray(numbers, dtype=np.float64))
    place = int(rng.integers(len(known)))
    if exact and rng.random() < 0.5 or len(known) == 1:
        return float(known[place])
    place = max(place, 1)
    return float(known[place - 1] + (known[place] - known[place - 1]) / 2)


def random_goal(family: Family, world: World, rng: Rng, present: Any) -> tuple[Any, Mask] | None:
    """A goal, and the points that have it by the library's own numbers; None for one that says nothing."""
    kind = str(rng.choice(family.goals))
    label = int(rng.integers(max(family.classes, 1)))
    said = world.said
    match kind:
        case "another":
            # A format that leaves ties open says None of them: no answer rests on such a point.
            return None, (said != present) & np.array([one is not None for one in said])
        case "class":
            return label, said == label
        case "set":
            return f"not {label}", said != label
        case "interval":
            low, high = sorted(between(said, rng, family.exact) for _ in range(2))
            match int(rng.integers(4)):
                case 0:
                    return f"y >= {low!r}", said >= low
                case 1:
                    return f"y < {high!r}", said < high
                case 2 if low < high:
                    return f"{low!r} < y <= {high!r}", (said > low) & (said <= high)
                case _:
                    return f"{low!r} <= y <= {high!r}", (said >= low) & (said <= high)
        case "within":
            middle = round(float(said[int(rng.integers(len(said)))]), 1)
            share = int(rng.choice([5, 20, 50]))
            size = Fraction(share, 100) * (abs(Fraction(str(middle))) or 1)
            low, high = (float(Fraction(str(middle)) + sign * size) for sign in (-1, 1))
            fits = (said > low) & (said < high) if middle == 0 else (said >= low) & (said <= high)
            return f"y within {share}% of {middle!r}", fits
        case "probability":
            assert world.probabilities is not None
            p = world.probabilities[:, label]
            low, high = sorted(between(p, rng, family.exact) for _ in range(2))
            if not 1e-6 < low <= high < 1 - 1e-6:
                return None
            match int(rng.integers(3)):
                case 0:
                    return f"p({label}) >= {low!r}", p >= low
                case 1:
                    return f"p({label}) < {high!r}", p < high
                case _:
                    return f"{low!r} <= p({label}) <= {high!r}", (p >= low) & (p <= high)
        case "likely":
            assert world.probabilities is not None
            least = between(world.probabilities[:, label], rng, False)
            return (f"p({label}) >= {least!r}", world.probabilities[:, label] >= least) if 0 < least < 1 else None
        case "margin" | "score":
            numbers = world.probabilities if kind == "margin" else world.scores
            assert numbers is not None
            if numbers.ndim == 1:
                numbers = np.column_stack([-numbers / 2, numbers / 2])
            lead = numbers[:, label] - np.delete(numbers, label, axis=1).max(axis=1)
            by = round(between(lead, rng, False), 6)
            # A margin is met up to a unit: what lies that close is not asked for.
            if by <= 1e-4 or kind == "margin" and by >= 1 or np.abs(lead - by).min() < 1e-9:
                return None
            return f"{label} by {by!r}{' in score' if kind == 'score' else ''}", lead >= by
    raise AssertionError(kind)


def random_rule(kind: str, world: World, start: Row, rng: Rng) -> Rule | None:
    """A rule of a kind; None where the space or the row has no place for it."""
    space = world.space
    there = [f for f in space.features if start[f.name] is not None]
    numbers = [f for f in there if f.numeric]
    one, two = (there[int(j)] for j in rng.permutation(len(there))[:2]) if len(there) > 1 else (None, None)
    if one is None or two is None:
        return None

    def condition(feature: Feature) -> Rule:
        known = [value for value in values(feature) if value is not None]
        value, name = known[int(rng.integers(len(known)))], feature.name
        if feature.numeric:
            return f"{name} >= {value}", lambda row: row[name] >= value
        text = value if feature.kind == "binary" else f'"{value}"'
        return f"{name} == {text}", lambda row: row[name] == value

    def some_rows(count: int) -> list[Row]:
        rows = [world.points[int(k)] for k in rng.integers(0, len(world.points), count)]
        return [row for row in rows if row[one.name] is not None and row[two.name] is not None]

    def frame(rows: list[Row]) -> pd.DataFrame:
        return pd.DataFrame([{f.name: shown(f, row[f.name]) for f in there} for row in rows])

    match kind:
        case "linear" if len(numbers) > 1:
            first, second = numbers[:2]
            weights = Fraction(int(rng.integers(1, 4))), Fraction(int(rng.integers(-3, 4)), 2)
            here = weights[0] * start[first.name] + weights[1] * start[second.name]
            bound = here + Fraction(int(rng.integers(-2, 3)))
            compare = str(rng.choice(["<=", ">="]))
            text = rules.linear({first.name: weights[0], second.name: weights[1]}, compare, bound)

            def holds(row: Row) -> bool:
                total = weights[0] * row[first.name] + weights[1] * row[second.name]
                return bool(total <= bound if compare == "<=" else total >= bound)

            return text, holds
        case "implies":
            (a, first_holds), (b, second_holds) = condition(one), condition(two)
            return rules.implies(a, b), lambda row: not first_holds(row) or second_holds(row)
        case "rises" if one.kind != "categorical":
            text, other_holds = condition(two)
            order = values(one).index if not one.numeric else Fraction
            return (
                rules.rises_only_if(one.name, text),
                lambda row: order(row[one.name]) <= order(start[one.name]) or other_holds(row),
            )
        case "follows":
            follow: dict[Any, Any] = {}
            for row in [start, *some_rows(30)]:
                follow.setdefault(row[two.name], row[one.name])
            rows = [{**start, two.name: source, one.name: value} for source, value in follow.items()]
            text = rules.follows(frame(rows), one.name, two.name, space)
            return text, lambda row: row[two.name] in follow and follow[row[two.name]] == row[one.name]
        case "seen":
            rows = some_rows(8)
            if not rows:
                return None
            pairs = {(row[one.name], row[two.name]) for row in rows}
            return rules.seen(frame(rows), one.name, two.name, space=space), lambda row: (
                row[one.name], row[two.name],
            ) in pairs  # fmt: skip
    return None


# --- problems ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Problem:
    """One question, and the least distance by the library's own word: None where no allowed point has the goal."""

    family: Family
    world: World
    space: Space
    start: Row
    goal: Any
    measure: Measure
    rules: list[str]
    most_changes: int | None
    expected: Fraction | None

    def explain(self, **options: Any) -> Answer:
        row = {f.name: shown(f, self.start[f.name]) for f in self.space.features}
        return mace.explain(
            self.world.model, self.space, row, goal=self.goal, distance=self.measure.spec, rules=self.rules,
            weights=self.measure.weights, most_changes=self.most_changes, timeout=600, **options,
        )  # fmt: skip


def problem(family: Family, number: int) -> Problem:
    """The problem of a number; each `EACH` of them share a model."""
    here = world(family, number // EACH)
    rng = np.random.default_rng([number, 1])
    while True:
        place = int(rng.integers(len(here.points)))
        start = here.points[place]
        if (goal := random_goal(family, here, rng, here.said[place])) is None:
            continue
        if goal[1][place] and rng.random() < 0.9:
            continue  # A row that has the goal already asks little.
        kind = str(rng.choice(family.rules)) if family.rules else "none"
        space = with_ways(here.space, rng)
        most = {"one change": 1, "changes": int(rng.integers(2, 4))}.get(kind)
        written: list[Rule] = []
        if kind not in ("none", "one change", "changes"):
            if (rule := random_rule(kind, here, start, rng)) is None:
                continue
            written = [rule]
        weights = {n: Fraction(int(rng.integers(0, 5)), 2) for n in space.names} if rng.random() < 0.3 else None
        measure = Measure(SPECS[int(rng.integers(len(SPECS)))], weights)
        allowed = [here.points[int(k)] for k in np.flatnonzero(goal[1] & here.within(start, space))]
        expected = min(
            (
                measure.between(space, start, point)
                for point in allowed
                if most is None or sum(point[n] != start[n] for n in start) <= most
                if all(not lacks_what_is_read(space, text, point) and holds(point) for text, holds in written)
            ),
            default=None,
        )
        return Problem(family, here, space, start, goal[0], measure, [text for text, _ in written], most, expected)


def compare(asked: Problem, oracle: str) -> str:
    """One answer against all points; what became of it."""
    answer = asked.explain(oracle=oracle, gap=CLOSE)
    expected = asked.expected
    told = (asked.start, asked.goal, asked.rules, answer.status, answer.why, answer.exact_lower_bound, expected)
    # Provers and solvers say it in their own words.
    doubtful = ("rounding" in answer.why or "last bits" in answer.why) and "decide" in answer.why
    if not asked.family.exact and doubtful and answer.status in ("bounded", "unknown"):
        assert expected is None or answer.exact_lower_bound <= expected, told
        assert answer.exact_distance is None or expected is not None and expected <= answer.exact_distance, told
        return "rounding decides"
    if expected is None:
        assert answer.status == "infeasible", told
        assert not answer.counterfactuals
    else:
        assert answer.status == "optimal", told
        assert answer.exact_distance is not None
        assert answer.exact_lower_bound <= expected <= answer.exact_distance, (answer.exact_distance, told)
        assert answer.exact_distance == expected or not asked.family.exact, (answer.exact_distance, told)
        assert answer.exact_distance - answer.exact_lower_bound <= CLOSE, told
    if answer.calls is not None:
        assert answer.oracle == "search (boxes)" and asked.family.boxed, told
        return f"{answer.status}, by bounds over boxes"
    if answer.oracle in ("ensembles", "networks") and answer.proof is not None:
        verdict = answer.certificate.check()
        assert verdict.accepted, (verdict.reason, told)
        return f"{answer.status}, certificate accepted"
    if oracle == "auto" and answer.exact_distance != 0:  # No prover takes it: both solvers are asked once more.
        said = answer.certificate.check()
        assert said.agreed, (said.reason, told)
        return f"{answer.status}, both solvers agree on their text"
    return answer.status


def agree(family: Family, numbers: range, oracles: tuple[str, ...] = ("auto", "z3")) -> Counter[str]:
    """All roads on some problems; how many ended how."""
    from threadpoolctl import threadpool_limits

    ended: Counter[str] = Counter()
    # One thread: for so little work, many wait for each other.
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number in numbers:
            asked = problem(family, number)
            ended.update(f"{oracle}: {compare(asked, oracle)}" for oracle in oracles)
    return ended
