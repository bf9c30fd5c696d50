"""What an audit found, as numbers with intervals.

In:  the records of an audit.    Out: `Findings`, plain dataclasses.
Promise: nothing is counted as proved that was not. "No recourse" is a proof that nothing allowed reaches the goal,
never "none found"; rows that stayed undecided are shown beside every share, with how far they could move it.
Source: Karimi et al. 2020, section 5 and its tables 4 and 7, for the cost of forbidding a feature.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from mace.audit.grouped import rank
from mace.audit.intervals import Estimate, Share, estimate, share
from mace.audit.record import Record


@dataclass(frozen=True, slots=True)
class Statuses:
    """How many rows ended how; `certified` counts certificates that the checker accepted.

    unwritten: how many certificates found no room on the disk; the next run tries again.
    """

    counts: dict[str, int]
    proofs: dict[str, int]
    proved: Share
    certified: Share
    unknown: Share
    certificate_bytes: int
    unwritten: int = 0

    @property
    def asked_for(self) -> bool:
        """Whether any was written, or could not be: without `certificates=` no share of rows means anything."""
        return self.unwritten > 0 or any(
            self.proofs.get(proof) for proof in ("accepted", "solvers", "refused", "unchecked")
        )


@dataclass(frozen=True, slots=True)
class NoRecourse:
    """How many rows of a group have no way out, proved; `at_most` counts the undecided ones as if they had none."""

    by: str
    group: str
    proved: Share
    undecided: int
    at_most: float


@dataclass(frozen=True, slots=True)
class Distances:
    """The proved distances of a group; rows with bounds only, or with no verdict, are left out and counted."""

    by: str
    group: str
    count: int
    left_out: int
    mean: Estimate
    median: Estimate
    quantiles: dict[str, float]


@dataclass(frozen=True, slots=True)
class Reliance:
    """How many nearest counterfactuals found change a feature; for numbers and ranks, how many raise and lower it."""

    feature: str
    changed: Share
    raised: int
    lowered: int
    protected: bool
    alone: int


@dataclass(frozen=True, slots=True)
class Forbidding:
    """What it costs that a feature may not change (`how` is "fixed") or may only grow ("increase").

    relies:    rows whose nearest counterfactual found changes the feature (for "increase": lowers it or raises it).
    must:      rows of which it is proved that every nearest counterfactual breaks the restriction: the nearest that
               obeys it is farther, or there is none.
    blocked:   of these, rows that have no recourse any more, proved.
    undecided: rows for which the restricted question stayed open.
    increase:  relative increase of the distance of the rows that must and still can, (restricted - free) / free.
    """

    feature: str
    how: str
    relies: Share
    must: Share
    blocked: Share
    undecided: int
    increase: Estimate


@dataclass(frozen=True, slots=True)
class Flips:
    """Rows whose decision is another when only the protected feature changes, with the change that does it."""

    feature: str
    flips: Share
    never: Share
    undecided: int
    examples: list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Block:
    """A rule or a restriction: in how many minimal cores it stands, and how often its removal alone opens a way."""

    constraint: str
    in_cores: Share
    opens: Share


@dataclass(frozen=True, slots=True)
class Blocking:
    """Why rows have no recourse; `model_alone` counts rows that are blocked even without any rule or restriction."""

    examined: int
    infeasible: int
    minimal: int
    undecided: int
    model_alone: int
    constraints: list[Block]
    cores: list[tuple[tuple[str, ...], int]]


@dataclass(frozen=True, slots=True)
class Findings:
    """All findings of an audit; `notes` counts what verdicts rest on beside their proofs, by rows."""

    statuses: Statuses
    no_recourse: list[NoRecourse]
    distances: list[Distances]
    reliance: list[Reliance]
    on_protected: Share | None
    forbidding: list[Forbidding]
    flips: list[Flips]
    blocking: Blocking | None
    notes: list[tuple[str, int]]

    def __repr__(self) -> str:
        return f"Findings({', '.join(f'{n} {status}' for status, n in self.statuses.counts.items() if n)})"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON; shares and estimates as their parts."""
        return as_plain(self)  # type: ignore[no-any-return]


def as_plain(value: Any) -> Any:
    """Findings as plain values for JSON."""
    if isinstance(value, (Share, Estimate)):
        return value.to_dict()
    if isinstance(value, (list, tuple)):
        return [as_plain(item) for item in value]
    if isinstance(value, dict):
        return {str(key): as_plain(item) for key, item in value.items()}
    if hasattr(value, "__dataclass_fields__"):
        return {name: as_plain(getattr(value, name)) for name in value.__dataclass_fields__}
    return value


def findings_of(
    records: Sequence[Record],
    extra: Mapping[str, Sequence[Record]],
    groups: Mapping[str, Sequence[str]],
    protected: Sequence[str],
    random_state: int,
) -> Findings:
    """Everything that the records of an audit say; the arguments are those of an `Audit`."""
    members = _members(records, groups)
    found = [record for record in records if record.changes]
    touching = [record for record in found if set(protected) & set(record.changes)]
    return Findings(
        statuses=statuses_of(records),
        no_recourse=[_no_recourse(by, group, some) for by, group, some in members],
        distances=[_distances(by, group, some, random_state) for by, group, some in members],
        reliance=_reliance(found, protected),
        on_protected=share(len(touching), len(found)) if protected else None,
        forbidding=[
            forbidding_of(records, more, part.partition(":")[2], part.partition(":")[0], random_state)
            for part, more in extra.items()
            if part.startswith(("fixed:", "increase:"))
        ],
        flips=[_flips(part.removeprefix("flip:"), more) for part, more in extra.items() if part.startswith("flip:")],
        blocking=_blocking(records, extra["core"]) if "core" in extra else None,
        notes=Counter(note for record in records for note in record.notes).most_common(),
    )


