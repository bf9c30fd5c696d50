"""PMML: tables beside an evaluation of the standard, node by node; what is missing or invalid; what is refused."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mace
from mace.compilers import load_model
from mace.compilers.model_file import ModelFile
from mace.compilers.pipeline.reader import CompiledPipeline, compile_raw
from mace.errors import FileError, MaceError, ModelError
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.decide import class_of
from mace.tables.table import Ensemble, Network, predicted
from tests.compilers.pipelines import adversarial_rows, random_rows
from tests.compilers.pmml_files import CLASSES, FIELDS, NUMBER, SHAPES, SPACE, TWO, file_of, schema


def opened(text: str, folder: Path) -> ModelFile:
    path = folder / "model.pmml"
    path.write_text(text, encoding="utf-8")
    model = load_model(path)
    assert isinstance(model, ModelFile)
    return model


def compiled(text: str, folder: Path, space: Space = SPACE) -> CompiledPipeline:
    found = compile_raw(opened(text, folder), space)
    assert found is not None
    return found


def taken(found: CompiledPipeline, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows that lack nothing that the model needs."""
    needed = set()
    for column in found.columns:
        feature = found.space.features[column.feature]
        known = column.missing is not None if column.values is None else len(column.values) == len(feature.levels)
        needed |= set() if known else {feature.name}
    return [row for row in rows if all(row[name] is not None for name in needed)]


@pytest.mark.parametrize("shape", SHAPES)
def test_a_table_says_what_the_standard_says(shape: str, tmp_path: Path) -> None:
    for seed in range(2):
        found = compiled(SHAPES[shape](np.random.default_rng(seed)), tmp_path)
        table = found.table
        assert isinstance(table, (Ensemble, Network))
        rows = taken(found, [*random_rows(SPACE, 50), *adversarial_rows(found, 30)])
        assert len(rows) > 20
        for row, said in zip(rows, found.predict(found.frame(rows)).tolist(), strict=True):
            seen = found.row(row)
            if table.classes:
                place = class_of(table, seen)
                assert place is None or table.classes[place] == said
            else:
                assert float(predicted(table, table.scores(seen)[None, :])[0]) == pytest.approx(said, rel=1e-11)


def test_an_answer_says_that_no_scorer_was_asked_and_has_a_certificate(tmp_path: Path) -> None:
    model = opened(SHAPES["boosting"](np.random.default_rng(1)), tmp_path)
    row = {"a": 1, "b": 0.5, "k": "red"}
    found: Any = mace.explain(model, SPACE, row, timeout=20)
    assert found.status == "optimal" and found.certificate is not None
    assert any("no program that scores it was asked" in note for note in found.notes)


def test_no_answer_rests_on_a_tie(tmp_path: Path) -> None:
    def leaf(name: str, low: str, high: str) -> str:
        return (
            f'<TreeModel functionName="classification">{schema(True)}<Node score="{low}"><True/>'
            f'<Node score="{low}"><SimplePredicate field="a" operator="lessThan" value="{name}"/></Node>'
            f'<Node score="{high}"><True/></Node></Node></TreeModel>'
        )

    segments = "".join(f"<Segment><True/>{one}</Segment>" for one in (leaf("3", "no", "yes"), leaf("6", "no", "yes")))
    model = (
        f'<MiningModel functionName="classification">{schema()}<Segmentation multipleModelMethod="majorityVote">'
        f"{segments}</Segmentation></MiningModel>"
    )
    found: Any = mace.explain(opened(file_of(model, target=TWO), tmp_path), SPACE_OF_A, {"a": 0}, goal="yes")
    assert found.counterfactuals[0].values["a"] == 6  # from 3 on it is one vote against one
    assert found.status == "optimal" and "doubt" in " ".join(found.notes)


SPACE_OF_A = Space([Feature("a", "integer", 0, 9)])


def one_field(body: str, *, strategy: str = "none", function: str = "regression") -> str:
    return file_of(
        f'<TreeModel functionName="{function}" missingValueStrategy="{strategy}">{schema()}{body}</TreeModel>',
        target=NUMBER,
    )


