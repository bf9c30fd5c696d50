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

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from mace.base.arguments import check, names, spelled
from mace.base.console import console
from mace.base.deadline import Deadline, TimeOverError
from mace.base.escape import short
from mace.base.meant import among
from mace.base.values import plain
from mace.errors import MaceError, ModelError
from mace.scorecards.card import Bin, Card, card_of
from mace.scorecards.choosing import Chosen, Rules, any_set, best_set, next_level, warm
from mace.scorecards.hierarchy import by_priority
from mace.scorecards.problem import OBJECTIVES, Near, Problem

if TYPE_CHECKING:
    import pandas as pd

    from mace.certify.writer import Certificate

LARGEST = float(np.finfo(float).max)
HARD = ("diversity_features", "diversity_values")
OUTCOMES = ("min_outcome", "max_outcome")
SOFT = (*HARD, "diff_outcome")


@dataclass(frozen=True)
class _Asked:
    """What was generated: the problem, the rules, the objective, and the answer."""

    problem: Problem
    rules: Rules
    count: int
    objective: Mapping[str, float]
    query: Mapping[str, Any]
    index: Any
    chosen: Chosen | None
    status: str
    seconds: float
    method: str
    core: tuple[str, ...] = ()
    why: str = ""
    values: dict[str, float] = field(default_factory=dict)


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
        self.scorecard, self.special_missing, self.n_jobs, self.verbose = scorecard, special_missing, n_jobs, verbose
        if not isinstance(proximity, str) or proximity not in ("paper", "library"):
            raise MaceError(f'proximity is "paper" or "library", got {short(proximity)}')
        self.proximity = proximity
        self._near: Near | None = None
        self._card: Card | None = None
        self._asked: _Asked | None = None
        self._fitting = 0.0

    # ------------------------------------------------------------------------------------------ fit

    def fit(self, X: pd.DataFrame) -> Counterfactual:
        """Read the scorecard, and the spread of the training table, shape (rows, variables), in values of bins.

        Raises ModelError.
        """
        began = time.perf_counter()
        self._card = self.scorecard if isinstance(self.scorecard, Card) else card_of(self.scorecard)
        values = self._values(X)
        self._near = _near(values)  # without it closeness is refused when it is asked for
        self._asked = None
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
    def _generated(self) -> _Asked:
        if self._asked is None:
            raise MaceError("nothing was generated yet", hint="Call `generate` first.")
        return self._asked

    # ------------------------------------------------------------------------------------------ generate

    @spelled
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
        card = self._known
        y, n_cf, max_changes, priority_tol, time_limit = map(plain, (y, n_cf, max_changes, priority_tol, time_limit))
        actionable = None if actionable_features is None else _names("actionable_features", actionable_features)
        hard = () if hard_constraints is None else _names("hard_constraints", hard_constraints)
        soft = {} if soft_constraints is None else _weights("soft_constraints", soft_constraints)
        aims = _objectives(objectives, method)
        if not _is_number(priority_tol) or not priority_tol >= 0:
            raise MaceError(f"priority_tol is a number >= 0, got {short(priority_tol)}")
        _checked(card, y, outcome_type, n_cf, hard, soft)
        if "closeness" in aims and self._near is None:
            raise MaceError("closeness needs values of the training table that do not depend on each other linearly")
        row, index = _row(query)
        problem = self._problem(row, y, outcome_type, max_changes, actionable, hard, soft)
        rules = Rules("diversity_features" in hard, "diversity_values" in hard,
                      soft.get("diversity_features", 0.0), soft.get("diversity_values", 0.0))  # fmt: skip
        deadline, core, why = Deadline.asked(time_limit), tuple[str, ...](), ""
        seen: list[Chosen] = []
        try:
            chosen = _solve(problem, aims, soft, method, n_cf, rules, priority_tol, deadline, seen)
            status = "OPTIMAL" if chosen is not None else "INFEASIBLE"
            if chosen is None:
                core = _core(problem, n_cf, rules, deadline)
        except TimeOverError as over:
            chosen, status = (seen[-1], "FEASIBLE") if seen else (None, "UNKNOWN")
            why = str(over)
        values = {} if chosen is None else _parts(problem, chosen, aims)
        seconds = time.perf_counter() - began
        self._asked = _Asked(
            problem, rules, n_cf, aims, row, index, chosen, status, seconds, method, core, why, values
        )  # fmt: skip
        return self

    def _problem(
        self, row: Mapping[str, Any], y: float, outcome_type: str, max_changes: int | None,
        actionable: Sequence[str] | None, hard: Sequence[str], soft: Mapping[str, float],
    ) -> Problem:  # fmt: skip
        """The row, what may change, which scores will do, and what a change costs."""
        card = self._known
        for name in actionable or ():
            if name not in card.names:
                raise MaceError(f"there is no variable {name!r} to act on", hint=among(name, card.names, "The card"))
        if max_changes is not None and (not _is_whole(max_changes) or max_changes < 0):
            raise MaceError(f"max_changes is a whole number >= 0, got {short(max_changes)}")
        start = card.places(row)
        choices = []
        for variable, now in zip(card.variables, start, strict=True):
            fixed = actionable is not None and variable.name not in actionable
            choices.append(() if fixed else tuple(
                k for k, one in enumerate(variable.bins)
                if one.value != variable.bins[now].value and self._may_hold(one)
            ))  # fmt: skip
        low, high = _window(y, outcome_type, hard)
        target = (float(y), soft["diff_outcome"]) if "diff_outcome" in soft else None
        most = len(card.variables) // 2 if max_changes is None else min(max_changes, len(card.variables))

        def accepts(places: tuple[int, ...]) -> bool:
            return self._confirms(row, places, start, y, outcome_type, hard)

        weights = tuple(self._weight(j) for j in range(len(card.variables)))
        return Problem(card, start, tuple(choices), weights, self._near, most, low, high, target, accepts)

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
        self, row: Mapping[str, Any], places: Sequence[int], start: Sequence[int], y: float, kind: str,
        hard: Sequence[str],
    ) -> bool:  # fmt: skip
        """Whether the scorecard itself says that a choice has the outcome; the numbers do, where there is none."""
        card = self._known
        if isinstance(self.scorecard, Card):
            outcome = card.outcome(places)
            said: Any = int(card.score(places) > 0)
        else:
            import pandas as pd

            raw = self._raw(row, places, start)
            frame = pd.DataFrame([{name: raw.get(name) for name in self.scorecard.binning_process_.variable_names}])
            said = self.scorecard.predict(frame)[0]
            outcome = float(self.scorecard.predict_proba(frame)[0, 1]) if card.target == "binary" else float(said)
        if kind == "binary":
            return bool(said == y)
        return ("min_outcome" not in hard or outcome >= y) and ("max_outcome" not in hard or outcome <= y)

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
        """Of an infeasible question the conditions that clash: without any one of them there are such sets."""
        return self._generated.core

    @property
    def objective(self) -> dict[str, float]:
        """The sum of each objective over the set."""
        return dict(self._generated.values)

    @property
    def certificate(self) -> Certificate:
        """The proof that no set costs less, or that there is none; raises CertificateError where there is no proof."""
        from mace.scorecards.certificate import certificate_of

        asked = self._generated
        return certificate_of(asked.problem, asked.rules, asked.count, asked.objective, asked.chosen, asked.status)

    @spelled
    def display(self, show_only_changes: bool = False, show_outcome: bool = False, show_points: bool = False) -> Any:
        """The set as a frame, a row each: changed variables as bins, the others with their own value.

        show_only_changes: "-" where nothing changes. show_outcome: a column with the probability or the number.
        show_points: a column with the points.
        Raises MaceError where there is no set.
        """
        import pandas as pd

        asked = self._generated
        if asked.chosen is None:
            raise MaceError(f"there is no set to show: {asked.status}{asked.why and f' ({asked.why})'}")
        rows = []
        for bins in asked.chosen.bins:
            places = asked.problem.places(bins)
            shown: dict[str, Any] = dict(asked.query)
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
        return pd.DataFrame(rows, index=[asked.index] * len(rows))

    def rows(self) -> Any:
        """The set in raw values: each changed variable at the value of its bin that is nearest to the row's own."""
        import pandas as pd

        asked = self._generated
        if asked.chosen is None:
            raise MaceError(f"there is no set to show: {asked.status}{asked.why and f' ({asked.why})'}")
        start = asked.problem.start
        found = [self._raw(asked.query, asked.problem.places(bins), start) for bins in asked.chosen.bins]
        return pd.DataFrame(found, index=[asked.index] * len(found))

    @spelled
    def information(self, print_level: int = 1) -> None:
        """Print what was asked and what came of it, and with `print_level` 2 the options."""
        asked = self._generated
        if not _is_whole(plain(print_level)):
            raise MaceError(f"print_level is a whole number, got {short(print_level)}")
        reason = ", ".join(asked.core) or asked.why
        lines = [f"status: {asked.status}" + (f" ({reason})" if reason else "")]
        if print_level > 1:
            options = {name: getattr(self, name) for name in ("special_missing", "n_jobs", "verbose", "proximity")}
            lines += [f"{name}: {value}" for name, value in options.items()]
        lines += [f"method: {asked.method}", *(f"{name}: {value:.4f}" for name, value in asked.values.items())]
        lines += [f"seconds: fit {self._fitting:.3f}, generate {asked.seconds:.3f}"]
        console().print("\n".join(lines))


