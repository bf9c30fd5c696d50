"""Cliques, their prices, and axes narrowed by prices: the extracted checker says what the one in Python says."""

from __future__ import annotations

import json
import subprocess
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy.optimize import linprog

from mace.proofs.check import check
from mace.proofs.elaborate_trees import cut
from mace.proofs.kernel.axes import meet
from mace.proofs.kernel.cliques import apart, within
from mace.proofs.kernel.floats import ONE, Refused
from mace.proofs.kernel.prices import Prices, cells
from mace.proofs.kernel.proof import RULES, Check, read_statement
from mace.tables.table import Ensemble
from tests.proofs.by_hand import LEVELS, at_least, forest, grid, number, two
from tests.proofs.test_check import certificates_of, places, small, with_edit
from tests.theory.building import made
from tests.theory.test_verified import needs_tools

Json = dict[str, Any]


class Draft:
    """A proof in the making: its nodes so far, and the kernel's state after them. One rule can never hold, so that
    `rule` closes whatever is not of interest."""

    def __init__(self, data: Json, rng: np.random.Generator) -> None:
        self.rng = rng
        self.statement = {**data["statement"], "rules": [*data["statement"]["rules"], ["false"]]}
        self.closed = ["rule", len(self.statement["rules"]) - 1]
        read = read_statement(self.statement)
        tests = [(read.columns[column], threshold) for column, threshold in read.model.tests]
        self.cuts = [cut(read.model, column, threshold) if column.axis.is_grid and rng.random() < 0.95 else None
                     for column, threshold in tests]  # fmt: skip
        self.check = Check(read, self.cuts)
        self.reach, self.state = self.check.model, self.check.root
        self.nodes: list[Any] = []
        self.after: list[Any] = []
        sizes = np.cumsum([0, *(len(tree["column"]) for tree in data["statement"]["model"]["trees"])])
        self.leaves = [
            (int(sizes[t]) + n, t, sides)
            for t, found in enumerate(self.reach.leaves)
            for n, (_, sides) in found.items()
        ]

    def add(self, name: str, *fields: Any) -> None:
        """One more node; of two children the first or the second is closed at once."""
        self.nodes.append([name, *fields])
        try:
            children = self.check.apply(RULES[name], self.state, fields)
        except Refused:  # and so will the whole be
            return
        if len(children) == 2 and self.rng.random() < 0.5:
            self.nodes.append(self.closed)
            self.state = children[0]
            return
        self.state = children[-1]
        self.after += [self.closed] * (len(children) - 1)

    def span(self, j: int) -> Any:
        """Some of the indices that are left of an axis."""
        kept = self.state.box[j]
        if type(kept) is int:
            return kept & int(self.rng.integers(kept + 1))
        return sorted(int(self.rng.integers(kept[0] - 1, kept[1] + 2)) for _ in range(2))

    def split(self) -> None:
        j = int(self.rng.integers(len(self.state.box)))
        span = self.span(j)
        self.add("split", j, span if type(span) is int else span[0])

    def clique(self) -> list[int]:
        """Numbers of leaves that are apart in pairs; once in a while not."""
        found: list[tuple[int, int, Any]] = []
        for at in self.rng.permutation(len(self.leaves)):
            number, t, sides = self.leaves[at]
            box = within(self.state.box, sides)
            free = box is None or all(t == u or other is None or apart(box, other) for _, u, other in found)
            if free or self.rng.random() < 0.005:
                found.append((number, t, box))
        return sorted(number for number, *_ in found)

    def cliques(self) -> None:
        self.add("cliques", *(steps(self.clique()) for _ in range(self.rng.integers(1, 4))))

    def parts(self) -> tuple[list[Json], Fraction | None]:
        """Prices for each open part of the goal that bound about as much as any, and the least of these bounds."""
        found = [self.part(k) for k in self.state.parts]
        bounds = [bound for _, bound in found if bound is not None]
        return [part for part, _ in found], min(bounds, default=None)

    def part(self, k: int) -> tuple[Json, Fraction | None]:
        lead = sorted(
            (t, child, sides[0], side)
            for t, tree in enumerate(self.reach.model.trees)
            for n, test in enumerate(tree.test)
            if test >= 0 and (sides := self.reach.sides[test]) is not None
            for child, side in ((tree.left[n], sides[1]), (tree.right[n], sides[2]))
        )
        unit = int(self.rng.choice([1, 3, 64]))
        count = len(self.statement["goal"][k])
        best = self.relaxed(k, lead)
        most = [round(x * unit) + int(self.rng.random() < 0.02) for x in best[count:]]
        prices, shared = most[: len(lead)], most[len(lead) :]
        return self.said(k, f"1/{unit}", [(t, n) for t, n, *_ in lead], best[:count], prices, shared)

    def relaxed(self, k: int, lead: list[tuple[int, int, int, Any]]) -> Any:
        """Multipliers, prices of sides and of cliques with the largest bound, by a linear program."""
        reach, state = self.reach, self.state
        goal = [reach.compares[c] for c in map(reach.compares.index, reach.statement.goal[k])]
        needed = [reach.needed[reach.compares.index(c)] - c.margin(reach.model.start) for c in goal]
        first, last = len(goal), len(goal) + len(lead)
        width = last + len(state.cliques)
        rows, least = [], []  # what is at least the least of each axis and tree

        def row(place: int, entries: dict[int, float], more: float) -> None:
            line = np.zeros(width + len(state.box) + len(reach.leaves))
            line[width + place] = 1.0
            for at, value in entries.items():
                line[at] -= value
            rows.append(line)
            least.append(more)

        for j, span in enumerate(state.box):
            axis = reach.statement.axes[j]
            for cell, _ in cells(axis, span, [(side, 0) for _, _, i, side in lead if i == j]):
                held = {
                    first + at: -1.0 for at, (_, _, i, side) in enumerate(lead) if i == j and meet(cell, side) == cell
                }
                row(j, held, 0.0 if reach.statement.claim is None else axis.cost(cell)[0] / reach.statement.common)
        for t, leaves in enumerate(reach.leaves):
            for n, (bit, sides) in leaves.items():
                if not bit & state.alive[t] or reach.unreached(state, sides):
                    continue
                box = [meet(span, sides[j]) if j in sides else span for j, span in enumerate(state.box)]
                paid = {i: -c.margin(reach.model.trees[t].value[n]) / ONE for i, c in enumerate(goal)}
                paid |= {
                    first + at: 1.0
                    for at, (u, _, i, side) in enumerate(lead)
                    if t == u and meet(box[i], side) == box[i]
                }
                paid |= {last + at: 1.0 for at, clique in enumerate(state.cliques) if (t, bit) in clique}
                row(len(state.box) + t, paid, 0.0)
        worth = [-n / ONE for n in needed] + [0.0] * len(lead) + [1.0] * len(state.cliques)
        found = linprog(
            worth + [-1.0] * (len(state.box) + len(reach.leaves)), np.array(rows), least,
            bounds=[(0, 50)] * width + [(-1000, 1000)] * (len(state.box) + len(reach.leaves)),
        )  # fmt: skip
        return np.zeros(width) if found.x is None else found.x[:width]

    def said(
        self, k: int, unit: str, lead: list[tuple[int, int]], factors: Any, prices: list[int], shared: list[int]
    ) -> tuple[Json, Fraction | None]:
        """A part, and its bound."""
        part: Json = {"goal": [str(Fraction(round(x * 64), 64)) for x in factors], "largest": [], "unit": unit}
        part["prices"] = [[t, n, price] for (t, n), price in zip(lead, prices, strict=True) if price]
        if self.state.cliques:
            chosen = [number for number, price in enumerate(shared) if price]
            part["cliques"] = {"numbers": steps(chosen), "units": [shared[number] for number in chosen]}
        bounds = Prices(self.reach, part, k, self.state.cliques).bounds(self.state)
        return part, bounds[0] if bounds else None

    def finished(self, claim: Fraction | None) -> Json:
        """The certificate, with another claim if one is given."""
        of = {"claim": {"closer_than": str(claim)}} if claim is not None else {}
        return {"mace_certificate": 2, "statement": {**self.statement, **of}, "witness": None, "cuts": self.cuts,
                "proof": [*self.nodes, *reversed(self.after)]}  # fmt: skip


