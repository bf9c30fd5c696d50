"""Every figure of the findings, from eight records that a reader can count."""

from __future__ import annotations

from typing import Any

import pytest

from mace.audit.findings import Findings, findings_of, forbidding_of
from mace.audit.record import Record

GROUPS = {"Sex": ["f", "f", "f", "f", "m", "m", "m", "m"]}


def record(row: int, part: str = "main", **more: Any) -> Record:
    if "exact_distance" in more:
        more.setdefault("exact_lower_bound", more["exact_distance"])
        more.setdefault("distance", float(eval(more["exact_distance"])))
    return Record(row, f"r{row}", part, f"{part}{row}", **more)


def optimal(row: int, distance: str, changes: dict[str, list[Any]], part: str = "main", **more: Any) -> Record:
    return record(row, part, status="optimal", exact_distance=distance, changes=changes, **more)


MAIN = [
    optimal(0, "1/4", {"Age": [30, 31]}, proof="accepted", certificate_bytes=100, notes=["`Debts` stays missing"]),
    optimal(1, "1/2", {"Age": [40, 35], "Job": ["clerk", "sales"]}, proof="accepted", certificate_bytes=50),
    record(2, status="infeasible", proof="accepted", certificate_bytes=7),
    record(3, status="unknown", failure="timeout"),
    optimal(4, "3/4", {"Owner": [False, True]}, proof="solvers"),
    record(
        5,
        status="bounded",
        exact_distance="1",
        exact_lower_bound="1/2",
        changes={"Age": [20, 22], "Debts": [None, 3]},
        proof="none",
    ),
    record(6, status="unknown", notes=["`Debts` stays missing"]),
    optimal(7, "1", {"Income": [1.5, 1.0], "Age": [50, 51]}, proof="unchecked"),
]
FIXED = [
    optimal(0, "1/2", {"Income": [1, 2]}, "fixed:Age"),  # twice as far
    record(1, "fixed:Age", status="infeasible"),
    optimal(4, "3/4", {"Owner": [False, True]}, "fixed:Age"),  # as near as before
    record(7, "fixed:Age", status="unknown", exact_lower_bound="1/2"),
    record(5, "fixed:Age", status="infeasible"),  # the free question is not settled: says nothing
]
FLIPS = [
    record(0, "flip:Sex", status="optimal", decision=1, changes={"Sex": ["f", "m"]}),
    record(1, "flip:Sex", status="infeasible", decision=0),
    record(4, "flip:Sex", status="unknown", decision=0),
]
CORES = [
    record(2, "core", status="infeasible", core=["Age may not fall", "rule"], opens=["rule"], core_minimal=True),
    record(3, "core", status="infeasible", core=["rule"], opens=["rule"]),
    record(4, "core", status="infeasible", core=["rule"]),
    record(5, "core", status="infeasible"),
    record(6, "core", status="unknown"),
]


@pytest.fixture(scope="module")
def found() -> Findings:
    extra = {"fixed:Age": FIXED, "flip:Sex": FLIPS, "core": CORES}
    return findings_of(MAIN, extra, GROUPS, ["Age", "Sex"], 0)


def test_rows_are_counted_by_how_they_ended(found: Findings) -> None:
    statuses = found.statuses
    assert statuses.counts == {"bounded": 1, "infeasible": 1, "optimal": 4, "timeout": 1, "unknown": 1}
    assert statuses.proofs == {"accepted": 3, "none": 3, "solvers": 1, "unchecked": 1}
    assert (statuses.proved.count, statuses.certified.count, statuses.unknown.count) == (5, 3, 2)
    assert {statuses.proved.of, statuses.certified.of, statuses.unknown.of} == {8}
    assert statuses.certificate_bytes == 157
    assert found.notes == [("`Debts` stays missing", 2)]


def test_who_has_no_way_out_is_counted_by_group(found: Findings) -> None:
    assert [(one.group, one.proved.count, one.proved.of, one.undecided, one.at_most) for one in found.no_recourse] == [
        ("everyone", 1, 8, 2, 3 / 8),
        ("f", 1, 4, 1, 2 / 4),
        ("m", 0, 4, 1, 1 / 4),
    ]


