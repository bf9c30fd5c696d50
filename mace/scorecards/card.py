"""A scorecard as plain numbers: for every variable its bins, each with a value, and one coefficient.

In:  a fitted `Scorecard` of OptBinning, for two classes or for a number; or a table of bins, points and coefficients.
Out: a `Card`: score = intercept + sum of coefficient * value of the bin; for two classes P = 1 / (1 + exp(-score)).
Promise: the value of every bin is what the library's own `transform` gives for a row in it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from functools import cached_property
from itertools import pairwise
from numbers import Real
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np

from mace.base.arguments import is_frame, spelled
from mace.base.escape import short
from mace.base.exact import moderate
from mace.base.frames import in_pandas
from mace.base.values import hashed, plain
from mace.errors import ModelError, RowError

if TYPE_CHECKING:
    import pandas as pd

NUMBERS: tuple[Any, ...] = (Real, Decimal)
COMPARED = 200  # choices of bins about which a scorecard's estimator is asked
SAME = 1e-9  # of what a sum adds up, by how much two roads to it differ
Kind: TypeAlias = Literal["interval", "list", "special", "missing"]


class Bin(NamedTuple):
    """One bin: its text, its value in the model, its points, and what it holds.

    kind:  "interval" (`low <= x < high`), "list" (`members`), "special" (`members` are the codes) or "missing".
    value: the WoE, or the mean of the target.
    """

    text: str
    kind: Kind
    value: float
    points: float = 0.0
    low: float = -math.inf
    high: float = math.inf
    members: tuple[Any, ...] = ()

    def holds(self, value: Any) -> bool:
        """Whether a raw value lies in the bin."""
        value = plain(value)
        if value is None or (isinstance(value, float) and math.isnan(value)):
            return self.kind == "missing"
        if self.kind == "interval":
            return isinstance(value, NUMBERS) and bool(self.low <= value < self.high)
        return hashed(value) and value in self.members

    def nearest(self, value: Any) -> Any:
        """The raw value of the bin that is nearest to another one; None for a missing one."""
        if self.kind == "missing" or self.holds(value):
            return None if self.kind == "missing" else value
        if self.kind != "interval":
            return self.members[0] if self.members else None
        if not isinstance(value, (int, float)) or math.isnan(value) or value < self.low:
            return self.low if math.isfinite(self.low) else float(np.nextafter(self.high, -math.inf))
        below = math.ceil(self.high) - 1  # of whole numbers the last one below the end
        whole = float(value).is_integer() and below >= self.low
        return below if whole else float(np.nextafter(self.high, -math.inf))

    def beside(self, value: Any, codes: Sequence[Any]) -> Any:
        """A raw value of the bin near one that is a code, which is held by the bin of that code alone."""
        if self.kind != "interval":
            return next((one for one in self.members if one not in codes), value)
        near: list[float] = []
        if float(value).is_integer():
            near += [value + sign * far for far in range(1, len(codes) + 2) for sign in (1, -1)]
        up = down = float(value)
        for _ in range(len(codes) + 1):
            up, down = float(np.nextafter(up, math.inf)), float(np.nextafter(down, -math.inf))
            near += [up, down]
        return next((one for one in near if self.holds(one) and one not in codes), value)


class Variable(NamedTuple):
    """One variable of a scorecard."""

    name: str
    coefficient: float
    bins: tuple[Bin, ...]

    def place(self, value: Any) -> int:
        """The number of the bin that holds a raw value; raises RowError."""
        special = (k for k, one in enumerate(self.bins) if one.kind == "special" and one.holds(value))
        others = (k for k, one in enumerate(self.bins) if one.holds(value))
        found = next(special, next(others, None))
        if found is None:
            raise RowError(f"`{self.name}`: no bin of the scorecard holds {short(value)}")
        return found

    def nearest(self, place: int, value: Any) -> Any:
        """The raw value nearest to another one that lies in a bin, and in no special one; None for a missing one."""
        chosen = self.bins[place]
        found = chosen.nearest(value)
        codes = [code for one in self.bins if one.kind == "special" for code in one.members]
        return chosen.beside(found, codes) if chosen.kind in ("interval", "list") and found in codes else found


@dataclass(frozen=True)
class Card:
    """A scorecard; `target` is "binary" or "continuous".

    logistic: whether its probabilities are those of `outcome`.
    """

    variables: tuple[Variable, ...]
    intercept: float
    target: Literal["binary", "continuous"] = "binary"
    logistic: bool = True

    def __post_init__(self) -> None:
        """Raise ModelError for numbers whose products, quotients and covariances no double holds."""
        named = {"the intercept": self.intercept}
        for variable in self.variables:
            named[f"the coefficient of `{variable.name}`"] = variable.coefficient
            named |= {f"`{variable.name}`: the value of the bin {one.text}": one.value for one in variable.bins}
        for what, number in named.items():
            if number and not moderate(abs(number)):
                raise ModelError(
                    f"{what} is {number:g}; numbers of scorecards are 0, or between 1e-99 and 1e99 in size",
                    hint="Give values and coefficients in other units.",
                )

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The names of the variables."""
        return tuple(variable.name for variable in self.variables)

    def places(self, row: Mapping[str, Any]) -> tuple[int, ...]:
        """The bin of every variable that a row of raw values lies in; raises RowError."""
        missing = [name for name in self.names if name not in row]
        if missing:
            raise RowError(f"the row has no value for `{missing[0]}`")
        return tuple(variable.place(row[variable.name]) for variable in self.variables)

    def score(self, places: Sequence[int]) -> float:
        """The score of a choice of bins."""
        parts = (v.coefficient * v.bins[k].value for v, k in zip(self.variables, places, strict=True))
        return math.fsum((self.intercept, *parts))

    def outcome(self, places: Sequence[int]) -> float:
        """The probability of an event, or the predicted number."""
        score = self.score(places)
        if self.target == "continuous":
            return score
        return 1 / (1 + math.exp(-score)) if score >= 0 else math.exp(score) / (1 + math.exp(score))

    def points(self, places: Sequence[int]) -> float:
        """The points of a choice of bins."""
        return math.fsum(v.bins[k].points for v, k in zip(self.variables, places, strict=True))


