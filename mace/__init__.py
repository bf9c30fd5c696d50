"""Nearest counterfactuals of a trained model, with a proof that there is none nearer.

The public names are below. `import mace` and `mace --help` answer at once: no solver, no scikit-learn and no pandas is
loaded before it is needed. Names are imported when they are first used (PEP 562), and the four functions import what is
heavy when they are called.
"""

from __future__ import annotations

import sys

# Whoever presses Ctrl-C while the command line is imported wants it to end, not to read where. Until `mace.cli.main`
# takes over, nothing is there that could say so.
if sys.argv[:1] == ["-m"] and "mace" in sys.orig_argv or sys.argv[:1] == [f"{sys.prefix}/bin/mace"]:
    import signal

    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)

from importlib import import_module
from importlib.util import find_spec
from threading import RLock
from types import ModuleType
from typing import TYPE_CHECKING

from mace.base import views
from mace.base.suggestions import meant
from mace.base.versions import MACE

if TYPE_CHECKING:
    from mace import datasets as datasets
    from mace import metrics as metrics
    from mace import reproduce as reproduce
    from mace import rules as rules
    from mace.audit import Audit as Audit
    from mace.audit import audit as audit
    from mace.compilers.sklearn.outputs import OneOutput as OneOutput
    from mace.compilers.sklearn.outputs import SumOfOutputs as SumOfOutputs
    from mace.explain import explain as explain
    from mace.explain.answer import Answer as Answer
    from mace.explain.explainer import Explainer as Explainer
    from mace.explain.front import Front as Front
    from mace.explain.front import front as front
    from mace.explain.menu import Menu as Menu
    from mace.metrics.comparison import Comparison as Comparison
    from mace.metrics.comparison import compare as compare
    from mace.plans.result import Plan as Plan
    from mace.plans.run import Planner as Planner
    from mace.plans.run import plan as plan
    from mace.problem.objectives import Objective as Objective
    from mace.report import report as report
    from mace.search.aims import Targets as Targets
    from mace.search.blackbox import BlackBox as BlackBox
    from mace.space.feature import Feature as Feature
    from mace.space.space import Space as Space
    from mace.verify import Verdict as Verdict
    from mace.verify import verify as verify
    from mace.worlds.world import World as World

__version__ = MACE

FUNCTIONS = ("audit", "explain", "report", "verify")


class _Mace(ModuleType):
    """The package `mace`: four functions stand where Python puts the packages that they are named after."""

    def __setattr__(self, name: str, value: object) -> None:
        """Python sets a package on its parent once, when it is first imported: from then on the function is there.

        It shares the names of its package, so that `mace.verify.fair` and `import mace.audit.record` find what they
        name whatever is imported when.
        """
        if name in FUNCTIONS and isinstance(value, ModuleType):
            function, names = getattr(value, name), vars(value)
            names |= vars(function)  # `__wrapped__`, by which its arguments are shown
            function.__dict__ = names
            value = function
        super().__setattr__(name, value)


_THIS = sys.modules[__name__]
_THIS.__class__ = _Mace
for _name in {*FUNCTIONS} & {*globals()}:  # Another thread imported that package before the line above.
    setattr(_THIS, _name, globals()[_name])

# Two threads that first name what lies in one package would each hold a part of it and wait for the other's.
_IMPORTING = RLock()

# Public name -> the module that defines it. A name that is its own module stands for the module.
LAZY = {
    "Answer": "mace.explain.answer",
    "Audit": "mace.audit.result",
    "BlackBox": "mace.search.blackbox",
    "Comparison": "mace.metrics.comparison",
    "Explainer": "mace.explain.explainer",
    "Feature": "mace.space.feature",
    "Front": "mace.explain.front",
    "Menu": "mace.explain.menu",
    "Objective": "mace.problem.objectives",
    "Plan": "mace.plans.result",
    "Planner": "mace.plans.run",
    "Space": "mace.space.space",
    "OneOutput": "mace.compilers.sklearn.outputs",
    "SumOfOutputs": "mace.compilers.sklearn.outputs",
    "Targets": "mace.search.aims",
    "Verdict": "mace.verify.verdict",
    "World": "mace.worlds.world",
    "compare": "mace.metrics.comparison",
    "datasets": "mace.datasets",
    "front": "mace.explain.front",
    "metrics": "mace.metrics",
    "plan": "mace.plans.run",
    "reproduce": "mace.reproduce",
    "rules": "mace.rules",
}

