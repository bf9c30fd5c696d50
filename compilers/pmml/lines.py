"""PMML's models that add up: RegressionModel, GeneralRegressionModel, Scorecard.

Out: `Value` or `Scores`. A coefficient of a category is a tree of one level, and so is a scorecard's characteristic.
Source: PMML 4.4 (dmg.org/pmml/v4-4: Regression, GeneralRegression, Scorecard). A missing category adds nothing in a
RegressionModel; in a GeneralRegressionModel it leaves the row without a prediction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

from mace.base.exact import exact, nearest
from mace.compilers.formats.xml import Element
from mace.compilers.pmml.content import Number, PmmlNode, Scores, Sum, Tree, Value
from mace.compilers.pmml.expressions import made_of
from mace.compilers.pmml.fields import Field, Scope
from mace.compilers.pmml.predicates import TRUE, Predicate, Several, Test, inside
from mace.compilers.pmml.tags import given, number, only_child, unsupported, word, wrong
from mace.compilers.pmml.trees import Classes

_ONE = Fraction(1)
_LINKS = ("logit", "probit", "cauchit")
_HINT = "Make the product a column of its own before the model."


def _cases(cases: Sequence[PmmlNode], otherwise: float | None = 0.0) -> Tree:
    """The first case that holds, or else a number; None: then there is no prediction."""
    rest = () if otherwise is None else (PmmlNode(TRUE, otherwise),)
    return Tree(PmmlNode(TRUE, None, (), (*cases, *rest)))


def _named(name: str, scope: Scope, element: Element, *, numeric: bool) -> Field:
    field = scope.field(name, element)
    if field.numeric != numeric:
        raise wrong(element, f"takes `{name[:60]}` for {'a number' if numeric else 'a category'}, which it is not")
    return field


# ------------------------------------------------------------------------------------------------- regression


def read_regression(element: Element, scope: Scope, classes: Classes | None) -> Value | Scores:
    """A RegressionModel."""
    tables = element.all("RegressionTable")
    if classes is None:
        method = word(element, "normalizationMethod", ("none", "exp"), "none")
        if len(tables) != 1:
            raise wrong(element, f"has {len(tables)} tables for one number")
        return Value(_line(tables[0], scope), method == "exp")
    method = word(element, "normalizationMethod", ("softmax", *_LINKS), "none")
    sums = {classes.place(given(table, "targetCategory")): _line(table, scope) for table in tables}
    if len(sums) != len(tables):
        raise wrong(element, "has two tables for one class")
    if method in _LINKS:
        return _binary(
            element, sums, [classes.place(given(tables[0], "targetCategory"))] if tables else [], classes, method
        )
    return _softmax(element, sums, classes)


def _binary(element: Element, sums: Mapping[int, Sum], first: Sequence[int], classes: Classes, method: str) -> Scores:
    """One sum: that of the first class listed, the other one's being empty."""
    if len(classes.known) != 2 or not first:
        raise unsupported(element, f"{method} of {len(classes.known)} classes")
    rest = [one for place, one in sums.items() if place != first[0]]
    if any(one.terms or one.start for one in rest):
        raise unsupported(element, f"{method} of two classes that both have coefficients", "Use softmax.")
    positive = sums[first[0]].times(Fraction(1 if first[0] == 1 else -1))
    return Scores((positive,), method)  # type: ignore[arg-type]


def _softmax(element: Element, sums: Mapping[int, Sum], classes: Classes) -> Scores:
    if sorted(sums) != list(range(len(classes.known))):
        raise wrong(element, f"has coefficients for {len(sums)} of {len(classes.known)} classes")
    if len(sums) == 2:
        one = sums[1].plus(sums[0].times(-_ONE))
        if exact(nearest(one.start)) == one.start:
            return Scores((one,), "logit")
    return Scores(tuple(sums[place] for place in range(len(sums))), "softmax")


def _line(table: Element, scope: Scope) -> Sum:
    """A RegressionTable."""
    total = Sum(exact(number(table, "intercept", 0.0)), ())
    cases: dict[str, tuple[Field, list[PmmlNode]]] = {}
    for one in table.children:
        if one.name == "PredictorTerm":
            raise unsupported(one, "a product of predictors", _HINT)
        if one.name == "NumericPredictor":
            name, by = given(one, "name"), exact(number(one, "coefficient"))
            if number(one, "exponent", 1.0) != 1:
                raise unsupported(one, "a power of a predictor", _HINT.replace("product", "power"))
            score = scope.scores.get(name) if name not in scope.fields else None
            if isinstance(score, Sum):
                total = total.plus(score.times(by))
            else:
                total = total.plus(Sum(Fraction(0), ((Number(_named(name, scope, one, numeric=True)), by),)))
        if one.name == "CategoricalPredictor":
            name = given(one, "name")
            field = scope.field(name, one)
            value = made_of(given(one, "value"), field.kind, one, numeric=field.numeric)
            node = PmmlNode(Test(field, "equal", (value,)), number(one, "coefficient"))
            cases.setdefault(name, (field, []))[1].append(node)
    return total.plus(Sum(Fraction(0), tuple((_cases(nodes), _ONE) for _, nodes in cases.values())))


# ------------------------------------------------------------------------------------------------- general regression


