"""What somebody sees who uses the tool for the first time: spaces that are inferred, words that are nearly right."""

from __future__ import annotations

import re
import shlex
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from pathlib import Path

import joblib
import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

import mace
from mace.audit.record import Record
from mace.audit.rows import groups_of
from mace.base.deadline import Deadline, standing, stoppable
from mace.base.figures import cell, counted, size_of
from mace.base.suggestions import among, closest, few, meant
from mace.cli import app
from mace.cli.options import Given, Limits, names_of
from mace.cli.output import wrapped
from mace.compilers import load_model, read
from mace.errors import FileError, GoalError, MaceError, ModelError, RowError, SpaceError
from mace.problem.distance import DistanceError
from mace.problem.goal_text import parse, wanted
from mace.problem.programs import rule_of
from mace.report.text import as_text


@pytest.fixture(scope="module")
def table() -> pd.DataFrame:
    ages = np.arange(20, 60)
    return pd.DataFrame(
        {
            "Age": ages,
            "Income": ages * 1000.0 + 0.5,
            "CustomerId": [f"c{place:04}" for place in range(40)],
            "Since": [f"2020-01-{1 + place % 28:02}" for place in range(40)],
            "Good": (ages >= 40).astype(int),
        }
    )


@pytest.fixture(scope="module")
def tree(table: pd.DataFrame) -> DecisionTreeClassifier:
    return DecisionTreeClassifier(random_state=0).fit(table[["Age", "Income"]], table["Good"])


def test_without_a_space_one_is_inferred_of_the_models_own_columns(tree, table):
    answer = mace.explain(tree, table, table.iloc[0])
    assert answer.status == "optimal" and answer.space.names == ["Age", "Income"]
    notes = " ".join(answer.notes)
    assert (
        "no space was given" in notes
        and "left out, since the model does not take them: CustomerId, Since, Good" in notes
    )
    assert "Age: can it fall?" in notes


def test_an_array_is_a_frame_whose_columns_are_numbered(tree, table):
    X = table[["Age", "Income"]].to_numpy()
    fitted = DecisionTreeClassifier(random_state=0).fit(X, table["Good"])
    by_array, by_frame = mace.explain(fitted, X, X[0]), mace.explain(tree, table, table.iloc[0])
    assert by_array.space.names == ["x0", "x1"]
    # The columns of an array have one type, so that a whole number may become any float.
    assert by_array.status == "optimal" and by_array.distance == pytest.approx(by_frame.distance, rel=0.2)
    with pytest.raises(SpaceError, match=r"shape \(rows, columns\)"):
        mace.Space.from_frame(X[0])


def test_a_frame_that_lacks_a_column_of_the_model_says_which(tree, table):
    with pytest.raises(ModelError, match="the model takes a column `Income`") as caught:
        mace.explain(tree, table.rename(columns={"Income": "income"}), table.iloc[0])
    assert "Did you mean 'income'?" in caught.value.hint


def test_a_column_of_numbers_with_a_text_among_them_says_which(table):
    mixed = pd.DataFrame({"Income": [*map(str, range(19)), "1,200"], "Code": [f"0{k}" for k in range(20)]})
    asked = [note for note in mace.Space.from_frame(mixed).notes if note.startswith("please check")]
    assert asked == [
        "please check: Income: is it a number? All 20 values are but one, '1,200' in row 19. "
        "As it stands each one counts as a level of its own"
    ]
    edges = mace.Space.from_frame(pd.DataFrame({"Home": [" rent", "own", "rent"]}))
    assert edges.notes[0] == "Home: categorical with the levels ' rent', own, rent"


def test_an_inferred_space_asks_about_dates_identifiers_and_what_only_grows(table):
    more = pd.concat([table] * 3, ignore_index=True)
    more["CustomerId"] = [f"c{place:04}" for place in range(120)]
    asked = [note for note in mace.Space.from_frame(more).notes if note.startswith("please check")]
    assert [note.split(":")[1].strip() for note in asked] == ["Age", "CustomerId", "Since"]
    # Who reads it may be at a command line.
    assert asked[0].endswith("""increase=['Age'] (in a space file: change = "increase")""")
    dates = mace.Space.from_frame(pd.DataFrame({"Since": pd.to_datetime(["2020-01-01", "2020-01-02", "2020-01-03"])}))
    assert dates.notes[0] == "Since: categorical with the levels 2020-01-01, 2020-01-02, 2020-01-03"
    told = mace.Space.from_frame(more, increase="Age", categorical="Since", fixed=["CustomerId"])
    assert not [note for note in told.notes if note.startswith("please check")]
    assert told["Age"].change == "increase" and told["CustomerId"].change == "fixed"


def test_words_that_are_nearly_right_are_named(tree, table):
    space = mace.Space.from_frame(table[["Age", "Income"]])
    assert meant("incme", ["Age", "Income"]) == "Did you mean 'Income'?" and meant("xyz", ["Age"]) == ""
    many = [f"V{n}" for n in range(10_000)]
    assert few("abc") == "a, b, c" and few(many, 2) == "V0, V1, .." and few([]) == ""
    assert among("V1O", many).startswith("Did you mean 'V1'? It has V0, ") and len(among("V1O", many)) < 100
    assert meant(10**9999, [1, 2], "Use 1 or 2.") == "Use 1 or 2." and meant("a" * 9999, ["a"]) == ""
    for wrong, error, hint in (
        (lambda: space["Incom"], SpaceError, "Income"),
        (lambda: mace.Space.from_frame(table, fixed=["age"]), SpaceError, "Age"),
        (lambda: space.row({"age": 30, "Income": 1.0}), RowError, "age"),
        (lambda: mace.explain(tree, space, table.iloc[0], oracle="ensemble"), MaceError, "ensembles"),
        (lambda: parse("god", ["good", "bad"]), GoalError, "good"),
        (lambda: mace.datasets.load("loan"), FileError, "loans"),
        (lambda: mace.explain(tree, space, table.iloc[0], objectives=["chnges"]), DistanceError, "changes"),
        (lambda: mace.explain(tree, space, table.iloc[0], proposer="tabo"), MaceError, "tabu"),
        (lambda: mace.rules.seen(table, "Incme"), SpaceError, "Income"),
        (lambda: mace.reproduce.reproduce("mace-tabel-3"), MaceError, "mace-table-3"),
        (lambda: mace.metrics.proximity(table, table.rename(columns={"Age": "age"}), space), RowError, "age"),
        (lambda: mace.verify(tree, space, "monotne(Age, increasing)"), MaceError, "monotone"),
    ):
        with pytest.raises(error) as caught:
            wrong()
        assert f"Did you mean '{hint}'?" in caught.value.hint
    with pytest.raises(AttributeError, match="Did you mean 'explain'"):
        _ = mace.explian
    with pytest.raises(AttributeError, match=r"it is in mace.compilers"):
        _ = mace.load_model
    with pytest.raises(AttributeError, match=r"before `import mace.present`"):
        mace.__getattr__("present")  # which the tests have imported long ago


