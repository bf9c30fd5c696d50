"""An audit of rejected people of Adult on a forest of ten trees: how long, how many proved, and how it scales.

    python -m tests.bench.audit [--rows 500] [--scale-rows 60] [--space shipped] [--model forest] [--no-dask]

First the whole audit with certificates, each checked, on two processes. Then the throughput in certified rows a minute
with 1 process, 2 processes and a Dask cluster of 2 workers, on fewer rows, with starting up counted apart; and in rows
a second, beside the aim for two processes: 300 for the forest, 60 for XGBoost with 300 trees of depth 6.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path
from typing import Any

import mace
from tests.bench.real_data import train

AIMS = {"forest": 300, "xgboost-300x6": 60}  # certified rows a second on two cores


def timed(rows: int, model: Any, space: mace.Space, dataset: Any, **more: Any) -> tuple[mace.Audit, float, float]:
    """The audit, its seconds, and the seconds from its first record to its last."""
    first: list[float] = []
    last: list[float] = []

    def watch(*_: object) -> None:
        now = time.perf_counter()
        first[:] = first or [now]
        last[:] = [now]

    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        audit = mace.audit(
            model,
            space,
            dataset.X,
            ["Sex"],
            goal=dataset.goal,
            limit=rows,
            certificates=Path(folder),
            cores=0,
            progress=False,
            callback=watch,
            **more,
        )
        return audit, time.perf_counter() - began, last[0] - first[0]


def main() -> None:
    """Print the findings of the whole audit and a table of throughput."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=500)
    parser.add_argument("--scale-rows", type=int, default=60)
    parser.add_argument("--space", choices=["free", "shipped"], default="shipped")
    parser.add_argument("--model", choices=list(AIMS), default="forest")
    parser.add_argument("--no-dask", action="store_true")
    arguments = parser.parse_args()
    dataset = mace.datasets.load("adult")
    space: mace.Space = dataset.free_space if arguments.space == "free" else dataset.space
    matrix = space.encode(dataset.X)
    model: Any
    if arguments.model == "forest":
        model = train("forest", matrix, dataset.y)
    else:
        import xgboost

        model = xgboost.XGBClassifier(n_estimators=300, max_depth=6, random_state=0, n_jobs=1).fit(matrix, dataset.y)

    if arguments.rows:
        audit, seconds, _ = timed(arguments.rows, model, space, dataset, n_jobs=2)
        print(audit)
        load = f"{os.getloadavg()[0]:.1f}"
        print(f"\n{len(audit.records)} rows in {seconds / 60:.1f} minutes with 2 processes, load {load}\n", flush=True)

    aim = AIMS[arguments.model]
    print(f"| workers | rows | certified | seconds | certified rows a minute | a second (aim on two: {aim}) | load |")
    print("|---|---|---|---|---|---|---|")

    def line(name: str, **more: Any) -> None:
        audit, seconds, steady = timed(arguments.scale_rows, model, space, dataset, **more)
        certified = audit.findings.statuses.certified.count
        rate = (certified - 1) / steady * 60
        print(
            f"| {name} | {len(audit.records)} | {certified} | {seconds:.1f} | {rate:.1f} | {rate / 60:.1f} "
            f"| {os.getloadavg()[0]:.1f} |",
            flush=True,
        )

    line("1 process", n_jobs=1)
    line("2 processes", n_jobs=2)
    if arguments.no_dask:
        return
    from distributed import LocalCluster

    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, silence_logs=50) as cluster:
        line("Dask, 2 workers", scheduler=cluster.scheduler_address)


if __name__ == "__main__":
    main()