def read_general(element: Element, scope: Scope, classes: Classes | None) -> Value | Scores:
    """A GeneralRegressionModel."""
    kinds = ("regression", "generalLinear", "generalizedLinear") if classes is None else (
        "generalizedLinear", "multinomialLogistic")  # fmt: skip
    kind = word(element, "modelType", kinds)
    for name in ("offsetVariable", "offsetValue", "trialsVariable", "trialsValue"):
        if element.attributes.get(name) not in (None, "0", "1" if name == "trialsValue" else "0"):
            raise unsupported(element, f"a model with an {name}")
    sums = _Parameters(element, scope).sums()
    if classes is None:
        link = (
            word(element, "linkFunction", ("identity", "log"), "identity")
            if kind == "generalizedLinear"
            else "identity"
        )
        if len(sums) != 1:
            raise wrong(element, "has several targets")
        return Value(next(iter(sums.values())), link == "log")
    reference = element.attributes.get("targetReferenceCategory")
    known = {classes.place(name): one for name, one in sums.items() if name is not None}
    if reference is not None:
        zero = classes.place(reference)
        if zero in known:
            raise wrong(element, "has coefficients for the class that it refers others to")
    if None in sums and (known or reference is None or len(classes.known) != 2):
        raise wrong(element, "does not say which class its coefficients are of")
    if None in sums:
        known = {1 - classes.place(str(reference)): sums[None]}
    if kind == "generalizedLinear":
        link = word(element, "linkFunction", _LINKS)
        return _binary(element, known, list(known)[:1] if len(known) == 1 else [], classes, link)
    missing = [place for place in range(len(classes.known)) if place not in known]
    if len(missing) != 1:
        raise wrong(element, f"has coefficients for {len(known)} of {len(classes.known)} classes")
    return _softmax(element, {**known, missing[0]: Sum(Fraction(0), ())}, classes)


class _Cell(NamedTuple):
    """What a parameter takes of one predictor."""

    field: Field
    value: float | str


class _Parameters:
    """The parameters of a GeneralRegressionModel, each a product of what it takes of predictors."""

    def __init__(self, element: Element, scope: Scope) -> None:
        self.element, self.scope = element, scope
        factors = self._predictors("FactorList")
        covariates = self._predictors("CovariateList")
        self.cells: dict[str, list[_Cell]] = {
            given(one, "name"): [] for one in only_child(element, "ParameterList").all("Parameter")
        }
        matrix = element.first("PPMatrix")
        for cell in [] if matrix is None else matrix.all("PPCell"):
            if "targetCategory" in cell.attributes:
                raise unsupported(cell, "a parameter that differs from class to class")
            name, of = given(cell, "predictorName"), given(cell, "parameterName")
            if of not in self.cells or name not in {*factors, *covariates}:
                raise wrong(cell, "is about a parameter or a predictor that is not there")
            field = _named(name, scope, cell, numeric=True) if name in covariates else scope.field(name, cell)
            value = number(cell, "value", 1.0) if name in covariates else made_of(
                given(cell, "value"), field.kind, cell, numeric=field.numeric)  # fmt: skip
            self.cells[of].append(_Cell(field, value))
        self.factors = {name: scope.field(name, element) for name in factors}

    def _predictors(self, key: str) -> list[str]:
        found = self.element.first(key)
        listed = [] if found is None else found.all("Predictor")
        for one in listed:
            if one.children or "contrastMatrixType" in one.attributes:
                raise unsupported(one, "a matrix of contrasts", "Write the factor with dummies.")
        return [given(one, "name") for one in listed]

    def sums(self) -> dict[str | None, Sum]:
        """The sum of each target category; None for that of a model without categories."""
        found: dict[str | None, Sum] = {}
        for cell in only_child(self.element, "ParamMatrix").all("PCell"):
            name, beta = given(cell, "parameterName"), number(cell, "beta")
            if name not in self.cells:
                raise wrong(cell, "is about a parameter that is not there")
            key = cell.attributes.get("targetCategory")
            found[key] = found.get(key, Sum(Fraction(0), ())).plus(self._term(cell, self.cells[name], beta))
        if not found:
            raise wrong(self.element, "has no parameters")
        return found

    def _term(self, element: Element, cells: Sequence[_Cell], beta: float) -> Sum:
        if not cells:
            return Sum(exact(beta), ())
        factors = [cell for cell in cells if cell.field in self.factors.values()]
        if not factors:
            if len(cells) > 1 or cells[0].value != 1:
                raise unsupported(element, "a product of predictors", _HINT)
            return Sum(Fraction(0), ((Number(cells[0].field), exact(beta)),))
        if len(factors) < len(cells):
            raise unsupported(element, "a product of a factor and a number", _HINT)
        both: tuple[Predicate, ...] = tuple(Test(cell.field, "equal", (cell.value,)) for cell in factors)
        lacking = [PmmlNode(Test(cell.field, "isMissing")) for cell in factors]
        return Sum(Fraction(0), ((_cases([*lacking, PmmlNode(Several("and", both), beta)]), _ONE),))


# ------------------------------------------------------------------------------------------------- scorecards


def read_scorecard(element: Element, scope: Scope, classes: Classes | None) -> Value:
    """A Scorecard; its reason codes are not read."""
    if classes is not None:
        raise unsupported(element, "a scorecard of classes")
    total = Sum(exact(number(element, "initialScore", 0.0)), ())
    for one in only_child(element, "Characteristics").all("Characteristic"):
        cases: list[PmmlNode] = []
        for attribute in one.all("Attribute"):
            if attribute.first("ComplexPartialScore") is not None:
                raise unsupported(attribute, "a partial score that is computed")
            cases.append(PmmlNode(inside(attribute, scope), number(attribute, "partialScore")))
        total = total.plus(Sum(Fraction(0), ((_cases(cases, None), _ONE),)))
    return Value(total)