LEVELS = (
    '<Node id="1" score="9" defaultChild="3"><True/><Node id="2" score="1"><SimplePredicate field="b" '
    'operator="lessThan" value="1"/></Node><Node id="3" score="2"><SimplePredicate field="b" operator="greaterOrEqual" '
    'value="1"/></Node>{more}</Node>'
)


@pytest.mark.parametrize(
    ("strategy", "more", "said"),
    [
        ("lastPrediction", "", 9.0),
        ("defaultChild", "", 2.0),
        ("none", '<Node id="4" score="3"><True/></Node>', 3.0),
        ("none", "", None),
        ("nullPrediction", '<Node id="4" score="3"><True/></Node>', None),
        ("weightedConfidence", "", None),
    ],
)
def test_what_is_missing_goes_where_the_strategy_says(
    strategy: str, more: str, said: float | None, tmp_path: Path
) -> None:
    space = Space([Feature("b", "real", 0.0, 2.0, step=0.25, missing=True)])
    model = opened(one_field(LEVELS.format(more=more), strategy=strategy), tmp_path)
    found = compile_raw(model, space)
    assert found is not None
    if said is None:
        with pytest.raises(MaceError, match="missing"):
            mace.explain(model, space, {"b": None}, goal="0 <= y <= 1")
    else:
        assert found.predict(found.frame([{"b": None}])).tolist() == [said]
        assert predicted(found.table, found.table.scores(found.row({"b": None}))[None, :]).tolist() == [said]


def test_values_that_are_not_valid_are_refused_or_treated_as_the_file_says(tmp_path: Path) -> None:
    fields = FIELDS.replace(
        '<DataField name="k" optype="categorical" dataType="string"/>',
        '<DataField name="k" optype="categorical" dataType="string"><Value value="red"/><Value value="green"/>'
        '<Value value="gone" property="missing"/></DataField>',
    )
    node = (
        '<Node score="1"><True/><Node score="2"><SimplePredicate field="k" operator="equal" value="red"/></Node>'
        '<Node score="3"><SimplePredicate field="k" operator="isMissing"/></Node><Node score="4"><True/></Node></Node>'
    )

    def tree(treated: str) -> str:
        return file_of(
            f'<TreeModel functionName="regression">{schema(k=treated)}{node}</TreeModel>', target=NUMBER, fields=fields
        )

    space = Space([Feature("k", "categorical", levels=["red", "green", "gone", "odd"])])
    with pytest.raises(ModelError, match="'odd' is no valid value of `k`"):
        compile_raw(opened(tree(""), tmp_path), space)
    for treated, odd in (("asIs", 4.0), ("asMissing", 3.0)):
        found = compiled(tree(f'invalidValueTreatment="{treated}"'), tmp_path, space)
        rows = [{"k": name} for name in ("red", "green", "gone", "odd")]
        assert found.predict(found.frame(rows)).tolist() == [2.0, 4.0, 3.0, odd]


def test_numbers_of_single_precision_are_compared_in_it(tmp_path: Path) -> None:
    fields = FIELDS.replace(
        'name="b" optype="continuous" dataType="double"', 'name="b" optype="continuous" dataType="float"'
    )
    node = (
        '<Node score="1"><True/><Node score="2"><SimplePredicate field="b" operator="lessOrEqual" value="0.1"/></Node>'
        '<Node score="3"><True/></Node></Node>'
    )
    text = file_of(f'<TreeModel functionName="regression">{schema()}{node}</TreeModel>', target=NUMBER, fields=fields)
    space = Space([Feature("b", "real", 0.0, 2.0)])
    found = compiled(text, tmp_path, space)
    edge = float(np.float32(0.1))
    assert "single precision" in opened(text, tmp_path).assumed
    assert found.predict(found.frame([{"b": edge}, {"b": float(np.nextafter(np.float32(0.1), 2))}])).tolist() == [2, 3]


