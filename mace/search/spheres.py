"""Growing spheres: samples in shells around the start, wider and wider, until one has the goal.

Numbers are drawn from a shell in scaled units (a change of 1 is the whole range), uniformly; features with levels by
coin: as they are, or any level; a number that is missing by coin too: as it is, or a sample above its lowest value.
Source: Laugel et al. 2018, algorithms 1 and 2; CARLA draws binaries in this way.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mace.search.chart import Chart, Floats
from mace.search.limits import check
from mace.search.protocol import Batches, Task, unmovable


@dataclass(frozen=True)
class GrowingSpheres:
    """Growing spheres.

    samples: in each shell.    step: how thick a shell is, in scaled units (.02 in the paper, .2 in CARLA).
    """

    samples: int = 1000
    step: float = 0.02
    name: str = "spheres"

    def __post_init__(self) -> None:
        check(self, positive=("step",))

    def refusal(self, task: Task) -> str | None:
        """Why it does not take a task: something has to be free to change."""
        return unmovable(task)

    def batches(self, task: Task, rng: np.random.Generator) -> Batches:
        """The samples of each shell, until one has the goal."""
        chart = task.chart
        # Beyond the widest shell every sample lies outside of all ranges.
        widest = float(np.sqrt((chart.numbers & chart.free).sum())) + self.step
        inner = 0.0
        while inner <= widest:
            scores = yield self._shell(chart, inner, rng)
            if scores.valid.any():
                return None
            inner += self.step
        return None

    def _shell(self, chart: Chart, inner: float, rng: np.random.Generator) -> Floats:
        """Samples at an L2 distance from inner to inner + step."""
        rows = np.tile(chart.start, (self.samples, 1))
        numbers = np.flatnonzero(chart.numbers & chart.free)
        if len(numbers):
            ways = rng.normal(size=(self.samples, len(numbers)))
            ways /= np.linalg.norm(ways, axis=1, keepdims=True)
            ends = np.array([inner, inner + self.step]) ** len(numbers)
            if ends[1] > 0 and np.isfinite(ends).all():  # uniform in volume
                radius = rng.uniform(ends[0], ends[1], self.samples) ** (1 / len(numbers))
            else:
                radius = rng.uniform(inner, inner + self.step, self.samples)
            base = np.where(np.isnan(chart.start), chart.low, chart.start)[numbers]
            rows[:, numbers] = base + ways * radius[:, None] * chart.scale[numbers]
            lacking = numbers[np.isnan(chart.start[numbers])]
            rows[:, lacking] = np.where(rng.random((self.samples, len(lacking))) < 0.5, np.nan, rows[:, lacking])
        for j in np.flatnonzero(~chart.numbers & chart.free):
            known = chart.levels[j]
            assert known is not None
            drawn, kept = rng.choice(known, self.samples), rng.random(self.samples) < 0.5
            rows[:, j] = drawn if len(known) == 2 else np.where(kept, chart.start[j], drawn)
        return chart.snap(rows)
