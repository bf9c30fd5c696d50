"""The child process: one solver, told what to do by lines of JSON, and killed when its time is over.

In:  a line per command on standard input: `add` (declarations and SMT-LIB 2 assertions), `check` (under assumptions),
     `forget` (begin with a new solver), or `script` (a whole SMT-LIB 2 script, by a solver of its own, with cvc5's
     proof if asked).
Out: a line per `check` or `script` on standard output: sat with values, unsat (with the proof), or unknown with the
     solver's own reason.
Promise: nothing but a solver is imported, so that a start costs a tenth of a second; the process ends when its parent
does. It is a process of its own because cvc5 holds the interpreter's lock while it solves, and because only an
operating system really stops a solver that has run out of time or memory.

Started as a script by `mace.solve.smt.process`: `python worker.py z3|cvc5 [bytes of memory]`.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Protocol

SEED = 1
OUT_OF_MEMORY = 101  # the exit code z3 itself uses
PROOF_OPTIONS = {"produce-proofs": "true", "proof-granularity": "dsl-rewrite", "proof-format-mode": "cpc"}

Declared = Sequence[tuple[str, str]]  # name and sort, in order


class Solver(Protocol):
    """What both solvers can do."""

    def add(self, declare: Declared, text: str) -> None: ...

    def check(self, assume: Sequence[str], wanted: Sequence[str]) -> dict[str, Any]: ...

    def script(self, text: str, *, proof: bool) -> dict[str, Any]: ...


class Z3:
    """z3 through its own Python module."""

    def __init__(self, memory: int | None) -> None:
        import z3

        if memory is not None:
            z3.set_param("memory_max_size", max(1, memory >> 20))
        self.z3 = z3
        # Nothing that an earlier one was told, before `forget`, may decide which witness is found.
        self.context = z3.Context()
        self.solver = z3.Solver(ctx=self.context)
        self.solver.set("random_seed", SEED)
        self.constants: dict[str, Any] = {}

    def add(self, declare: Declared, text: str) -> None:
        """Assert a text; every symbol it uses is declared with it, and two of one name and sort are the same."""
        sorts = {"Bool": self.z3.Bool, "Int": self.z3.Int, "Real": self.z3.Real}
        self.constants |= {
            name: sorts[sort](name, self.context) for name, sort in declare if name not in self.constants
        }
        lines = [f"(declare-const {name} {sort})" for name, sort in declare]
        self.solver.add(self.z3.parse_smt2_string("\n".join([*lines, text]), ctx=self.context))

    def check(self, assume: Sequence[str], wanted: Sequence[str]) -> dict[str, Any]:
        """Solve; exact values as text, of the symbols that some assertion mentions."""
        verdict = self.solver.check(*[self.constants[name] for name in assume])
        if verdict == self.z3.unsat:
            return {"verdict": "unsat"}
        if verdict != self.z3.sat:
            return {"verdict": "unknown", "why": str(self.solver.reason_unknown())}
        model = self.solver.model()
        values = {}
        for name in (name for name in wanted if name in self.constants):
            value = model.eval(self.constants[name], model_completion=True)
            values[name] = self.z3.is_true(value) if self.z3.is_bool(value) else value.as_string()
        return {"verdict": "sat", "values": values}

    def script(self, text: str, *, proof: bool) -> dict[str, Any]:
        """The verdict on a whole script; z3's proofs are not asked for, since nobody reads them."""
        del proof
        solver = self.z3.Solver(ctx=self.context)
        solver.from_string(text)
        verdict = str(solver.check())
        return {"verdict": verdict, "why": str(solver.reason_unknown()) if verdict == "unknown" else ""}


