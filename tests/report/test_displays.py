"""Displays draw where they are told, say in words what they show, and have what scikit-learn's have."""

from __future__ import annotations

import itertools
import re
import sys
from dataclasses import replace
from fractions import Fraction

import matplotlib as mpl
import pandas as pd
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.base.figures import cell, move, number, percent
from mace.errors import MaceError
from mace.present.closing import bar
from mace.present.drawing import WIDTH, plain, plain_each, style, to_svg
from mace.present.words import bracketed
from mace.report.displays import MOST_GROUPS, BoundsDisplay, DistanceDisplay
from mace.report.multiples import Reach, ReachDisplay
from mace.report.plots import DISPLAYS
from mace.report.sections import bounds, reach
from mace.report.summary import five
from mace.report.text import as_text
from mace.solve.driver import Bracket
from tests.audit import faults
from tests.report import made

mpl.use("agg")


@pytest.mark.parametrize("name", DISPLAYS)
def test_an_audit_plots_into_the_axes_given(name: str):
    ax = Figure().subplots()
    display = getattr(made.audit(), f"plot_{name}")(ax)
    assert isinstance(display, DISPLAYS[name])
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert ax.has_data()
    assert display.alt


@pytest.mark.parametrize("name", DISPLAYS)
def test_an_audit_plots_into_a_new_figure(name: str):
    import matplotlib.pyplot as pyplot

    display = DISPLAYS[name].from_audit(made.audit())
    assert pyplot.fignum_exists(display.figure_.number)
    again = Figure().subplots()
    assert display.plot(again).ax_ is again
    pyplot.close("all")


@pytest.mark.parametrize("name", DISPLAYS)
def test_an_audit_of_nothing_can_be_plotted(name: str):
    assert "<svg" in to_svg(DISPLAYS[name].of(made.audit(records=[], extra={}, groups={})), "empty")


def test_of_no_rows_nothing_is_said_to_be_proved():
    nothing = made.audit(records=[], extra={}, groups={})
    ax = Figure().subplots()
    DistanceDisplay.of(nothing).plot(ax)
    assert [text.get_text() for text in ax.texts] == ["no rows"]
    decided, stuck, *_ = (said.text for said in five(nothing))
    assert decided.startswith("No row was asked about") and stuck.startswith("Who is stuck is not said")


def test_a_summary_of_answers_within_a_gap_says_so():
    near, far = made.found(0, Fraction(1, 3)), made.found(1, Fraction(1, 3), Fraction(1, 4), status="optimal")
    said = [five(made.audit(records=records, extra={}, groups={}))[0].text for records in ([near], [near, far])]
    assert "within a gap" not in said[0] and "the nearest change that is enough (within a gap of 0.084)" in said[1]


def test_names_that_are_cut_alike_show_where_they_differ():
    names = [f"a really quite long name of feature {k:02} of this table, and $so$ on" for k in range(12)]
    shown = plain_each(names)
    assert len(set(shown)) == 12 and all(len(one) <= 26 and f"{k:02}" in one for k, one in enumerate(shown))
    assert plain_each(["Age", "Age", "Income"]) == ["Age", "Age", "Income"]
    same = "the same long name, said twice here"
    assert plain_each([same, same]) == [plain(same)] * 2


def test_many_groups_are_cut_in_the_plot():
    records = [made.found(n, Fraction(1, n + 2)) for n in range(50)]
    display = DistanceDisplay.of(made.audit(records=records, extra={}, groups={"g": [str(n) for n in range(50)]}))
    assert len(display.groups) == 51
    ax = Figure().subplots()
    display.plot(ax)
    assert len(ax.get_yticks()) == MOST_GROUPS


def test_the_bounds_say_of_how_many_rows_it_is_proved_that_nothing_is_nearer():
    display = BoundsDisplay.of(made.audit())
    assert (display.proved, display.gap) == (2, 0)
    assert display.alt == (
        "2 of 3 rows with a counterfactual are proved to have no nearer one; the widest gap is 0.25; "
        "3 rows have neither one nor a proof that there is none"
    )


