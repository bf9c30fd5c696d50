"""What an audit returns: a record for every row, what they were asked under, and what they say together.

Promise: nothing heavy is imported before a method needs it; what shows an audit stands above it (`mace.base.views`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from mace.audit.export import save, to_frame
from mace.audit.findings import Findings, findings_of
from mace.audit.grouped import GroupFrame, grouped
from mace.audit.record import Record
from mace.base.figures import counted
from mace.base.formats import schema_of
from mace.base.views import Plot, view

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class Tracked(NamedTuple):
    """Texts, numbers and files, as `mlflow.log_params`, `log_metrics` and `log_artifacts` take them."""

    params: dict[str, str]
    metrics: dict[str, float]
    folder: Path


@dataclass(frozen=True)
class Audit:
    """The records of an audit and what they were asked under.

    records: one a row, in the order of the frame.
    extra:   records of the questions that findings ask ("fixed:Age", "flip:Sex", "core"), by part.
    groups:  name -> the group of each record.
    about:   what was asked, in plain values: digests, limits, versions, counts.
    """

    records: list[Record]
    extra: dict[str, list[Record]]
    groups: dict[str, list[str]]
    protected: tuple[str, ...]
    about: dict[str, Any]
    random_state: int = 0
    asked: int = field(default=0, compare=False)

    @cached_property
    def findings(self) -> Findings:
        """What the records say together, each with numbers and intervals."""
        return findings_of(self.records, self.extra, self.groups, self.protected, self.random_state)

    @property
    def finished(self) -> bool:
        """Whether every question of the run was asked; a checkpoint of a run that was stopped says that it was not."""
        return bool(self.about.get("finished", True))

    @property
    def undecided(self) -> list[Record]:
        """The rows without a proved verdict."""
        return [record for record in self.records if not record.proved]

    @property
    def period(self) -> tuple[datetime, datetime] | None:
        """When the first question was asked and the last one answered, in UTC; None if no record says so."""
        ends = [
            (datetime.fromisoformat(record.answered), record.seconds)
            for record in (*self.records, *(record for part in self.extra.values() for record in part))
            if record.answered
        ]
        if not ends:
            return None
        first = min(end - timedelta(seconds=seconds) for end, seconds in ends)
        return first.replace(microsecond=0), max(end for end, _ in ends)

    @property
    def settled(self) -> bool:
        """Whether every row, and every further question of the findings, has a proved verdict."""
        return not self.undecided and all(record.proved for part in self.extra.values() for record in part)

    def to_frame(self) -> pd.DataFrame:
        """The records as a frame, with a column per group; nested values are JSON texts."""
        return to_frame(self.records, self.groups)

    def by_group(self, *names: str) -> GroupFrame:
        """Shares and distances of each group, in the form of fairlearn's `MetricFrame`.

        names: of the groups to compare by, all combinations of several; none: all that the audit has.
        Raises RowError where there are no such groups.
        """
        return grouped(self.records, self.groups, names or tuple(self.groups))

    def tracked(self, folder: str | Path) -> Tracked:
        """What a tracker of experiments such as MLflow logs: params, metrics, and a folder of artifacts.

        folder: where the report, the audit and the table of groups are written; made if there is none.
        """
        made: Tracked = view("audit for tracking")(self, Path(folder))
        return made

    def save(self, path: str | Path) -> Path:
        """Write the records (.parquet, .csv, .jsonl) or the whole audit (.json). Raises FileError."""
        return save(Path(path), self.records, self.groups, self.to_dict)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON: what was asked, the findings, and every record."""
        return {
            **schema_of("audit"),
            "about": self.about,
            "protected": list(self.protected),
            "random_state": self.random_state,
            "period": None if self.period is None else [moment.isoformat() for moment in self.period],
            "findings": self.findings.to_dict(),
            "groups": self.groups,
            "records": [record.to_dict() for record in self.records],
            "extra": {part: [record.to_dict() for record in records] for part, records in self.extra.items()},
        }

    def to_html(self, path: str | Path, person: int | None = None, **settings: Any) -> Path:
        """Write the report, one HTML file; the arguments are those of `mace.report`."""
        return Path(view("audit as a page")(self, path, person, **settings))

    def plot_status(self, ax: Axes | None = None) -> Plot:
        """Draw how the rows ended.

        This plot and the others are drawn into `ax`, or into a new figure. Raises MaceError without matplotlib.
        """
        return self._plot("status", ax)

    def plot_distances(self, ax: Axes | None = None) -> Plot:
        """Draw the proved distances, by group, with the interval of each median."""
        return self._plot("distances", ax)

    def plot_no_recourse(self, ax: Axes | None = None) -> Plot:
        """Draw the shares that provably have no recourse, by group, with intervals."""
        return self._plot("no_recourse", ax)

    def plot_bounds(self, ax: Axes | None = None) -> Plot:
        """Draw the lower and the upper bound of every row."""
        return self._plot("bounds", ax)

    def plot_reliance(self, ax: Axes | None = None) -> Plot:
        """Draw the features that the nearest counterfactuals change."""
        return self._plot("reliance", ax)

    def plot_reach(self, ax: Axes | None = None) -> Plot:
        """Draw for which share of each group a change of a given size is enough, a panel a group."""
        return self._plot("reach", ax)

    def _plot(self, name: str, ax: Axes | None) -> Plot:
        drawn: Plot = view("audit as a plot")(self, name, ax)
        return drawn

    def __str__(self) -> str:
        return str(view("audit as text")(self))

    def __repr__(self) -> str:
        counts = ", ".join(f"{count:,} {name}" for name, count in self.findings.statuses.counts.items())
        return f"Audit({counted(len(self.records), 'row')}: {counts or 'none'})"

    def _repr_html_(self) -> str:
        return str(view("audit as HTML")(self))

    def __rich__(self) -> Any:
        return view("audit for rich")(self)