# --- OptBinning ------------------------------------------------------------------------------------------------------


def card_of(scorecard: Any) -> Card:
    """The card of a fitted OptBinning `Scorecard`; raises ModelError for one that is not linear."""
    process, estimator = getattr(scorecard, "binning_process_", None), getattr(scorecard, "estimator_", None)
    if not hasattr(scorecard, "binning_process"):
        raise ModelError(
            f"the scorecard is an optbinning.Scorecard, or a mace.scorecards.Card; got {type(scorecard).__name__}",
            hint="`read_card` makes a Card of a table of bins.",
        )
    if process is None or estimator is None:
        raise ModelError("the scorecard is not fitted", hint="Call its `fit` first.")
    if not hasattr(estimator, "coef_"):
        raise ModelError(f"a scorecard over a {type(estimator).__name__} is not supported: it is not linear")
    if getattr(process, "binning_transform_params", None):
        raise ModelError("a scorecard with binning_transform_params is not supported")
    names = [str(name) for name in process.get_support(names=True)]
    coefficients = np.asarray(estimator.coef_, dtype=np.float64).ravel()
    if len(coefficients) != len(names):
        raise ModelError(f"the scorecard has {len(coefficients)} coefficients for {len(names)} variables")
    points = scorecard.table()
    variables = []
    for name, coefficient in zip(names, coefficients, strict=True):
        own = points[points["Variable"] == name]["Points"].to_numpy(dtype=float)
        bins = _bins(scorecard, process.get_binned_variable(name), own)
        variables.append(Variable(name, float(coefficient), bins))
    intercept = float(np.asarray(estimator.intercept_, dtype=np.float64).ravel()[0])
    target: Any = "binary" if hasattr(estimator, "classes_") else "continuous"
    return _compared(estimator, Card(tuple(variables), intercept, target))