def with_method(method: str) -> str:
    """A scaled forest whose segments are taken together in another way."""
    text = SHAPES["forest"](np.random.default_rng(1))
    assert "rescaleFactor" in text
    return re.sub('multipleModelMethod="[^"]*', f'multipleModelMethod="{method}', text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<PMML", "is no XML"),
        ('<!DOCTYPE x [<!ENTITY a "a"><!ENTITY b "&a;&a;">]><PMML version="4.4">&b;</PMML>', "document type"),
        ("<a>" * 5000, "nested deeper"),
        ('<PMML version="2.1"/>', "no PMML of version 3 or 4"),
        ('<PMML version="4.4"><NeuralNetwork/></PMML>', "of this kind .NeuralNetwork .* not supported"),
        ('<PMML version="4.4"><TextModel/></PMML>', "(?s)TextModel .* not supported.*has no texts"),
        (file_of('<TreeModel functionName="clustering"/>'), "functionName = 'clustering'"),
        (one_field('<Node><True/><Node score="x"><True/></Node></Node>'), "expected a number"),
        (
            one_field('<Node score="1"><SimplePredicate field="z" operator="equal" value="1"/></Node>'),
            "`z`, which is not",
        ),
        (
            one_field(
                '<Node><True/><Node score="1"><SimplePredicate field="b" operator="lessThan" value="1"/></Node></Node>'
            ),
            "no prediction for some rows that lack nothing: those of some `b`",
        ),
        (
            SHAPES["scorecard"](np.random.default_rng(0))
            .replace("<NormDiscrete", '<Apply function="log10"')
            .replace("/NormDiscrete>", "/Apply>"),
            "a field derived by Apply of `log10`",
        ),
        # A Target that names no field is of a model without a target: of this one, scorers leave it out.
        (SHAPES["forest"](np.random.default_rng(1)).replace('<Target field="y"', "<Target"), "not the model's own"),
        # Here the standard scales what scorers leave as it is.
        (with_method("selectFirst"), "what one segment predicts"),
        (with_method("modelChain"), "what one segment predicts"),
        (with_method('sum" missingPredictionTreatment="skipSegment'), "missingPredictionTreatment = 'skipSegment'"),
        (SHAPES["line"](np.random.default_rng(0)).replace('coefficient="', 'exponent="2" coefficient="', 1), "a power"),
    ],
)
def test_what_is_not_read_is_refused_by_name(text: str, message: str, tmp_path: Path) -> None:
    with pytest.raises((ModelError, FileError), match=message):
        compile_raw(opened(text, tmp_path), SPACE)


SCALED = (
    '<DerivedField name="s" optype="continuous" dataType="double"><Apply function="/"><Apply function="-">'
    '<FieldRef field="b"/><Constant dataType="double">0.7</Constant></Apply><Constant dataType="double">0.3</Constant>'
    '</Apply></DerivedField><DerivedField name="m" optype="continuous" dataType="double"><Apply function="-">'
    '<Constant dataType="double">1.1</Constant><FieldRef field="s"/></Apply></DerivedField>'
)
TURN = '<Node score="{}"><SimplePredicate field="m" operator="lessOrEqual" value="{!r}"/></Node>'


def test_a_scaler_is_followed_to_the_last_bit(tmp_path: Path) -> None:
    space = Space([Feature("b", "real", 0.0, 2.0)])
    at = np.array([0.1, 0.7, 1.3, 1.9])
    made = (1.1 - (at - 0.7) / 0.3).tolist()
    nodes = "".join(TURN.format(k, made[3 - k]) for k in range(4))
    text = file_of(
        f'<TreeModel functionName="regression">{schema()}<Node><True/>{nodes}<Node score="9"><True/></Node></Node>'
        "</TreeModel>",
        target=NUMBER,
        derived=SCALED,
    )
    found = compiled(text, tmp_path, space)
    for value, number in zip(at.tolist(), made, strict=True):
        for row in (np.nextafter(value, 0), value, np.nextafter(value, 3)):
            own = 1.1 - (float(row) - 0.7) / 0.3
            said = next((float(k) for k in range(4) if own <= made[3 - k]), 9.0)
            assert found.predict(found.frame([{"b": float(row)}])).tolist() == [said]
            seen = found.table.scores(found.row({"b": float(row)}))[None, :]
            assert predicted(found.table, seen).tolist() == [said]
        assert number in made
    line = (
        f'<RegressionModel functionName="regression">{schema()}<RegressionTable intercept="0.5">'
        '<NumericPredictor name="m" coefficient="2"/></RegressionTable></RegressionModel>'
    )
    found = compiled(file_of(line, target=NUMBER, derived=SCALED), tmp_path, space)
    assert found.predict(found.frame([{"b": x} for x in at.tolist()])).tolist() == [0.5 + 2 * one for one in made]
    assert found.columns[0].of(0.1) == made[0]


