"""The cost of not using age: the paper's tables 4 and 7, on the forest of Adult.

In:  how many rejected rows (the paper: 500), and the settings of the audit.
Out: for each distance the share of rows whose nearest counterfactual changes age, and lowers it, and how much farther
     the nearest one is that leaves age alone, or does not lower it; beside them the figures of the paper.
The paper's setting: scikit-learn's forest of 10 trees, every feature free to change, no rules. "Found" counts the
counterfactuals that were found, as the paper does; "must" those rows of which it is proved that no nearest one obeys.
Source: Karimi et al. 2020, tables 4 (main text) and 7 (appendix), rows "MACE (epsilon = 1e-5)", whose figures are
taken from their reprint in Karimi's dissertation (tables 2.4 and A.2).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from mace.audit.findings import Forbidding, forbidding_of
from mace.audit.intervals import Estimate, Share, estimate, share
from mace.audit.record import Record
from mace.audit.result import Audit
from mace.audit.run import audit

NORMS = ("l0", "l1", "linf")
FEATURE = "Age"


@dataclass(frozen=True, slots=True)
class Printed:
    """What the paper prints of one table and distance: shares, not percentages."""

    found: float
    farther: float


# 100 x E[restricted / unrestricted - 1] over the rows whose counterfactual changes (lowers) age.
TABLE_4 = {"l0": Printed(0.132, 0.090), "l1": Printed(0.204, 1.003), "linf": Printed(0.844, 0.328)}
TABLE_7 = {"l0": Printed(0.036, 0.0), "l1": Printed(0.074, 0.613), "linf": Printed(0.342, 0.139)}


@dataclass(frozen=True, slots=True)
class Restricted:
    """One table at one distance.

    found:   rows whose nearest counterfactual found changes (lowers) age.
    farther: mean of restricted / free distance - 1 over these rows, as the paper takes it: 0 where a tie obeys.
    proved:  rows of which it is proved that every nearest counterfactual does, and what the restriction costs them.
    paper:   what the paper prints.
    """

    found: Share
    farther: Estimate
    proved: Forbidding
    paper: Printed


@dataclass(frozen=True, slots=True)
class Line:
    """One distance: how many rows, how many of them proved, and what age is worth among these."""

    distance: str
    rows: int
    proved: Share
    fixed: Restricted
    not_lowered: Restricted

    @property
    def settled(self) -> bool:
        """Whether no row and no restricted question stayed open."""
        return self.proved.count == self.rows and not (self.fixed.proved.undecided or self.not_lowered.proved.undecided)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        from mace.audit.findings import as_plain

        return as_plain(self)  # type: ignore[no-any-return]


def paper_tables(
    limit: int = 500, checkpoint: Path | None = None, random_state: int = 0, **settings: Any
) -> list[Line]:
    """Train the forest and audit it once for each distance.

    checkpoint: its name gets the distance's before the suffix, because each distance is a question of its own.
    limit:      how many rejected rows.
    settings:   n_jobs, timeout, memory_mb, resume, scheduler, progress and callback, as for `mace.audit`.
    """
    from sklearn.ensemble import RandomForestClassifier

    from mace import datasets

    adult = datasets.load("adult")
    space = adult.free_space
    forest = RandomForestClassifier(10, random_state=0).fit(space.encode(adult.X), adult.y)
    lines = []
    for norm in NORMS:
        file = None if checkpoint is None else checkpoint.with_name(f"{checkpoint.stem}.{norm}{checkpoint.suffix}")
        done = audit(
            forest,
            space,
            adult.X,
            goal=adult.goal,
            limit=limit,
            distance=norm,
            protected=[FEATURE],
            flips=False,
            cores=0,
            checkpoint=file,
            random_state=random_state,
            **settings,
        )
        lines.append(line_of(norm, done))
    return lines


def line_of(norm: str, done: Audit) -> Line:
    """What an audit with age as its protected feature says of the two tables."""
    return Line(
        norm,
        len(done.records),
        share(sum(record.proved for record in done.records), len(done.records)),
        _restricted(done, "fixed", TABLE_4[norm], lambda before, after: after != before),
        _restricted(done, "increase", TABLE_7[norm], lambda before, after: after < before),
    )


def _restricted(done: Audit, how: str, paper: Printed, breaks: Callable[[Any, Any], bool]) -> Restricted:
    again = {record.row: record for record in done.extra[f"{how}:{FEATURE}"]}
    known = [record for record in done.records if record.outcome == "optimal"]
    found = [r for r in known if FEATURE in r.changes and breaks(*r.changes[FEATURE])]
    farther = [_ratio(r, again[r.row]) for r in found if again[r.row].outcome == "optimal"]
    return Restricted(
        share(len(found), len(known)),
        estimate([float(ratio - 1) for ratio in farther], "mean", done.random_state),
        forbidding_of(done.records, list(again.values()), FEATURE, how, done.random_state),
        paper,
    )


def _ratio(free: Record, restricted: Record) -> Fraction:
    assert free.exact_distance is not None and restricted.exact_distance is not None  # both are optimal
    return Fraction(restricted.exact_distance) / Fraction(free.exact_distance)  # a rejected row has to move