def _compared(estimator: Any, card: Card) -> Card:
    """The card, once the estimator says of values of bins what it does; raises ModelError where it does not.

    An estimator with coefficients may still predict a function of the sum (`PoissonRegressor` its exponential), or
    have other probabilities, or none: then the card says so.
    """
    rng = np.random.default_rng(0)
    choices = [tuple(int(rng.integers(len(v.bins))) for v in card.variables) for _ in range(COMPARED)]
    held = [[v.bins[k].value for v, k in zip(card.variables, places, strict=True)] for places in choices]
    values: Any = np.array(held)
    if hasattr(estimator, "feature_names_in_"):
        import pandas as pd

        values = pd.DataFrame(values, columns=list(card.names))
    scores = np.array([card.score(places) for places in choices])
    said = np.ravel(estimator.predict(values))
    sizes = 1.0 + np.abs(np.array(held)) @ np.abs([v.coefficient for v in card.variables]) + abs(card.intercept)
    clear = np.abs(scores) > SAME * sizes
    same = np.abs(said - scores) <= SAME * sizes if card.target == "continuous" else (said == (scores > 0)) | ~clear
    if not same.all():
        raise ModelError(
            f"a scorecard over a {type(estimator).__name__} is not supported: it does not predict the sum of its points"
        )
    if card.target == "continuous":
        return card
    if not hasattr(estimator, "predict_proba"):
        return replace(card, logistic=False)
    outcomes = np.array([card.outcome(places) for places in choices])
    return replace(card, logistic=bool((np.abs(estimator.predict_proba(values)[:, 1] - outcomes) <= SAME).all()))


def _bins(scorecard: Any, binned: Any, points: Sequence[float]) -> tuple[Bin, ...]:
    """The bins of one variable: its own, then one for each special code or name of codes, then the missing one."""
    found: list[tuple[str, Kind, float, float, tuple[Any, ...]]] = []
    if binned.dtype == "numerical":
        ends = [-math.inf, *map(float, np.asarray(binned.splits).ravel()), math.inf]
        for low, high in pairwise(ends):
            opening = "(-inf" if low == -math.inf else f"[{low:.2f}"
            found.append((f"{opening}, {'inf' if high == math.inf else f'{high:.2f}'})", "interval", low, high, ()))
    else:
        for group in binned.splits:
            members = tuple(np.asarray(group, dtype=object).tolist())
            found.append((f"[{', '.join(map(str, members))}]", "list", 0.0, 0.0, members))
    codes = getattr(binned, "special_codes", None)
    named = codes.items() if isinstance(codes, dict) else [("Special", codes if codes is not None else [])]
    for name, held in named:
        found.append((str(name), "special", 0.0, 0.0, tuple(np.asarray(held, dtype=object).ravel().tolist())))
    found.append(("Missing", "missing", 0.0, 0.0, (None,)))
    if len(points) != len(found):
        raise ModelError(f"`{binned.name}` has {len(found)} bins, and the scorecard's table {len(points)}")
    codes = [code for _, kind, _, _, members in found if kind == "special" for code in members]
    bins = [
        Bin(text, kind, 0.0, float(own), low, high, members)
        for (text, kind, low, high, members), own in zip(found, points, strict=True)
    ]
    return tuple(one._replace(value=_value(scorecard, binned, one, codes)) for one in bins)


def _value(scorecard: Any, binned: Any, one: Bin, codes: Sequence[Any]) -> float:
    """What the library makes of a row in a bin; 0 for a special bin without codes, which no row reaches."""
    kind, low, high = one.kind, one.low, one.high
    if kind == "special" and not one.members:
        return 0.0
    if kind == "missing":
        inside: Any = np.nan
    elif kind == "interval":
        inside = low if math.isfinite(low) else float(np.nextafter(high, -math.inf)) if high < math.inf else 0.0
    else:
        inside = one.members[0]
    if kind in ("interval", "list") and inside in codes:
        inside = one.beside(inside, codes)
    metric = "woe" if hasattr(scorecard.estimator_, "classes_") else "mean"
    held = np.array([inside], dtype=object if isinstance(inside, str) else None)
    if binned.dtype != "numerical" and kind == "missing":
        held = np.array([None], dtype=object)
    rest = {"metric_special": scorecard._metric_special, "metric_missing": scorecard._metric_missing}
    return float(np.asarray(binned.transform(held, metric=metric, **rest), dtype=np.float64)[0])