@pytest.mark.parametrize("row", [0, 30])  # which lacks the goal, which has it: then nothing is searched
def test_a_wrong_argument_is_one_whether_or_not_it_comes_to_a_search(tree, table, row):
    explainer = mace.Explainer(tree, mace.Space.from_frame(table[["Age", "Income"]]))
    for wrong, message in (
        ({"oracle": "foo"}, "unknown oracle 'foo'"),
        ({"oracle": "search"}, "only asks the model, and this is asked of a model that is read"),
        ({"gap": -1}, "gap must be a number >= 0"),
        ({"diversity": "foo"}, "diversity must be"),
        ({"diversity": "F"}, "diversity 'F' is about answers that are found together"),
    ):
        with pytest.raises(MaceError, match=message) as caught:
            explainer.explain(table.iloc[row], goal=1, **wrong)
        assert "Did you mean" not in caught.value.hint


@pytest.mark.parametrize("wrong", [{"oracle": "foo"}, {"oracle": "search"}, {"rgap": "x"}])
def test_an_audit_does_not_ask_every_row_what_cannot_be_asked(tree, table, wrong):
    space = mace.Space.from_frame(table[["Age", "Income"]])
    with pytest.raises(MaceError, match=r"oracle|rgap"):
        mace.audit(tree, space, table, goal=1, n_jobs=1, **wrong)


@pytest.mark.parametrize(
    ("decisions", "message"),
    [
        ({0: "no", 1: "no"}, "calls two classes 'no'"),
        ({0: "1", 1: "0"}, "calls the class '0' by the label of another class, '1'"),
        ({0: "no", 1: " "}, "has no name for the class '1'"),
        ({0: "no", "0": "yes"}, "names the class '0' twice"),
    ],
)
def test_a_word_for_a_decision_stands_for_one_class(table, decisions, message):
    """An answer said "decision: no, wanted: no"."""
    with pytest.raises(SpaceError, match=message):
        mace.Space.from_frame(table[["Age"]], decisions=decisions)
    mace.Space.from_frame(table[["Age"]], decisions={0: "0", 1: "yes"})


def test_names_of_decisions_that_no_class_has_are_told_of_in_every_answer(tree, table):
    space = mace.Space.from_frame(table[["Age", "Income"]], decisions={0: "refused", 1: "approved", "2": "later"})
    note = "the space's `decisions` name 2, which is no class of the model: its classes are 0, 1"
    asked = {"goal": "approved", "timeout": 30}
    world = mace.World.read("action earn:\n    Income = Income + 50000\n    cost 1\n", space)
    row = table.iloc[0]
    assert note in mace.explain(tree, space, row, **asked).notes
    assert note in mace.Explainer(tree, space).menu(row, **asked).notes
    assert note in mace.front(tree, space, row, **asked).notes
    assert note in mace.plan(tree, space, row, world, **asked).notes
    assert note in mace.verify(tree, space, "reachable(1)").notes
    known = mace.BlackBox(lambda rows: (rows["Age"] > 30).astype(int), classes=[0, 1])
    assert note in mace.explain(known, space, row, **asked).notes


def test_a_class_that_is_a_whole_float_is_called_as_its_integer(table):
    space = mace.Space.from_frame(table[["Age", "Income"]], decisions={0: "refused", 1: "approved"})
    tree = DecisionTreeClassifier(random_state=0).fit(table[["Age", "Income"]], table.Good.astype(float))
    answer = mace.explain(tree, space, table.iloc[0], goal="approved")
    assert str(answer).startswith("decision: refused, wanted: approved") and answer.notes == []


def test_a_name_that_needs_marks_is_shown_with_them(table, tree):
    space = mace.Space([mace.Feature("monthly income", "integer", 0, 9), mace.Feature("one", "integer", 0, 9)])
    for rule, name in (("monthly income >= 3", "`monthly income`"), ("one > 3 and `monthly income` > 1", "`one`")):
        with pytest.raises(MaceError, match=f"is written in backquotes: {name}"):
            rule_of(rule, space)
    assert rule_of("`monthly income` >= `one`", space).reads == {"monthly income": 0, "one": 1}
    with pytest.raises(MaceError, match="stands in quotes"):
        mace.verify(tree, space, "monotone(monthly income, increasing)")
    assert closest("income", ["home", "monthly income (EUR)"]) == "monthly income (EUR)"
    assert closest("incomes", ["income", "monthly income"]) == "income"


def test_a_table_of_a_space_shows_the_first_of_many_levels(tmp_path):
    file = tmp_path / "many.csv"
    pd.DataFrame({"name": [f"n{place:04}" for place in range(500)], "x": range(500)}).to_csv(file, index=False)
    shown = CliRunner().invoke(app, ["inspect", "--data", str(file)]).stdout
    assert "n0029 and 470 more" in shown and max(map(len, shown.splitlines())) < 400
    told = CliRunner().invoke(app, ["inspect", "--data", str(file), "--format", "json"]).stdout
    assert "n0499" in told


def test_a_goal_that_is_the_name_of_another_label_says_so(tree, table):
    space = mace.Space.from_frame(table[["Age", "Income"]], decisions={"no": "refused", "yes": "approved"})
    with pytest.raises(GoalError, match="The space's `decisions` are names of other labels: no, yes"):
        mace.explain(tree, space, table.iloc[0], goal="approved")