# What may be looked for here -> the package that has it, and that loads more than these names do.
ELSEWHERE = {"load_model": "mace.compilers", "MaceError": "mace.errors"}

views.register(
    {
        "answer as HTML": "mace.present.answer_text:as_html",
        "answer as a page": "mace.present.answer_page:write",
        "answer as a plot": "mace.present.answer_plot:AnswerDisplay.from_answer",
        "answer as sentences": "mace.present.words:sentences",
        "answer as text": "mace.present.answer_text:as_text",
        "answer in short": "mace.present.words:short",
        "answer for rich": "mace.present.answer_text:as_rich",
        "as HTML": "mace.present.words:preformatted",
        "audit as HTML": "mace.report.text:as_html",
        "audit as a page": "mace.report.make:report",
        "audit for tracking": "mace.report.tracking:tracked",
        "audit as a plot": "mace.report.plots:draw",
        "audit as text": "mace.report.text:as_text",
        "audit for rich": "mace.report.text:as_rich",
        "bounds closing in": "mace.present.closing:line",
        "comparison as HTML": "mace.report.comparison:as_html",
        "comparison as a plot": "mace.report.comparison:ComparisonDisplay.from_comparison",
        "comparison as text": "mace.report.comparison:as_text",
        "comparison for rich": "mace.report.comparison:as_rich",
        "front as HTML": "mace.present.front_views:as_html",
        "front as a plot": "mace.present.front_views:FrontDisplay.from_front",
        "front as text": "mace.present.front_views:as_text",
        "menu as HTML": "mace.present.menu_views:as_html",
        "menu as sentences": "mace.present.menu_views:sentences",
        "menu as text": "mace.present.menu_views:as_text",
        "space as HTML": "mace.present.words:space_html",
        "front of plans as text": "mace.report.plans:front_as_text",
        "audit of plans as text": "mace.report.plans:audit_as_text",
        "plan as HTML": "mace.report.plans:as_html",
        "plan as a plot": "mace.report.plans:PlanDisplay.from_plan",
        "plan as text": "mace.report.plans:as_text",
        "plan for rich": "mace.report.plans:as_rich",
    }
)

__all__ = [
    "Answer",
    "Audit",
    "BlackBox",
    "Comparison",
    "Explainer",
    "Feature",
    "Front",
    "Menu",
    "Objective",
    "OneOutput",
    "Plan",
    "Planner",
    "Space",
    "SumOfOutputs",
    "Targets",
    "Verdict",
    "World",
    "__version__",
    "audit",
    "compare",
    "datasets",
    "explain",
    "front",
    "metrics",
    "plan",
    "report",
    "reproduce",
    "rules",
    "verify",
]


def __getattr__(name: str) -> object:
    """Import the public name `name` from its module, once."""
    if name in FUNCTIONS:
        with _IMPORTING:  # Python itself sets it only once, and it may have been deleted since.
            setattr(_THIS, name, import_module(f"{__name__}.{name}"))
        return globals()[name]
    if name not in LAZY:
        if name in ELSEWHERE:
            raise AttributeError(f"module 'mace' has no attribute {name!r}; it is in {ELSEWHERE[name]}")
        if not name.startswith("_") and find_spec(f"{__name__}.{name}") is not None:
            raise AttributeError(f"module 'mace' has no attribute {name!r} before `import mace.{name}`")
        known = f"module 'mace' has no attribute {name!r}; it has {', '.join(__all__)}"
        raise AttributeError(meant(name, __all__, known))
    with _IMPORTING:
        module = import_module(LAZY[name])
    found = module if module.__name__ == f"{__name__}.{name}" else getattr(module, name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY, *FUNCTIONS})