# --- tables ----------------------------------------------------------------------------------------------------------


@spelled
def read_card(table: pd.DataFrame | Sequence[Mapping[str, Any]], intercept: float, target: str = "binary") -> Card:
    """A card from a table with a row for each bin.

    table: a frame, or a list of dicts, with `variable`, `coefficient`, `value` (WoE or mean), and for an interval `low`
           and `high` (absent: without end), for a list `members`, or `kind` "special" (with `members`) or "missing";
           `points` and `text` may be absent.
    Raises ModelError for a table that is none.
    """
    table = in_pandas(table)
    if not is_frame(table) and not isinstance(table, (list, tuple)):
        raise ModelError(f"expected a frame with a row for each bin, or a list of dicts; got {short(table)}")
    rows: list[Any] = list(table) if isinstance(table, (list, tuple)) else cast(Any, table).to_dict("records")
    try:
        start = float(intercept)
    except (TypeError, ValueError, OverflowError):
        start = math.nan
    if not math.isfinite(start):
        raise ModelError(f"the intercept is a finite number, got {short(intercept)}")
    if not isinstance(target, str) or target not in ("binary", "continuous"):
        raise ModelError(f'the target is "binary" or "continuous", not {short(target)}')
    grouped: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        try:
            grouped.setdefault(str(row["variable"]), []).append(row)
        except (KeyError, TypeError, IndexError):
            raise ModelError("a row of the table names no `variable`") from None
    variables = []
    for name, own in grouped.items():
        try:
            coefficients = {float(row["coefficient"]) for row in own}
            bins = tuple(_bin(row) for row in own)
        except (KeyError, TypeError, ValueError, OverflowError) as error:
            raise ModelError(f"`{name}`: a bin needs numbers `coefficient` and `value` ({error})") from None
        if len(coefficients) != 1 or not all(map(math.isfinite, (*coefficients, *(one.value for one in bins)))):
            raise ModelError(f"`{name}`: expected one finite coefficient and finite values")
        _apart(name, bins)
        variables.append(Variable(name, coefficients.pop(), bins))
    if not variables:
        raise ModelError("the table has no bins")
    return Card(tuple(variables), start, "continuous" if target == "continuous" else "binary")


def _apart(name: str, bins: Sequence[Bin]) -> None:
    """Raise ModelError for bins that hold nothing, or one value twice; special codes go before the others."""
    ends = sorted((one.low, one.high, one.text) for one in bins if one.kind == "interval")
    for low, high, text in ends:
        if not low < high:
            raise ModelError(f"`{name}`: the bin {text} is empty: its `low` is not below its `high`")
    for (_, high, text), (low, _, other) in pairwise(ends):
        if low < high:
            raise ModelError(f"`{name}`: the bins {text} and {other} overlap")
    for kind in ("list", "special"):
        held = [member for one in bins if one.kind == kind for member in one.members]
        twice = [member for n, member in enumerate(held) if member in held[:n]]
        if twice:
            raise ModelError(f"`{name}`: {short(twice[0])} is in two bins")


def _bin(row: Mapping[str, Any]) -> Bin:
    def number(name: str, absent: float) -> float:
        found = row.get(name)
        return absent if found is None or found != found else float(found)

    members = row.get("members")
    held = tuple(members) if isinstance(members, (list, tuple, set, frozenset, np.ndarray)) else ()
    if not held and isinstance(members, str):
        raise ValueError(f"`members` is a list, got {short(members)}")
    kind: Any = row.get("kind")
    if kind is None or kind != kind:
        kind = "list" if held else "interval"
    if kind not in ("interval", "list", "special", "missing"):
        raise ValueError(f"`kind` is interval, list, special or missing, got {short(kind)}")
    low, high = number("low", -math.inf), number("high", math.inf)
    text = row.get("text")
    if not isinstance(text, str):
        shown = f"{'(' if low == -math.inf else '['}{low:.2f}, {high:.2f})".replace("inf.00", "inf")
        text = {"interval": shown, "missing": "Missing"}.get(kind, f"[{', '.join(map(str, held))}]")
    return Bin(text, kind, float(row["value"]), number("points", 0.0), low, high, held)