def test_a_space_is_understood_only_with_its_rules(table, tmp_path):
    from mace.cli import app

    mace.Space.from_frame(table[["Age", "Income"]], rules=["Age >= start_Age"]).save(tmp_path / "good.toml")
    text = (tmp_path / "good.toml").read_text(encoding="utf-8")
    (tmp_path / "bad.toml").write_text(text.replace("start_Age", "start_Agee"), encoding="utf-8")
    assert CliRunner().invoke(app, ["inspect", "--space", str(tmp_path / "good.toml")]).exit_code == 0
    ran = CliRunner().invoke(app, ["inspect", "--space", str(tmp_path / "bad.toml")])
    assert isinstance(ran.exception, MaceError) and "Did you mean `start_Age`?" in str(ran.exception)


def test_a_refused_model_names_the_nearest_class_that_is_read():
    class ExtraTreesClassifyer:
        def predict(self, X):
            return X

    with pytest.raises(ModelError) as caught:
        read(ExtraTreesClassifyer())
    assert "The nearest that is read is ExtraTreesClassifier" in caught.value.hint and len(caught.value.hint) < 200


def test_a_distance_may_be_written_as_in_papers(tree, table):
    space = mace.Space.from_frame(table[["Age", "Income"]])
    assert mace.explain(tree, space, table.iloc[0], distance="L1").distance_name == "l1"


def test_groups_may_be_a_series():
    frame = pd.DataFrame({"a": [1, 2, 3]})
    assert groups_of(pd.Series(["x", "y", "x"], name="Team", index=[7, 8, 9]), frame, [0, 2]) == {"Team": ["x", "x"]}
    assert groups_of(pd.Series(["x", "y", "x"]), frame, [1]) == {"group": ["y"]}


def test_an_audit_without_certificates_shows_no_share_of_them(tree, table, tmp_path):
    space = mace.Space.from_frame(table[["Age", "Income"]])
    audit = mace.audit(tree, space, table, goal=1, n_jobs=1, limit=2)
    assert "no certificates were asked for" in as_text(audit) and "certified 0" not in as_text(audit)
    page = audit.to_html(tmp_path / "audit.html")
    assert "No certificates were asked for" in page.read_text()


def test_the_space_of_a_csv_file_is_written_to_be_edited_and_an_edited_one_stays(table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table.to_csv("people.csv", index=False)
    wanted_file = ["inspect", "--data", "people.csv", "--target", "Good", "--save", "people.toml"]
    first = CliRunner().invoke(app, wanted_file)
    assert first.exit_code == 0 and "space people: 4 features" in first.stdout
    assert mace.Space.load("people.toml") == mace.Space.from_frame(table.drop(columns="Good"), name="people")
    edited = Path("people.toml").read_text().replace('kind = "integer"', 'kind = "integer"\nchange = "fixed"', 1)
    Path("people.toml").write_text(edited)
    again = CliRunner().invoke(app, wanted_file)
    assert isinstance(again.exception, FileError) and "may have been edited" in str(again.exception)
    assert mace.Space.load("people.toml")["Age"].change == "fixed"


def test_the_command_for_another_space_leaves_out_what_was_left_out(tmp_path, monkeypatch):
    """Its file had the target as a feature: without --target distances were others, with it no row could be read."""
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"a": [0, 1, 2, 3], "b": [1, 0, 1, 0], "late, or not": [0, 0, 1, 1]})
    table.to_csv("t.csv", index=False)
    joblib.dump(DecisionTreeClassifier(random_state=0).fit(table[["a", "b"]], table["late, or not"]), "m.joblib")
    asked = ["explain", "--model", "m.joblib", "--trust-pickle", "--data", "t.csv", "--row", "0", "--goal", "1"]
    for number, more in enumerate((["--target", "late, or not"], ["--drop", '"late, or not"'], [])):
        said = CliRunner().invoke(app, [*asked, *more]).stderr
        found = re.search(r"to say otherwise: mace (inspect .* --save )space.toml, edit it", said)
        assert found is not None, said
        made = CliRunner().invoke(app, [*shlex.split(found[1]), f"{number}.toml"])
        assert made.exit_code == 0 and mace.Space.load(f"{number}.toml").names == ["a", "b"], made
    mace.Space.from_frame(table).save("whole.toml")
    wrong = CliRunner().invoke(app, [*asked, "--target", "late, or not", "--space", "whole.toml"])
    assert isinstance(wrong.exception, SpaceError) and "declares it as a feature" in str(wrong.exception)


def test_a_name_with_a_comma_stands_in_quotes():
    assert names_of("Sex, Age,") == ["Sex", "Age"] and names_of(None) == names_of("") == []
    assert names_of('"income, net", Sex') == ["income, net", "Sex"]
    assert names_of('5" pipe,Sex') == ['5" pipe', "Sex"]
    assert names_of('"a ""b""",c\r\n[d],"e') == ['a "b"', "c\r\n[d]", '"e']


def test_what_is_inferred_of_a_wide_table_has_room_on_a_screen(tmp_path):
    wide = pd.DataFrame({f"pixel_{place}": [0, place] for place in range(60)} | {"dark": [0, 1]})
    wide.to_csv(tmp_path / "wide.csv", index=False)
    tree = DecisionTreeClassifier(random_state=0).fit(wide.drop(columns="dark"), wide["dark"])
    joblib.dump(tree, tmp_path / "tree.joblib")
    given = ["--data", str(tmp_path / "wide.csv"), "--target", "dark", "--model", str(tmp_path / "tree.joblib")]
    said = CliRunner().invoke(app, ["explain", *given, "--trust-pickle"]).stderr.splitlines()
    assert len(said) == 5 and said[1] == "  60 features, each with the values observed: 59 integer, 1 binary", said
    assert said[2] == "  with one value only, so that they cannot change: pixel_0"
    assert "mace inspect --data" in said[3] and "--save space.toml" in said[4]


def test_that_there_is_no_other_answer_says_other_in_what():
    grid = pd.DataFrame([(a, b) for a in range(10) for b in range(3)], columns=["a", "b"])
    model = DecisionTreeClassifier(random_state=0).fit(grid, grid["a"] > 5)
    notes = {
        diversity: mace.explain(model, grid, grid.iloc[0], count=99, diversity=diversity).notes
        for diversity in ("features", 0.4, "points")
    }
    assert any("whatever else reaches the goal changes all features that one" in note for note in notes["features"])
    assert any("whatever else reaches the goal is too near to one of these" in note for note in notes[0.4])
    assert any(note.endswith("(proved: there is no other)") for note in notes["points"])
    space = mace.Space.from_frame(grid)
    asked = mace.explain(lambda rows: rows["a"] > 5, space, grid.iloc[0], goal=True, count=9).notes
    assert any("1 of 9 answers found (there is no other; whatever else reaches" in note for note in asked)
    assert len([note for note in asked if note.startswith("asked about")]) == 1