def test_distances_are_those_of_the_proved_rows(found: Findings) -> None:
    everyone, women, men = found.distances
    assert (everyone.count, everyone.left_out, everyone.mean.value, everyone.median.value) == (4, 3, 0.625, 0.625)
    assert (women.count, women.left_out, women.mean.value) == (2, 1, 0.375)
    assert (men.count, men.left_out, men.mean.value) == (2, 2, 0.875)
    assert everyone.quantiles["min"] == 0.25 and everyone.quantiles["max"] == 1.0
    assert everyone.quantiles["q25"] == 0.4375 and everyone.quantiles["q90"] == pytest.approx(0.925)


def test_what_answers_change_and_which_way(found: Findings) -> None:
    assert [
        (one.feature, one.changed.count, one.changed.of, one.raised, one.lowered, one.protected, one.alone)
        for one in found.reliance
    ] == [
        ("Age", 4, 5, 3, 1, True, 1),
        ("Debts", 1, 5, 0, 0, False, 0),  # A value that was missing is no lower one.
        ("Income", 1, 5, 0, 1, False, 0),
        ("Job", 1, 5, 0, 0, False, 0),
        ("Owner", 1, 5, 0, 0, False, 1),  # A truth is no number: it neither rises nor falls.
    ]
    assert found.on_protected is not None
    assert (found.on_protected.count, found.on_protected.of) == (4, 5)


def test_what_it_costs_to_forbid_a_feature(found: Findings) -> None:
    (age,) = found.forbidding
    assert (age.feature, age.how) == ("Age", "fixed")
    assert (age.relies.count, age.relies.of) == (3, 4)
    assert (age.must.count, age.blocked.count, age.undecided) == (2, 1, 1)
    assert (age.increase.value, age.increase.of) == (1.0, 1)


def test_how_much_farther_counts_only_what_is_settled_and_was_not_at_hand() -> None:
    free = [optimal(row, distance, {"Age": [1, 2]}) for row, distance in enumerate(("1/2", "0", "1/4", "1/8"))]
    again = [
        record(0, "fixed:Age", status="bounded", exact_distance="3", exact_lower_bound="2"),  # farther
        optimal(1, "1", {"Job": [1, 2]}, "fixed:Age"),  # from nothing to something: no share of it
        optimal(2, "1/2", {"Job": [1, 2]}, "fixed:Age"),  # twice as far
        record(3, "fixed:Age", status="bounded", exact_distance="1", exact_lower_bound="1/8"),  # at least as far
    ]
    age = forbidding_of(free, again, "Age", "fixed", 0)
    assert (age.must.count, age.must.of, age.blocked.count, age.undecided) == (3, 4, 0, 1)
    assert (age.increase.value, age.increase.of) == (1.0, 1)


def test_which_decisions_flip_with_a_protected_feature_alone(found: Findings) -> None:
    (sex,) = found.flips
    assert (sex.feature, sex.flips.count, sex.never.count, sex.undecided, sex.flips.of) == ("Sex", 1, 1, 1, 3)
    assert sex.examples == [{"row": 0, "label": "r0", "decision": 1, "change": ["f", "m"]}]


def test_what_blocks_those_without_a_way_out(found: Findings) -> None:
    blocking = found.blocking
    assert blocking is not None
    assert (blocking.examined, blocking.infeasible, blocking.minimal) == (5, 1, 1)
    assert (blocking.undecided, blocking.model_alone) == (1, 1)
    assert [(one.constraint, one.in_cores.count, one.opens.count, one.opens.of) for one in blocking.constraints] == [
        ("rule", 3, 2, 4),
        ("Age may not fall", 1, 0, 4),
    ]
    assert blocking.cores == [(("rule",), 2), ((), 1), (("Age may not fall", "rule"), 1)]


def test_findings_are_plain_values_for_json(found: Findings) -> None:
    plain = found.to_dict()
    assert plain["statuses"]["counts"]["optimal"] == 4
    assert plain["statuses"]["proved"]["share"] == 5 / 8
    assert plain["distances"][0]["quantiles"]["min"] == 0.25
    assert plain["reliance"][0]["feature"] == "Age"


def test_without_protected_features_nothing_is_said_about_them() -> None:
    found = findings_of(MAIN, {}, {}, [], 0)
    assert found.on_protected is None and found.blocking is None
    assert found.forbidding == [] and found.flips == []
    assert [one.group for one in found.no_recourse] == ["everyone"]
