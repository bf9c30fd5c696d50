"""A child process that runs one solver on one SMT-LIB 2 script, and writes cvc5's proof if asked.

In:  `python smt_script.py z3|cvc5 [proof]`, the script on standard input.
Out: one line of JSON on standard output: the verdict (sat, unsat, unknown), and the text of the proof.
Promise: as `smt_worker`, nothing but a solver is imported, and whoever started it can kill it at any time.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import sys


def z3_verdict(script: str) -> dict[str, str]:
    """What z3 says."""
    import z3

    solver = z3.Solver()
    solver.from_string(script)
    return {"verdict": str(solver.check())}


def cvc5_verdict(script: str, *, proof: bool) -> dict[str, str]:
    """What cvc5 says; with `proof`, its refutation in the CPC format, without opaque steps."""
    import cvc5

    terms = cvc5.TermManager()
    solver = cvc5.Solver(terms)
    if proof:
        for option, value in (
            ("produce-proofs", "true"),
            ("proof-granularity", "dsl-rewrite"),
            ("proof-format-mode", "cpc"),
        ):
            solver.setOption(option, value)
    symbols = cvc5.SymbolManager(terms)
    parser = cvc5.InputParser(solver, symbols)
    parser.setStringInput(cvc5.InputLanguage.SMT_LIB_2_6, script, "question")
    said = ""
    while not (command := parser.nextCommand()).isNull():
        said = command.invoke(solver, symbols).strip() or said
        if said.startswith("(error"):
            raise RuntimeError(said)
    reply = {"verdict": said}
    if proof and said == "unsat":
        parts = (solver.proofToString(part, cvc5.ProofFormat.CPC) for part in solver.getProof(cvc5.ProofComponent.FULL))
        reply["proof"] = "".join(part.decode() if isinstance(part, bytes) else part for part in parts)
    return reply


def main() -> None:
    """Run the solver that the command line names; on Linux it is killed when its parent is."""
    if sys.platform.startswith("linux"):
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL
    script = sys.stdin.read()
    reply = z3_verdict(script) if sys.argv[1] == "z3" else cvc5_verdict(script, proof="proof" in sys.argv[2:])
    sys.stdout.write(json.dumps(reply) + "\n")


if __name__ == "__main__":
    main()