def test_a_display_prints_as_itself(tree, table):
    pytest.importorskip("matplotlib").use("agg")
    answer = mace.explain(tree, mace.Space.from_frame(table[["Age", "Income"]]), table.iloc[0])
    assert repr(answer.plot()).startswith("AnswerDisplay(") and " at 0x" not in repr(answer.plot())
    three = mace.explain(tree, table, table.iloc[0], count=3, diversity="points")
    assert len(three.counterfactuals) == 3
    names = [change.name for change in three.plot().changes]
    assert {name.partition(".")[0] for name in names} == {"1", "2", "3"}
    assert three.plot().figure_.get_suptitle().startswith("3 ways") and len(three.plot(which=1).changes) < len(names)


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_ends_the_deadlines_that_began_within_and_a_second_one_interrupts():
    assert threading.current_thread() is threading.main_thread()
    with stoppable():
        deadline = Deadline.after(1000)
        part = deadline.share(0.5)
        with stoppable():
            signal.raise_signal(signal.SIGINT)
        assert deadline.over and part.over and deadline.why == "interrupted" and deadline.left() == 0
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert not Deadline.after(1000).over and signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.usefixtures("ctrl_c")
def test_an_interrupted_answer_is_the_bracket_so_far(tree, table):
    space = mace.Space.from_frame(table[["Age", "Income"]])

    def stop(_: object) -> None:
        signal.raise_signal(signal.SIGINT)

    answer = mace.explain(
        tree, space, table.iloc[0], background=table, oracle="z3", callback=stop, gap=1e-12, distance="l1"
    )
    assert answer.status in ("bounded", "optimal") and answer.counterfactuals
    assert answer.status == "optimal" or answer.why == "interrupted"


def test_results_are_short_where_they_are_shown_by_themselves(tree, table):
    X = table[["Age", "Income"]]
    space = mace.Space.from_frame(X, step={"Income": 0.5})
    world = mace.World.read("action wait:\n    Age = Age + 9\n    cost 1\n", space)
    explainer, asked = mace.Explainer(tree, space), mace.BlackBox(tree.predict, classes=[0, 1])
    audit = mace.audit(tree, space, X, {"old": X.Age > 30}, goal=1, limit=2, n_jobs=1, flips=False, progress=False)
    shown = [
        explainer, world, asked, audit, audit.findings, audit.by_group("old"), mace.Planner(tree, space, world),
        mace.plan(tree, space, X.iloc[19], world, goal=1), explainer.explain(X.iloc[0]).certificate,
        mace.compare(tree, X.iloc[:1], {"ours": X.iloc[30:31].set_index(X.index[:1])}, space, goal=1, data=X),
        mace.explain(asked, space, X.iloc[0], max_calls=20, timeout=5),
    ]  # fmt: skip
    for one in shown:
        assert len(repr(one)) < 200 and "\n" not in repr(one) and " object at 0x" not in repr(one)
    for one in (explainer, world, shown[5], *shown[7:]):
        assert one._repr_html_().startswith("<")
    assert "claims that no allowed point with the goal is closer than" in shown[8]._repr_html_()
    assert "Age = Age + 9" in world._repr_html_()


def test_an_answer_names_what_may_not_change(tree, table):
    X = table[["Age", "Income"]]
    answer = mace.explain(tree, mace.Space.from_frame(X, fixed=["Age"]), X.iloc[0])
    assert "\nmay not change: Age\n" in f"{answer}\n" and "<br>may not change: Age" in answer._repr_html_()
    many = mace.Space([mace.Feature(f"f{place:02}", "binary", change="fixed") for place in range(14)])
    shown = str(replace(answer, space=many))
    few = mace.Space([*many.features, mace.Feature("g", "binary")])
    assert "\nonly g may change" in str(replace(answer, space=few))
    assert "f10, f11 and 2 more" in shown and "f12" not in shown
    assert "may not change" not in str(mace.explain(tree, mace.Space.from_frame(X), X.iloc[0]))


def test_one_of_something_is_not_spoken_of_as_many(table):
    assert [counted(1, "row"), counted(2, "row"), counted(1200, "box", "boxes")] == ["1 row", "2 rows", "1,200 boxes"]
    gap = pd.DataFrame({"Age": [None, *table["Age"][1:]]})
    assert mace.Space.from_frame(gap).notes[0].endswith("; 1 value is missing, so a value may be")


def test_what_is_written_has_a_size_that_is_not_nothing():
    assert [size_of(n) for n in (12, 3_400, 2_345_678_900)] == ["12 bytes", "3.4 kB", "2,345.7 MB"]


def test_a_row_that_has_the_goal_is_said_to_need_no_change(tree, table):
    answer = mace.explain(tree, table, table.iloc[30], goal=1)
    assert repr(answer) == "Answer(optimal: nothing changes; l1 distance 0)"
    for given, hint in ((table.iloc[:0], ""), (table.iloc[:2], "Use frame.iloc[0]; mace.Explainer")):
        with pytest.raises(RowError) as caught:
            mace.explain(tree, mace.Space.from_frame(table[["Age", "Income"]]), given, goal=1)
        assert caught.value.hint.startswith(hint) and bool(caught.value.hint) == bool(hint)
    with pytest.raises(ModelError, match=r"mace.Space.load\('space.toml'\) reads a file"):
        mace.explain(tree, "space.toml", table.iloc[0], goal=1)


def test_a_rule_that_nothing_obeys_is_named(tree, table):
    space = mace.Space.from_frame(table[["Age", "Income"]])
    answer = mace.explain(tree, space, table.iloc[0], goal=1, rules=["Income >= 0", "Income > 1e9"])
    assert answer.status == "infeasible"
    assert [note for note in answer.notes if "rule" in note] == [
        "nothing that the row may become obeys the rule 'Income > 1e9', whatever the model says"
    ]