def test_a_row_that_is_proved_up_to_the_rounding_of_a_linear_model_is_proved():
    near = replace(made.found(0, Fraction(1, 3)), lower_bound=0.33333)
    audit = made.audit(records=[near, made.found(1, Fraction(1, 2))], extra={}, groups={})
    assert bounds(audit).words == [
        "Of 2 of 2 rows with a counterfactual it is proved that nothing is nearer by more than 3.4e-6. "
        "0 have neither a counterfactual nor a proof that there is none."
    ]


@pytest.fixture(scope="module")
def answer():
    frame = faults.people()
    model = faults.forest(frame, faults.fair(frame))
    return mace.explain(model, faults.space(), frame[faults.fair(frame) == 0].iloc[0], goal=1, background=frame)


def test_an_answer_plots_what_changes(answer):
    ax = Figure().subplots()
    display = answer.plot(ax)
    assert (display.ax_, display.figure_) == (ax, ax.figure)
    assert [change.name for change in display.changes] == list(answer.counterfactuals[0].changes)
    assert all(0 <= change.start <= 1 and 0 <= change.end <= 1 for change in display.changes)
    assert display.title.startswith("optimal: l1 distance 0.")


def test_an_answer_without_that_counterfactual_cannot_be_plotted(answer):
    with pytest.raises(MaceError, match="there is no counterfactual 7 to plot: the answer is optimal and has 1"):
        answer.plot(which=7)


