"""The menu of rows of loans: how long it takes, whether every proof of it is accepted, and its boxes beside treecf's.

    python -m tests.bench.menu [--rows 20] [--only 4 18] [--trees 100] [--depth 8] [--no-check] [--peers]

Seconds are CPU seconds of this process. Every proof of a menu is written as a certificate and given to the checker,
which reads the model once. Where treecf is installed (`--peers`: in the environment of `tests.bench.peers`), it widens
the same points, over the same features and within the same ranges, in both of its modes.

The size of a box is the number of combinations of values, each on its feature's own grid, that lie in it. Boxes of both
tools are maximal in that no side can be moved on its own; ours have most combinations of values, too, where `most` says
so: the column counts them. treecf widens numbers and ordered levels, but not what is one-hot.
"""

from __future__ import annotations

import argparse
import importlib.util
import math
import os
import statistics
import sys
import time
from collections import Counter
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import mace
from mace.audit.certificates import Writer
from mace.base.deadline import NEVER
from mace.explain.menu import Menu, Way
from mace.explain.safe import Safe
from mace.space.feature import Feature
from tests.bench.peers.__main__ import ENVIRONMENT, ROOT, environment
from tests.bench.peers.tools import ABOVE

MODES = ("fast", "maximal")


class Line(NamedTuple):
    """The menu of one row.

    seconds, checking: of the menu, and of writing and checking its certificates.
    verdicts: how many certificates the checker accepted, refused, ..
    sizes: of each box: here, and in each of treecf's modes.
    """

    menu: Menu
    seconds: float
    checking: float
    verdicts: Counter[str]
    sizes: list[dict[str, int]]


def size(space: mace.Space, box: Safe) -> int:
    """How many combinations of values a box of ours has."""
    found = 1
    for feature in space.features:
        if feature.name in box.ranges:
            values = box.ranges[feature.name]
            found *= _between(feature, *values) if feature.numeric else len(values)
    return found


def _between(feature: Feature, low: Any, high: Any) -> int:
    """How many values of a feature's grid lie between two numbers, themselves included."""
    first, step = Fraction(str(feature.lower or 0)), Fraction(str(feature.step or 1))
    low, high = (Fraction(str(float(number))) for number in (low, high))
    return math.floor((high - first) / step) - math.ceil((low - first) / step) + 1


class Treecf:
    """treecf's regions around points of one forest."""

    def __init__(self, forest: Any, space: mace.Space) -> None:
        import treecf as library

        self.library, self.forest, self.space = library, forest, space

    def sizes(self, row: pd.Series[Any], way: Way) -> dict[str, int]:
        """How many combinations of values its region has in each mode, around the point of a way."""
        assert way.box is not None
        point = way.answer.counterfactuals[0].values
        pair = self.space.encode(pd.DataFrame([row[self.space.names].to_dict(), point]))
        before, after = pair.to_numpy(float)
        limits = self._limits(row, list(pair.columns), way.box)
        widened = self.library.Explainer(
            self.forest, normalizers=np.ones(len(before)), constraints=limits, background=None
        )
        target = self.library.Target.raw(range=(0.5 + ABOVE, 1.0))
        found = {}
        for mode in MODES:
            region = widened.recourse_region(before, after, target, mode=mode)
            found[mode] = self._size(region, list(pair.columns), way.box)
        return found

    def _limits(self, row: pd.Series[Any], columns: list[str], box: Safe) -> list[Any]:
        """What its region may widen: the features of a box of ours, within their ranges."""
        limits = []
        for column in columns:
            feature = next(f for f in self.space.features if f.name == column.partition("=")[0])
            if feature.name not in box.ranges:
                limits.append(self.library.Freeze(column))
            elif "=" not in column:
                low, high = self._ends(feature, row)
                limits.append(self.library.Range(column, low, high))
        for feature in self.space.features:
            group = tuple(column for column in columns if column.startswith(f"{feature.name}="))
            if group and feature.name in box.ranges:
                limits.append(self.library.OneHot(group))
        return limits

    @staticmethod
    def _ends(feature: Feature, row: pd.Series[Any]) -> tuple[float, float]:
        """The range of a feature as the question has it: of what may only grow, from the row on."""
        low, high = (0, len(feature.levels) - 1) if feature.levels else (feature.lower, feature.upper)
        now = row[feature.name]
        place = feature.levels.index(now) if feature.levels else now
        if feature.change == "increase":
            low = place
        if feature.change == "decrease":
            high = place
        return float(low), float(high)

    def _size(self, region: Any, columns: list[str], box: Safe) -> int:
        found = 1
        for j, column in enumerate(columns):
            feature = next((f for f in self.space.features if f.name == column), None)
            if feature is not None and column in box.ranges:
                found *= _between(feature, region.lo[j], region.hi[j])
        return found


