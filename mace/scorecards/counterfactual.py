"""`Counterfactual`: the interface of OptBinning's class of that name, answered exactly.

In:  a fitted `Scorecard` (or a `Card`), the training table, a row, and what is wanted.
Out: the frame of changed rows, a status, and where costs add up over the variables a certificate.
Promise: "OPTIMAL" sets are of least cost (compared in doubles), and the scorecard itself confirms the outcome of every
row in them; "INFEASIBLE" says that no set meets the conditions, of which `core` names those that clash.

What differs from OptBinning on purpose: closeness alone is tied to the choice of bins; a variable with the
coefficient 0 makes nothing infeasible; probabilities are compared exactly, not by a piecewise approximation; and a
variable that goes to the bin that it is in has not changed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from mace.base.arguments import check, is_frame, spelled
from mace.base.console import console
from mace.base.deadline import Deadline, TimeOverError, stoppable
from mace.base.escape import short
from mace.base.frames import in_pandas
from mace.base.values import plain
from mace.errors import MaceError, ModelError
from mace.scorecards.card import Bin, Card, card_of
from mace.scorecards.choosing import Chosen, Rules, any_set, warm
from mace.scorecards.optimum import clashing, optimum, sums
from mace.scorecards.problem import Near, Problem, tied
from mace.scorecards.request import NOT_LOGISTIC, SetRequest, is_whole, request, row_of

if TYPE_CHECKING:
    import pandas as pd

    from mace.certify.writer import Certificate


class _Generated(NamedTuple):
    """What was asked, and what came of it; the fields that `Counterfactual` has too are explained there.

    row, index: the row that was asked about, and its name in its frame.
    values:     objective -> its sum over the set.
    """

    request: SetRequest
    problem: Problem
    row: Mapping[str, Any]
    index: Any
    chosen: Chosen | None
    status: str
    why: str
    core: tuple[str, ...]
    values: dict[str, float]
    seconds: float


class Counterfactual:
    """Counterfactuals of a scorecard as choices of bins.

    scorecard:       a fitted `optbinning.Scorecard`, or a `mace.scorecards.Card`.
    special_missing: whether the special and the missing bin may be chosen.
    n_jobs, verbose: taken and not needed: one core is enough.
    proximity:       "paper" (weights 1 / range of the values of a variable's bins) or "library" (1 / range of what they
                     add to the score, special and missing bins included).
    """

    @spelled
    def __init__(
        self, scorecard: Any, special_missing: bool = False, n_jobs: int = 1, verbose: bool = False,
        proximity: Literal["paper", "library"] = "paper",
    ) -> None:  # fmt: skip
        check({"special_missing": special_missing})
        self.scorecard, self.special_missing, self.n_jobs, self.verbose = scorecard, special_missing, n_jobs, verbose
        if not isinstance(proximity, str) or proximity not in ("paper", "library"):
            raise MaceError(f'proximity is "paper" or "library", got {short(proximity)}')
        self.proximity = proximity
        self._near: Near | None = None
        self._tied: int | None = None
        self._card: Card | None = None
        self._last: _Generated | None = None
        self._fitting = 0.0

    # ------------------------------------------------------------------------------------------ fit

    def fit(self, X: pd.DataFrame) -> Counterfactual:
        """Read the scorecard, and the spread of the training table, shape (rows, variables), in values of bins.

        Raises ModelError.
        """
        began, X = time.perf_counter(), in_pandas(X)
        self._card = self.scorecard if isinstance(self.scorecard, Card) else card_of(self.scorecard)
        values = self._values(X)
        still = [len({one.value for one in v.bins}) < 2 for v in self._card.variables]
        self._near = Near.of(values, still)  # without it closeness is refused when it is asked for
        self._tied = tied(values) if self._near is None and len(values) else None
        self._last = None
        self._fitting = time.perf_counter() - began
        return self

    def _values(self, X: pd.DataFrame) -> Any:
        """The table in values of bins, shape (rows, variables)."""
        card = self._known
        if isinstance(self.scorecard, Card):
            self._columns(X)
            rows = [dict(zip(card.names, row, strict=True)) for row in X[list(card.names)].itertuples(index=False)]
            found = [[v.bins[k].value for v, k in zip(card.variables, card.places(row), strict=True)] for row in rows]
            return np.array(found).reshape(-1, len(card.names))
        rest = {"metric_special": self.scorecard._metric_special, "metric_missing": self.scorecard._metric_missing}
        metric = "woe" if card.target == "binary" else "mean"
        known = self.scorecard.binning_process_.transform(X[self._columns(X)], metric=metric, **rest)
        return known[list(card.names)].to_numpy(dtype=np.float64)

    def _columns(self, X: pd.DataFrame) -> list[str]:
        if not is_frame(X):
            raise MaceError(f"X must be a DataFrame, the table of the training; got {type(X).__name__}")
        check({"frame": X})
        own = isinstance(self.scorecard, Card)
        wanted = list(self._known.names if own else self.scorecard.binning_process_.variable_names)
        missing = [name for name in wanted if name not in X.columns]
        if missing:
            raise ModelError(f"the table has no column {missing[0]!r}, which the scorecard was trained on")
        return wanted

    @property
    def _known(self) -> Card:
        if self._card is None:
            raise MaceError("this Counterfactual is not fitted", hint="Call `fit` with the training table first.")
        return self._card

    @property
    def _generated(self) -> _Generated:
        if self._last is None:
            raise MaceError("nothing was generated yet", hint="Call `generate` first.")
        return self._last

    @property
    def _set(self) -> Chosen:
        """The set that was found; raises MaceError where there is none."""
        last = self._generated
        if last.chosen is None:
            raise MaceError(f"there is no set to show: {last.status}{last.why and f' ({last.why})'}")
        return last.chosen

    # ------------------------------------------------------------------------------------------ generate

    @spelled
    @stoppable()
    def generate(
        self, query: Mapping[str, Any] | pd.DataFrame, y: float, outcome_type: str, n_cf: int,
        method: str = "weighted", objectives: Mapping[str, float] | None = None, max_changes: int | None = None,
        actionable_features: Sequence[str] | None = None, hard_constraints: Sequence[str] | None = None,
        soft_constraints: Mapping[str, float] | None = None, priority_tol: float = 0.1, time_limit: float = 10,
    ) -> Counterfactual:  # fmt: skip
        """Find `n_cf` choices of bins with the wanted outcome.

        query:        one row, as a dict or a frame.
        y:            the class wanted (binary), or a probability or a number that "min_outcome", "max_outcome" (hard)
                      or "diff_outcome" (soft) compare with.
        outcome_type: "binary", "probability" or "continuous".
        method:       "weighted" (one sum) or "hierarchical" (the objective with the largest number first; the others
                      may make it worse by `priority_tol` of itself).
        objectives:   "proximity" and "closeness" with their weights or priorities; None: both, weight 1.
        max_changes:  variables that each may change; None: half of them.
        hard_constraints: "diversity_features", "diversity_values", and the outcomes above.
        soft_constraints: a reward for each variable ("diversity_features") or bin ("diversity_values") in which two
                      differ (a priority with "hierarchical"), a penalty on |outcome - y| ("diff_outcome").
        time_limit:   seconds.
        Raises MaceError for what is not one of these.
        """
        warm()
        began = time.perf_counter()
        asked = request(
            self._known, y, outcome_type, n_cf, method, objectives, max_changes, actionable_features, hard_constraints,
            soft_constraints, priority_tol,
        )  # fmt: skip
        if "closeness" in asked.objectives and self._near is None:
            named = "" if self._tied is None else f"; those of {self._known.names[self._tied]!r} follow from others"
            raise MaceError(
                f"closeness needs values of the training table that do not depend on each other linearly{named}",
                hint='Ask for objectives={"proximity": 1}, or train the scorecard without such a variable.',
            )
        row, index = row_of(query)
        problem = self._problem(row, asked)
        deadline, core, why = Deadline.asked(plain(time_limit)), tuple[str, ...](), ""
        seen: list[Chosen] = []
        try:
            chosen = optimum(problem, asked, deadline, seen.append)
            status = "OPTIMAL" if chosen is not None else "INFEASIBLE"
            if chosen is None:
                core = clashing(problem, asked.count, asked.rules, deadline)
                if core == ("y",) and asked.actionable is not None:
                    free = self._problem(row, replace(asked, actionable=None, most=len(self._known.variables)))
                    core = ("actionable_features",) if any_set(free, 1, Rules(), deadline) else core
        except TimeOverError as over:
            chosen, status = (seen[-1], "FEASIBLE") if seen else (None, "UNKNOWN")
            why = str(over)
        values = {} if chosen is None else sums(problem, chosen, asked.objectives)
        seconds = time.perf_counter() - began
        self._last = _Generated(asked, problem, row, index, chosen, status, why, core, values, seconds)
        return self

    def _problem(self, row: Mapping[str, Any], asked: SetRequest) -> Problem:
        """The row, what may change, which scores will do, and what a change costs."""
        card = self._known
        start = card.places(row)
        choices = []
        for variable, now in zip(card.variables, start, strict=True):
            fixed = asked.actionable is not None and variable.name not in asked.actionable
            choices.append(() if fixed else tuple(
                k for k, one in enumerate(variable.bins)
                if one.value != variable.bins[now].value and self._may_hold(one)
            ))  # fmt: skip
        most = len(card.variables) // 2 if asked.most is None else min(asked.most, len(card.variables))

        def accepts(places: tuple[int, ...]) -> bool:
            return self._confirms(row, places, start, asked)

        weights = tuple(self._weight(j) for j in range(len(card.variables)))
        return Problem(
            card, start, tuple(choices), weights, self._near, most, *asked.window(), asked.target, accepts
        )  # fmt: skip

    def _may_hold(self, one: Bin) -> bool:
        """Whether a choice may be this bin: special and missing ones when asked for, and where some row is in them."""
        return one.kind in ("interval", "list") or self.special_missing and (one.kind == "missing" or bool(one.members))

    def _weight(self, j: int) -> float:
        """What a change of one in the value of a variable's bin costs in proximity."""
        variable = self._known.variables[j]
        if self.proximity == "paper":
            counted = [one.value for one in variable.bins if self._may_hold(one)] or [0.0]
        else:
            counted = [variable.coefficient * one.value for one in variable.bins]
        width = max(counted) - min(counted)
        # Points that do not differ (the coefficient 0) weigh nothing: any bin is as near.
        return 1 / width if width > 0 else 0.0

    def _confirms(
        self, row: Mapping[str, Any], places: Sequence[int], start: Sequence[int], asked: SetRequest
    ) -> bool:  # fmt: skip
        """Whether the scorecard's own `predict` gives a choice the outcome; of a `Card` its numbers say so."""
        card = self._known
        if isinstance(self.scorecard, Card):
            said: Any = int(card.score(places) > 0) if asked.kind == "binary" else card.outcome(places)
        else:
            import pandas as pd

            raw = self._raw(row, places, start)
            frame = pd.DataFrame([{name: raw.get(name) for name in self.scorecard.binning_process_.variable_names}])
            wanted = self.scorecard.predict_proba if asked.kind == "probability" else self.scorecard.predict
            said = np.ravel(wanted(frame))[-1]
        return bool(said == asked.y) if asked.kind == "binary" else asked.has(float(said))

    def _raw(self, row: Mapping[str, Any], places: Sequence[int], start: Sequence[int]) -> dict[str, Any]:
        """The nearest row of raw values in chosen bins."""
        moved = dict(row)
        for variable, place, now in zip(self._known.variables, places, start, strict=True):
            if place != now:
                moved[variable.name] = variable.nearest(place, row[variable.name])
        return moved

    # ------------------------------------------------------------------------------------------ what came of it

    @property
    def status(self) -> str:
        """One of OPTIMAL, INFEASIBLE, and at a limit FEASIBLE (a set, perhaps not the best) or UNKNOWN."""
        return self._generated.status

    @property
    def why(self) -> str:
        """Which limit ended the search: that of time, or of how many choices of bins are listed; "" where none did."""
        return self._generated.why

    @property
    def core(self) -> tuple[str, ...]:
        """Of an infeasible question the conditions that clash, by the names of arguments.

        These clash whatever else is asked, and without any one of them they do not; "n_cf" or "y" alone: so many, or
        such an outcome, are out of reach.
        """
        return self._generated.core

    @property
    def objective(self) -> dict[str, float]:
        """The sum of each objective over the set."""
        return dict(self._generated.values)

    @property
    def certificate(self) -> Certificate:
        """The proof that no set costs less, or that there is none; raises CertificateError where there is no proof."""
        from mace.scorecards.certificate import certificate_of

        last = self._generated
        asked = last.request
        return certificate_of(last.problem, asked.rules, asked.count, asked.objectives, last.chosen, last.status)

    @spelled
    def display(self, show_only_changes: bool = False, show_outcome: bool = False, show_points: bool = False) -> Any:
        """The set as a frame, a row each: changed variables as bins, the others with their own value.

        show_only_changes: "-" where nothing changes. show_outcome: a column with the probability or the number.
        show_points: a column with the points.
        Raises MaceError where there is no set.
        """
        import pandas as pd

        given = {"show_only_changes": show_only_changes, "show_outcome": show_outcome, "show_points": show_points}
        check(given)
        last, rows = self._generated, []
        if show_outcome and not self._known.logistic:
            raise MaceError(NOT_LOGISTIC, hint="Leave show_outcome out, or ask for show_points.")
        for bins in self._set.bins:
            places = last.problem.places(bins)
            shown: dict[str, Any] = dict(last.row)
            for j, variable in enumerate(self._known.variables):
                if bins[j] >= 0:
                    shown[variable.name] = variable.bins[places[j]].text
                elif show_only_changes:
                    shown[variable.name] = "-"
            if show_outcome:
                shown["outcome"] = self._known.outcome(places)
            if show_points:
                shown["points"] = self._known.points(places)
            rows.append(shown)
        return pd.DataFrame(rows, index=[last.index] * len(rows))

    def rows(self) -> Any:
        """The set in raw values: each changed variable at the value of its bin that is nearest to the row's own."""
        import pandas as pd

        last = self._generated
        start = last.problem.start
        found = [self._raw(last.row, last.problem.places(bins), start) for bins in self._set.bins]
        return pd.DataFrame(found, index=[last.index] * len(found))

    @spelled
    def information(self, print_level: int = 1) -> None:
        """Print what was asked and what came of it, and with `print_level` 2 the options."""
        last = self._generated
        if not is_whole(plain(print_level)):
            raise MaceError(f"print_level is a whole number, got {short(print_level)}")
        reason = ", ".join(last.core) or last.why
        lines = [f"status: {last.status}" + (f" ({reason})" if reason else "")]
        if print_level > 1:
            options = {name: getattr(self, name) for name in ("special_missing", "n_jobs", "verbose", "proximity")}
            lines += [f"{name}: {value}" for name, value in options.items()]
        lines += [f"method: {last.request.method}", *(f"{name}: {value:.4f}" for name, value in last.values.items())]
        lines += [f"seconds: fit {self._fitting:.3f}, generate {last.seconds:.3f}"]
        console().print("\n".join(lines))
