"""Random files of PMML, in the shapes that R, JPMML, Spark, SAS and KNIME write.

Out: `SHAPES`, name -> a function of a generator of random numbers; `SPACE`, rows of which all of them take. Missing
values: `b` and `k` where a shape's name is in `TAKES_MISSING`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mace.space.feature import Feature
from mace.space.space import Space

Rng = np.random.Generator
KINDS = ("red", "green", "blue")
SPACE = Space(
    [
        Feature("a", "integer", 0, 9),
        Feature("b", "real", 0.0, 2.0, step=0.25, missing=True),
        Feature("k", "categorical", levels=[*KINDS, "other"], missing=True),
    ]
)


def file_of(model: str, *, target: str = "", fields: str = "", derived: str = "") -> str:
    """A whole file. target: its DataField."""
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<PMML xmlns="http://www.dmg.org/PMML-4_4" version="4.4"><Header copyright="nobody"/>
<DataDictionary numberOfFields="4">{fields or FIELDS}{target}</DataDictionary>
<TransformationDictionary>{derived}</TransformationDictionary>
{model}
</PMML>"""


FIELDS = (
    '<DataField name="a" optype="continuous" dataType="integer"/>'
    '<DataField name="b" optype="continuous" dataType="double"/>'
    '<DataField name="k" optype="categorical" dataType="string"/>'
)
NUMBER = '<DataField name="y" optype="continuous" dataType="double"/>'
CLASSES = (
    '<DataField name="y" optype="categorical" dataType="string">'
    '<Value value="no"/><Value value="yes"/><Value value="maybe"/></DataField>'
)
TWO = CLASSES.replace('<Value value="maybe"/>', "")


def schema(inner: bool = False, **treated: str) -> str:
    """The MiningSchema of a model; `treated`: more attributes of a field."""
    target = "" if inner else '<MiningField name="y" usageType="target"/>'
    fields = (f'<MiningField name="{n}" {treated.get(n, "")}/>' for n in ("a", "b", "k"))
    return f"<MiningSchema>{''.join(fields)}{target}</MiningSchema>"


def num(rng: Rng) -> str:
    return repr(round(float(rng.normal()), int(rng.integers(1, 4))))


