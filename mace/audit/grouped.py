"""Figures of an audit by group, in the form of fairlearn's `MetricFrame`.

In:  the records of an audit and the group of each.    Out: `GroupFrame`: `overall`, `by_group`, and what compares them.
Promise: shares of verdicts count what was proved alone; what was not decided has a column of its own. A figure of
nothing is NaN.
Source: fairlearn.metrics.MetricFrame, for the names, the index by all combinations of groups, and the two methods of
`difference` and `ratio`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from mace.base.suggestions import meant
from mace.errors import MaceError, RowError

if TYPE_CHECKING:
    import pandas as pd

    from mace.audit.record import Record

Method: TypeAlias = Literal["between_groups", "to_overall"]
MEASURES = {
    "rows": "how many",
    "no_recourse": "share for which it is proved that nothing allowed reaches the goal",
    "no_recourse_at_most": "that share, if no undecided row had a way out",
    "undecided": "share without a proved verdict",
    "median_distance": "of the nearest counterfactuals, where it is proved that none is nearer",
    "mean_distance": "of the same",
    "mean_changes": "how many features the nearest counterfactuals found change",
}


@dataclass(frozen=True, eq=False)
class GroupFrame:
    """The figures of each group; `MEASURES` says what the columns are.

    overall:  one figure a column, of all rows.
    by_group: one row a group; of several columns of groups, one for each combination that has rows.
    """

    overall: pd.Series[Any]
    by_group: pd.DataFrame

    def group_max(self) -> pd.Series[Any]:
        """The largest figure of any group."""
        return self.by_group.max()

    def group_min(self) -> pd.Series[Any]:
        """The least figure of any group."""
        return self.by_group.min()

    def difference(self, method: Method = "between_groups") -> pd.Series[Any]:
        """Of each figure, in its own unit, the largest difference of two groups, or of a group and all rows.

        method: "between_groups", or "to_overall". Raises MaceError for any other.
        """
        if _checked(method) == "between_groups":
            return self.group_max() - self.group_min()
        return (self.by_group - self.overall).abs().max()

    def ratio(self, method: Method = "between_groups") -> pd.Series[Any]:
        """Of each figure the least ratio of two groups, or of a group and all rows: the smaller by the larger.

        method: "between_groups", or "to_overall". Raises MaceError for any other.
        """
        if _checked(method) == "between_groups":
            return self.group_min() / self.group_max()
        found = self.by_group / self.overall
        return found.where(found <= 1, 1 / found).min()

    def __str__(self) -> str:
        return str(self.by_group)

    def __repr__(self) -> str:
        return f"GroupFrame({len(self.by_group)} groups, {len(self.by_group.columns)} figures)"

    def _repr_html_(self) -> str:
        return str(self.by_group.to_html())


def _checked(method: str) -> str:
    known = ("between_groups", "to_overall")
    if method not in known:
        raise MaceError(f"unknown method {method!r}", hint=meant(method, known, f"Use {' or '.join(known)}."))
    return method


def grouped(records: Sequence[Record], groups: Mapping[str, Sequence[str]], names: Sequence[str]) -> GroupFrame:
    """The figures by the groups of these names; raises RowError where there are none of such a name."""
    import pandas as pd

    for name in names:
        if name not in groups:
            known = f"Groups: {', '.join(groups)}." if groups else 'Ask with groups=["Sex"].'
            raise RowError(f"the audit has no groups by {name!r}", hint=meant(name, groups, known))
    if not names:
        raise RowError("the audit has no groups", hint='Ask with groups=["Sex"].')
    table = pd.DataFrame([_figures(record) for record in records], columns=list(_COLUMNS))
    labels = [pd.Series(list(groups[name]), name=name, dtype=object) for name in names]
    found = sorted(table.groupby(labels), key=lambda pair: [rank(str(group)) for group in pair[0]])
    parts = {key if len(names) > 1 else key[0]: _measured(some) for key, some in found}
    return GroupFrame(_measured(table), pd.DataFrame(parts).T.rename_axis(list(names)))


def rank(group: str) -> tuple[bool, float, str]:
    """Where a group stands among the others: numbers by what they are, before all texts."""
    try:
        value = float(group)
    except ValueError:
        return True, 0.0, group
    return (False, value, group) if value == value else (True, 0.0, group)


_COLUMNS = ("infeasible", "undecided", "distance", "changes")


def _figures(record: Record) -> tuple[bool, bool, float | None, int | None]:
    optimal = record.outcome == "optimal"
    return (
        record.outcome == "infeasible", not record.proved, record.distance if optimal else None,
        len(record.changes) if record.changes else None,
    )  # fmt: skip


def _measured(table: pd.DataFrame) -> pd.Series[Any]:
    import pandas as pd

    stuck, unsure = table["infeasible"].mean(), table["undecided"].mean()
    distances = table["distance"].astype(float)
    figures = (
        float(len(table)), stuck, stuck + unsure, unsure, distances.median(), distances.mean(),
        table["changes"].astype(float).mean(),
    )  # fmt: skip
    return pd.Series(dict(zip(MEASURES, figures, strict=True)))
