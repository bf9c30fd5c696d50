"""The parent's side of a solver's child process: start it, ask it, stop it.

In:  declarations and assertions as SMT-LIB 2 text, and assumptions by name; or a whole script.
Out: an `SolverAnswer`: sat with exact values, unsat, or unknown with the reason.
Promise: no text reaches a solver that could do more than declare, assert and check (`smt_text`). A call returns when
its time is over, whatever the solver does; after a kill the next question starts a new child from the kept text. A
child that dies is an unknown, never an exception.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import selectors
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Literal, TypeAlias

from mace.base.deadline import NEVER, Deadline
from mace.errors import MaceError
from mace.solve.smt.text import check_lines, check_script
from mace.solve.smt.worker import OUT_OF_MEMORY

SolverName: TypeAlias = Literal["z3", "cvc5"]
Values: TypeAlias = dict[str, bool | Fraction]
PIECE = 1 << 16  # bytes handed to a pipe at once
LOOK = 0.25  # seconds between two looks at a deadline while nothing comes
WORKER = Path(__file__).with_name("worker.py")


def installed(name: SolverName) -> bool:
    """Whether a solver can be asked here; its Python module has its name."""
    return importlib.util.find_spec(name) is not None


def absent(name: str) -> MaceError:
    """What is said where a solver is needed that is not installed."""
    return MaceError(
        f"this is a question for solvers, and {name} not installed", hint="pip install 'mace-smt[solvers]'."
    )


@dataclass(frozen=True, slots=True)
class SolverAnswer:
    """A solver's verdict; `values` when it is sat, `why` when it is unknown, `proof` if one was asked for and came."""

    verdict: Literal["sat", "unsat", "unknown"]
    values: Values = field(default_factory=dict)
    why: str = ""
    proof: str = ""


@dataclass(slots=True)
class Text:
    """Some assertions with the symbols that they use."""

    declare: list[tuple[str, str]]
    lines: list[str]