def pick(rng: Rng, values: Sequence[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def simple(rng: Rng) -> tuple[str, str]:
    """A comparison and its opposite."""
    field = pick(rng, ("a", "b", "k"))
    if field == "k":
        chosen = sorted({str(pick(rng, KINDS)) for _ in range(2)})
        if len(chosen) == 1 and rng.random() < 0.5:
            return tuple(  # type: ignore[return-value]
                f'<SimplePredicate field="k" operator="{op}" value="{chosen[0]}"/>' for op in ("equal", "notEqual")
            )
        array = f'<Array n="{len(chosen)}" type="string">{" ".join(f"&quot;{one}&quot;" for one in chosen)}</Array>'
        return tuple(  # type: ignore[return-value]
            f'<SimpleSetPredicate field="k" booleanOperator="{op}">{array}</SimpleSetPredicate>'
            for op in ("isIn", "isNotIn")
        )
    at = (
        int(rng.integers(0, 9)) + (0.5 if rng.random() < 0.3 else 0) if field == "a" else pick(rng, (0.25, 0.3, 1, 1.6))
    )
    ops = pick(rng, (("lessThan", "greaterOrEqual"), ("lessOrEqual", "greaterThan")))
    return tuple(f'<SimplePredicate field="{field}" operator="{op}" value="{at}"/>' for op in ops)  # type: ignore


def predicate(rng: Rng) -> tuple[str, str]:
    """A predicate, and one that is true where it is false."""
    yes, no = simple(rng)
    how = rng.random()
    if how < 0.15:  # as R's rpart writes surrogates
        other, opposite = simple(rng)
        return (
            f'<CompoundPredicate booleanOperator="surrogate">{yes}{other}<True/></CompoundPredicate>',
            f'<CompoundPredicate booleanOperator="surrogate">{no}{opposite}<False/></CompoundPredicate>',
        )
    if how < 0.35:
        other, opposite = simple(rng)
        return (
            f'<CompoundPredicate booleanOperator="and">{yes}{other}</CompoundPredicate>',
            f'<CompoundPredicate booleanOperator="or">{no}{opposite}</CompoundPredicate>',
        )
    return yes, no


def node(rng: Rng, leaf: Callable[[Rng], str], deep: int, when: str = "<True/>", name: str = "1") -> str:
    """A node and all below it; every node predicts."""
    below = ""
    default = ""
    if deep:
        yes, no = predicate(rng)
        last = "<True/>" if rng.random() < 0.2 else no
        below = node(rng, leaf, deep - 1, yes, name + "1") + node(rng, leaf, deep - 1, last, name + "2")
        default = f' defaultChild="{name}{pick(rng, "12")}"'
    score, inside = leaf(rng).split("|")
    return f'<Node id="{name}" score="{score}"{default}>{when}{inside}{below}</Node>'


def tree(rng: Rng, leaf: Callable[[Rng], str], function: str, *, inner: bool = False, strategy: str = "") -> str:
    strategy = strategy or pick(rng, ("none", "lastPrediction", "defaultChild"))
    return (
        f'<TreeModel functionName="{function}" missingValueStrategy="{strategy}" '
        f'noTrueChildStrategy="returnLastPrediction">{schema(inner)}{node(rng, leaf, 3)}</TreeModel>'
    )


def a_number(rng: Rng) -> str:
    return f"{num(rng)}|"


def a_class(rng: Rng) -> str:
    """A class, with frequencies that need not agree with it."""
    counts = rng.integers(0, 9, 3) + 1
    shares = "".join(
        f'<ScoreDistribution value="{name}" recordCount="{n}"/>'
        for name, n in zip(("no", "yes", "maybe"), counts, strict=True)
    )
    return f"{pick(rng, ('no', 'yes', 'maybe'))}|{shares}"


def segments(parts: Sequence[str], method: str, weights: Sequence[str] = (), asked: Sequence[str] = ()) -> str:
    weighted = [f' weight="{w}"' for w in weights] or [""] * len(parts)
    asked = asked or ["<True/>"] * len(parts)
    inner = "".join(
        f'<Segment id="{k}"{w}>{when}{one}</Segment>'
        for k, (one, w, when) in enumerate(zip(parts, weighted, asked, strict=True))
    )
    return f'<Segmentation multipleModelMethod="{method}">{inner}</Segmentation>'


def a_tree(rng: Rng) -> str:
    return file_of(tree(rng, a_class, "classification"), target=CLASSES)


def a_regression_tree(rng: Rng) -> str:
    return file_of(tree(rng, a_number, "regression"), target=NUMBER)


def votes(rng: Rng) -> str:
    """As R's randomForest, and with weights."""
    method = pick(rng, ("majorityVote", "weightedMajorityVote", "average", "weightedAverage"))
    parts = [tree(rng, a_class, "classification", inner=True) for _ in range(int(rng.integers(2, 6)))]
    weights = [repr(round(float(rng.random()) + 0.1, 2)) for _ in parts] if method.startswith("w") else []
    model = f'<MiningModel functionName="classification">{schema()}{segments(parts, method, weights)}</MiningModel>'
    return file_of(model, target=CLASSES)


def forest(rng: Rng) -> str:
    method = pick(rng, ("sum", "average", "weightedAverage"))
    parts = [tree(rng, a_number, "regression", inner=True) for _ in range(int(rng.integers(2, 6)))]
    weights = [repr(round(float(rng.random()) + 0.1, 2)) for _ in parts] if method.startswith("w") else []
    scaled = (
        '<Targets><Target field="y" rescaleFactor="2" rescaleConstant="0.5"/></Targets>' if rng.random() < 0.4 else ""
    )
    model = f'<MiningModel functionName="regression">{schema()}{scaled}{segments(parts, method, weights)}</MiningModel>'
    return file_of(model, target=NUMBER)


def first_tree(rng: Rng) -> str:
    """The first of several trees whose segment takes a row; at times none does."""
    parts = [tree(rng, a_class, "classification") for _ in range(int(rng.integers(2, 5)))]
    asked = [predicate(rng)[0] for _ in parts]
    asked[-1] = pick(rng, (asked[-1], "<True/>"))
    inside = segments(parts, "selectFirst", asked=asked)
    return file_of(f'<MiningModel functionName="classification">{schema()}{inside}</MiningModel>', target=CLASSES)


def segmented(rng: Rng) -> str:
    """Sums for some rows: the first that takes a row, or all that do."""
    method = pick(rng, ("selectFirst", "sum", "weightedSum"))
    parts = []
    for _ in range(int(rng.integers(2, 4))):
        trees = [tree(rng, a_number, "regression") for _ in range(int(rng.integers(1, 3)))]
        start = f'<Targets><Target field="y" rescaleConstant="{num(rng)}"/></Targets>' if rng.random() < 0.6 else ""
        inside = f"{schema()}{start}{segments(trees, 'sum')}"
        parts.append(
            trees[0] if rng.random() < 0.4 else f'<MiningModel functionName="regression">{inside}</MiningModel>'
        )
    asked = [*(predicate(rng)[0] for _ in parts[1:]), "<True/>"]
    weights = [repr(round(float(rng.random()) + 0.1, 2)) for _ in parts] if method == "weightedSum" else []
    inside = segments(parts, method, weights, asked)
    return file_of(f'<MiningModel functionName="regression">{schema()}{inside}</MiningModel>', target=NUMBER)


def boosting(rng: Rng) -> str:
    """As JPMML writes XGBoost, LightGBM and gbm: sums of trees, then a regression of them."""
    three = rng.random() < 0.5
    single = ' x-mathContext="float"' if rng.random() < 0.3 else ""
    names = ("no", "yes", "maybe") if three else ("yes",)
    parts = []
    for name in names:
        trees = [tree(rng, a_number, "regression", inner=True, strategy="defaultChild") for _ in range(3)]
        parts.append(
            f'<MiningModel functionName="regression"{single}>{schema(True)}'
            f'<Output><OutputField name="value({name})" optype="continuous" dataType="double"/></Output>'
            f'<Targets><Target rescaleConstant="{num(rng)}"/></Targets>{segments(trees, "sum")}</MiningModel>'
        )
    tables = "".join(
        f'<RegressionTable intercept="0.0" targetCategory="{name}"><NumericPredictor name="value({name})" '
        f'coefficient="1.0"/></RegressionTable>' for name in names
    )  # fmt: skip
    if not three:
        tables += '<RegressionTable intercept="0.0" targetCategory="no"/>'
    fields = "".join(f'<MiningField name="value({name})"/>' for name in names)
    parts.append(
        f'<RegressionModel functionName="classification" normalizationMethod="{"softmax" if three else "logit"}">'
        f'<MiningSchema><MiningField name="y" usageType="target"/>{fields}</MiningSchema>{tables}</RegressionModel>'
    )
    model = f'<MiningModel functionName="classification">{schema()}{segments(parts, "modelChain")}</MiningModel>'
    return file_of(model, target=CLASSES if three else TWO)


def table(rng: Rng, name: str = "") -> str:
    category = f' targetCategory="{name}"' if name else ""
    kinds = "".join(f'<CategoricalPredictor name="k" value="{one}" coefficient="{num(rng)}"/>' for one in KINDS[:2])
    numbers = "".join(f'<NumericPredictor name="{one}" coefficient="{num(rng)}"/>' for one in ("a", "b"))
    return f'<RegressionTable intercept="{num(rng)}"{category}>{numbers}{kinds}</RegressionTable>'


def logistic(rng: Rng) -> str:
    """As Spark and SAS write it, and R's nnet."""
    three = rng.random() < 0.4
    method = "softmax" if three else pick(rng, ("logit", "softmax", "probit"))
    tables = [table(rng, name) for name in (("no", "yes", "maybe") if three else ("yes", "no"))]
    if method != "softmax":
        tables[1] = '<RegressionTable intercept="0" targetCategory="no"/>'
    treated = schema(b='missingValueReplacement="0.5"')
    model = (
        f'<RegressionModel functionName="classification" normalizationMethod="{method}">{treated}'
        f"{''.join(tables)}</RegressionModel>"
    )
    return file_of(model, target=CLASSES if three else TWO)


def line(rng: Rng) -> str:
    method = pick(rng, ("none", "exp"))
    head = f'<RegressionModel functionName="regression" normalizationMethod="{method}">'
    model = f"{head}{schema()}{table(rng)}</RegressionModel>"
    return file_of(model, target=NUMBER)


def general(rng: Rng) -> str:
    """As R's glm writes it."""
    kind = pick(rng, ("regression", "logit", "multinomial"))
    listed = (("1", "a"), ("1", "b"), ("red", "k"), ("blue", "k"))
    cells = "".join(
        f'<PPCell value="{value}" predictorName="{name}" parameterName="p{place}"/>'
        for place, (value, name) in enumerate(listed, 1)
    )
    names = {"regression": [""], "logit": ["yes"], "multinomial": ["no", "maybe"]}[kind]
    betas = "".join(
        f'<PCell parameterName="p{k}" df="1" beta="{num(rng)}"{f""" targetCategory="{name}" """ if name else ""}/>'
        for name in names for k in range(5)
    )  # fmt: skip
    head = {
        "regression": 'functionName="regression" modelType="generalizedLinear" linkFunction="log"',
        "logit": 'functionName="classification" modelType="generalizedLinear" linkFunction="logit" '
        'targetReferenceCategory="no"',
        "multinomial": 'functionName="classification" modelType="multinomialLogistic" targetReferenceCategory="yes"',
    }[kind]
    lists = "".join(f'<Parameter name="p{k}" label="p{k}"/>' for k in range(5))
    model = (
        f"<GeneralRegressionModel {head}>{schema()}<ParameterList>{lists}</ParameterList>"
        '<FactorList><Predictor name="k"/></FactorList>'
        '<CovariateList><Predictor name="a"/><Predictor name="b"/></CovariateList>'
        f"<PPMatrix>{cells}</PPMatrix><ParamMatrix>{betas}</ParamMatrix></GeneralRegressionModel>"
    )
    return file_of(model, target={"regression": NUMBER, "logit": TWO, "multinomial": CLASSES}[kind])


DERIVED = """
<DerivedField name="b norm" optype="continuous" dataType="double"><NormContinuous field="b" outliers="asExtremeValues"
 mapMissingTo="0.1"><LinearNorm orig="0.2" norm="0"/><LinearNorm orig="1.1" norm="1"/>
<LinearNorm orig="1.9" norm="0.3"/>
</NormContinuous></DerivedField>
<DerivedField name="a bin" optype="categorical" dataType="string"><Discretize field="a" defaultValue="high">
<DiscretizeBin binValue="low"><Interval closure="openClosed" rightMargin="2"/></DiscretizeBin>
<DiscretizeBin binValue="middle"><Interval closure="openOpen" leftMargin="2" rightMargin="7"/></DiscretizeBin>
</Discretize></DerivedField>
<DerivedField name="k group" optype="categorical" dataType="string"><MapValues outputColumn="out" defaultValue="rest"
 mapMissingTo="none"><FieldColumnPair field="k" column="in"/><InlineTable><row><in>red</in><out>warm</out></row>
<row><in>blue</in><out>cold</out></row></InlineTable></MapValues></DerivedField>
<DerivedField name="is red" optype="continuous" dataType="double"><NormDiscrete field="k" value="red"/></DerivedField>
"""


def scorecard(rng: Rng) -> str:
    """With fields derived by norms, bins and maps, as SAS and KNIME write them."""

    def attributes(cases: Sequence[str]) -> str:
        return "".join(f'<Attribute partialScore="{num(rng)}" reasonCode="R">{one}</Attribute>' for one in cases)

    def test(field: str, operator: str, value: object) -> str:
        return f'<SimplePredicate field="{field}" operator="{operator}" value="{value}"/>'

    cards = [
        [test("b norm", "lessThan", round(float(rng.random()), 2)), test("b norm", "lessOrEqual", 0.8), "<True/>"],
        [test("a bin", "equal", "low"), test("a bin", "equal", "middle"), "<True/>"],
        [test("k group", "equal", pick(rng, ("warm", "cold", "rest"))), test("is red", "greaterThan", 0.5), "<True/>"],
        [
            f'<CompoundPredicate booleanOperator="and">{test("a", "greaterThan", 3)}{test("b", "lessThan", 1)}'
            "</CompoundPredicate>",
            '<SimplePredicate field="b" operator="isMissing"/>',
            "<True/>",
        ],
    ]
    inside = "".join(f'<Characteristic name="c{k}">{attributes(one)}</Characteristic>' for k, one in enumerate(cards))
    model = (
        f'<Scorecard functionName="regression" initialScore="{num(rng)}" useReasonCodes="false">{schema()}'
        f"<Characteristics>{inside}</Characteristics></Scorecard>"
    )
    return file_of(model, target=NUMBER, derived=DERIVED)


def rules(rng: Rng) -> str:
    """As SPSS and RapidMiner write them; now and then some rows are left out."""
    found = ""
    for place in range(int(rng.integers(2, 6))):
        (one, _), (other, _) = simple(rng), simple(rng)
        how = pick(rng, ("and", "or", "xor"))
        both = f'<CompoundPredicate booleanOperator="{how}">{one}{other}</CompoundPredicate>'
        score, weight = pick(rng, ("no", "yes", "maybe")), (place * 7 % 5) / 8
        rule = f'<SimpleRule score="{score}" weight="{weight}">{both}</SimpleRule>'
        found += rule if rng.random() < 0.7 else f"<CompoundRule>{simple(rng)[0]}{rule}</CompoundRule>"
    default = ' defaultScore="no"' if rng.random() < 0.6 else ""
    if not default:
        found += '<SimpleRule score="yes"><SimplePredicate field="k" operator="notEqual" value="red"/></SimpleRule>'
    return file_of(
        f'<RuleSetModel functionName="classification">{schema()}<RuleSet{default}>'
        f'<RuleSelectionMethod criterion="{pick(rng, ("firstHit", "weightedMax"))}"/>{found}</RuleSet></RuleSetModel>',
        target=CLASSES,
    )


def scaled(rng: Rng) -> str:
    """As sklearn2pmml writes a scaler: arithmetic, before a tree or a line."""
    derived = ""
    for name in ("a", "b"):
        centred = (
            f'<Apply function="-"><FieldRef field="{name}"/><Constant dataType="double">{num(rng)}</Constant></Apply>'
        )
        turned = f'<Apply function="-"><Constant dataType="double">{num(rng)}</Constant>{centred}</Apply>'
        derived += (
            f'<DerivedField name="z{name}" optype="continuous" dataType="double">'
            f'<Apply function="{pick(rng, "/*")}">{pick(rng, (centred, turned))}'
            f'<Constant dataType="double">{abs(float(num(rng))) + 0.1!r}</Constant></Apply></DerivedField>'
        )
    if rng.random() < 0.5:
        model = f'<RegressionModel functionName="regression">{schema()}{table(rng)}</RegressionModel>'
    else:
        model = tree(rng, a_number, "regression").replace(' value="1', ' value="-1')
    for name in ("a", "b"):
        model = model.replace(f'NumericPredictor name="{name}"', f'NumericPredictor name="z{name}"')
        model = model.replace(f'SimplePredicate field="{name}"', f'SimplePredicate field="z{name}"')
    return file_of(model, target=NUMBER, derived=derived)


def projected(rng: Rng) -> str:
    """As sklearn2pmml writes a projection before a line: sums of fields, each centred and weighed."""

    def double(number: str) -> str:
        return f'<Constant dataType="double">{number}</Constant>'

    def weighed(name: str) -> str:
        centred = f'<Apply function="-"><FieldRef field="{name}"/>{double(num(rng))}</Apply>'
        return f'<Apply function="*">{centred}{double(repr(float(rng.uniform(0.01, 1))))}</Apply>'

    def field(name: str, inside: str) -> str:
        return f'<DerivedField name="{name}" optype="continuous" dataType="double">{inside}</DerivedField>'

    derived = field("is red", '<NormDiscrete field="k" value="red"/>')
    derived += field("p0", f'<Apply function="sum">{weighed("a")}{weighed("b")}{weighed("is red")}</Apply>')
    derived += field("p1", f'<Apply function="{pick(rng, "+-")}">{weighed("b")}<FieldRef field="p0"/></Apply>')
    numbers = "".join(
        f'<NumericPredictor name="{name}" coefficient="{num(rng)}"/>' for name in ("p0", "p1", "a", "is red")
    )
    model = (
        f'<RegressionModel functionName="classification" normalizationMethod="logit">{schema()}'
        f'<LocalTransformations>{derived}</LocalTransformations><RegressionTable intercept="{num(rng)}" '
        f'targetCategory="yes">{numbers}</RegressionTable><RegressionTable intercept="0" targetCategory="no"/>'
        "</RegressionModel>"
    )
    return file_of(model, target=TWO)


SHAPES: dict[str, Callable[[Rng], str]] = {
    "tree": a_tree, "regression tree": a_regression_tree, "votes": votes, "forest": forest, "boosting": boosting,
    "logistic": logistic, "line": line, "general": general, "scorecard": scorecard,
    "rules": rules, "scaled": scaled, "first tree": first_tree, "segmented": segmented,
    "projected": projected,
}  # fmt: skip
NUMBERS = ("regression tree", "forest", "line", "scorecard", "scaled", "segmented")
"""Of these, the shapes that predict a number."""