# --- what is asked ---------------------------------------------------------------------------------------------------


def _row(query: Any) -> tuple[dict[str, Any], Any]:
    """The row, and the name that it has in its frame."""
    if hasattr(query, "iloc"):
        check({"frame": query})
        if len(query) != 1:
            raise MaceError(f"the query is one row, got {len(query)}")
        return {name: plain(query.iloc[0][name]) for name in query.columns}, query.index[0]
    if not isinstance(query, Mapping):
        raise MaceError(f"the query is a dict, or a frame with one row; got {short(query)}")
    return {name: plain(value) for name, value in query.items()}, 0


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _is_number(value: object) -> bool:
    return _is_whole(value) or isinstance(value, float)


def _names(argument: str, given: Sequence[str]) -> tuple[str, ...]:
    """The names of an argument that is one, or several."""
    if not isinstance(given, (str, Sequence)) and getattr(given, "ndim", 0) != 1:
        raise MaceError(f"{argument} must be a name, or a list of names; got {short(given)}")
    return tuple(names(given))


def _weights(argument: str, given: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise MaceError(f"{argument} must be a dict from names to numbers; got {short(given)}")
    return {name: plain(weight) for name, weight in given.items()}


def _near(values: Any) -> Near | None:
    """What closeness is measured with; None where values, shape (rows, variables), depend on each other linearly."""
    if len(values) <= values.shape[1] or bool((values.max(axis=0) == values.min(axis=0)).any()):
        return None
    # Rounding leaves a little of a spread that is none: its inverse would be about 1e16.
    if np.linalg.matrix_rank((values - values.mean(axis=0)) / values.std(axis=0)) < values.shape[1]:
        return None
    try:
        factor = np.linalg.cholesky(np.linalg.inv(np.atleast_2d(np.cov(values, rowvar=False))))
    except np.linalg.LinAlgError:
        return None
    return Near(factor, values.mean(axis=0))


def _objectives(objectives: Mapping[str, float] | None, method: str) -> dict[str, float]:
    if not isinstance(method, str) or method not in ("weighted", "hierarchical"):
        raise MaceError(f'method is "weighted" or "hierarchical", got {short(method)}')
    found = dict.fromkeys(OBJECTIVES, 1.0) if objectives is None else _weights("objectives", objectives)
    for name, weight in found.items():
        if name not in OBJECTIVES:
            raise MaceError(f"objectives are {', '.join(OBJECTIVES)}, got {short(name)}")
        if not _is_number(weight) or not weight > 0 or not math.isfinite(weight):
            raise MaceError(f"the weight of {name} is a number > 0, got {short(weight)}")
    if not found:
        raise MaceError("no objective is given")
    return {name: float(weight) for name, weight in found.items()}


def _checked(
    card: Card, y: float, kind: str, count: int, hard: Sequence[str], soft: Mapping[str, float]
) -> None:  # fmt: skip
    """Refuse what the target, the outcome and the constraints do not allow."""
    kinds = ("binary", "probability") if card.target == "binary" else ("continuous",)
    if not isinstance(kind, str) or kind not in kinds:
        raise MaceError(f"outcome_type of this scorecard is {' or '.join(kinds)}, got {short(kind)}")
    if not _is_whole(count) or count < 1:
        raise MaceError(f"n_cf is a whole number >= 1, got {short(count)}")
    if not isinstance(y, (int, float)) or not -LARGEST <= y <= LARGEST:
        raise MaceError(f"y is a number, got {short(y)}")
    if kind == "binary" and y not in (0, 1) or kind == "probability" and not 0 <= y <= 1:
        raise MaceError(f"y is {'0 or 1' if kind == 'binary' else 'from 0 to 1'}, got {short(y)}")
    known = HARD if kind == "binary" else (*HARD, *OUTCOMES)
    for name in hard:
        if name not in known:
            raise MaceError(f"hard_constraints with outcome_type={kind!r} are {', '.join(known)}, got {short(name)}")
    for name, weight in soft.items():
        if name not in SOFT or kind == "binary" and name == "diff_outcome":
            raise MaceError(f"soft_constraints are {', '.join(SOFT)} (the last for numbers), got {short(name)}")
        if not _is_number(weight) or not weight > 0 or not math.isfinite(weight):
            raise MaceError(f"the weight of {name} is a number > 0, got {short(weight)}")
    if kind != "binary" and not {*OUTCOMES, "diff_outcome"} & {*hard, *soft}:
        raise MaceError(f"outcome_type={kind!r} needs min_outcome, max_outcome or diff_outcome")


def _window(y: float, kind: str, hard: Sequence[str]) -> tuple[float, float]:
    """The least and the greatest score that will do."""
    if kind == "binary":
        return (0.0, math.inf) if y == 1 else (-math.inf, 0.0)
    end = float(y)
    if kind == "probability":
        end = math.inf if y == 1 else -math.inf if y == 0 else math.log(y) - math.log1p(-y)
    return end if "min_outcome" in hard else -math.inf, end if "max_outcome" in hard else math.inf


# --- the answer ------------------------------------------------------------------------------------------------------


def _solve(
    problem: Problem, aims: Mapping[str, float], soft: Mapping[str, float], method: str, count: int, rules: Rules,
    tolerance: float, deadline: Deadline, seen: list[Chosen],
) -> Chosen | None:  # fmt: skip
    """The best set; sets that are found before it are put into `seen`."""
    ranked = {**aims, **{name: soft[name] for name in SOFT if name in soft and (count > 1 or name not in HARD)}}
    if method == "hierarchical" and len(ranked) > len(aims):
        names, apart = sorted(ranked, key=lambda name: -ranked[name]), Rules(rules.features, rules.values)
        return by_priority(problem, names, count, apart, tolerance, deadline, seen.append)
    if method == "weighted" or len(aims) == 1:
        return best_set(problem, aims, count, rules, deadline, seen.append)
    one, *others = sorted(aims, key=lambda name: -aims[name])
    best = best_set(problem, {one: 1.0}, count, rules, deadline, seen.append)
    if best is None:
        return None
    room = best.cost + max(tolerance * abs(best.cost), 1e-9)
    return next_level(problem, (one, room), dict.fromkeys(others, 1.0), count, rules, deadline)


def _core(problem: Problem, count: int, rules: Rules, deadline: Deadline) -> tuple[str, ...]:
    """Conditions without any one of which there is a set: left out one after the other."""
    from dataclasses import replace

    core = []
    for name in ("diversity_features", "diversity_values", "max_changes"):
        fewer, changes = rules, [problem.most_changes]
        if name == "max_changes":
            # Most often one change more is enough, and there are far fewer choices of so few.
            changes = list(range(problem.most_changes + 1, len(problem.choices) + 1))
        else:
            fewer = rules._replace(**{name.removeprefix("diversity_"): False})
        if fewer == rules and (not changes or name != "max_changes"):
            continue
        try:
            wider = [replace(problem, most_changes=most) for most in changes]
            needed = any(any_set(one, count, fewer, deadline) for one in wider)
        except (TimeOverError, MaceError):
            needed = True  # not found out: it stays
        if needed:
            core.append(name)
        else:
            problem, rules = wider[-1], fewer
    return tuple(core)


def _parts(problem: Problem, chosen: Chosen, aims: Mapping[str, float]) -> dict[str, float]:
    """The sum of each objective over a set."""
    found = {}
    if "proximity" in aims:
        found["proximity"] = math.fsum(
            problem.weights[j] * abs(problem.values[j][bins[j]] - problem.values[j][problem.start[j]])
            for bins in chosen.bins for j in problem.changed(bins)
        )  # fmt: skip
    if "closeness" in aims:
        found["closeness"] = float(problem.closeness(chosen.bins).sum())
    return found