RULE = (
    '<SimpleRule score="{}" weight="{}"><CompoundPredicate booleanOperator="{}">'
    '<SimplePredicate field="a" operator="lessThan" value="{}"/>'
    '<SimplePredicate field="b" operator="lessThan" value="1"/></CompoundPredicate></SimpleRule>'
)


@pytest.mark.parametrize(("criterion", "said"), [("firstHit", "yes"), ("weightedMax", "no")])
def test_the_first_rule_decides_or_the_heaviest(criterion: str, said: str, tmp_path: Path) -> None:
    rules = RULE.format("yes", 0.2, "and", 5) + "<CompoundRule><True/>" + RULE.format("no", 0.9, "xor", 3)
    text = file_of(
        f'<RuleSetModel functionName="classification">{schema()}<RuleSet defaultScore="maybe">'
        f'<RuleSelectionMethod criterion="{criterion}"/>{rules}</CompoundRule></RuleSet></RuleSetModel>',
        target=CLASSES,
    )
    space = Space([Feature("a", "integer", 0, 9), Feature("b", "real", 0.0, 2.0, step=0.25, missing=True)])
    found = compiled(text, tmp_path, space)
    rows = [{"a": 4, "b": 0.5}, {"a": 1, "b": 1.5}, {"a": 6, "b": 1.5}]
    assert found.predict(found.frame(rows)).tolist() == [said, "no", "maybe"]
    assert [found.table.classes[class_of(found.table, found.row(row)) or 0] for row in rows] == [said, "no", "maybe"]
    rows = [{"a": 1, "b": None}]  # unknown: no rule fires
    assert found.predict(found.frame(rows)).tolist() == ["maybe"]


@pytest.mark.parametrize(
    ("criterion", "confidences", "told"),
    [
        ("firstHit", (0.2, 0.9), False),
        ("weightedMax", (0.2, 0.9), False),
        ("weightedMax", (0.9, 0.2), True),
        ("weightedMax", (1.0, 1.0), True),
    ],
)
def test_the_heaviest_rule_decides_by_the_standard_and_it_is_said_where_jpmml_may_take_another(
    criterion: str, confidences: tuple[float, float], told: bool, tmp_path: Path
) -> None:
    rules = "".join(
        f'<SimpleRule score="{score}" weight="{weight}" confidence="{confidence}">'
        f'<SimplePredicate field="a" operator="lessThan" value="{at}"/></SimpleRule>'
        for score, weight, confidence, at in zip(("no", "yes"), (0.2, 0.9), confidences, (5, 3), strict=True)
    )
    text = file_of(
        f'<RuleSetModel functionName="classification">{schema()}<RuleSet defaultScore="no">'
        f'<RuleSelectionMethod criterion="{criterion}"/>{rules}</RuleSet></RuleSetModel>',
        target=TWO,
    )
    model = opened(text, tmp_path)
    found = compiled(text, tmp_path, SPACE_OF_A)
    said = found.predict(found.frame([{"a": 1}, {"a": 4}])).tolist()
    assert said == ["no" if criterion == "firstHit" else "yes", "no"]
    notes = mace.explain(model, SPACE_OF_A, {"a": 1}).notes
    assert any("JPMML" in note for note in notes) == told


