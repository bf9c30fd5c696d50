"""PMML files of models: every element checked, and what it says as a `Content`.

In:  the path of a .pmml file.    Out: its content.
Promise: nothing of the file is run or opened elsewhere; versions 3.0 to 4.4. Kinds of models, methods and treatments
that are not known are a ModelError that names them and the line. What a file says of itself (statistics, verification,
explanations, outputs beside the prediction) is not read.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

from mace.base.exact import exact
from mace.base.files import read_bytes
from mace.compilers.formats.xml import Element, parse
from mace.compilers.pmml.content import Content, Model, Number, Scores, Sum, Tree, Value, Votes, fields_of, terms_of
from mace.compilers.pmml.derived import derived
from mace.compilers.pmml.expressions import written
from mace.compilers.pmml.fields import Scope, Source, check_inner, scope_of
from mace.compilers.pmml.lines import read_general, read_regression, read_scorecard
from mace.compilers.pmml.predicates import TRUE, Predicate, inside
from mace.compilers.pmml.rule_sets import read_rules
from mace.compilers.pmml.segments import first_of, where
from mace.compilers.pmml.tags import UNREAD, given, number, only_child, unsupported, word, wrong
from mace.compilers.pmml.trees import Classes, read_tree, whole_shares
from mace.errors import FileError, ModelError

LARGEST_FILE = 2**28  # bytes
VERSIONS = ("3", "4")
MODELS = ("TreeModel", "MiningModel", "RegressionModel", "GeneralRegressionModel", "Scorecard", "RuleSetModel")
_SUMS = ("sum", "average", "weightedAverage", "weightedSum")
_VOTES = ("majorityVote", "weightedMajorityVote", "average", "weightedAverage")
_FIRST, _CHAIN = "selectFirst", "modelChain"
DEEPEST = 20


def load(path: Path) -> Content:
    """The content of a file; raises FileError for what is no XML, ModelError."""
    root = parse(read_bytes(path, LARGEST_FILE), path.name)
    try:
        return content_of(root)
    except RecursionError:
        raise ModelError(f"{path.name} has a model that is nested too deeply") from None


def content_of(root: Element) -> Content:
    """What the outermost element of a file says; raises ModelError."""
    version = root.attributes.get("version") or root.attributes.get("xmlns", "").rpartition("PMML-")[2].replace(
        "_", "."
    )
    if root.name != "PMML" or version.split(".")[0] not in VERSIONS:
        raise FileError(
            f"this is no PMML of version 3 or 4 (it is {root.name[:40]!r}, version {version[:20]!r})",
            hint="Write it again with a program that writes versions 4.2 to 4.4.",
        )
    element = _model(root)
    function = word(element, "functionName", ("classification", "regression"))
    dictionary = only_child(root, "DataDictionary")
    schema = only_child(element, "MiningSchema")
    scope = derived(scope_of(dictionary, schema), root.first("TransformationDictionary"))
    classes = _classes(dictionary, schema) if function == "classification" else None
    model = _Reader(classes).read(element, scope, function)
    numbers = [term.field for term in terms_of(model) if isinstance(term, Number)]
    single = any(one.attributes.get("x-mathContext") == "float" for one in element.walk()) or any(
        "float" in (one.kind, one.source.kind) for one in numbers
    )
    if isinstance(model, Votes) and classes is not None:
        count = len(classes.known)
        members = tuple((replace(tree, root=whole_shares(tree.root, count)), by) for tree, by in model.members)
        model = replace(model, members=members)
    sources: dict[str, Source] = {}
    for term in terms_of(model):
        for field, _ in fields_of(term):
            sources.setdefault(field.source.name, field.source)
    if not sources:
        raise ModelError("the PMML model reads no field: it says the same of every input")
    if classes is not None and len(classes.known) < 2:
        raise ModelError(f"the PMML model knows {len(classes.known)} class: no input has another decision")
    known = [name for name in scope.fields if name in sources]
    known += [name for name in sources if name not in known]
    return Content(
        model, tuple(sources[name] for name in known), () if classes is None else classes.labels(), single, element.name
    )


def _model(root: Element) -> Element:
    found = root.all(*MODELS, *UNREAD)
    if not found:
        names = [child.name for child in root.children if child.name.endswith("Model")]
        raise ModelError(
            f"the PMML file has no model that is read{f': its {names[0][:60]} is not' if names else ''}",
            hint=f"Supported are {', '.join(MODELS)}.",
        )
    if len(found) > 1:
        raise unsupported(found[1], "a second model in one file", "Keep one: scorers use the first.")
    if found[0].name in UNREAD:
        raise unsupported(found[0], "a model of this kind", UNREAD[found[0].name])
    return found[0]


def _classes(dictionary: Element, schema: Element) -> Classes:
    """The classes that the target declares; more are found on the way."""
    targets = [one for one in schema.all("MiningField") if one.attributes.get("usageType") in ("target", "predicted")]
    target = targets[0] if targets else None
    data = None
    if target is not None:
        name = given(target, "name")
        data = next((one for one in dictionary.all("DataField") if one.attributes.get("name") == name), None)
    kind = "string" if data is None else data.attributes.get("dataType", "string")
    values = (
        [] if data is None else [one for one in data.all("Value") if one.attributes.get("property", "valid") == "valid"]
    )
    return Classes(kind, [written(given(one, "value"), kind) for one in values])


class _Reader:
    """Models, and models inside of them."""

    def __init__(self, classes: Classes | None) -> None:
        self.classes = classes

    def read(self, element: Element, scope: Scope, function: str, deep: int = 0) -> Model:
        """The model that an element is."""
        if deep > DEEPEST:
            raise unsupported(element, f"models nested deeper than {DEEPEST}")
        if element.attributes.get("isScorable", "true") in ("false", "0"):
            raise unsupported(element, "a model that says it cannot be scored")
        own = word(element, "functionName", ("classification", "regression"))
        if own != function:
            raise unsupported(
                element,
                f"a {own} where a {function} is asked for",
                "Write all segments for the same function; in a chain, sums alone come before the last one.",
            )
        if deep:
            check_inner(only_child(element, "MiningSchema"), scope)
        scope = derived(scope, element.first("LocalTransformations"))
        classes = self.classes if function == "classification" else None
        model: Model
        match element.name:
            case "TreeModel":
                tree = read_tree(element, scope, classes)
                one = Fraction(1)
                model = (
                    Value(Sum(Fraction(0), ((tree, one),))) if classes is None else Votes(((tree, one),), shares=False)
                )
            case "RegressionModel":
                model = read_regression(element, scope, classes)
            case "GeneralRegressionModel":
                model = read_general(element, scope, classes)
            case "RuleSetModel":
                rules = (read_rules(element, scope, classes), Fraction(1))
                model = Votes((rules,), shares=False)
            case "Scorecard":
                model = read_scorecard(element, scope, classes)
            case _:
                model = self._together(element, scope, function, deep)
        return _rescaled(element, model)

    def _together(self, element: Element, scope: Scope, function: str, deep: int) -> Model:
        """A MiningModel."""
        for name in ("Regression", "DecisionTree"):
            if element.first(name) is not None:
                raise unsupported(element, f"a {name} inside of a MiningModel")
        parts = only_child(element, "Segmentation")
        segments = parts.all("Segment")
        known = (*(_SUMS if function == "regression" else _VOTES), _FIRST, _CHAIN)
        method = word(parts, "multipleModelMethod", known)
        word(parts, "missingPredictionTreatment", ("continue", "returnMissing"), "continue")
        if not segments:
            raise wrong(parts, "has no segments")
        if method == _CHAIN and (parted := [one for one in segments if one.first("True") is None]):
            raise unsupported(parted[0], "a chain with segments for some rows only", "Write the model as one tree.")
        predicates = [inside(segment, scope) for segment in segments]
        partly = method == _FIRST or method in ("sum", "weightedSum") and any(one is TRUE for one in predicates)
        for segment, one in zip(segments, predicates, strict=True):
            if one is not TRUE and not partly:
                raise unsupported(segment, f"{method} of segments for some rows only", "Write the model as one tree.")
        if method == _CHAIN:
            return self._chain(segments, scope, function, deep)
        members = [self.read(_inner(segment), scope, function, deep + 1) for segment in segments]
        if method == _FIRST:
            return first_of(parts, predicates, members)
        weights = [Fraction(1)] * len(segments)
        if method.startswith("weighted"):
            weights = [exact(number(segment, "weight", 1.0)) for segment in segments]
        if any(weight < 0 for weight in weights) or not any(weights):
            raise wrong(parts, "has weights below zero, or none above it")
        average = method.lower().endswith("average")
        if function != "regression":
            return self._votes(parts, members, weights, shares=average)
        return self._total(parts, members, weights, predicates, average=average)

    @staticmethod
    def _total(
        parts: Element, members: list[Model], weights: list[Fraction], predicates: list[Predicate], *, average: bool
    ) -> Value:
        """The weighted sum, or average, of what the segments predict whose predicates are true."""
        by = 1 / sum(weights, Fraction(0)) if average else Fraction(1)
        total = Sum(Fraction(0), ())
        for member, weight, one in zip(members, weights, predicates, strict=True):
            if not isinstance(member, Value) or member.exponential:
                raise unsupported(parts, "a sum of exponentials")
            part = member.sum if one is TRUE else where(parts, one, member.sum)
            total = total.plus(part.times(weight * by))
        return Value(total)

    @staticmethod
    def _votes(parts: Element, members: list[Model], weights: list[Fraction], *, shares: bool) -> Votes:
        found: list[tuple[Tree, Fraction]] = []
        for member, weight in zip(members, weights, strict=True):
            if not isinstance(member, Votes) or len(member.members) != 1 or member.shares:
                raise unsupported(parts, "votes of other models than trees")
            found.append((member.members[0][0], weight))
        return Votes(tuple(found), shares)

    def _chain(self, segments: list[Element], scope: Scope, function: str, deep: int) -> Model:
        """Models each of which may use what those before predict."""
        for segment in segments[:-1]:
            element = _inner(segment)
            before = self.read(element, scope, "regression", deep + 1)
            if not isinstance(before, Value) or before.exponential:
                raise unsupported(segment, "a chain through anything but sums")
            outputs = element.first("Output")
            for output in [] if outputs is None else outputs.all("OutputField"):
                if output.attributes.get("feature", "predictedValue") == "predictedValue":
                    scope = Scope(scope.fields, {**scope.scores, given(output, "name"): before.sum})
        return self.read(_inner(segments[-1]), scope, function, deep + 1)


def _inner(segment: Element) -> Element:
    """The model of a segment."""
    found = [child for child in segment.children if child.name.endswith("Model") or child.name in MODELS]
    if len(found) != 1:
        raise wrong(segment, f"has {len(found)} models")
    if found[0].name not in MODELS:
        raise unsupported(found[0], "a model of this kind in a segment", UNREAD.get(found[0].name, ""))
    return found[0]


def _rescaled(element: Element, model: Model) -> Model:
    """A model as its Targets have it."""
    targets = element.first("Targets")
    names = [
        mining.attributes.get("name")
        for mining in only_child(element, "MiningSchema").all("MiningField")
        if mining.attributes.get("usageType") in ("target", "predicted")
    ]
    for target in [] if targets is None else targets.all("Target"):
        for name in ("min", "max", "castInteger"):
            if name in target.attributes:
                raise unsupported(target, f"{name} of a target")
        by, more = number(target, "rescaleFactor", 1.0), number(target, "rescaleConstant", 0.0)
        if (by, more) == (1.0, 0.0):
            continue
        # The standard lets a Target name no field where its model has no target, and says nothing of other cases.
        if target.attributes.get("field") not in (names or [None]):
            raise unsupported(
                target, "a scaled target that is not the model's own", 'Name the model\'s target: field="..".'
            )
        parts = element.first("Segmentation")
        if parts is not None and parts.attributes.get("multipleModelMethod") in (_FIRST, _CHAIN):
            # By the standard it is scaled; JPMML and PMML4S both give what the segment predicts.
            raise unsupported(
                target, "a scaled target of a model that gives what one segment predicts", "Scale the segments' own."
            )
        if not isinstance(model, Value) or model.exponential or len(targets.all("Target") if targets else ()) > 1:
            raise unsupported(target, "a target that is scaled, of anything but a sum")
        model = Value(model.sum.times(exact(by)).plus(Sum(exact(more), ())))
    return model


__all__ = ["MODELS", "UNREAD", "Scores", "content_of", "load"]
