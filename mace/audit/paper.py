"""The cost of not using age: the paper's tables 4 and 7, on the forest of Adult.

In:  how many rejected rows (the paper: 500), and the settings of the audit.
Out: for each distance the share of rows whose nearest counterfactual changes age, and lowers it, and how much farther
     the nearest one is that leaves age alone, or does not lower it.
The paper's setting: scikit-learn's forest of 10 trees, every feature free to change, no rules. "Found" counts the
counterfactuals that were found; "every nearest" those rows of which it is proved that no nearest one obeys.
Source: Karimi et al. 2020, tables 4 (main text) and 7 (appendix).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mace.audit.findings import Forbidding, forbidding_of
from mace.audit.intervals import Share, share
from mace.audit.run import Audit, audit

NORMS = ("l0", "l1", "linf")
FEATURE = "Age"
# The paper's own figures are not among the sources that this was written from, and none are quoted from memory.
MISSING = "the paper's own figures are not at hand: compare with tables 4 and 7 of Karimi et al. 2020"


@dataclass(frozen=True, slots=True)
class Line:
    """One distance: rows proved optimal, and what age is worth among them."""

    distance: str
    rows: int
    proved: Share
    changed: Share
    lowered: Share
    fixed: Forbidding
    not_lowered: Forbidding

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        from mace.audit.findings import as_plain

        return as_plain(self)  # type: ignore[no-any-return]


def paper_tables(rows: int = 500, checkpoint: Path | None = None, seed: int = 0, **settings: Any) -> list[Line]:
    """Train the forest and audit it once for each distance.

    checkpoint: its name gets the distance's before the suffix, because each distance is a question of its own.
    settings:   processes, timeout, memory, resume, scheduler and progress, as for `mace.audit`.
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
            limit=rows,
            distance=norm,
            protected=[FEATURE],
            flips=False,
            cores=0,
            checkpoint=file,
            seed=seed,
            **settings,
        )
        lines.append(line_of(norm, done))
    return lines


def line_of(norm: str, done: Audit) -> Line:
    """What an audit with age as its protected feature says of the two tables."""
    known = [record for record in done.records if record.outcome == "optimal"]
    ages = [record.changes[FEATURE] for record in known if FEATURE in record.changes]
    return Line(
        norm,
        len(done.records),
        share(sum(record.proved for record in done.records), len(done.records)),
        share(len(ages), len(known)),
        share(sum(after < before for before, after in ages), len(known)),
        forbidding_of(done.records, done.extra[f"fixed:{FEATURE}"], FEATURE, "fixed", done.seed),
        forbidding_of(done.records, done.extra[f"increase:{FEATURE}"], FEATURE, "increase", done.seed),
    )


def as_rich(lines: list[Line]) -> Any:
    """The two tables, and where the paper's figures are."""
    from rich.text import Text

    from mace.audit.show import percent, row, stacked, table

    first = table(
        f"age in the nearest counterfactuals of {lines[0].rows} rejected rows, forest of Adult (the paper's table 4)",
        "distance",
        "proved",
        "found: changes age",
        "every nearest: must",
        "age fixed: farther by",
        "age fixed: no recourse",
    )
    second = table(
        "age lowered (the paper's table 7)",
        "distance",
        "found: lowers age",
        "every nearest: must",
        "not lowered: farther by",
        "not lowered: no recourse",
    )
    for line in lines:
        row(
            first,
            line.distance,
            line.proved,
            line.changed,
            line.fixed.must,
            percent(line.fixed.increase),
            line.fixed.blocked.count,
        )
        row(
            second,
            line.distance,
            line.lowered,
            line.not_lowered.must,
            percent(line.not_lowered.increase),
            line.not_lowered.blocked.count,
        )
    return stacked([first, second, Text(MISSING)])
