"""FACE: the row with the goal that is nearest along a path through observed rows.

The start and the background rows are the nodes of a graph; an edge joins rows that are neighbours, and is as long as
they are apart. The answer is the row with the goal to which the path is shortest.

Source: Poyiadzi et al. 2020; 50 neighbours, or a radius of .25, as in CARLA.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from mace.search.chart import Chart, Floats
from mace.search.limits import check
from mace.search.observed import NO_ROWS
from mace.search.protocol import Batches, Task


@dataclass(frozen=True)
class Face:
    """FACE.

    graph:      "knn" or "radius".
    neighbours: of each row, for "knn".    radius: in scaled units, for "radius".
    most:       background rows that are taken, drawn at random where there are more.
    """

    graph: Literal["knn", "radius"] = "knn"
    neighbours: int = 50
    radius: float = 0.25
    most: int = 2000

    def __post_init__(self) -> None:
        check(self)

    @property
    def name(self) -> str:
        """By its graph."""
        return f"face-{self.graph}"

    def refusal(self, task: Task) -> str | None:
        """Why it does not take a task: it needs background rows."""
        return NO_ROWS if task.rows is None or not len(task.rows) else None

    def batches(self, task: Task, rng: np.random.Generator) -> Batches:
        """The rows with the goal, by the length of the path to them, until one is allowed."""
        chart, rows = task.chart, task.rows
        assert rows is not None
        if len(rows) > self.most:
            rows = rows[np.sort(rng.choice(len(rows), self.most, replace=False))]
        lengths = self._lengths(chart, rows)
        fitted = chart.fitted(rows)
        goal = np.flatnonzero((task.missed_by(rows) == 0) & fitted.fit & np.isfinite(lengths))
        for place in goal[np.argsort(lengths[goal], kind="stable")]:
            scores = yield fitted.rows[place][None]
            if scores.goal[0] == 0:
                return None
        return None

    def _lengths(self, chart: Chart, rows: Floats) -> Floats:
        """The length of the shortest path from the start to every row; infinite where there is none."""
        from scipy.sparse.csgraph import dijkstra
        from sklearn.neighbors import kneighbors_graph, radius_neighbors_graph

        nodes = embedded(chart, np.vstack([chart.start, rows]))
        graph: Any
        if self.graph == "knn":
            graph = kneighbors_graph(nodes, min(self.neighbours, len(nodes) - 1), mode="distance")
        else:
            graph = radius_neighbors_graph(nodes, self.radius, mode="distance")
        graph.data = np.maximum(graph.data, 1e-12)  # rows that are equal are joined, not apart
        found: Floats = dijkstra(graph, directed=False, indices=0)
        return found[1:]


def embedded(chart: Chart, rows: Floats) -> Floats:
    """Rows as vectors in which distances mean something: numbers in scaled units, levels without an order one-hot."""
    columns: list[Floats] = []
    for j, (axis, feature) in enumerate(zip(chart.place.axes, chart.place.space.features, strict=True)):
        numbers = np.nan_to_num(rows[:, j], nan=chart.low[j])
        if chart.numbers[j] or getattr(axis, "ordered", False):
            columns.append((numbers - chart.low[j]) / chart.scale[j])
        elif not feature.numeric:
            # Two levels are 1 apart, as in the distance: each moves by the root of one half.
            columns += [(numbers == level) * np.sqrt(0.5) for level in range(len(feature.levels))]
    return np.column_stack(columns)