def test_rows_of_which_a_tree_says_nothing_are_a_class_of_their_own(tmp_path: Path) -> None:
    nodes = "".join(
        f'<Node score="{name}"><SimplePredicate field="a" operator="{how}" value="{at}"/></Node>'
        for name, how, at in (("no", "lessThan", 2), ("yes", "greaterThan", 7))
    )
    text = file_of(
        f'<TreeModel functionName="classification">{schema()}<Node><True/>{nodes}</Node></TreeModel>', target=TWO
    )
    model = opened(text, tmp_path)
    found: Any = mace.explain(model, SPACE_OF_A, {"a": 1}, goal="yes")
    assert found.counterfactuals[0].values["a"] == 8 and found.certificate.check().accepted
    assert any("name the class that is wanted" in note for note in found.notes)
    assert compiled(text, tmp_path, SPACE_OF_A).table.classes == ("no", "yes", "no prediction")
    found = mace.explain(model, SPACE_OF_A, {"a": 5}, goal="no")
    assert found.counterfactuals[0].values["a"] == 1


def test_older_versions_and_branches_without_training_rows_are_read(tmp_path: Path) -> None:
    shares = '<ScoreDistribution value="no" recordCount="{}"/><ScoreDistribution value="yes" recordCount="{}"/>'
    text = (
        file_of(
            f'<TreeModel functionName="classification">{schema()}<Node score="no"><True/>{shares.format(3, 1)}'
            f'<Node score="no"><SimplePredicate field="a" operator="lessThan" value="4"/>{shares.format(0, 0)}</Node>'
            f'<Node score="yes"><True/>{shares.format(1, 3)}</Node></Node></TreeModel>',
            target=TWO,
        )
        .replace(' version="4.4"', "")
        .replace("PMML-4_4", "PMML-3_2")
    )  # Spark writes no version
    found = compiled(text, tmp_path, SPACE_OF_A)
    assert found.predict(found.frame([{"a": 3}, {"a": 4}])).tolist() == ["no", "yes"]


def test_labels_are_of_the_type_of_the_target(tmp_path: Path) -> None:
    target = (
        '<DataField name="y" optype="categorical" dataType="integer"><Value value="0"/><Value value="1"/></DataField>'
    )
    text = SHAPES["logistic"](np.random.default_rng(3)).replace(TWO, target).replace(CLASSES, target)
    text = text.replace('"yes"', '"1"').replace('"no"', '"0"')
    if "maybe" not in text:
        assert compiled(text, tmp_path).table.classes == (0, 1)


def test_the_first_segment_that_takes_a_row_decides_and_of_a_sum_all_that_do(tmp_path: Path) -> None:
    def segment(score: int, when: str) -> str:
        model = f'<TreeModel functionName="regression">{schema()}<Node score="{score}"><True/></Node></TreeModel>'
        return f"<Segment>{when}{model}</Segment>"

    low = '<SimplePredicate field="a" operator="lessThan" value="4"/>'
    red = '<SimplePredicate field="k" operator="equal" value="red"/>'
    inside = segment(1, low) + segment(2, red) + segment(4, "<True/>")
    rows = [{"a": a, "b": 0.0, "k": k} for a in (3, 4) for k in ("red", "blue", None)]

    def text(method: str) -> str:
        together = f'<Segmentation multipleModelMethod="{method}">{inside}</Segmentation>'
        return file_of(f'<MiningModel functionName="regression">{schema()}{together}</MiningModel>', target=NUMBER)

    for method, expected in (("selectFirst", [1, 1, 1, 2, 4, 4]), ("sum", [7, 5, 5, 6, 4, 4])):
        found = compiled(text(method), tmp_path)
        assert found.predict(found.frame(rows)).tolist() == expected, method
        scores = [found.table.scores(found.row(row)) for row in rows]
        assert predicted(found.table, np.array(scores)).tolist() == expected, method
    for method, message in (("average", "average of segments for"), ("modelChain", "a chain with segments for")):
        with pytest.raises(ModelError, match=f"{message} some rows only"):
            opened(text(method), tmp_path)
    mixed = (
        text("selectFirst").replace('"regression"', '"classification"').replace('"classification"', '"regression"', 1)
    )
    with pytest.raises(ModelError, match="a classification where a regression is asked for"):
        opened(mixed, tmp_path)


