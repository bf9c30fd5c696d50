"""The browser that tests look at pages with: where it is, how it is started, what it printed.

In:  a folder for its profile, and the arguments of a visit.    Out: its stdout and stderr.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest

BROWSER = next(
    filter(
        None, map(shutil.which, (os.environ.get("MACE_BROWSER", ""), "chromium", "chromium-browser", "google-chrome"))
    ),
    None,
)
NEEDED = pytest.mark.skipif(BROWSER is None, reason="needs chromium (Debian: apt install chromium)")
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage",
    "--enable-logging=stderr", "--hide-scrollbars",
)  # fmt: skip
PATIENCE = 120  # seconds
STARTS = 2


def command(folder: Path, *arguments: str) -> list[str]:
    """The command that starts the browser with an empty profile in `folder`."""
    assert BROWSER is not None
    profile = folder / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    return [BROWSER, *FLAGS, f"--user-data-dir={profile}", *arguments]


def browse(folder: Path, *arguments: str) -> tuple[str, str]:
    """Run the browser to its end; gives stdout and stderr.

    A browser that dies of a signal has crashed by itself, which says nothing about the page: it is started once more.
    Where a script starts it, that is a code of 128 and the signal.
    """
    for start in range(STARTS):
        ran = subprocess.run(command(folder, *arguments), capture_output=True, text=True, timeout=PATIENCE, check=False)
        if 0 <= ran.returncode < 128 or start + 1 == STARTS:
            break
    assert ran.returncode == 0, ran.stderr
    return ran.stdout, ran.stderr
