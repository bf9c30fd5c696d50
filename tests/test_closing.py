"""Two bounds closing in while an answer is looked for: what provers tell, and what a notebook shows of it."""

from __future__ import annotations

import sys
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.neural_network import MLPClassifier

import mace
from mace.present import closing
from mace.solve.driver import Bracket
from mace.solve.protocol import Hearing

pytestmark = pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
made = np.random.default_rng(0)
X = pd.DataFrame(made.uniform(size=(300, 6)), columns=list("abcdef"))
Y = (X["a"] + X["b"] * X["c"] - X["d"] + 0.3 * made.normal(size=300) > 0.3).astype(int)
SPACE = mace.Space([mace.Feature(name, "real", 0, 1) for name in X])


@pytest.mark.parametrize(
    "model",
    [RandomForestClassifier(12, max_depth=5, random_state=0), MLPClassifier((10, 10), max_iter=150, random_state=0)],
    ids=["forest", "network"],
)
def test_the_optimum_lies_between_all_bounds_that_are_told(model: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(Hearing, "EVERY", 0.0)
    monkeypatch.setattr("mace.solve.ensembles.prover.PATIENCE", 2000)
    explainer = mace.Explainer(model.fit(X, Y), SPACE)
    told: list[Bracket] = []
    for place in np.flatnonzero(explainer.decisions(X) == 0)[:3]:
        brackets: list[Bracket] = []
        answer = explainer.explain(X.iloc[place], goal=1, callback=brackets.append)
        assert answer.status == "optimal" and answer.exact_distance is not None
        for bracket in brackets:
            assert bracket.lower <= answer.exact_distance
            assert bracket.upper is None or answer.exact_distance <= bracket.upper
        told += [bracket for bracket in brackets if not bracket.trace]
    assert len({bracket.lower for bracket in told}) > 2


class Notebook:
    """What IPython is to a library."""

    def __init__(self) -> None:
        self.shown: list[str] = []
        self.HTML = str

    def display(self, html: str, display_id: bool) -> Any:
        assert display_id
        self.shown.append(html)
        return SimpleNamespace(update=self.shown.append)


def test_a_notebook_shows_a_line_that_is_wiped_away(monkeypatch: pytest.MonkeyPatch):
    assert closing.line() is None
    notebook, shell = Notebook(), SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))  # type: ignore[arg-type]
    monkeypatch.setitem(sys.modules, "IPython.display", notebook)  # type: ignore[arg-type]
    explainer = mace.Explainer(RandomForestClassifier(2, max_depth=2, random_state=0).fit(X, Y), SPACE)
    row = X.iloc[int(np.argmin(explainer.decisions(X)))]
    explainer.explain(row, goal=1)
    assert notebook.shown == []  # it was quick
    monkeypatch.setattr(closing, "PATIENCE", 0.0)
    explainer.explain(row, goal=1)
    assert len(notebook.shown) >= 2 and "<code>between" in notebook.shown[0] and notebook.shown[-1] == ""
    shell.kernel = None
    assert closing.line() is None


def test_a_bar_says_how_much_is_proved():
    assert closing.bar(Bracket(), 4) == "between 0 ╌╌╌╌ and ?"
    assert closing.bar(Bracket(Fraction(1, 4), Fraction(1, 2)), 4) == "between 0.25 ━━╌╌ and 0.5"
