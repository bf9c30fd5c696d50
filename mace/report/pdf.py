"""A report on paper: the same page, printed to PDF by a Chromium of this machine.

In:  the report as HTML.    Out: a PDF, with the page's print style.
Promise: nothing is fetched, since the page needs nothing; the browser gets a profile of its own that is deleted.
Chromium, Chrome or Edge on the path will do, or the program that the environment variable MACE_BROWSER names. Nothing
is installed with mace: any browser prints the .html just so.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from mace.base.files import reason
from mace.errors import FileError

BROWSERS = (
    "chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "microsoft-edge", "msedge",
)  # fmt: skip
PATIENCE = 120.0  # seconds
HINT = "Write an .html, and print it from any browser."


def as_pdf(page: str) -> bytes:
    """The page as a PDF; raises FileError where no browser is, or where it prints nothing."""
    browser = _browser()
    with tempfile.TemporaryDirectory(prefix="mace-pdf-", ignore_cleanup_errors=True) as folder:
        source, target = Path(folder) / "report.html", Path(folder) / "report.pdf"
        source.write_text(page, encoding="utf-8")
        options = [
            "--headless", "--disable-gpu", "--no-first-run", "--disable-background-networking", "--disable-sync",
            "--disable-component-update", f"--user-data-dir={folder}/profile", "--no-pdf-header-footer",
            f"--print-to-pdf={target}",
        ]  # fmt: skip
        if hasattr(os, "geteuid") and os.geteuid() == 0:
            options.append("--no-sandbox")  # it does not start for root otherwise; the page is ours, without scripts
        try:
            subprocess.run(
                [browser, *options, source.as_uri()], capture_output=True, check=True, timeout=PATIENCE, text=True
            )
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise FileError(f"{browser} did not print the report: {_why(error)}", hint=HINT) from None


def _why(error: OSError | subprocess.SubprocessError) -> str:
    """The last line that the browser wrote, or how it ended."""
    said = str(getattr(error, "stderr", None) or "").strip().splitlines()
    if said:
        return said[-1]
    if isinstance(error, subprocess.CalledProcessError):
        return f"it ended with exit code {error.returncode}, without a word"
    if isinstance(error, subprocess.TimeoutExpired):
        return f"it took longer than {PATIENCE} s"
    return reason(error)


def _browser() -> str:
    """The browser that prints."""
    named = os.environ.get("MACE_BROWSER")
    for name in (named,) if named else BROWSERS:
        found = shutil.which(name)
        if found:
            return found
    missing = f"MACE_BROWSER is {named}" if named else "neither Chromium, Chrome nor Edge is on the path"
    raise FileError(
        f"no browser to print a PDF with: {missing}",
        hint=f"Install Chromium, or name one by MACE_BROWSER. {HINT}",
    )