@pytest.mark.parametrize("given", [None, "abc", [1], {"Age": (0, 1)}, 3])
def test_a_space_is_made_of_features(given):
    with pytest.raises(SpaceError, match=r"a space is made of a list of mace.Feature, got .*\nmace.Space.from_frame"):
        mace.Space(given)


def test_where_no_change_helps_the_row_is_not_said_to_have_the_goal(tree, table):
    space = mace.Space.from_frame(table[["Age", "Income"]])
    answer = mace.explain(tree, space, table.iloc[0], goal=1, objectives=["shortfall", "l1"], most_changes=0)
    assert "no change brings the row nearer to the goal" in answer.notes
    assert "has the goal already" not in str(answer) + answer.oracle


def test_what_an_answer_shows_has_the_goal_when_it_is_typed_in():
    rows = pd.DataFrame(np.random.default_rng(0).normal(size=(60, 2)), columns=["f0", "f1"])
    model = DecisionTreeClassifier(max_depth=4, random_state=0).fit(rows, rows["f0"] + rows["f1"] > 0)
    refused = rows[~model.predict(rows)]
    for _, row in refused.iterrows():
        answer = mace.explain(model, rows, row, goal=True)
        typed = dict(row)
        for sentence in answer.sentences():
            name, _, moved = sentence.partition(" from ")
            typed[name] = float(moved.partition(" to ")[2].replace(",", ""))
        assert model.predict(pd.DataFrame([typed])).all()  # rounded to 12 digits, most of them are refused


@pytest.mark.parametrize("value", [0.1, -0.0, 1e22, 5e-324, 1.7e308, 0.1 + 0.2, 376436736000.00006, 2.0**53, 1e-5])
def test_a_float_that_is_shown_is_read_back_as_it_is(value):
    assert float(cell(value).replace(",", "")) == value


def test_the_command_line_says_its_version():
    done = subprocess.run([sys.executable, "-m", "mace", "--version"], capture_output=True, text=True, check=True)
    assert done.stdout == f"mace {mace.__version__}\n"


def test_an_audit_off_a_terminal_says_how_far_it_is(capsys):
    from mace.cli.progress import Lines, _duration

    lines = Lines()
    lines(None, 1, 2)
    lines(None, 2, 2)
    assert capsys.readouterr().err.startswith("mace: 2 of 2 answered, ")
    lines(Record(0, "0", "flip:Sex", ""), 2, 2)
    assert capsys.readouterr().err.startswith("mace: 2 of 2 answered (whether Sex alone decides), ")
    assert [_duration(seconds) for seconds in (5, 65, 3600, 7890)] == ["5 s", "1 min 5 s", "1 h 0 min", "2 h 11 min"]


def test_a_long_step_gives_a_sign_of_life(capsys, monkeypatch):
    from mace.cli.progress import Beat

    monkeypatch.setattr(Beat, "EVERY", 0.001)
    with Beat("training") as beat:
        while beat._thread.is_alive() and "training, 0 s" not in (said := capsys.readouterr().err):
            assert said == "" or said.startswith("mace: training")
    assert not beat._thread.is_alive()


def test_the_demo_keeps_its_model_where_there_is_none_and_remarks_on_odd_changes(tmp_path, monkeypatch, tree, table):
    from mace.cli import demonstration

    monkeypatch.chdir(tmp_path)
    assert demonstration._keep(tree, "forest.joblib") and (tmp_path / "forest.joblib").exists()
    before = (tmp_path / "forest.joblib").read_bytes()
    assert demonstration._keep(None, "forest.joblib") and (tmp_path / "forest.joblib").read_bytes() == before
    answer = mace.explain(tree, mace.Space.from_frame(table[["Age", "Income"]]), table.iloc[0])
    monkeypatch.setattr(demonstration, "BETTER", dict.fromkeys(answer.counterfactuals[0].changes, 1))
    assert demonstration.remarks(answer) == []
    monkeypatch.setattr(demonstration, "BETTER", dict.fromkeys(answer.counterfactuals[0].changes, -1))
    assert "the model is not monotone there" in demonstration.remarks(answer)[0]


def test_a_silent_command_says_what_it_is_at(capsys, monkeypatch):
    from mace.cli.alive import IN_A_LOG, PATIENCE, Alive

    alive = Alive()
    alive.doing = "reading"
    alive.tick(IN_A_LOG - 1)
    assert capsys.readouterr().err == ""
    alive.tick(IN_A_LOG + 1)
    assert capsys.readouterr().err == "mace: reading, 11 s\n"
    with standing():
        alive.tick(2 * IN_A_LOG + 1)
    assert capsys.readouterr().err == "mace: compiling, once on this machine, 21 s\n"
    alive.tick(2 * IN_A_LOG + 1)
    assert capsys.readouterr().err == ""
    alive = Alive()
    alive.doing, alive._last = "reading", IN_A_LOG + 1
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    alive.tick(IN_A_LOG + 1 + PATIENCE)
    alive.spoke()
    assert capsys.readouterr().err == "mace: reading, 12 s\r\x1b[2K"
    alive.clear()
    alive.hush()
    alive.tick(1e9)
    assert capsys.readouterr().err == ""
    alive.clear()  # for a line above the bar of an audit
    assert capsys.readouterr().err == "\r\x1b[2K"


def test_words_are_broken_on_a_terminal_alone(capsys, monkeypatch):
    from mace.cli.output import say

    monkeypatch.setenv("COLUMNS", "40")
    long = "word " * 12
    say(long)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    say(long)
    say(long, nl=False)
    assert capsys.readouterr().out.split("\n") == [long, f"{'word ' * 7}word", f"    {'word ' * 3}word", long]


def test_every_command_is_described_within_a_line_of_a_terminal():
    from mace.cli import app
    from mace.cli.commands import SHORT

    assert {command.callback.__name__ for command in app.registered_commands} == set(SHORT)
    assert max(map(len, SHORT.values())) <= 60