def steps(numbers: list[int]) -> list[int]:
    return [number - before for number, before in zip(numbers, [0, *numbers], strict=False)]


def drafts(data: Json, rng: np.random.Generator) -> Iterator[Json]:
    """Certificates with claims about as large as their prices allow."""
    draft = Draft(data, rng)
    for _ in range(3):
        if not draft.state.empty and rng.random() < 0.6:
            draft.split()
    for _ in range(rng.integers(1, 3)):
        if not draft.state.empty:
            draft.cliques()
    if not draft.state.empty and rng.random() < 0.3:
        draft.split()
    if draft.state.empty:
        return
    parts, bound = draft.parts()
    narrowed = rng.random() < 0.5
    if narrowed:
        axes = [j for j in range(len(draft.state.box)) if rng.random() < 0.5]
        draft.nodes += [["narrow", [[j, draft.span(j)] for j in axes], *parts], draft.closed]
    else:
        draft.nodes.append(["prices", *parts])
    yield draft.finished(None)
    if bound is not None and bound > 0 and "closer_than" in data["statement"]["claim"]:
        for claim in (bound, bound * Fraction(100, 99), bound * 3 / 2 if narrowed else bound * 9 / 10):
            yield draft.finished(claim)


def unpriced(data: Json) -> Json:
    """The same without the prices of cliques."""
    nodes = [
        [
            {name: value for name, value in field.items() if name != "cliques"} if type(field) is dict else field
            for field in node
        ]
        for node in data["proof"]
    ]
    return {**data, "proof": nodes}