class SolverProcess:
    """One solver in a child process, which is started when it is first asked something.

    memory: bytes that the child may use; None for no limit.
    Raises MaceError where the solver is not installed.
    """

    def __init__(self, name: SolverName, memory: int | None = None) -> None:
        if not installed(name):
            raise absent(f"{name} is")
        self.name = name
        self.memory = memory
        self.texts: list[Text] = []
        self._names: set[str] = set()
        self._told = 0
        self._working = False  # on a question whose reply has not come
        self._child: subprocess.Popen[bytes] | None = None
        self._unread = b""
        self._unsent: deque[memoryview] = deque()

    def add(self, text: Text) -> None:
        """Assert a text for good; raises UnsafeTextError."""
        declared = "".join(f"(declare-const {name} {sort})\n" for name, sort in text.declare)
        check_lines(declared + "\n".join(text.lines), self._names)
        self.texts.append(text)

    def reset(self) -> None:
        """Forget everything that was asserted; a child that waits for a question begins anew, any other is ended."""
        if self._child is None or self._working:
            self.stop()
        elif self._told:
            self._send({"do": "forget"})
        self._told = 0
        self.texts.clear()
        self._names.clear()

    def ask(self, assume: Sequence[str], wanted: Sequence[str]) -> None:
        """Send a question; `answer` reads the reply."""
        self._ready()
        for text in self.texts[self._told :]:
            self._send({"do": "add", "declare": text.declare, "text": "\n".join(text.lines)})
        self._told = len(self.texts)
        self._send({"do": "check", "assume": list(assume), "wanted": list(wanted)})
        self._working = True

    def ask_script(self, text: str, *, proof: bool = False) -> None:
        """Send a whole script, which has nothing to do with what was added; raises UnsafeTextError.

        proof: ask cvc5 to print its refutation.
        """
        check_script(text)
        self._ready()
        self._send({"do": "script", "text": text, "proof": proof})
        self._working = True

    def answer(self, deadline: Deadline = NEVER) -> SolverAnswer | None:
        """The reply to the last question, or None when it did not come before the deadline."""
        return first_answer([self], deadline)[1]

    def stop(self) -> None:
        """Kill the child, at once; what it was told is kept for the next one."""
        child, self._child = self._child, None
        self._told, self._unread, self._working = 0, b"", False
        self._unsent.clear()
        if child is None:
            return
        child.kill()
        for pipe in (child.stdin, child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):  # What was buffered for a dead child is of no use.
                    pipe.close()
        child.wait()

    @property
    def pid(self) -> int | None:
        """The child's process number, while there is one."""
        return self._child.pid if self._child is not None else None

    def _ready(self) -> None:
        """Start the child process where none is running."""
        if self._child is None or self._child.poll() is not None:
            self.stop()
            self._start()

    def _start(self) -> None:
        memory = [] if self.memory is None else [str(self.memory)]
        # -P: the worker's own folder must not come first among the places where modules are looked for.
        command = [sys.executable, "-P", "-W", "ignore", str(WORKER), self.name, *memory]
        environment = os.environ | {"PYTHONHASHSEED": "0"}
        self._child = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment
        )
        assert self._child.stdin is not None
        os.set_blocking(self._child.stdin.fileno(), False)

    def _send(self, command: dict[str, object]) -> None:
        """Have a command sent while a reply is waited for: a child that is busy reading the last one takes no more."""
        self._unsent.append(memoryview(json.dumps(command).encode() + b"\n"))

    def _push(self) -> None:
        """Send as much as the child takes now."""
        assert self._child is not None and self._child.stdin is not None
        try:
            while self._unsent:
                sent = os.write(self._child.stdin.fileno(), self._unsent[0][:PIECE])
                self._unsent[0] = self._unsent[0][sent:]
                if not self._unsent[0]:
                    self._unsent.popleft()
        except BlockingIOError:
            pass  # The pipe is full.
        except OSError:
            self._unsent.clear()  # The child died; reading its reply finds out why.

    def _read(self) -> SolverAnswer | None:
        """What has arrived: an answer, or None while the line is not complete."""
        assert self._child is not None and self._child.stdout is not None
        chunk = os.read(self._child.stdout.fileno(), 1 << 20)
        self._unread += chunk
        if b"\n" in self._unread:
            line, self._unread = self._unread.split(b"\n", 1)
            self._working = False
            return self._understood(json.loads(line))
        return None if chunk else self._death()

    def _understood(self, reply: dict[str, object]) -> SolverAnswer:
        values = reply.get("values", {})
        assert isinstance(values, dict)
        why = str(reply.get("why", ""))
        if "memory" in why or "bad_alloc" in why:
            why = self._memory_gone()
        elif why:
            why = f"{self.name} said: {why}"
        try:
            read = {name: value if isinstance(value, bool) else Fraction(value) for name, value in values.items()}
        except ValueError:  # Python reads no number of more than 4300 digits
            return SolverAnswer("unknown", why=f"{self.name} found a point of numbers that are too long to be read")
        verdict = reply["verdict"]
        assert verdict in ("sat", "unsat", "unknown")
        return SolverAnswer(verdict, read, why, str(reply.get("proof", "")))

    def _death(self) -> SolverAnswer:
        """Why the child ended without a reply."""
        assert self._child is not None
        code = self._child.wait()
        self.stop()
        # Under a limit of memory an allocation that fails ends a solver in several ways, all of them abnormal.
        starved = code in (OUT_OF_MEMORY, -signal.SIGABRT, -signal.SIGSEGV, 1) and self.memory is not None
        if starved or code == OUT_OF_MEMORY:
            return SolverAnswer("unknown", why=self._memory_gone())
        ending = f"signal {-code}" if code < 0 else f"exit code {code}"
        return SolverAnswer("unknown", why=f"the {self.name} process died ({ending})")

    def _memory_gone(self) -> str:
        limit = "" if self.memory is None else f" ({self.memory >> 20} MB)"
        return f"the solver {self.name} ran out of memory{limit}"


def first_answer(
    asked: Sequence[SolverProcess], deadline: Deadline
) -> tuple[SolverProcess, SolverAnswer] | tuple[None, None]:
    """The first reply of several solvers that were asked, or Nones when none came before the deadline."""
    with selectors.DefaultSelector() as selector:
        for process in asked:
            assert process._child is not None and process._child.stdout is not None
            selector.register(process._child.stdout, selectors.EVENT_READ, process)
            if process._unsent:
                assert process._child.stdin is not None
                selector.register(process._child.stdin, selectors.EVENT_WRITE, process)
        while True:
            # A signal wakes nobody who waits here: whether Ctrl-C has ended the deadline is looked at now and then.
            left = deadline.left()
            ready = selector.select(LOOK if left is None else min(left, LOOK))
            for key, event in ready:
                if event & selectors.EVENT_WRITE:
                    key.data._push()
                    if not key.data._unsent:
                        selector.unregister(key.fileobj)
            # In the order of `asked`, not of arrival: two replies at once give the same choice every time.
            arrived = {key.data.name for key, event in ready if event & selectors.EVENT_READ}
            for process in asked:
                if process.name in arrived and (answer := process._read()) is not None:
                    return process, answer
            if deadline.over:
                return None, None