def test_a_goal_may_be_named_as_people_call_it():
    called = {"0": "refused", "1": "approved"}
    by_label = {
        "approved": "1",
        "not refused": "not 0",
        "p(approved) >= 0.7": "p(1) >= 0.7",
        "approved by 0.1": "1 by 0.1",
    }
    for text, meant_by_it in by_label.items():
        assert wanted(text, (0, 1), 0, called) == wanted(meant_by_it, (0, 1), 0)
    # A class of this very name comes first.
    assert wanted("approved", ("approved", "refused"), None, {"refused": "approved"}).labels == {"approved"}
    with pytest.raises(GoalError, match="Did you mean 'approved'"):
        wanted("aproved", (0, 1), 0, called)


def test_a_class_has_one_name_wherever_a_goal_is_shown(tree, table):
    space = mace.Space.from_frame(table[["Age", "Income"]], decisions={0: "refused", 1: "approved"})
    row = table.iloc[0]
    for asked, shown in (("p(1) >= 0.6", "p(approved) >= 0.6"), ("1 by 0.1", "approved by 0.1"), (1, "approved")):
        answer = mace.explain(tree, space, row, goal=asked)
        front = mace.front(tree, space, row, goal=asked)
        for said in (str(answer), str(front)):
            assert f"wanted: {shown}" in said.splitlines()[0]
        assert parse(answer.goal, (0, 1)) == wanted(asked, (0, 1))
    box = mace.BlackBox(lambda rows: tree.predict(rows), classes=[0, 1])
    assert mace.explain(box, space, row, goal=1, max_calls=100, timeout=10).wanted == "approved"


