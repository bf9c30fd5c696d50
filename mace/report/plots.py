"""The plots of an audit by their names, as `audit.plot_..()` and the report draw them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mace.report.displays import (
    AuditDisplay,
    BoundsDisplay,
    DistanceDisplay,
    NoRecourseDisplay,
    RelianceDisplay,
    StatusDisplay,
)
from mace.report.multiples import ReachDisplay

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from mace.audit.result import Audit

DISPLAYS: dict[str, type[AuditDisplay]] = {
    "status": StatusDisplay,
    "distances": DistanceDisplay,
    "no_recourse": NoRecourseDisplay,
    "bounds": BoundsDisplay,
    "reliance": RelianceDisplay,
    "reach": ReachDisplay,
}


def draw(audit: Audit, name: str, ax: Axes | None = None) -> AuditDisplay:
    """Draw one of them, by its name."""
    return DISPLAYS[name].from_audit(audit, ax)
