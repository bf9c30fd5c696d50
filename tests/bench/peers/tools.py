"""The tools: each answers a row of a task in its own way; they are imported where they are asked."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from contextlib import redirect_stderr
from io import StringIO
from typing import Any

import numpy as np

from tests.bench.peers.ground import Reply, Row, Task, Tool, distance

WIDTH = 1e-3  # of the ranges: how close the tools that bisect come
ABOVE = 1e-9  # what a share of votes must be above one half, to tools that know only closed ranges


def mace(norm: str) -> Callable[[Task, float], Callable[[Row], Reply]]:
    """This library: whole answers of an explainer, from the row to the point that `predict` confirmed."""

    def ready(task: Task, seconds: float) -> Callable[[Row], Reply]:
        from mace import Explainer, Feature, Space

        columns = task.train.shape[1]
        space = Space([Feature(f"x{k}", "real", 0.0, 1.0) for k in range(columns)])
        explainer = Explainer(task.model, space, distance=norm)
        explainer.ready()
        scale = columns if norm == "l1" else 1  # l1 is a mean over the features

        def answered(row: Row) -> Reply:
            answer = explainer.explain(row, goal=1, timeout=seconds)
            found = answer.counterfactuals
            point = np.array(list(found[0].values.values()), float) if found else None
            return Reply(point, float(answer.lower_bound or 0) * scale, answer.status == "optimal")

        return answered

    return ready


def treecf(task: Task, seconds: float) -> Callable[[Row], Reply]:
    """Its exact search, with the limit in seconds alone."""
    import treecf as library

    columns = task.train.shape[1]
    limits = [library.Range(f"f{k}", 0.0, 1.0) for k in range(columns)]
    explainer = _with_names(library, task.model, limits, columns)
    forest = hasattr(task.model, "oob_score")
    target = library.Target.raw(range=(0.5 + ABOVE, 1.0)) if forest else library.Target.raw(range=(ABOVE, 1e6))

    def answered(row: Row) -> Reply:
        said = explainer.explain(row, target, backend="exact", time_budget_s=seconds, node_budget=10**9, seed=0)
        if not hasattr(said, "x_cf"):
            return Reply(None, 0.0, False)
        proved = said.proof == "optimal"
        return Reply(np.asarray(said.x_cf, float), said.distance if proved else 0.0, proved)

    return answered


def _with_names(library: Any, model: Any, limits: list[Any], columns: int) -> Any:
    """Its explainer; ranges go by the names that it gives to the columns."""
    names = list(library.Explainer(model, normalizers=np.ones(columns)).ir.feature_names)
    limits = [library.Range(name, limit.lo, limit.hi) for name, limit in zip(names, limits, strict=True)]
    return library.Explainer(model, normalizers=np.ones(columns), constraints=limits)


def veritas(task: Task, seconds: float) -> Callable[[Row], Reply]:
    """Its search for robustness: a bisection of the radius, with boxes cut at the ranges."""
    import veritas as library

    class Within(library.VeritasRobustnessSearch):  # type: ignore[misc]
        """The library's own bisection over boxes that end where the ranges do."""

        def get_search(self, delta: float) -> Any:
            config = library.Config(library.HeuristicType.MAX_OUTPUT)
            config.stop_when_optimal = True
            config.ignore_state_when_worse_than = 0.0
            config.stop_when_num_solutions_exceeds = self.stop_when_num_solutions_exceeds
            config.max_focal_size, config.focal_eps, config.max_memory = 1000, 0.2, self.mem_capacity
            box = [library.Interval(max(0.0, x - delta), math.nextafter(min(1.0, x + delta), 2)) for x in self.example]
            return config.get_search(self.at, box)

    trees = library.get_addtree(task.model, silent=True)

    def answered(row: Row) -> Reply:
        search = Within(
            row, 1.0, None, trees, max_time=seconds, num_steps=40, silent=True,
            stop_condition=lambda low, high: high - low < WIDTH,
        )  # fmt: skip
        _, low, high = search.search()
        found = [np.asarray(example, float) for example in search.generated_examples]
        best = min(found, key=lambda point: distance("linf", row, point), default=None)
        return Reply(best, float(low), bool(high - low < WIDTH))

    return answered


