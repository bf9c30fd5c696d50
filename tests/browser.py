"""The browser that tests look at pages with: where it is, how it is started, what it printed, what a page came to be.

In:  a folder for its profile, and the arguments of a visit.    Out: its stdout and stderr, or the page.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

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
STARTS = 3
# Where it reads commands, and where it writes answers and events: each a line of JSON that ends with a zero byte.
COMMANDS, ANSWERS = 3, 4
PLACED = f"""import os, sys
os.dup2(int(sys.argv[1]), {COMMANDS})
os.dup2(int(sys.argv[2]), {ANSWERS})
os.execv(sys.argv[3], sys.argv[3:])"""

# A promise of the page as it is once it shows all texts of a list.
ONCE = """new Promise(done => {
    const shown = text => document.body?.innerText.includes(text);
    const look = () => %s.every(shown) && done(document.documentElement.outerHTML);
    new MutationObserver(look).observe(document, {
        subtree: true, childList: true, attributes: true, characterData: true });
    look();
})"""


def command(folder: Path, *arguments: str) -> list[str]:
    """The command that starts the browser with an empty profile in `folder`."""
    assert BROWSER is not None
    profile = folder / "profile"
    shutil.rmtree(profile, ignore_errors=True)
    return [BROWSER, *FLAGS, f"--user-data-dir={profile}", *arguments]


def crashed(code: int) -> bool:
    """Whether it died of a signal, which says nothing about the page; where a script starts it, that is 128 and it."""
    return code < 0 or code >= 128


def browse(folder: Path, *arguments: str) -> tuple[str, str]:
    """Run the browser to its end; gives stdout and stderr. One that crashes is started once more."""
    for start in range(STARTS):
        ran = subprocess.run(command(folder, *arguments), capture_output=True, text=True, timeout=PATIENCE, check=False)
        if not crashed(ran.returncode) or start + 1 == STARTS:
            break
    assert ran.returncode == 0, (ran.returncode, ran.stderr)
    return ran.stdout, ran.stderr


def seen(folder: Path, address: str, texts: list[str], *arguments: str) -> str:
    """The elements of the page at an address once it shows all these texts.

    The page takes the time it takes: where it waits for a server, virtual time would say nothing about that. A browser
    that crashes is started once more.
    """
    for start in range(STARTS):
        with Visit(folder, *arguments) as visit:
            try:
                return visit.once(address, texts)
            except EOFError:
                code = visit.process.wait(PATIENCE)
        if not crashed(code) or start + 1 == STARTS:
            break
    raise AssertionError(f"the browser ended with code {code}")


class Visit:
    """A browser that is told what to do by the protocol of its developer tools, over two pipes."""

    def __init__(self, folder: Path, *arguments: str) -> None:
        (reads, self.commands), (self.answers, writes) = os.pipe(), os.pipe()
        # Theirs are above the places that they are moved to.
        ends = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (reads, writes)]
        started = command(folder, "--remote-debugging-pipe", *arguments, "about:blank")
        self.process = subprocess.Popen(
            [sys.executable, "-c", PLACED, *map(str, ends), *started], pass_fds=ends, stderr=subprocess.DEVNULL
        )
        # A page that never shows what is waited for ends with the browser, and with it the pipe.
        self.watch = threading.Timer(PATIENCE, self.process.kill)
        self.watch.start()
        for end in (reads, writes, *ends):
            os.close(end)
        self.asked, self.rest = 0, b""

    def __enter__(self) -> Visit:
        return self

    def __exit__(self, *_: object) -> None:
        self.watch.cancel()
        self.process.terminate()
        self.process.wait(PATIENCE)
        os.close(self.commands)
        os.close(self.answers)

    def told(self) -> dict[str, Any]:
        """The next answer or event."""
        while b"\0" not in self.rest:
            more = os.read(self.answers, 1 << 16)
            if not more:
                raise EOFError
            self.rest += more
        line, _, self.rest = self.rest.partition(b"\0")
        return json.loads(line)

    def ask(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """What it answers to a command; events before it are let go."""
        self.asked += 1
        sent = {"id": self.asked, "method": method, "params": parameters}
        try:
            os.write(self.commands, json.dumps(sent | ({"sessionId": session} if session else {})).encode() + b"\0")
        except BrokenPipeError:
            raise EOFError from None
        while (answer := self.told()).get("id") != self.asked:
            pass
        assert "error" not in answer, answer
        return answer["result"]

    def once(self, address: str, texts: list[str]) -> str:
        """The elements of the page at an address, once it shows all these texts."""
        target = self.ask("Target.createTarget", url="about:blank")["targetId"]
        session = self.ask("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.ask("Page.navigate", session, url=address)  # answered once the page has taken the place of the blank one
        found = self.ask("Runtime.evaluate", session, expression=ONCE % json.dumps(texts), awaitPromise=True)
        return found["result"]["value"]
