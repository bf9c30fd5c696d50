"""Whether a time limit holds: wall seconds of one answer about a large forest, with every oracle, `verify` and `audit`.

    python -m tests.bench.limits [--trees 300] [--timeout 2] [--depth 6] [--cpu]

The forest is trained, and compiled code is loaded, before the clock starts. `answer` is the call of `explain` on a new
explainer with the background rows; `certificate` is writing it when it is asked for, which no limit counts. Of `audit`
the seconds are those of one record; its worker has started before.
--cpu: the limit, too, is of CPU seconds of this process (not for solvers and `audit`, which work in others): what a
machine that nobody else uses would show.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import numpy as np
from sklearn.ensemble import RandomForestClassifier

import mace
from mace.base import deadline
from mace.errors import CertificateError
from tests.bench.ensembles import mixed


def main() -> None:
    """Print one line for each oracle, then `verify` and `audit`."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trees", type=int, default=300)
    parser.add_argument("--timeout", type=float, default=2.0)
    parser.add_argument("--depth", type=int)
    parser.add_argument("--cpu", action="store_true")
    options = parser.parse_args()
    if options.cpu:
        deadline.time = SimpleNamespace(monotonic=time.process_time)  # type: ignore[assignment]
    space, frame, target = mixed()
    matrix = space.encode(frame)
    model = RandomForestClassifier(options.trees, max_depth=options.depth, random_state=0).fit(matrix, target)
    row = frame.iloc[int(np.flatnonzero(model.predict(matrix) == 0)[0])]
    mace.Explainer(model, space).ready()
    print(f"{'':10} {'answer s':>9} {'CPU s':>6} {'certificate s':>14}")
    for oracle in ("ensembles",) if options.cpu else ("ensembles", "smt", "z3", "cvc5"):
        for rows in (None, frame):
            began, cpu = time.perf_counter(), time.process_time()
            answer = mace.explain(model, space, row, goal=1, oracle=oracle, timeout=options.timeout, background=rows)
            seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
            written = "-"
            if oracle == "ensembles":
                began = time.perf_counter()
                try:
                    assert answer.certificate
                    written = f"{time.perf_counter() - began:.2f}"
                except CertificateError:
                    written = "none"
            where = "alone" if rows is None else "with background rows"
            line(oracle, seconds, cpu, written, f"{answer.status}, {where}: {answer.why}")
    for given in ("reachable(1)", "monotone(r0, increasing)", "fair(b0)"):
        began, cpu = time.perf_counter(), time.process_time()
        verdict = mace.verify(model, space, given, timeout=options.timeout)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        line(
            "verify", seconds, cpu, "included", f"{given}: {verdict.status} ({verdict.why}) {'; '.join(verdict.notes)}"
        )
    if options.cpu:
        return
    with tempfile.TemporaryDirectory() as folder:
        audit = mace.audit(
            model, space, frame, goal=1, limit=1, timeout=options.timeout, n_jobs=1, certificates=Path(folder),
            cores=0, progress=False,
        )  # fmt: skip
    (record,) = audit.records
    said = f"{record.status}, proof {record.proof}: {record.proof_why}"
    line("audit", record.seconds, float("nan"), "included", said)


def line(who: str, seconds: float, cpu: float, certificate: str, said: str) -> None:
    """One row of the table."""
    print(f"{who:10} {seconds:9.2f} {cpu:6.2f} {certificate:>14}  {said}", flush=True)


if __name__ == "__main__":
    main()
