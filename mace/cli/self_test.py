"""`mace doctor`: versions, solvers found, and a self-test on every road, which also warms the compiled code."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from mace.base.versions import versions

if TYPE_CHECKING:
    import pandas as pd

    from mace.compilers.library import Library


class Test(NamedTuple):
    """What a test is called, and the test: it returns a remark, and raises where something is wrong."""

    name: str
    run: Callable[[], str]


def known_versions() -> dict[str, str]:
    """Of Python, of mace, and of each library and solver that it may use."""
    from mace.compilers import extras

    return versions(extras())


def tests(found: Mapping[str, str]) -> list[Test]:
    """The self-test, a road each, and one of each library that is installed."""
    from mace.compilers import libraries
    from mace.solve.compiled import at_once
    from mace.solve.smt.process import SolverName, installed

    asked: list[tuple[str, SolverName]] = [("tree", "z3"), ("tree", "cvc5"), ("linear model", "z3")]
    at_once()
    return [
        # By themselves, so that compiling, once on a machine, is not taken for the time of an answer.
        Test("compiled code for trees", partial(_ready, "ensembles")),
        Test("compiled code for networks", partial(_ready, "networks")),
        Test("tree, prover, certificate", lambda: _ask("tree", "ensembles")),
        Test("linear model, prover, certificate", lambda: _ask("linear", "networks")),
        *(
            Test(f"{kind}, {solver}", partial(_ask, kind.partition(" ")[0], solver))
            for kind, solver in asked
            if installed(solver)
        ),
        *(
            Test(f"a model of {library.name}", partial(_read, library))
            for library in libraries()
            if library.small is not None and not any("not installed" in found[name] for name in library.distributions)
        ),
    ]


def outcome(test: Test) -> dict[str, Any]:
    """{"name", "ok", "seconds", "note"}; a failing test does not raise."""
    began = time.perf_counter()
    try:
        note, ok = test.run(), True
    except Exception as error:  # noqa: BLE001  a self-test reports whatever goes wrong, and the next one runs
        note, ok = f"{type(error).__name__}: {error}", False
    return {"name": test.name, "ok": ok, "seconds": time.perf_counter() - began, "note": note}


def _ready(kind: str) -> str:
    """Compile what answers questions about a kind of model and writes their proofs, or read it from disk."""
    from mace.certify.ready import KINDS

    KINDS[kind]()
    return "ready"


def _loans() -> tuple[pd.DataFrame, pd.Series]:
    """A tiny table and its labels: from 40 years on the answer is 1."""
    import pandas as pd

    frame = pd.DataFrame({"age": range(20, 60), "owns": [0, 1] * 20})
    return frame, (frame["age"] >= 40).astype(int)


def _read(library: Library) -> str:
    """Fit a small model, and compare its table with what the library itself says of rows on its boundaries."""
    from mace.compilers import read

    assert library.small is not None
    frame, label = _loans()
    return f"{read(library.small(frame.astype(float), label)).name}: says what the library says"


def _ask(kind: str, oracle: str) -> str:
    """Explain one row of a tiny table whose answer is known, and check what was proved."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    from mace.explain.run import explain
    from mace.space.space import Space

    frame, label = _loans()
    space = Space.from_frame(frame)
    model = DecisionTreeClassifier() if kind == "tree" else LogisticRegression()
    model.fit(space.encode(frame), label)
    answer = explain(model, space, {"age": 30, "owns": 0}, goal=1, oracle=oracle)
    if answer.status != "optimal" or answer.counterfactuals[0].values["age"] != 40:
        raise AssertionError(f"expected age 40, got {answer}")
    if oracle in ("z3", "cvc5"):
        return f"lower bound {answer.lower_bound:.6g}, distance {answer.distance:.6g}"
    verdict = answer.certificate.check()
    if not verdict.accepted:
        raise AssertionError(f"the certificate was refused: {verdict}")
    return "certificate accepted"
