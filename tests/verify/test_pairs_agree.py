"""Verdicts about pairs agree with trying every pair of a tiny space, on random models."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from mace.explain.reading import recall
from mace.solve.protocol import Limits
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.table import Ensemble, decided, decision_of
from mace.verify import cases, equivalent, fair, monotone
from mace.verify.prove import _Run
from mace.verify.subject import Subject
from tests.reference import random_model, random_tree

FEATURES = [
    Feature("a", "integer", 0, 4),
    Feature("b", "real", 0, 1, step="1/4"),
    Feature("s", "categorical", levels=["u", "v", "w"]),
    Feature("o", "ordinal", levels=["l0", "l1", "l2"], encoding="thermometer"),
]


class Deployed:
    """A model whose `predict` is the float scores of its table."""

    def __init__(self, table) -> None:
        self.table = table

    def predict(self, matrix) -> np.ndarray:
        return np.array([self.one(np.asarray(row, np.float64)) for row in np.asarray(matrix)])

    def one(self, row):
        scores = self.table.scores(row)
        if not self.table.classes:
            return float(scores[0])
        return next(c for i, c in enumerate(self.table.classes) if decided(decision_of(self.table, i), scores))


def subject_of(model: Deployed, space: Space, monkeypatch) -> Subject:
    monkeypatch.setattr(recall, "read_model", lambda given, _: given.table)
    monkeypatch.setattr(recall, "read_pipeline", lambda *_: None)
    subject = Subject(model, space)
    monkeypatch.setattr(
        subject, "decisions", lambda rows: [x.item() for x in model.predict(space.encode(frame(rows)))], raising=False
    )
    return subject


def frame(rows):
    import pandas as pd

    return pd.DataFrame([dict(row) for row in rows], dtype=object)


def rows_of(space: Space):
    axes = space.axes({"a": 0, "b": 0, "s": "u", "o": "l0"})
    sides = [range(axis.lower, axis.upper + 1) if hasattr(axis, "grid") else axis.levels() for axis in axes]
    for point in itertools.product(*sides):
        row = space.show(axes, point)
        if all(rule.holds(axes, point) for rule in RULES.get(space.rules, ())):
            yield point, row


RULES: dict[tuple[str, ...], tuple] = {}


def answered(given, subject: Subject):
    verdict = _Run(subject, given, Limits.of(600.0, 2**31), {}, None).verdict()
    for certificate in verdict.certificates:
        assert certificate.check().accepted
    return verdict


def check(seed: int, monkeypatch) -> None:
    from mace.problem.programs import rule_of

    rng = np.random.default_rng(seed)
    space = Space(FEATURES, rules=["a >= 1 or b <= 0.5"] if seed % 3 == 0 else [])
    RULES[space.rules] = tuple(rule_of(rule, space) for rule in space.rules)
    table = random_model(space, rng, ["tree", "forest", "boosting", "linear"][seed % 4])
    if isinstance(table, Ensemble) and seed % 5 == 0:  # one whose scores rise with `a`: leaves of `a` alone, in order
        table = replace(table, trees=tuple(t for t in table.trees[:1]))
    model = Deployed(table)
    subject = subject_of(model, space, monkeypatch)
    known = dict(rows_of(space))
    said = dict(zip(known, subject.decisions(list(known.values())), strict=True))
    good = table.classes[-1]

    def pairs(j: int, forwards: bool = False):
        for point in known:
            for index in range(5):
                other = (*point[:j], index, *point[j + 1 :])
                if other in known and other != point and (not forwards or index > point[j]):
                    yield point, other

    for name, j in (("a", 0), ("b", 1), ("o", 3)):
        rises = all(not (said[p] == good and said[q] != good) for p, q in pairs(j, forwards=True))
        verdict = answered(monotone(name, "increasing", good), subject)
        assert verdict.status == ("proved" if rises else "violated"), (seed, name, verdict)
    for name, j in (("s", 2), ("a", 0)):
        same = all(said[p] == said[q] for p, q in pairs(j))
        verdict = answered(fair(name), subject)
        assert verdict.status == ("proved" if same else "violated"), (seed, name, verdict)
    if isinstance(table, Ensemble):
        number = int(rng.integers(len(table.trees)))
        changed = random_tree(space, table.outputs, 1, rng)
        other = replace(table, trees=(*table.trees[:number], changed, *table.trees[number + 1 :]))
        second = Deployed(other)
        matrix = space.encode(frame(known.values())).to_numpy()
        differs = any(second.one(row) != said[point] for point, row in zip(known, matrix, strict=True))
        monkeypatch.setattr(cases, "Subject", lambda m, s: subject_of(m, s, monkeypatch))
        verdict = answered(equivalent(second), subject)
        assert verdict.status == ("violated" if differs else "proved"), (seed, verdict)


@pytest.mark.parametrize("block", range(4))
def test_pairs_agree_with_enumeration(block, monkeypatch) -> None:
    for seed in range(6 * block, 6 * block + 6):
        check(seed, monkeypatch)


@pytest.mark.exhaustive
@pytest.mark.parametrize("block", range(20))
def test_pairs_agree_with_enumeration_on_more_models(block, monkeypatch) -> None:
    for seed in range(100 + 6 * block, 106 + 6 * block):
        check(seed, monkeypatch)


def test_within_a_part_of_the_range_is_exact() -> None:
    assert fair("s", within="1/4").within == Fraction(1, 4)
