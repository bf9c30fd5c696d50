"""What all tests share: where the real data lies, and the order quick before slow."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

ROOT = Path(__file__).parent.parent
SHARED = ROOT.parent / "shared" / "data"

# A shared machine may stall for a second: a test fails for what it finds, not for how long it took.
settings.register_profile("mace", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("mace")

# Set here, before any test module is imported, so that the workers of pytest-xdist and child processes see it too.
if "MACE_DATA" not in os.environ and SHARED.is_dir():
    os.environ["MACE_DATA"] = str(SHARED)


def has_data() -> bool:
    """Whether the files of the real data sets are here."""
    folder = os.environ.get("MACE_DATA")
    return folder is not None and (Path(folder) / "adult.csv.gz").is_file()


def pytest_configure() -> None:
    """Test compiled code; what is interpreted in a new installation has tests of its own (test_compiled.py)."""
    from mace.audit import pool
    from mace.solve.compiled import at_once

    at_once()
    pool.PRELOADED.append("tests.served")


@pytest.fixture(scope="session", autouse=True)
def _server_finds_the_tests() -> Iterator[None]:
    """The process that forks those of audits looks for `tests.served` where this one would, wherever it is started."""
    from mace.audit import pool

    start = pool._run_forkserver

    def started() -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("PYTHONPATH", str(ROOT), prepend=os.pathsep)
            start()

    pool._run_forkserver = started
    yield
    pool._run_forkserver = start


@pytest.fixture
def ctrl_c() -> Iterator[None]:
    """Ctrl-C as in a terminal: whoever starts the tests in the background may have it ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_setupnodes() -> None:
    """Before there are several processes: what each would compile for itself is compiled once."""
    from tests.ready import all_of_it

    all_of_it()


@pytest.fixture(autouse=True)
def _memory_is_not_limited() -> Iterator[None]:
    """A limit that a test sets for its own process is one for all later ones, and for browsers that they start."""
    try:
        import resource
    except ImportError:  # Windows
        yield
        return
    before = resource.getrlimit(resource.RLIMIT_AS)
    yield
    after = resource.getrlimit(resource.RLIMIT_AS)
    if after != before:
        resource.setrlimit(resource.RLIMIT_AS, before)
    assert after == before, "the test limited the memory of its own process"


def _late(item: pytest.Item) -> bool:
    return "slow" in item.keywords or "exhaustive" in item.keywords


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    # Stable: quick ones first, else in order; of the slow ones first those of the theory, the longest, so that no
    # process is left alone with them at the end.
    items.sort(key=lambda item: _late(item) and (2 if "tests/theory/" not in item.nodeid else 1))
    if not has_data():
        reason = "needs the real data sets: set MACE_DATA to the folder with adult.csv.gz (see CONTRIBUTING.md)"
        for item in items:
            if "data" in item.keywords:
                item.add_marker(pytest.mark.skip(reason=reason))
