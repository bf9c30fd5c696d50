"""Batches of random problems in processes of their own, so that a crash or a hang is a failure like any other.

Hypothesis draws the problems, in an order that the seed alone decides, and shrinks what fails.
"""

from __future__ import annotations

import itertools
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import TimeoutError as LateError
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, Phase, Verbosity, given, seed, settings
from hypothesis import strategies as st

from tests.fuzz.spaces import Draw

HANGS = 900.0
"""Seconds after which a batch counts as hanging: a hundred times what it takes."""


FILES = 20
"""Mutated files of an example."""


@dataclass(frozen=True)
class Batch:
    """Some models of one family: `kind/family`, a seed, how many."""

    name: str
    seed: int
    examples: int

    def again(self) -> str:
        """The options that ask the same once more."""
        return f"--only {self.name} --seed {self.seed} --rounds 1 --examples {self.examples}"


@dataclass(frozen=True)
class Outcome:
    """How the problems of a batch ended; `failure` is the smallest one that went wrong, or what happened instead."""

    batch: Batch
    ended: Counter[str] = field(default_factory=Counter)
    models: int = 0
    failure: str = ""


def batches(only: str) -> list[str]:
    """The names of all kinds and families that begin so."""
    from tests.fuzz.levels import KINDS, SETS
    from tests.fuzz.model_files import FORMATS
    from tests.fuzz.models import FAMILIES
    from tests.fuzz.pipelines import LAST
    from tests.fuzz.properties import NETWORKS
    from tests.fuzz.verify_questions import verify_names

    known = [*(f"explain/{name}" for name in FAMILIES), *(f"pipeline/{name}" for name in LAST)]
    known += [f"verify/{name}" for name in verify_names()]
    known += [f"vnnlib/{name}" for name in NETWORKS]
    known += [f"levels/{kind}" for kind in KINDS]
    known += [f"sets/{kind}" for kind in SETS]
    known += [f"files/{kind}" for kind in FORMATS]
    return [name for name in known if name.startswith(only)]


def problems(name: str) -> Callable[[Draw], Counter[str]]:
    """What draws and checks one example of a kind."""
    kind, _, family = name.partition("/")
    if kind == "explain":
        from tests.fuzz.questions import questions

        return lambda draw: questions(draw, family)
    if kind == "pipeline":
        from tests.fuzz.pipelines import pipeline_questions

        return lambda draw: pipeline_questions(draw, family)
    if kind == "levels":
        from tests.fuzz.levels import level_questions

        return lambda draw: level_questions(draw, family)
    if kind == "sets":
        from tests.fuzz.levels import set_questions

        return lambda draw: set_questions(draw, family)
    if kind == "verify":
        from tests.fuzz.verify_questions import verify_questions

        return lambda draw: verify_questions(draw, family)
    if kind == "vnnlib":
        from tests.fuzz.properties import property_questions

        return lambda draw: property_questions(draw, family)
    if kind == "files":
        from tests.fuzz.model_files import endings

        return lambda draw: endings(family, draw(st.integers(0, 10**9)), FILES)
    raise ValueError(name)


def run(batch: Batch) -> Outcome:
    """All examples of a batch; the first that fails is shrunk."""
    from joblib import parallel_config
    from threadpoolctl import threadpool_limits

    ended: Counter[str] = Counter()
    check = problems(batch.name)
    models = itertools.count()
    failing: list[BaseException] = []

    @seed(batch.seed)
    @settings(
        max_examples=batch.examples, deadline=None, database=None, suppress_health_check=list(HealthCheck),
        phases=[Phase.generate, Phase.shrink], report_multiple_bugs=False, verbosity=Verbosity.quiet,
    )  # fmt: skip
    @given(st.data())
    def every(data: Any) -> None:
        try:
            found = check(data.draw)
        except Exception as error:
            failing.append(error)
            raise
        if not failing:
            ended.update(found)
            next(models)

    with threadpool_limits(1), parallel_config("threading"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            every()
        except Exception as error:  # noqa: BLE001 - whatever goes wrong is what we look for
            return Outcome(batch, ended, next(models), f"{type(error).__name__}: {error}")
    return Outcome(batch, ended, next(models))


def outcomes(todo: list[Batch], workers: int, ends: float | None) -> Iterator[Outcome]:
    """Run batches in processes; those that have not begun at `ends` are left out."""
    import pebble

    with pebble.ProcessPool(max_workers=workers) as pool:
        running: list[tuple[Batch, Any]] = []
        waiting = iter(todo)
        while True:
            while len(running) < 2 * workers and (ends is None or time.monotonic() < ends):
                batch = next(waiting, None)
                if batch is None:
                    break
                running.append((batch, pool.schedule(run, args=[batch], timeout=HANGS)))
            if not running:
                return
            batch, future = running.pop(0)
            try:
                yield future.result()
            except LateError:
                yield Outcome(batch, failure=f"no end within {HANGS:g} s")
            except pebble.ProcessExpired as error:
                yield Outcome(batch, failure=f"the process died: {error}")