def test_without_matplotlib_the_error_says_what_to_install(answer, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (answer.plot, made.audit().plot_status, lambda: mace.report(made.audit(), "never.html")):
        with pytest.raises(MaceError, match=r"pip install 'mace-smt\[report\]'"):
            draw()


def test_numbers_are_rounded_the_way_that_is_asked():
    assert number(1 / 3, 6, "down") == "0.333333"
    assert number(1 / 3, 6, "up") == "0.333334"
    assert number(Fraction(1, 5), 9, "down") == number(Fraction(1, 5), 9, "up") == "0.2"
    assert number(Fraction(2**2000, 2**2000 + 1), 9, "down") == "0.999999999"
    assert [number(0.0), number(1234567.0, 9), number(0.5), number(1e-12), number(float("inf"))] == [
        "0", "1,234,567", "0.5", "1e-12", "inf",
    ]  # fmt: skip
    assert [percent(0.9996), percent(1.0), percent(0.0), percent(0.0001), percent(None)] == [
        ">99.9%", "100.0%", "0.0%", "<0.1%", "none",
    ]  # fmt: skip
    assert [cell(None), cell(float("nan")), cell(True), cell(1200), cell(0.1, "EUR")] == [
        "missing", "missing", "True", "1,200", "0.1 EUR",
    ]  # fmt: skip
    assert [move(0.1, 0.3), move(5, 2), move("a", "b"), move(None, 1)] == ["+0.2", "-3", "", ""]


def test_a_printed_bound_says_no_more_than_was_proved():
    lower, upper = Fraction(123456789999, 10**12), Fraction(123456790001, 10**12)
    assert bracketed("cost", upper, lower) == "cost 0.123456791, lower bound 0.123456789, gap 2e-12"
    assert bracketed("cost", lower, lower) == "cost = lower bound = 0.12345679, gap 0"
    assert bar(Bracket(lower, upper)).split()[1] == "0.123456" and bar(Bracket(lower, upper)).split()[-1] == "0.123457"


def test_what_is_unseen_in_a_unit_is_shown_by_its_number():
    assert cell(1200, "EUR\x1b[31m") == "1,200 EUR\\x1b[31m"


def test_a_table_shows_a_value_and_its_move_as_a_sentence_does():
    space = mace.Space([mace.Feature("Turnover", "real", 0, 2_000_000, step=0.5), mace.Feature("Age", "integer", 0, 9)])
    frame = pd.DataFrame({"Turnover": [1_234_567.5, 1_234_569.5, 5.0, 1.0], "Age": [1, 1, 2, 2]})
    tree = DecisionTreeClassifier(max_depth=1, random_state=0).fit(space.encode(frame), [0, 1, 0, 0])
    answer = mace.explain(tree, space, frame.iloc[0], goal=1)
    assert re.search(r"Turnover +1,234,567.5 +1,234,569  \(\+1.5\)", str(answer))
    assert answer.sentences() == ["Turnover from 1,234,567.5 to 1,234,569"]


def test_the_reach_counts_what_is_found_and_leaves_open_what_is_not_proved():
    half_open = made.found(1, Fraction(1, 2), Fraction(1, 8))
    records = [made.found(0, Fraction(1, 4)), half_open, made.blocked(2), made.failed(3)]
    audit = made.audit(records=records, extra={}, groups={"Sex": ["f", "f", "m", "m"]})
    display = ReachDisplay.of(audit)
    assert [(g.name, g.rows, g.enough, g.possible) for g in display.panels] == [
        ("Sex: f", 2, (0.25, 0.5), (0.125, 0.25)), ("Sex: m", 2, (), (0.0,))
    ]  # fmt: skip
    assert [display.everyone.share(size) for size in (0.2, 0.25, 1)] == [0, 0.25, 0.5]
    assert display.alt == "at a distance of 0.25: Sex: f 50.0% of 2 rows; Sex: m 0.0% of 2 rows"


def test_a_few_far_rows_do_not_leave_the_others_without_room():
    records = [made.found(n, Fraction(n + 1, 1000)) for n in range(98)] + [
        made.found(98, Fraction(1)),
        made.found(99, Fraction(2)),
    ]
    audit = made.audit(records=records, extra={}, groups={"Sex": ["f", "m"] * 50})
    display = ReachDisplay.of(audit)
    assert display.beyond == 100 - 95 and display._farthest == 0.095
    assert "5 rows need more than the axes show" in reach(audit).plots[0].caption


def test_the_tables_of_a_notebook_wrap_and_are_those_of_the_text():
    audit = made.audit()
    html = audit._repr_html_()
    assert "<pre>" not in html and html.count("<table>") >= 3
    plain = re.sub(r"<[^>]*>", " ", html).replace("&#x27;", "'").replace("&gt;", ">").replace("&lt;", "<")
    assert set(re.sub("[─━]+", " ", str(audit)).replace("&amp;", "&").split()) <= set(plain.split())


def test_a_table_that_is_cut_says_so():
    records = [made.found(n, Fraction(1, n + 2), changes={f"f{n}": [0, 1]}, notes=[f"n{n}"]) for n in range(30)]
    said = " ".join(as_text(made.audit(records=records, extra={}, groups={})).split())
    assert "beside their proofs; the first 12 of 30" in said and said.count("the first 12 of 30") == 2
    assert "the first" not in as_text(made.audit())


@pytest.mark.parametrize(
    "names", [("Job: self-employed", "Job: civil servant", "Sex: female"), ("NEAR THE OCEAN, OR ON AN ISLAND",) * 3]
)
def test_small_multiples_do_not_write_into_their_neighbours(names: tuple[str, ...]):
    one = Reach("everyone", 1234, (0.01, 0.02), (0.01, 0.02))
    display = ReachDisplay(one, [replace(one, name=name) for name in names], "l1")
    with style():
        figure = Figure(figsize=(WIDTH, display.height), layout="constrained")
        canvas, ax = FigureCanvasAgg(figure), figure.subplots()
        display.plot(ax)
        canvas.draw()
        boxes = [text.get_window_extent(canvas.get_renderer()) for text in ax.texts]
    assert not any(a.overlaps(b) for a, b in itertools.combinations(boxes, 2))
    if len(names[0]) < 20:
        assert {text.get_text() for text in ax.texts} >= {f"{name} (1,234)" for name in names}


def test_what_all_groups_are_groups_of_stands_once():
    names = ["NEAR OCEAN", "NEAR BAY", "INLAND"]
    records = [made.found(n, Fraction(1, n + 2)) for n in range(3)]
    ax = ReachDisplay.of(made.audit(records=records, extra={}, groups={"ocean_proximity": names})).plot().ax_
    assert {text.get_text() for text in ax.texts} >= {f"{name} (1)" for name in names}
    assert ax.get_xlabel().endswith("distance, by ocean_proximity")