def test_a_table_of_ones_own_needs_no_columns_dropped_that_the_model_does_not_take(tree, table, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    joblib.dump(tree, "m.joblib")
    table.to_csv("t.csv", index=False)
    given = Given(model=Path("m.joblib"), trust_pickle=True, data="t.csv")
    frame, space = given.read_table()
    assert space.names == ["Age", "Income"] and list(frame.columns) == list(table.columns)
    assert given.read_model() is given.read_model()
    Path("card.mace").write_text("input Age: int in [18, 100]\nreturn 1 if Age >= 30 else 0\n", encoding="utf-8")
    assert Given(model=Path("card.mace"), data="t.csv").read_table()[1].names == ["Age"]


def test_a_table_that_is_not_there_and_a_limit_that_is_none_say_what_to_type_instead(tmp_path):
    with pytest.raises(MaceError, match=r"there is no such file\nData sets by name: loans"):
        Given(model=Path("m.joblib"), data=str(tmp_path / "nofile.csv")).read_table()
    with pytest.raises(MaceError, match="--timeout must be a number of seconds > 0, or 0 for no limit; got -5"):
        assert Limits(timeout=-5.0).settings
    assert Limits(timeout=0.0).seconds is None


def test_without_solvers_only_what_needs_one_says_what_to_install(tree, table, monkeypatch):
    monkeypatch.setattr("mace.solve.smt.process.installed", lambda name: False)
    assert mace.explain(tree, table, table.iloc[0]).status == "optimal"
    for oracle, which in (("z3", "z3 is"), ("smt", "neither z3 nor cvc5 is")):
        with pytest.raises(MaceError, match=f"a question for solvers, and {which} not installed") as caught:
            mace.explain(tree, table, table.iloc[0], oracle=oracle)
        assert "mace-smt[solvers]" in caught.value.hint
    monkeypatch.setattr("mace.solve.smt.process.installed", lambda name: name == "cvc5")
    assert mace.explain(tree, table, table.iloc[0], oracle="smt").oracle == "smt"


@pytest.mark.parametrize("name", ["forest.joblib", "booster.json", "lgb.txt", Path("net.onnx"), Path("model.pkl")])
def test_the_name_of_a_models_file_is_no_program(table, name):
    with pytest.raises(ModelError, match="this is the name of a model's file") as caught:
        mace.explain(name, table, table.iloc[0])
    assert f"load_model({str(name)!r})" in caught.value.hint


def test_long_lines_are_broken_between_words_and_go_on_to_the_right(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert wrapped("short\n  " + "word " * 12) == f"short\n  {'word ' * 6}word\n      {'word ' * 4}word"
    shown = f"    3 | {'word ' * 12}\n      | {' ' * 50}^^^^"
    assert wrapped(shown) == shown


def test_what_stands_beside_a_figure_keeps_together_where_it_is_narrow():
    from mace.present.tables import as_text as written
    from mace.present.tables import row, table

    made = table("", "group", "share")
    row(made, "everyone", "9.5% [8.2%, 11.0%] (9 of 95)")
    assert "9.5% [8.2%, 11.0%] (9 of 95)" in written(made, 80)
    narrow = [line.split("  ")[-1].strip() for line in written(made, 30).splitlines()]
    assert narrow[-3:] == ["9.5%", "[8.2%, 11.0%]", "(9 of 95)"]


def _whole_rows(model, space, frame):
    """What an answer says of each row beside what the model itself does, there and where the answer leads."""
    names = space.names if isinstance(space, mace.Space) else list(frame)
    for _, row in frame.iterrows():
        answer = mace.explain(model, space, row)
        now = frame.loc[[row.name]]
        assert answer.decision == model.predict(now)[0], row.to_dict()
        if answer.status == "infeasible":
            continue
        then = now.assign(**{name: [answer.counterfactuals[0].values[name]] for name in names}).astype(frame.dtypes)
        assert model.predict(then)[0] != answer.decision, row.to_dict()


@pytest.mark.parametrize("missing", ["keep", "fill", "any"])
def test_zero_one_and_missing_are_to_a_model_of_the_frame_what_they_are_there(missing):
    """What was missing was read as 2, where the trees had seen NaN, and answers were about other rows."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.integers(0, 9, 200), "b": rng.choice([0.0, 1.0, np.nan], 200)})
    told = (frame.a + 5 * frame.b.isna() - 3 * (frame.b == 1) > 5).astype(int)
    for model in (HistGradientBoostingClassifier(max_iter=8), RandomForestClassifier(5, max_depth=4, random_state=0)):
        model.fit(frame, told)
        space = mace.Space.from_frame(frame, missing=missing)
        _whole_rows(model, space, frame.head(12))
        answer = mace.explain(model, space, frame[frame.b.isna()].iloc[0])
        assert answer.certificate.check().accepted
    matrix = space.encode(frame)
    assert matrix.equals(frame.astype(float)) and space.decode(matrix).isna().equals(frame.isna())


@pytest.mark.parametrize(
    "levels",
    [
        pd.Categorical([10, 20, 30] * 40, ordered=True),
        pd.Categorical([2, 0, 1] * 40, categories=[2, 0, 1], ordered=True),
        pd.Series([1, 2, 1] * 40, dtype=object),
    ],
    ids=["ordered", "in another order", "two objects"],
)
def test_levels_that_are_numbers_are_to_a_model_of_the_frame_what_they_are_there(levels):
    """Levels were read by their places: 10, 20, 30 as 0, 1, 2."""
    frame = pd.DataFrame({"a": np.random.default_rng(0).integers(0, 9, 120), "b": levels})
    forest = RandomForestClassifier(5, max_depth=4, random_state=0)
    forest.fit(frame, frame.a + 4 * (frame.b.astype(int) == int(levels[1])) > 5)
    _whole_rows(forest, frame, frame.head(12))
    _whole_rows(forest, mace.Space.from_frame(frame), frame.head(12))


def test_levels_told_to_be_in_order_stay_the_numbers_that_they_are():
    frame = pd.DataFrame({"a": np.random.default_rng(0).integers(0, 9, 120), "b": [10, 20, 30] * 40})
    forest = RandomForestClassifier(5, max_depth=4, random_state=0).fit(frame, frame.a + 4 * (frame.b == 20) > 5)
    _whole_rows(forest, mace.Space.from_frame(frame, ordinal={"b": [10, 20, 30]}), frame.head(12))


def test_a_model_of_texts_that_read_as_numbers_is_refused():
    """scikit-learn makes numbers of such texts by itself: they were read by their places."""
    frame = pd.DataFrame({"a": range(40), "b": pd.Series(["1", "2"] * 20, dtype=object)})
    tree = DecisionTreeClassifier().fit(frame, frame.b == "2")
    with pytest.raises(ModelError, match="trained on other columns"):
        mace.explain(tree, frame, frame.iloc[0])


def test_complex_numbers_are_no_feature():
    with pytest.raises(SpaceError, match="complex numbers"):
        mace.Space.from_frame(pd.DataFrame({"a": [1 + 2j, 3]}))


def run(*words: str) -> Result:
    from mace.cli import app

    return CliRunner().invoke(app, words)


def test_tables_that_go_to_no_terminal_are_not_broken(tmp_path):
    levels = [f"a rather long level, number {place}" for place in range(12)]
    mace.Space([mace.Feature("Job", "categorical", levels=levels)]).save(tmp_path / "space.toml")
    shown = run("inspect", "--space", str(tmp_path / "space.toml")).output
    assert ", ".join(levels) in shown


def test_a_space_that_is_no_file_may_be_a_data_set_misspelt():
    result = run("inspect", "--space", "lons")
    assert isinstance(result.exception, MaceError) and "Did you mean 'loans'?" in str(result.exception)


@pytest.mark.parametrize("kind", ["int64", "uint64", "Int64", "int64[pyarrow]"])
def test_whole_numbers_that_doubles_do_not_hold_are_no_feature(kind):
    held, lost = 2**60, 2**53 + 1
    frame = pd.DataFrame({"a": pd.Series([1, held, 3], dtype=kind), "b": [1, 2, 3]})
    space = mace.Space.from_frame(frame)
    assert all(space.axes(frame.iloc[place]) for place in range(3))
    with pytest.raises(SpaceError, match=f"column `a`.* cannot hold {lost}"):
        mace.Space.from_frame(pd.DataFrame({"a": pd.Series([1, lost, 3], dtype=kind)}))


LOANS = ("--data", "loans", "--goal", "1")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("explain", *LOANS, "--count", "0"), "--count must be a whole number"),
        (("explain", *LOANS, "--memory-mb", "0"), "--memory-mb must be a number > 0; got 0"),
        (("explain", *LOANS, "--max-calls", "0"), "--max-calls must be a whole number > 0; got 0"),
        (("explain", *LOANS, "--price", "Income=3"), "--price is what a change costs"),
        (("explain", *LOANS, "--target", "Approved"), "--target is about a file"),
        (("explain", *LOANS, "--weight", "Income=-1"), "the weight of `Income` must not be negative"),
        (("explain", *LOANS, "--weight", "Income=2", "--weight", "Income=3"), "--weight gives 'Income' twice"),
        (
            ("explain", *LOANS, "--objective", "plausibility", "--weight", "Income=-1"),
            "the weight of `Income` must not",
        ),
        (("explain", *LOANS, "--objective", "changes", "--weight", "Income=2"), "--weight is what a change weighs"),
        (("explain", *LOANS, "--objective", "cost", "--price", "Incom=1"), "Did you mean 'Income'?"),
        (("verify", *LOANS[:2], "--timeout", "-1", "--property", "fair(Sex)"), "--timeout must be a number of seconds"),
        (("audit", *LOANS, "--horizon", "3"), "no --world is given"),
        (("audit", *LOANS, "--world", "loans", "--n-jobs", "2"), "--n-jobs is not for plans"),
        (("audit", *LOANS, "--world", "loans", "--all"), "--all is not for plans"),
        (("audit", *LOANS, "--world", "lons"), "Did you mean 'loans'?"),
        (("audit", *LOANS, "--cores", "-1", "--limit", "1"), "--cores must be a whole number"),
        (("plan", *LOANS, "--world", "loans", "--proposer", "x"), "Known: brkga."),
        (("schema", "zz"), "Known: answer"),
        (("verify", *LOANS[:2], "--property", "bounded(0.9, 0.1, label=1)"), "no number is >= 0.9 and <= 0.1"),
    ],
)
def test_the_command_line_says_what_is_wrong_with_what_was_typed(words, said, tmp_path):
    loans = mace.datasets.load("loans")
    joblib.dump(DecisionTreeClassifier(max_depth=2).fit(loans.space.encode(loans.X), loans.y), tmp_path / "m.joblib")
    model = () if words[0] == "schema" else ("--model", str(tmp_path / "m.joblib"), "--trust-pickle")
    result = run(*words, *model)
    assert isinstance(result.exception, MaceError) and said in str(result.exception)


def test_an_output_that_is_no_certificate_is_named(tmp_path):
    (tmp_path / "a.json").write_text('{"schema": "mace.audit/1", "timeout": 60.0}')
    assert "this is no certificate, but the output mace.audit/1" in str(
        run("check", str(tmp_path / "a.json")).exception
    )


def test_containers_that_are_no_row_and_no_table_say_what_to_give_instead(table):
    from scipy.sparse import csr_matrix

    row = table.iloc[0]
    space = mace.Space.from_frame(table)
    twice = pd.concat([row, row[:1]])
    for given, said in (
        (table.to_numpy()[:1], r"got an array of shape \(1, .*array\[0\]"),
        (twice, f"several values called `{table.columns[0]}`"),
    ):
        with pytest.raises(RowError, match=f"(?s){said}"):
            space.axes(given)
    for given, said in (
        (csr_matrix(np.eye(3)), r"of shape \(3, 3\).*X\.toarray\(\)"),
        (table.groupby(table.columns[0]), "expected a frame"),
    ):
        with pytest.raises(SpaceError, match=f"(?s){said}"):
            mace.Space.from_frame(given)


def test_numbers_that_are_held_as_objects_are_asked_about():
    truths = [True, None, False]  # a column of Arrow's, or of a CSV file, with a gap
    frame = pd.DataFrame({"a": [1, 2, 3], "b": list("xyz"), "c": [1, "x", 2], "d": truths}, dtype=object)
    asked = [note for note in mace.Space.from_frame(frame).notes if note.startswith("please check")]
    assert [note.split(":")[1].strip() for note in asked] == ["a"] and "infer_objects()" in asked[0]


@pytest.mark.parametrize("kind", ["xgboost", "lightgbm", "catboost"])
def test_without_a_space_one_is_inferred_of_the_columns_of_a_booster_or_of_its_file(kind, table, tmp_path):
    """A target that was left in became a feature, which also changes what is near; `my col` was not found at all."""
    package = pytest.importorskip(kind)
    name = "my col" if kind == "lightgbm" else "Age"
    frame = table.rename(columns={"Age": name})[[name, "Income", "Good"]]
    X, y = frame[[name, "Income"]], frame["Good"]
    if kind == "catboost":
        quiet = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
        models = [package.CatBoostClassifier(2, depth=2, **quiet).fit(X, y)]
        models[0].save_model(tmp_path / "model.json", format="json")
        file = tmp_path / "model.json"
    elif kind == "xgboost":
        models = [package.XGBClassifier(n_estimators=2, n_jobs=1).fit(X, y)]
        models.append(models[0].get_booster())
        file = tmp_path / "model.json"
        models[0].save_model(file)
    else:
        models = [package.LGBMClassifier(n_estimators=2, min_child_samples=2, n_jobs=1, verbose=-1).fit(X, y)]
        models.append(models[0].booster_)
        file = tmp_path / "model.txt"
        models[1].save_model(file)
    for model in (*models, load_model(file)):
        answer = mace.explain(model, frame, frame.iloc[0], goal=1)
        assert answer.space.names == [name, "Income"] and answer.status == "optimal"
        assert "left out, since the model does not take them: Good" in answer.notes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["explain", "m.skops", "--data", "loans"], "'m.skops' belongs to no option\nIs it --model m.skops?"),
        (["inspect", "rows.CSV"], "Is it --data rows.CSV?"),
        (["explain", "--data", "loans", "3"], "Is it --row 3?"),
        (["inspect", "3"], "`mace inspect --help` says what it takes."),
        (["verify", "net.onnx", "what.vnnlib", "more"], "'more' belongs to no option"),
        (["check", "one.json", "other.json"], "'other.json' belongs to no option\n`mace check --help`"),
    ],
)
def test_a_word_that_belongs_to_no_option_is_told_which_one_it_may_be_meant_for(words, said):
    with pytest.raises(MaceError) as refused:
        CliRunner().invoke(app, words, standalone_mode=False, catch_exceptions=False)
    assert said in str(refused.value)


def test_an_option_that_takes_one_value_is_given_once():
    with pytest.raises(MaceError, match="--row is given 2 times") as refused:
        CliRunner().invoke(app, ["explain", "--row", "3", "--data", "loans", "--row", "4"], catch_exceptions=False)
    assert "Ask once for each." in str(refused.value)
    shown = CliRunner().invoke(app, ["explain", "word", "--row", "3", "--row", "4", "--help"])
    assert shown.exit_code == 0 and "--row" in shown.output
    # What may be repeated, and a switch, may be.
    for words in (["--rule", "a < b", "--rule", "b < c"], ["--trust-pickle", "--trust-pickle"]):
        with pytest.raises(MaceError, match="no data given"):
            CliRunner().invoke(app, ["explain", *words], catch_exceptions=False)


def test_a_front_says_that_it_has_no_distance():
    """It said to give objectives or a distance, of somebody who gave a distance."""
    said = CliRunner().invoke(app, ["front", "--data", "loans", "--model", "m.joblib", "--distance", "l0"])
    assert isinstance(said.exception, MaceError) and "two or three objectives, and no distance" in str(said.exception)


def test_answers_that_are_found_together_say_what_was_taken_for_granted_too():
    frame = pd.DataFrame({"Age": [20, 30, 40, 50], "Debts": [0, 1, 2, 3]})
    tree = DecisionTreeClassifier(random_state=0).fit(frame, [1, 1, 0, 0])
    alone, both = (mace.explain(tree, frame, [50, 3], goal=1, count=2, together=one) for one in (False, True))
    for answer in (alone, both):
        assert any(note.startswith("no space was given") for note in answer.notes), answer
        assert any(note.startswith("please check: Age: can it fall?") for note in answer.notes), answer


@pytest.mark.parametrize(
    "ask",
    [
        lambda model, frame: mace.audit(model, frame, frame),
        lambda model, frame: mace.verify(model, frame, "monotone(a, increasing)"),
        lambda model, frame: mace.plan(model, frame, [0, 0], "loans"),
    ],
)
def test_a_frame_in_the_place_of_a_space_is_answered_with_how_to_make_one(ask):
    frame = pd.DataFrame({"a": [0, 1, 2], "b": [0, 1, 0]})
    with pytest.raises(SpaceError, match=r"(?s)must be a mace.Space, got DataFrame.*from_frame\(X\)"):
        ask(DecisionTreeClassifier().fit(frame, [0, 1, 1]), frame)
