"""Through Dask an audit says what it says without."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import mace
from mace.errors import MaceError
from tests.audit import faults, run_slowly

distributed = pytest.importorskip("distributed")
remote = pytest.importorskip("mace.audit.remote")

# Slow to start: two worker processes, each with a nanny.
pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::ResourceWarning")]


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as started:
        yield started


def test_a_query_that_hangs_or_dies_takes_no_dask_worker_with_it(cluster):
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame), faults.Faulty)
    rejected = frame[model.predict(faults.space().encode(frame)) == 0].head(6).reset_index(drop=True)
    rejected.loc[1, "Age"] = faults.HANGS
    rejected.loc[3, "Age"] = faults.CRASHES
    before = sorted(worker.pid for worker in cluster.workers.values())
    audit = mace.audit(
        model,
        faults.space(),
        rejected,
        goal=1,
        rows="all",
        background=frame,
        timeout=2.0,
        scheduler=cluster.scheduler_address,
    )
    outcomes = [record.outcome for record in audit.records]
    assert outcomes == ["optimal", "timeout", "optimal", "crashed", "optimal", "optimal"]
    with distributed.Client(cluster) as client:  # a worker that was started again would answer with another number
        assert sorted(client.run(os.getpid).values()) == before


# After the test in which no worker may be started again: this one shares its cluster, and kills one.
def test_a_killed_worker_changes_nothing(cluster, tmp_path: Path):
    reference = run_slowly.run(None, delay=0.0, certificates=tmp_path / "here")
    pids = [worker.pid for worker in cluster.workers.values()]
    killed = threading.Event()

    def watch(_: object, done: int, __: int) -> None:
        if done == 6 and not killed.is_set():
            os.kill(pids[0], signal.SIGKILL)
            killed.set()

    audit = run_slowly.run(
        str(tmp_path / "a.sqlite"),
        scheduler=cluster.scheduler_address,
        certificates=tmp_path / "there",
        progress=False,
        callback=watch,
    )
    assert killed.is_set()
    assert faults.verdicts(audit) == faults.verdicts(reference)
    assert {record.proof for record in audit.records} == {"accepted"}
    for record in audit.records:
        here, there = (tmp_path / folder / record.certificate for folder in ("here", "there"))
        assert there.read_bytes() == here.read_bytes()


WITHOUT_A_PORT = """
import mace.audit.remote as remote
from mace.errors import MaceError
for address in ("", "localhost"):
    try:
        remote.DaskRunner(None, address)
    except MaceError as error:
        print(error)
"""


def test_an_address_without_a_port_is_a_clear_error_and_nothing_more():
    done = subprocess.run([sys.executable, "-c", WITHOUT_A_PORT], capture_output=True, text=True, check=True)
    assert done.stdout.count("missing port number") == 2 and "Exception ignored" not in done.stderr


def test_no_scheduler_is_a_clear_error(monkeypatch):
    monkeypatch.setattr(remote, "PATIENCE", "0.5s")
    frame = faults.people()
    with pytest.raises(MaceError, match="no Dask scheduler answers"):
        mace.audit(
            faults.forest(frame, faults.fair(frame)),
            faults.space(),
            frame,
            goal=1,
            limit=1,
            scheduler="tcp://127.0.0.1:1",
        )
