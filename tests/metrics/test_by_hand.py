"""The measures, against values worked out by hand."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

from mace import metrics
from mace.errors import GoalError, MaceError, RowError
from mace.metrics.distances import deltas, norm_of
from mace.metrics.frames import numbers, paired
from mace.problem.distance import norm
from mace.space.feature import Feature
from mace.space.space import Space

SPACE = Space(
    [
        Feature("age", "integer", 0, 100),
        Feature("pay", "real", 0, 10, step="0.5"),
        Feature("job", "categorical", levels=("a", "b", "c")),
        Feature("rank", "ordinal", levels=("low", "mid", "high")),
    ]
)
# Deviations: of age the median of |x - 30|, which is 10; of pay 0, which becomes 1.
DATA = pd.DataFrame(
    {"age": [20, 30, 30, 40, 50], "pay": [1.0] * 5, "job": list("aabbc"), "rank": ["low", "mid", "mid", "high", "low"]}
)
ROWS = pd.DataFrame({"age": [30, 50], "pay": [1.0, 2.0], "job": ["a", "b"], "rank": ["low", "low"]}, index=["x", "y"])
# Three answers for x, one for y, and a row that is none.
FOUND = pd.DataFrame(
    {
        "age": [40, 30, 30, 50, np.nan],
        "pay": [1.0, 3.0, 1.0, 2.0, np.nan],
        "job": ["a", "b", "c", "b", None],
        "rank": ["low", "low", "high", "mid", None],
    },
    index=["x", "x", "x", "y", "y"],
)
# d of each answer of x: age 10/10 of two numbers; pay 2/1 of two and job of two levels; job and rank of two levels.
D_X = [0.5, 1.0 + 0.5, 1.0]
D_Y = 0.5
# Between them: (1/2 + 2/2) + 1/2;  1/2 + 2/2;  2/2 + 2/2.
D_PAIRS = [2.0, 1.5, 2.0]


def test_a_deviation_of_zero_becomes_one():
    assert metrics.mads(DATA, SPACE) == {"age": 10.0, "pay": 1.0}


def test_proximity_is_the_mean_over_rows_of_the_mean_over_answers():
    assert metrics.proximity(ROWS, FOUND, SPACE, DATA) == pytest.approx((1.0 + D_Y) / 2)
    assert metrics.proximity(ROWS, FOUND.iloc[:3], SPACE, DATA) == pytest.approx(sum(D_X) / 3)


def test_sparsity_is_the_share_of_features_changed():
    assert metrics.sparsity(ROWS, FOUND, SPACE) == pytest.approx(((1 + 2 + 2) / 12 + 1 / 4) / 2)


def test_diversity_is_the_mean_over_pairs():
    assert metrics.diversity(ROWS, FOUND, SPACE, DATA) == pytest.approx(sum(D_PAIRS) / 3)
    assert math.isnan(metrics.diversity(ROWS, FOUND.iloc[3:], SPACE, DATA))


def test_normalised_diversity_has_three_definitions():
    only = FOUND.iloc[:3]
    spread = sum(D_PAIRS) / 3
    assert metrics.normalised_diversity(ROWS, only, SPACE, DATA) == pytest.approx(spread / 1.0)
    assert metrics.normalised_diversity(ROWS, only, SPACE, DATA, by="sparsity") == pytest.approx(spread / (5 / 12))
    by_pairs = (2.0 / (0.5 + 1.5) + 1.5 / (0.5 + 1.0) + 2.0 / (1.5 + 1.0)) / 3
    assert metrics.normalised_diversity(ROWS, only, SPACE, DATA, by="pairs") == pytest.approx(by_pairs)
    with pytest.raises(MaceError, match='"proximity", "sparsity" or "pairs"'):
        metrics.normalised_diversity(ROWS, only, SPACE, DATA, by="other")


def test_table_two_of_the_source_divides_by_proximity():
    # COMPAS, DiCE random and MD-PSO, as printed: proximity, diversity, normalised.
    for near, spread, printed in ((1.3992, 1.7163, 1.2266), (0.2629, 0.2959, 1.1257)):
        assert spread / near == pytest.approx(printed, abs=3e-4)


def test_coverage_counts_what_is_valid_among_what_was_asked_for():
    assert metrics.coverage(ROWS, FOUND, SPACE) == 1.0
    assert metrics.coverage(ROWS, FOUND, SPACE, asked=3) == pytest.approx(4 / 6)
    assert metrics.coverage(ROWS, FOUND, SPACE, valid=[True, False, True, False, False], asked=3) == pytest.approx(
        2 / 6
    )
    assert metrics.coverage(ROWS, FOUND.iloc[4:], SPACE) == 0.0


def test_plausibility_is_the_distance_to_the_nearest_real_row():
    # l1 over (age / 100, pay / 10, job, rank / 2), from the answer (30, 3, b, low) to each of two real rows.
    near = min((0.1 + 0.2 + 0 + 1) / 4, (0 + 0.2 + 1 + 0.5) / 4)
    real = DATA.iloc[[1, 3]]
    assert metrics.plausibility(ROWS, FOUND.iloc[[1]], SPACE, real) == pytest.approx(near)
    assert metrics.plausibility(ROWS, FOUND.iloc[[1]], SPACE, real, "l0") == pytest.approx(3 / 4)
    with pytest.raises(MaceError, match="at least one real row"):
        metrics.plausibility(ROWS, FOUND, SPACE, DATA.iloc[:0])


def test_cost_is_money():
    prices = {"age": 2, "pay": "0.5", "job": 7, "rank": 3}
    # 10 years; 2 units of pay and a job; a job and two ranks; one rank.
    of_x = (20 + (1 + 7) + (7 + 6)) / 3
    assert metrics.cost(ROWS, FOUND, SPACE, prices) == pytest.approx((of_x + 3) / 2)


def test_closeness_is_a_change_in_standard_deviations_where_nothing_is_correlated():
    space = Space([Feature("u", "real", -10, 10, step=1), Feature("v", "real", -10, 10, step=1)])
    data = pd.DataFrame({"u": [-2, -2, 2, 2], "v": [-1, 1, -1, 1]})  # deviations 2 and 1, no covariance
    rows, found = pd.DataFrame({"u": [0], "v": [0]}), pd.DataFrame({"u": [4], "v": [3]})
    assert metrics.closeness(rows, found, space, data) == pytest.approx(4 / 2 + 3 / 1, rel=1e-4)


def test_time_leaves_out_what_was_not_timed():
    assert metrics.time([1.0, float("nan"), 3.0, None, 8.0]) == (4.0, 3.0, 8.0)
    assert all(math.isnan(value) for value in metrics.time([]))


@pytest.mark.parametrize("asked", [0, 1.5, None, "3", True])
def test_how_many_answers_were_asked_for_is_a_whole_number(asked: Any):
    with pytest.raises(MaceError, match="asked must be a whole number >= 1"):
        metrics.coverage(ROWS, FOUND, SPACE, asked=asked)
    with pytest.raises(MaceError, match="seconds are numbers"):
        metrics.time([1.0, "soon"])


def test_validity_asks_the_model_and_a_row_outside_of_the_space_is_not_valid():
    program = "return (1 if age >= 35 else 0)\n"
    outside = FOUND.assign(age=[40, 30, 200, 50, np.nan])
    assert metrics.valid(program, SPACE, FOUND, 1).tolist() == [True, False, False, True, False]
    assert metrics.valid(program, SPACE, outside, 1).tolist() == [True, False, False, True, False]
    assert metrics.validity(program, SPACE, FOUND, 1) == 0.5
    assert math.isnan(metrics.validity(program, SPACE, FOUND.iloc[4:], 1))
    with pytest.raises(GoalError, match="depends on the goal"):
        metrics.validity(program, SPACE, FOUND, None)


def test_no_answers_are_nothing_to_measure():
    none = FOUND.iloc[4:]
    assert math.isnan(metrics.proximity(ROWS, none, SPACE, DATA))
    assert math.isnan(metrics.sparsity(ROWS, none, SPACE))
    assert math.isnan(metrics.normalised_diversity(ROWS, none, SPACE, DATA, by="pairs"))


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (FOUND.drop(columns="pay"), "the counterfactuals have no column `pay`"),
        (FOUND.assign(age=1), "row 'y', column `pay`: the value is missing"),
        (FOUND.iloc[:4].reset_index(drop=True), "the label 0, which no row has"),
        (FOUND.assign(age="old"), "row 'x', column `age`: expected a number, got 'old'"),
        (FOUND.iloc[:4].assign(job="doctor"), "column `job`: 'doctor' is not one of its levels"),
        (FOUND.iloc[:4].assign(rank=0), "column `rank`: 0 is not one of its levels"),
        (FOUND.iloc[:4].astype(object).assign(age=[[1]] * 4), "row 'x', "),
    ],
)
def test_a_frame_that_does_not_fit_says_where(frame, said):
    with pytest.raises(RowError) as raised:
        metrics.sparsity(ROWS, frame, SPACE)
    assert said in str(raised.value)


def test_rows_need_labels_of_their_own():
    with pytest.raises(RowError, match="a label twice"):
        metrics.sparsity(pd.concat([ROWS, ROWS]), FOUND, SPACE)
    with pytest.raises(RowError, match=r"the rows that were explained are a frame .* got Series"):
        metrics.sparsity(ROWS.iloc[0], FOUND, SPACE)


def test_missing_values_count_as_their_cost():
    space = Space(
        [
            Feature("n", "real", 0, 10, missing="any", missing_cost="0.25"),
            Feature("k", "categorical", levels=("a", "b"), missing="any"),
        ]
    )
    rows = pd.DataFrame({"n": [np.nan, 1.0, np.nan], "k": ["a", None, "a"]})
    found = pd.DataFrame({"n": [5.0, np.nan, np.nan], "k": ["a", "b", "b"]})
    pairs = paired(rows, found, space)
    assert deltas(pairs.before, pairs.after, space).tolist() == [[0.25, 0.0], [0.25, 1.0], [0.0, 1.0]]
    assert metrics.sparsity(rows, found, space) == pytest.approx((0.5 + 1 + 0.5) / 3)


def test_scaled_changes_and_norms_are_those_of_questions():
    generator = np.random.default_rng(5)
    names = {"job": list("abc"), "rank": ["low", "mid", "high"]}
    frame = pd.DataFrame(
        {"age": generator.integers(0, 101, 60), "pay": generator.integers(0, 21, 60) / 2}
        | {name: generator.choice(levels, 60) for name, levels in names.items()}
    )
    array = numbers(frame, SPACE, "the rows")
    delta = deltas(array[:30], array[30:], SPACE)
    for spec in ("l0", "l1", "linf", {"l0": "0.25", "linf": "0.75"}):
        of = norm(spec, 4)
        for k in range(30):
            axes = SPACE.axes(frame.iloc[k])
            point = SPACE.point(axes, frame.iloc[30 + k])
            exact = of.of([axis.delta(index) for axis, index in zip(axes, point, strict=True)])
            assert norm_of(of, delta)[k] == pytest.approx(float(exact), abs=1e-12)


# --- DiCE's own example: the query and the answers that its notebook "Advanced options" prints, with its deviations.

ADULT = Space(
    [
        Feature("age", "integer", 17, 90),
        Feature("workclass", "categorical", levels=("Government", "Other/Unknown", "Private", "Self-Employed")),
        Feature(
            "education",
            "categorical",
            levels=("Assoc", "Bachelors", "Doctorate", "HS-grad", "Masters", "Prof-school", "School", "Some-college"),
        ),
        Feature("marital_status", "categorical", levels=("Divorced", "Married", "Separated", "Single", "Widowed")),
        Feature(
            "occupation",
            "categorical",
            levels=("Blue-Collar", "Other/Unknown", "Professional", "Sales", "Service", "White-Collar"),
        ),
        Feature("race", "categorical", levels=("Other", "White")),
        Feature("gender", "categorical", levels=("Female", "Male")),
        Feature("hours_per_week", "integer", 1, 99),
    ]
)
QUERY = (22, "Private", "HS-grad", "Single", "Service", "White", "Female", 45)
ANSWERS = [
    (73, "Private", "Prof-school", "Single", "White-Collar", "White", "Male", 45),
    (22, "Self-Employed", "Doctorate", "Married", "Service", "White", "Female", 45),
    (36, "Private", "HS-grad", "Married", "Professional", "White", "Female", 40),
    (43, "Private", "Masters", "Married", "Service", "White", "Female", 55),
]


def test_the_weights_that_dice_prints_are_range_over_deviation():
    # Deviations 10 and 4; any table with them will do.
    data = pd.DataFrame({"age": [17, 27, 37, 47, 90], "hours_per_week": [1, 36, 40, 44, 99]})
    filled = data.assign(**dict(zip(ADULT.names[1:-1], QUERY[1:-1], strict=True)))
    mads = metrics.mads(filled, ADULT)
    weights = {
        name: round(float(ADULT[name].bounds()[1] - ADULT[name].bounds()[0]) / mad, 2) for name, mad in mads.items()
    }
    assert weights == {"age": 7.3, "hours_per_week": 24.5}
    rows = pd.DataFrame([QUERY], columns=ADULT.names)
    found = pd.DataFrame(ANSWERS, columns=ADULT.names, index=[0] * 4).astype({"age": float})
    said = metrics.dice(rows, found, ADULT, filled, asked=4)
    assert said.validity == 1.0
    # age moves by 51, 0, 14, 21 and hours by 0, 0, 5, 10.
    assert said.continuous_proximity == pytest.approx(-(5.1 + 0 + (1.4 + 1.25) + (2.1 + 2.5)) / 2 / 4)
    assert said.categorical_proximity == pytest.approx(1 - (3 + 3 + 2 + 2) / 6 / 4)
    assert said.sparsity == pytest.approx(1 - (4 + 3 + 4 + 4) / 8 / 4)
    # Pairs 12, 13, 14, 23, 24, 34: ages 51, 37, 30, 14, 21, 7 apart; hours 0, 5, 10, 5, 10, 15.
    apart = [(5.1, 0), (3.7, 1.25), (3.0, 2.5), (1.4, 1.25), (2.1, 2.5), (0.7, 3.75)]
    assert said.continuous_diversity == pytest.approx(sum(map(sum, apart)) / 2 / 6)
    levels = [5, 4, 4, 3, 2, 2]
    assert said.categorical_diversity == pytest.approx(sum(levels) / 6 / 6)
    both = [1, 2, 2, 2, 2, 2]
    assert said.count_diversity == pytest.approx((sum(levels) + sum(both)) / 8 / 6)


def test_a_repetition_is_not_one_more_valid_answer_of_dice():
    rows = pd.DataFrame([QUERY], columns=ADULT.names)
    found = pd.DataFrame([ANSWERS[0], ANSWERS[0], ANSWERS[1]], columns=ADULT.names, index=[0] * 3)
    assert metrics.dice(rows, found, ADULT, asked=4).validity == 0.5
    assert metrics.dice(rows, found, ADULT, asked=4, valid=[True, True, False]).validity == 0.25