def crowd(rng: np.random.Generator) -> Json:
    """A statement about more trees than features, whose leaves exclude each other in many ways."""
    tops = [int(rng.integers(3, 9)) for _ in range(rng.integers(2, 4))]
    features: list[Any] = [grid(0, top, int(rng.integers(top + 1))) for top in tops]
    columns: list[Any] = [[j, None, []] for j in range(len(tops))]
    if rng.random() < 0.3:
        features[0], columns[0], tops[0] = LEVELS, [0, [number(x) for x in (0, 1, 2)], []], 2
    trees, most = [], 0.0
    for _ in range(rng.integers(4, 8)):
        column, threshold, left, right, value = [-1], [0], [0], [0], [None]
        ends = [(0, [(0, top) for top in tops])]
        for _ in range(rng.integers(1, 5)):
            n, box = ends.pop(int(rng.integers(len(ends))))
            wide = [j for j, (low, high) in enumerate(box) if low < high]
            if not wide:
                ends.append((n, box))
                continue
            j = int(rng.choice(wide))
            at = int(rng.integers(box[j][0], box[j][1]))
            column[n], threshold[n], left[n], right[n] = j, number(at), len(column), len(column) + 1
            for part in ((box[j][0], at), (at + 1, box[j][1])):
                ends.append((len(column), [*box[:j], part, *box[j + 1 :]]))
                column.append(-1)
                for of in (threshold, left, right):
                    of.append(0)
                value.append(None)
        worth = [float(x) for x in rng.choice([0.0, 0.25, 1.0], len(ends))]
        for (n, _), x in zip(ends, worth, strict=True):
            value[n] = [number(x)]
        most += max(worth)
        trees.append({"column": column, "threshold": threshold, "left": left, "right": right, "value": value})
    goal = at_least(most * float(rng.choice([0.5, 0.75, 1.0])))
    closer = None if rng.random() < 0.3 else "5"
    return two({**forest([[0.0]]), "trees": trees}, goal, closer, [], [], features=features, columns=columns)


@cache
def some(seeds: int = 260) -> list[Json]:
    """Certificates about small ensembles, one of each."""
    asked = (small(seed) for seed in range(seeds))
    return [next(certificates_of(one)) for one in asked if one is not None and isinstance(one.model, Ensemble)]


def verdicts(built: Path, folder: Path, asked: list[Json]) -> list[str]:
    """What the program says of each."""
    for place, data in enumerate(asked):
        (folder / f"{place}.json").write_text(json.dumps(data))
    names = "\n".join(f"{place}.json" for place in range(len(asked)))
    done = subprocess.run([built, "-"], input=names, cwd=folder, capture_output=True, text=True, check=True)
    return [line.partition(": ")[2] for line in done.stdout.splitlines()]


@pytest.fixture(scope="module")
def built() -> Path:
    """The program."""
    return made("verified") / "check"


@pytest.mark.slow
@needs_tools
@pytest.mark.parametrize("seed", range(3))
def test_cliques_and_narrowed_axes_have_the_verdict_of_the_checker(built: Path, tmp_path: Path, seed: int) -> None:
    rng, counts = np.random.default_rng(seed), Counter[tuple[str, str]]()
    asked = [
        draft for data in (*some(), *(crowd(rng) for _ in range(400))) for _ in range(2) for draft in drafts(data, rng)
    ]
    asked += [with_edit(data, ("proof", *paths[rng.integers(len(paths))]), rng)
              for data in asked[::2] if (paths := [*places(data["proof"])])]  # fmt: skip
    for data, words in zip(asked, verdicts(built, tmp_path, asked), strict=True):
        verdict = check(data)
        said = words.split(":")[0]
        assert said in ("not covered", "accepted" if verdict.accepted else "refused"), (words, verdict, data)
        about = {node[0] for node in data["proof"] if type(node) is list and node and type(node[0]) is str}
        counts["narrow" if "narrow" in about else "prices", said] += 1
        counts["cliques", said] += said == "accepted" and not check(unpriced(data)).accepted
    assert min(counts[rule, said] for rule in ("prices", "narrow") for said in ("accepted", "refused")) > 40, counts
    assert counts["cliques", "accepted"] > 20, counts
    assert counts["prices", "not covered"] + counts["narrow", "not covered"] < len(asked) / 20, counts
