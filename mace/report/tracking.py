"""An audit as what a tracker of experiments logs: texts, numbers, files.

In:  an `Audit` and a folder.    Out: `Tracked`; in the folder the report, the audit and the figures by group.
Promise: names hold nothing but letters, digits and `_-./`, as MLflow asks, and no two are alike; a figure that there is
not is left out, and a text is cut to what MLflow keeps.
Source: MLflow, `mlflow.utils.validation`, for the names and lengths.
"""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.audit.result import Tracked
from mace.base.escape import to_cell
from mace.base.files import make_folder, write_whole
from mace.report.make import report
from mace.report.parts import goal_of

if TYPE_CHECKING:
    from mace.audit.result import Audit

LONGEST_NAME, LONGEST_TEXT = 250, 500  # characters


def tracked(audit: Audit, folder: Path) -> Tracked:
    """The parts of an audit for a tracker; raises FileError where the folder cannot be written to."""
    make_folder(folder, "the parts of an audit")
    audit.save(folder / "audit.json")
    report(audit, folder / "report.html")
    if audit.groups:
        table = audit.by_group().by_group.rename(index=to_cell)
        write_whole(folder / "by_group.csv", table.to_csv().encode())
    return Tracked(_params(audit), _metrics(audit), folder)


def _params(audit: Audit) -> dict[str, str]:
    about = audit.about
    known: tuple[str, ...] = ("model", "space", "distance", "oracle", "limit", "mace")
    said: dict[str, Any] = {name: about[name] for name in known if name in about}
    said |= {"goal": goal_of(about), "protected": ", ".join(audit.protected), "finished": audit.finished}
    said |= {f"digest.{name}": value for name, value in (about.get("digests") or {}).items()}
    return {_name(name): str(value)[:LONGEST_TEXT] for name, value in said.items()}


def _metrics(audit: Audit) -> dict[str, float]:
    statuses, out = audit.findings.statuses, dict[str, float]()
    shares = {"proved": statuses.proved, "unknown": statuses.unknown}
    shares |= {"certified": statuses.certified} if statuses.asked_for else {}
    out |= {name: share.value for name, share in shares.items() if share.value is not None}
    out |= {f"rows/{name}": float(count) for name, count in statuses.counts.items()}
    out |= {f"flips/{_name(line.feature)}": float(line.flips.count) for line in audit.findings.flips}
    for by in audit.groups:
        found = audit.by_group(by)
        for group, line in found.by_group.iterrows():
            place = f"by_group/{_name(by)}/{_name(str(group))}"
            while f"{place}/rows" in out:
                place += "_"
            out |= {f"{place}/{name}": float(value) for name, value in line.items()}
    return {name[:LONGEST_NAME]: value for name, value in out.items() if math.isfinite(value)}


def _name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_\-.]+", "_", text) or "_"
