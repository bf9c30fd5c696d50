"""`audit.plot_...()`: the plots of an audit as its methods.

In:  an `Audit`, which has these methods by inheritance.    Out: Display objects, drawn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mace.audit.run import Audit
    from mace.report import displays


class Plots:
    """Each draws into `ax`, or into a new figure, and returns the display; raises MaceError without matplotlib."""

    __slots__ = ()

    def plot_status(self, ax: Axes | None = None) -> displays.StatusDisplay:
        """How the rows ended."""
        from mace.report.displays import StatusDisplay

        return StatusDisplay.from_audit(cast("Audit", self), ax)

    def plot_distances(self, ax: Axes | None = None) -> displays.DistanceDisplay:
        """The proved distances, by group, with the interval of each median."""
        from mace.report.displays import DistanceDisplay

        return DistanceDisplay.from_audit(cast("Audit", self), ax)

    def plot_no_recourse(self, ax: Axes | None = None) -> displays.NoRecourseDisplay:
        """The shares that provably have no recourse, by group, with intervals."""
        from mace.report.displays import NoRecourseDisplay

        return NoRecourseDisplay.from_audit(cast("Audit", self), ax)

    def plot_bounds(self, ax: Axes | None = None) -> displays.BoundsDisplay:
        """Lower and upper bound of every row."""
        from mace.report.displays import BoundsDisplay

        return BoundsDisplay.from_audit(cast("Audit", self), ax)

    def plot_reliance(self, ax: Axes | None = None) -> displays.RelianceDisplay:
        """The features that the nearest counterfactuals change."""
        from mace.report.displays import RelianceDisplay

        return RelianceDisplay.from_audit(cast("Audit", self), ax)