BINS = (
    '<DerivedField name="d" optype="continuous" dataType="double"><Discretize field="b">'
    '<DiscretizeBin binValue="1"><Interval closure="openClosed" rightMargin="1"/></DiscretizeBin>'
    '<DiscretizeBin binValue="2"><Interval closure="{}" leftMargin="1"/></DiscretizeBin></Discretize></DerivedField>'
)
NORM = (
    '<DerivedField name="d" optype="continuous" dataType="double"><NormContinuous field="b" outliers="{}"{}>'
    '<LinearNorm orig="0.5" norm="0"/><LinearNorm orig="1" norm="1"/></NormContinuous></DerivedField>'
)
TREATED = 'missingValueTreatment="returnInvalid"'
OUTLIERS = 'outliers="asExtremeValues" lowValue="0.3" highValue="1" invalidValueTreatment='
RANGE = FIELDS.replace('"double"/>', '"double"><Interval closure="openClosed" leftMargin="0"/></DataField>')


@pytest.mark.parametrize(
    ("derived", "treated", "fields", "message"),
    [
        (BINS.format("closedOpen"), "", "", "two hold 1 .Discretize"),
        (BINS.format("openOpen"), "", "", ""),
        (NORM.format("asMissingValues", ' mapMissingTo="0.5"'), "", "", "outliers as missing values, and a number"),
        (NORM.format("asMissingValues", ""), "", "", ""),
        ("", f'{TREATED} missingValueReplacement="1"', "", "that is replaced, and has no prediction"),
        ("", TREATED, "", ""),
        ("", OUTLIERS + '"asIs"', RANGE, "outliers beside invalid values that are kept"),
        ("", OUTLIERS + '"asValue" invalidValueReplacement="2"', RANGE, "outliers beside invalid values that are kept"),
        ("", OUTLIERS + '"asValue" invalidValueReplacement="0.7"', RANGE, ""),
        ("", OUTLIERS + '"asMissing"', RANGE, ""),
        ("", OUTLIERS + '"asIs"', "", ""),
    ],
)
def test_what_scorers_are_known_to_do_differently_is_refused(
    derived: str, treated: str, fields: str, message: str, tmp_path: Path
) -> None:
    # JPMML keeps an outlier missing, takes another bin, and moves no invalid value: found by asking it beside mace.
    name = "d" if derived else "b"
    head = 'functionName="regression" noTrueChildStrategy="returnLastPrediction"'
    node = f'<Node score="1"><True/><Node score="2"><SimplePredicate field="{name}" operator="lessThan" value="0.4"/>'
    model = f"<TreeModel {head}>{schema(b=treated)}{node}</Node></Node></TreeModel>"
    text = file_of(model, target=NUMBER, derived=derived, fields=fields)
    if not message:
        assert isinstance(opened(text, tmp_path).table(), Ensemble)
        return
    with pytest.raises(ModelError, match=message):
        opened(text, tmp_path)


@pytest.mark.filterwarnings("error")
def test_a_bin_without_an_end_has_none(tmp_path: Path) -> None:
    # One that was open there ended at the largest double: a set of bins was refused, after a warning of NumPy's.
    node = '<Node score="1"><True/><Node score="2"><SimpleSetPredicate field="d" booleanOperator="isIn">'
    head = 'functionName="regression" noTrueChildStrategy="returnLastPrediction"'
    model = (
        f'<TreeModel {head}>{schema()}{node}<Array n="1" type="real">1</Array></SimpleSetPredicate></Node></Node>'
        "</TreeModel>"
    )
    derived = BINS.format("openOpen").replace(
        'optype="continuous" dataType="double"', 'optype="categorical" dataType="string"'
    )
    derived = derived.replace('field="b"', 'field="b" defaultValue="1"')
    found = compiled(file_of(model, target=NUMBER, derived=derived), tmp_path)
    rows = [{"a": 1, "b": b, "k": "red"} for b in (0.75, 1.0, 1.25)]
    assert found.predict(found.frame(rows)).tolist() == [2.0, 2.0, 1.0]
    assert [float(predicted(found.table, found.table.scores(found.row(row))[None, :])[0]) for row in rows] == [2, 2, 1]