def marabou(task: Task, seconds: float) -> Callable[[Row], Reply]:
    """A bisection of the radius, one question to the solver a step."""
    from maraboupy import Marabou, MarabouNetwork

    def network(low: Row, high: Row) -> tuple[Any, list[int]]:
        made = MarabouNetwork.MarabouNetwork()
        inputs = [made.getNewVariable() for _ in low]
        for variable, least, most in zip(inputs, low, high, strict=True):
            made.setLowerBound(variable, least)
            made.setUpperBound(variable, most)
        values = inputs
        for last, weights, bias in _layers(task.model):
            sums = [made.getNewVariable() for _ in bias]
            for j, (total, constant) in enumerate(zip(sums, bias, strict=True)):
                made.addEquality([*values, total], [*weights[:, j], -1.0], -constant)
            values = sums
            if not last:
                values = [made.getNewVariable() for _ in sums]
                for total, active in zip(sums, values, strict=True):
                    made.addRelu(total, active)
        made.setLowerBound(values[0], ABOVE)
        made.inputVars, made.outputVars = [np.array(inputs)], [np.array(values)]
        return made, inputs

    def answered(row: Row) -> Reply:
        began, low, high, best = time.process_time(), 0.0, 1.0, None
        while high - low > WIDTH:
            left = seconds - (time.process_time() - began)
            if left < 1:
                return Reply(best, low, False)
            middle = (low + high) / 2
            made, inputs = network(np.maximum(0, row - middle), np.minimum(1, row + middle))
            options = Marabou.createOptions(verbosity=0, timeoutInSeconds=int(left))
            said, values, _ = made.solve(verbose=False, options=options)
            if said == "sat":
                best = np.array([values[variable] for variable in inputs])
                high = min(middle, distance("linf", row, best))
            elif said == "unsat":
                low = middle
            else:
                return Reply(best, low, False)
        return Reply(best, low, True)

    return answered


def _layers(model: Any) -> list[tuple[bool, Row, Row]]:
    """Of scikit-learn's network: is it the last layer, its weights, its constants."""
    layers = list(zip(model.coefs_, model.intercepts_, strict=True))
    return [(number == len(layers) - 1, weights, bias) for number, (weights, bias) in enumerate(layers)]


def ocean(task: Task, seconds: float) -> Callable[[Row], Reply]:
    """Its constraint programme, by CP-SAT on one core."""
    import pandas as pd
    from ocean import ConstraintProgrammingExplainer
    from ocean.feature import parse_features

    frame = pd.DataFrame(task.train, columns=[f"x{k}" for k in range(task.train.shape[1])])
    _, mapper = parse_features(frame, scale=False)
    explainer = ConstraintProgrammingExplainer(task.model, mapper=mapper)

    def answered(row: Row) -> Reply:
        said = explainer.explain(row, y=1, norm=1, max_time=max(1, int(seconds)), num_workers=1, random_seed=0)
        if said is None:
            return Reply(None, 0.0, False)
        point = np.asarray(said.x, float)
        proved = explainer.Status == "OPTIMAL"
        return Reply(point, distance("l1", row, point) if proved else 0.0, proved)

    return answered


def dice(task: Task, seconds: float) -> Callable[[Row], Reply]:
    """Its random search: a heuristic, without a limit of its own."""
    import dice_ml
    import pandas as pd

    names = [f"x{k}" for k in range(task.train.shape[1])]
    frame = pd.DataFrame(task.train, columns=names)
    data = dice_ml.Data(dataframe=frame.assign(outcome=task.known), continuous_features=names, outcome_name="outcome")
    library = dice_ml.Dice(data, dice_ml.Model(model=task.model, backend="sklearn"), method="random")

    def answered(row: Row) -> Reply:
        query = pd.DataFrame([row], columns=names)
        with redirect_stderr(StringIO()):  # its progress bar
            said = library.generate_counterfactuals(query, total_CFs=1, desired_class=1, random_seed=0, verbose=False)
        found = said.cf_examples_list[0].final_cfs_df
        if found is None or not len(found):
            return Reply(None, 0.0, False)
        return Reply(found[names].to_numpy(float)[0], 0.0, False)

    return answered


TOOLS = (
    Tool("mace", "l1", mace("l1"), trees=True),
    Tool("treecf", "l1", treecf, trees=True),
    Tool("ocean", "l1", ocean, trees=True, only=("forest-10x6", "forest-50x6", "forest-100x6")),
    Tool("dice", "l1", dice, trees=True),
    Tool("mace", "linf", mace("linf"), trees=True, networks=True),
    Tool("veritas", "linf", veritas, trees=True),
    Tool("marabou", "linf", marabou, networks=True),
)