def statuses_of(records: Sequence[Record]) -> Statuses:
    """Counts of outcomes and proofs."""
    total = len(records)
    return Statuses(
        counts=dict(sorted(Counter(record.outcome for record in records).items())),
        proofs=dict(sorted(Counter(record.proof for record in records).items())),
        proved=share(sum(record.proved for record in records), total),
        certified=share(sum(record.certified for record in records), total),
        unknown=share(sum(record.status == "unknown" for record in records), total),
        certificate_bytes=sum(record.certificate_bytes for record in records),
        unwritten=sum(record.unwritten for record in records),
    )


def _members(records: Sequence[Record], groups: Mapping[str, Sequence[str]]) -> list[tuple[str, str, Sequence[Record]]]:
    """Everyone, then each group."""
    out = [("everyone", "everyone", records)]
    for by, labels in groups.items():
        for group in sorted(set(labels), key=rank):
            out.append((by, group, [r for r, label in zip(records, labels, strict=True) if label == group]))
    return out


def _no_recourse(by: str, group: str, records: Sequence[Record]) -> NoRecourse:
    proved = share(sum(record.outcome == "infeasible" for record in records), len(records))
    # A row with a witness has recourse even if its distance is not settled.
    undecided = sum(record.status == "unknown" for record in records)
    return NoRecourse(by, group, proved, undecided, (proved.count + undecided) / len(records) if records else 0.0)


def _distances(by: str, group: str, records: Sequence[Record], random_state: int) -> Distances:
    import numpy as np

    values = [r.distance for r in records if r.outcome == "optimal" and r.distance is not None]
    left_out = sum(not record.proved for record in records)
    points = {"min": 0.0, "q10": 0.1, "q25": 0.25, "median": 0.5, "q75": 0.75, "q90": 0.9, "max": 1.0}
    quantiles = {name: float(np.quantile(values, q)) for name, q in points.items()} if values else {}
    return Distances(
        by,
        group,
        len(values),
        left_out,
        estimate(values, "mean", random_state),
        estimate(values, "median", random_state),
        quantiles,
    )


def _reliance(found: Sequence[Record], protected: Sequence[str]) -> list[Reliance]:
    out = []
    names = Counter(name for record in found for name in record.changes)
    for name, count in sorted(names.items(), key=lambda item: (-item[1], item[0])):
        pairs = [record.changes[name] for record in found if name in record.changes]
        numbers = [(a, b) for a, b in pairs if _number(a) and _number(b)]
        out.append(
            Reliance(
                feature=name,
                changed=share(count, len(found)),
                raised=sum(b > a for a, b in numbers),
                lowered=sum(b < a for a, b in numbers),
                protected=name in protected,
                alone=sum(list(record.changes) == [name] for record in found),
            )
        )
    return out


def _number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def forbidding_of(
    records: Sequence[Record], again: Sequence[Record], feature: str, how: str, random_state: int
) -> Forbidding:
    """Compare the free answers with those of the same rows under a restriction of one feature."""
    free = {record.row: record for record in records}
    known = [record for record in records if record.outcome == "optimal"]
    must, blocked, undecided = 0, 0, 0
    increases: list[float] = []
    for record in again:
        before = free[record.row]
        if before.outcome != "optimal" or before.exact_distance is None:
            continue
        distance = Fraction(before.exact_distance)
        if record.outcome == "infeasible":
            must, blocked = must + 1, blocked + 1
        elif record.exact_lower_bound is not None and Fraction(record.exact_lower_bound) > distance:
            must += 1
            if record.outcome == "optimal" and record.exact_distance is not None and distance:
                increases.append(float((Fraction(record.exact_distance) - distance) / distance))
        elif record.outcome != "optimal":
            undecided += 1
    relies = sum(feature in record.changes for record in known)
    return Forbidding(
        feature,
        how,
        share(relies, len(known)),
        share(must, len(known)),
        share(blocked, len(known)),
        undecided,
        estimate(increases, "mean", random_state),
    )


def _flips(feature: str, records: Sequence[Record]) -> Flips:
    flipped = [record for record in records if record.changes]
    never = sum(record.outcome == "infeasible" for record in records)
    examples = [
        {"row": r.row, "label": r.label, "decision": r.decision, "change": r.changes.get(feature)} for r in flipped
    ]
    total = len(records)
    return Flips(feature, share(len(flipped), total), share(never, total), total - len(flipped) - never, examples)


def _blocking(records: Sequence[Record], cores: Sequence[Record]) -> Blocking:
    solved = [record for record in cores if record.outcome == "infeasible"]
    names = Counter(name for record in solved for name in record.core)
    opens = Counter(name for record in solved for name in record.opens)
    return Blocking(
        examined=len(cores),
        infeasible=sum(record.outcome == "infeasible" for record in records),
        minimal=sum(record.core_minimal for record in solved),
        undecided=len(cores) - len(solved),
        model_alone=sum(not record.core for record in solved),
        constraints=[
            Block(name, share(count, len(solved)), share(opens[name], len(solved)))
            for name, count in sorted(names.items(), key=lambda item: (-item[1], item[0]))
        ],
        cores=sorted(Counter(tuple(record.core) for record in solved).items(), key=lambda item: (-item[1], item[0])),
    )
