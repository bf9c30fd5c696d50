"""The arguments of `Counterfactual.generate`, checked, under the names that they have there.

In:  what somebody wrote.    Out: a `SetRequest`; which scores will do (`window`).
Promise: what is not allowed with this target and outcome raises a MaceError that names the argument.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeGuard

import numpy as np

from mace.base.arguments import check, names
from mace.base.escape import short
from mace.base.exact import moderate
from mace.base.frames import in_pandas
from mace.base.suggestions import among
from mace.base.values import plain
from mace.errors import MaceError
from mace.scorecards.card import Card
from mace.scorecards.choosing import Rules
from mace.scorecards.problem import DIFFERENCES, OBJECTIVES, OUTCOME

LARGEST = float(np.finfo(float).max)
ENDS = ("min_outcome", "max_outcome")  # an outcome that is bounded, on one side or on both
SOFT = (*DIFFERENCES, OUTCOME)
NOT_LOGISTIC = "the probabilities of this scorecard are not 1 / (1 + exp(-score)), or its estimator has none"
ROUNDING = 2.0**-48  # of a probability, and
SMALLEST = 2.0**-1070  # besides: by how much two libraries may differ about the one of a score
SURELY_ONE = 40.0  # of such a score the float of the probability is 1
NEVER_ZERO, SURELY_POSITIVE = 760.0, 700.0  # less than minus that and it is 0, more and it is not
LEAST_BY_QUOTIENT = 1e-300  # 1 / (1 + exp(-score)) has no smaller ones, exp(score) does


@dataclass(frozen=True)
class SetRequest:
    """What is wanted of the set.

    kind:        "binary", "probability" or "continuous".
    count:       how many choices.
    objectives:  name -> weight or priority.
    most:        how many variables each choice may change; None: half of them.
    actionable:  the variables that may change; None: all.
    hard, soft:  constraints by name; soft ones with their weight or priority.
    tolerance:   by what share of itself an objective may be worse for the sake of later ones.
    """

    y: float
    kind: str
    count: int
    method: str
    objectives: dict[str, float]
    most: int | None
    actionable: tuple[str, ...] | None
    hard: tuple[str, ...]
    soft: dict[str, float]
    tolerance: float

    @property
    def rules(self) -> Rules:
        """What any two choices must not have in common, and what their differences are worth."""
        features, values = DIFFERENCES
        return Rules(
            features in self.hard, values in self.hard, self.soft.get(features, 0.0), self.soft.get(values, 0.0)
        )

    @property
    def target(self) -> tuple[float, float] | None:
        """An outcome to come near to, with its weight."""
        return (float(self.y), self.soft[OUTCOME]) if OUTCOME in self.soft else None

    def has(self, outcome: float) -> bool:
        """Whether a probability or a number lies within the hard ends."""
        return ("min_outcome" not in self.hard or outcome >= self.y) and (
            "max_outcome" not in self.hard or outcome <= self.y
        )

    def window(self) -> Window:
        """The scores that will do."""
        if self.kind == "binary":
            return Window(0.0, math.inf) if self.y == 1 else Window(-math.inf, 0.0)
        y = float(self.y)
        low, high = (name in self.hard for name in ENDS)
        if self.kind != "probability":
            return Window(y if low else -math.inf, y if high else math.inf)
        end, doubt = _logit(y)
        # Every probability is at least 0, and at most 1.
        return Window(end if low and y > 0 else -math.inf, end if high and y < 1 else math.inf, doubt)


class Window(NamedTuple):
    """The least and the greatest score that will do, and how near to these one has to be asked about."""

    low: float
    high: float
    doubt: float = 0.0


def _logit(probability: float) -> tuple[float, float]:
    """The score of a probability, and how far from it there are scores whose probability the last bits decide.

    Near 1 that is far: the floats of all scores above 37 are 1.
    """
    blur = ROUNDING * probability + SMALLEST
    low, high = probability - blur, probability + blur
    below = math.log(low) - math.log1p(-low) if low > 0 else -NEVER_ZERO
    above = math.log(high) - math.log1p(-high) if high < 1 else SURELY_ONE
    if probability < LEAST_BY_QUOTIENT:
        below, above = -NEVER_ZERO, max(above, -SURELY_POSITIVE)
    return (below + above) / 2, (above - below) / 2


def request(
    card: Card, y: Any, kind: str, count: Any, method: str, objectives: Mapping[str, float] | None, most: Any,
    actionable: Sequence[str] | None, hard: Sequence[str] | None, soft: Mapping[str, float] | None, tolerance: Any,
) -> SetRequest:  # fmt: skip
    """The arguments as a Request; raises MaceError."""
    made = SetRequest(
        plain(y), kind, plain(count), method, _objectives(objectives, method), plain(most),
        None if actionable is None else _names("actionable_features", actionable),
        () if hard is None else _names("hard_constraints", hard),
        {} if soft is None else _weights("soft_constraints", soft),
        plain(tolerance),
    )  # fmt: skip
    if not is_number(made.tolerance) or not made.tolerance >= 0:
        raise MaceError(f"priority_tol is a number >= 0, got {short(made.tolerance)}")
    _check_outcome(card, made)
    _check_constraints(made)
    for name in made.actionable or ():
        if name not in card.names:
            raise MaceError(f"there is no variable {name!r} to act on", hint=among(name, card.names, "The card"))
    if made.most is not None and (not is_whole(made.most) or made.most < 0):
        raise MaceError(f"max_changes is a whole number >= 0, got {short(made.most)}")
    return made


def _check_outcome(card: Card, asked: SetRequest) -> None:
    """Raise MaceError where the scorecard has no such outcome."""
    kinds = ("binary", "probability") if card.target == "binary" else ("continuous",)
    if not isinstance(asked.kind, str) or asked.kind not in kinds:
        raise MaceError(f"outcome_type of this scorecard is {' or '.join(kinds)}, got {short(asked.kind)}")
    if asked.kind == "probability" and not card.logistic:
        raise MaceError(NOT_LOGISTIC, hint='Ask for outcome_type="binary".')
    if not is_whole(asked.count) or asked.count < 1:
        raise MaceError(f"n_cf is a whole number >= 1, got {short(asked.count)}")
    y = asked.y
    if not isinstance(y, (int, float)) or not -LARGEST <= y <= LARGEST:
        raise MaceError(f"y is a number, got {short(y)}")
    if asked.kind == "continuous" and y and not moderate(abs(y)):
        raise MaceError(f"y is a number, 0 or between 1e-99 and 1e99 in size; got {short(y)}")
    if asked.kind == "binary" and y not in (0, 1) or asked.kind == "probability" and not 0 <= y <= 1:
        raise MaceError(f"y is {'0 or 1' if asked.kind == 'binary' else 'from 0 to 1'}, got {short(y)}")


def _check_constraints(asked: SetRequest) -> None:
    """Raise MaceError for a constraint that this outcome does not have."""
    kind, binary = asked.kind, asked.kind == "binary"
    known = DIFFERENCES if binary else (*DIFFERENCES, *ENDS)
    for name in asked.hard:
        if name not in known:
            raise MaceError(f"hard_constraints with outcome_type={kind!r} are {', '.join(known)}, got {short(name)}")
    for name, weight in asked.soft.items():
        if name not in SOFT or binary and name == OUTCOME:
            raise MaceError(f"soft_constraints are {', '.join(SOFT)} (the last for numbers), got {short(name)}")
        _check_weight(name, weight)
    if not binary and not {*ENDS, OUTCOME} & {*asked.hard, *asked.soft}:
        raise MaceError(f"outcome_type={kind!r} needs min_outcome, max_outcome or diff_outcome")


def _objectives(objectives: Mapping[str, float] | None, method: str) -> dict[str, float]:
    if not isinstance(method, str) or method not in ("weighted", "hierarchical"):
        raise MaceError(f'method is "weighted" or "hierarchical", got {short(method)}')
    found = dict.fromkeys(OBJECTIVES, 1.0) if objectives is None else _weights("objectives", objectives)
    for name, weight in found.items():
        if name not in OBJECTIVES:
            raise MaceError(f"objectives are {', '.join(OBJECTIVES)}, got {short(name)}")
        _check_weight(name, weight)
    if not found:
        raise MaceError("no objective is given")
    return {name: float(weight) for name, weight in found.items()}


def _check_weight(name: str, weight: object) -> None:
    if not is_number(weight) or not weight > 0 or not moderate(weight):
        raise MaceError(f"the weight of {name} is a number > 0 (from 1e-99 to 1e99), got {short(weight)}")


def _names(argument: str, given: Sequence[str]) -> tuple[str, ...]:
    """The names of an argument that is one, or several."""
    if not isinstance(given, (str, Sequence)) and getattr(given, "ndim", 0) != 1:
        raise MaceError(f"{argument} must be a name, or a list of names; got {short(given)}")
    return tuple(names(given))


def _weights(argument: str, given: Mapping[str, float]) -> dict[str, float]:
    if not isinstance(given, Mapping):
        raise MaceError(f"{argument} must be a dict from names to numbers; got {short(given)}")
    return {name: plain(weight) for name, weight in given.items()}


def row_of(query: Any) -> tuple[dict[str, Any], Any]:
    """The row that is asked about, and the name that it has in its frame."""
    query = in_pandas(query)
    if hasattr(query, "to_dict") and not hasattr(query, "columns"):  # a row of a frame
        return {str(name): plain(value) for name, value in query.to_dict().items()}, query.name
    if hasattr(query, "iloc"):
        check({"frame": query})
        if len(query) != 1:
            raise MaceError(f"the query is one row, got {len(query)}")
        return {name: plain(query.iloc[0][name]) for name in query.columns}, query.index[0]
    if not isinstance(query, Mapping):
        raise MaceError(f"the query is a dict, a Series, or a frame with one row; got {short(query)}")
    return {name: plain(value) for name, value in query.items()}, 0


def is_whole(value: object) -> TypeGuard[int]:
    """Whether a value is a whole number, and no truth value."""
    return isinstance(value, int) and not isinstance(value, bool)


def is_number(value: object) -> TypeGuard[float]:
    """Whether a value is a number, and no truth value."""
    return is_whole(value) or isinstance(value, float)