def asked(explainer: mace.Explainer, row: pd.Series[Any], writer: Writer | None, peer: Treecf | None) -> Line:
    """The menu of one row, its certificates, and its boxes beside treecf's."""
    clock = time.process_time()
    menu = explainer.menu(row, goal=1, timeout=900)
    seconds, clock = time.process_time() - clock, time.process_time()
    verdicts = Counter(writer.check(writer.of(answer), NEVER)[0] for answer in menu.proofs()) if writer else Counter()
    checking = time.process_time() - clock
    sizes = []
    for way in menu.ways if peer else ():
        if way.box is not None:
            sizes.append({"ours": size(menu.space, way.box)} | peer.sizes(row, way))
    return Line(menu, seconds, checking, verdicts, sizes)


def shown(name: Any, line: Line) -> str:
    """One line of the table."""
    menu, boxes = line.menu, sum(way.box is not None for way in line.menu.ways)
    most = sum(way.box is not None and way.box.most for way in menu.ways)
    said = ", ".join(f"{count} {verdict}" for verdict, count in sorted(line.verdicts.items())) or "-"
    text = (
        f"{name!s:>5} {'yes' if menu.complete else 'no':8} {len(menu.ways):4} {len(menu.cannot):6} {boxes:5} {most:4} "
        f"{line.seconds:8.1f} {line.checking:8.1f}  {said:15}"
    )
    for mode in MODES if line.sizes else ():
        text += f"  {_compared(line.sizes, mode)}"
    return text


def _compared(sizes: list[dict[str, int]], mode: str) -> str:
    """How often our boxes are at least as large, and how much larger at the median and at the least."""
    ratios = [one["ours"] / one[mode] for one in sizes]
    least = sum(ratio >= 1 for ratio in ratios)
    return f"{least:4}/{len(ratios):<4} {statistics.median(ratios):7.3g} {min(ratios):6.3g}"


def table(options: argparse.Namespace) -> None:
    """Ask, and print a line for each row, then all of them together."""
    from sklearn.ensemble import RandomForestClassifier

    loans = mace.datasets.load("loans")
    matrix = loans.space.encode(loans.X)
    forest = RandomForestClassifier(options.trees, max_depth=options.depth, random_state=0).fit(matrix, loans.y)
    refused = loans.X[forest.predict(matrix) == 0]
    explainer = mace.Explainer(forest, loans.space, background=loans.X)
    explainer.ready()
    writer = Writer(explainer.judge.table) if options.check else None
    peer = Treecf(forest, loans.space) if importlib.util.find_spec("treecf") else None
    print("  row complete ways cannot boxes most   menu s  check s  certificates     at least as large as treecf's")
    print(f"{'':70}  {'fast: of     median  least':25}  maximal: of  median  least" if peer else "(treecf is not here)")
    lines = []
    for place in options.only or range(options.rows):
        lines.append(asked(explainer, refused.iloc[place], writer, peer))
        print(shown(place, lines[-1]), flush=True)
    print(
        f"median {statistics.median(line.seconds for line in lines):.1f} s a menu, "
        f"worst {max(line.seconds for line in lines):.1f} s; "
        f"certificates: {dict(sum((line.verdicts for line in lines), Counter()))}"
    )
    together = [one for line in lines for one in line.sizes]
    for mode in MODES if together else ():
        print(f"beside treecf's {mode} regions: {_compared(together, mode)}")


def main() -> None:
    """Print the table; with `--peers` in the environment of the peers."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=20)
    parser.add_argument("--only", type=int, nargs="*", help="these rows alone, by their place")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--depth", type=int, default=8)
    parser.add_argument("--no-check", dest="check", action="store_false")
    parser.add_argument("--peers", action="store_true", help="in .venv-peers, which is made where it is not there")
    options = parser.parse_args()
    if options.peers and Path(sys.prefix).resolve() != ENVIRONMENT.resolve():
        own = str(environment(sys.executable))
        os.chdir(ROOT)
        os.execv(own, [own, "-m", "tests.bench.menu", *sys.argv[1:]])
    table(options)


if __name__ == "__main__":
    main()