class Cvc5:
    """cvc5 through its own Python module, its base interface."""

    def __init__(self, memory: int | None) -> None:
        del memory  # the limit of the process is all there is
        import cvc5

        self.cvc5 = cvc5
        terms = cvc5.TermManager()
        self.solver = cvc5.Solver(terms)
        for option, value in (("incremental", "true"), ("produce-models", "true"), ("seed", str(SEED))):
            self.solver.setOption(option, value)
        self.solver.setLogic("QF_LIRA")
        self.symbols = cvc5.SymbolManager(terms)
        self.language = cvc5.InputLanguage.SMT_LIB_2_6
        self.parse = cvc5.InputParser
        self.constants: dict[str, Any] = {}

    def add(self, declare: Declared, text: str) -> None:
        """Assert a text; symbols that are new are declared first."""
        new = [(name, sort) for name, sort in declare if name not in self.constants]
        lines = [f"(declare-const {name} {sort})" for name, sort in new]
        # A parser each time, with one table of symbols: a parser that has seen its end does not always take more.
        parser = self.parse(self.solver, self.symbols)
        parser.setStringInput(self.language, "\n".join([*lines, text]), "question")
        while not (command := parser.nextCommand()).isNull():
            said = command.invoke(self.solver, self.symbols)
            if said.startswith("(error"):
                raise RuntimeError(said.strip())
        if new:
            self.constants |= {str(term): term for term in self.symbols.getDeclaredTerms()}

    def check(self, assume: Sequence[str], wanted: Sequence[str]) -> dict[str, Any]:
        """Solve; exact values as text, of the symbols that some assertion mentions."""
        result = self.solver.checkSatAssuming(*[self.constants[name] for name in assume])
        if result.isUnsat():
            return {"verdict": "unsat"}
        if not result.isSat():
            return {"verdict": "unknown", "why": str(result.getUnknownExplanation())}
        values: dict[str, Any] = {}
        for name in (name for name in wanted if name in self.constants):
            value = self.solver.getValue(self.constants[name])
            values[name] = value.getBooleanValue() if value.isBooleanValue() else str(value.toPythonObj())
        return {"verdict": "sat", "values": values}

    def script(self, text: str, *, proof: bool) -> dict[str, Any]:
        """The verdict on a whole script; with `proof`, a refutation in the CPC format, without opaque steps."""
        terms = self.cvc5.TermManager()
        solver = self.cvc5.Solver(terms)
        if proof:
            for option, value in PROOF_OPTIONS.items():
                solver.setOption(option, value)
        symbols = self.cvc5.SymbolManager(terms)
        parser = self.parse(solver, symbols)
        parser.setStringInput(self.language, text, "question")
        said = ""
        while not (command := parser.nextCommand()).isNull():
            said = command.invoke(solver, symbols).strip() or said
            if said.startswith("(error"):
                raise RuntimeError(said)
        reply = {"verdict": said}
        if proof and said == "unsat":
            form, whole = self.cvc5.ProofFormat.CPC, self.cvc5.ProofComponent.FULL
            parts = (solver.proofToString(part, form) for part in solver.getProof(whole))
            reply["proof"] = "".join(part.decode() if isinstance(part, bytes) else part for part in parts)
        return reply


SOLVERS: dict[str, Callable[[int | None], Solver]] = {"z3": Z3, "cvc5": Cvc5}


def end_with_parent() -> None:
    """Ask Linux to kill this process when its parent is gone: a solver at work does not read its input."""
    if sys.platform.startswith("linux"):
        import ctypes

        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL


def limit_memory(memory: int) -> None:
    """Let allocations fail that go `memory` bytes beyond what the interpreter and the solver's code take."""
    with contextlib.suppress(ImportError, ValueError, OSError):
        import resource

        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
        total = pages * resource.getpagesize() + memory
        resource.setrlimit(resource.RLIMIT_AS, (total, total))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def main(name: str, memory: int | None) -> int:
    """Answer until the input ends."""
    end_with_parent()
    # Replies have the pipe to themselves: what a solver's own code prints goes nowhere.
    replies = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    try:
        solver = SOLVERS[name](memory)
        if memory is not None:
            limit_memory(memory)
        for line in sys.stdin:
            command = json.loads(line)
            if command["do"] == "forget":
                del solver  # its memory first
                solver = SOLVERS[name](memory)
                continue
            if command["do"] == "add":
                solver.add([tuple(pair) for pair in command["declare"]], command["text"])
                continue
            if command["do"] == "script":
                reply = solver.script(command["text"], proof=command["proof"])
            else:
                reply = solver.check(command["assume"], command["wanted"])
            replies.write(json.dumps(reply) + "\n")
            replies.flush()
    except MemoryError:
        return OUT_OF_MEMORY
    except Exception as error:  # noqa: BLE001  (whatever a solver raises is its reason for not answering)
        why = str(error) or type(error).__name__
        if memory is not None and why == "Unknown exception":  # cvc5's name for one of C++: an allocation that failed
            why = "out of memory"
        replies.write(json.dumps({"verdict": "unknown", "why": why}) + "\n")
        replies.flush()
        return OUT_OF_MEMORY if "memory" in why or "bad_alloc" in why else 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else None))
