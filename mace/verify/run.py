"""Verify one property of a model: ask the questions that it comes to, replay what is found, keep what was proved.

In:  a model, a space, a property.    Out: a `Verdict`.
Promise: "proved" only when every question was refuted; "violated" only with inputs that the deployed model was asked
again; a limit, a doubt in the last bits, or a question that no oracle takes is "unknown".
Source: Karimi et al. 2020, section 3; pairs of inputs as one input of a product: Barthe, D'Argenio, Rezk 2004.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, assert_never

from mace.axes import Point
from mace.deadline import Deadline
from mace.diversity import AvoidPoint
from mace.errors import CertificateError, GoalError, MaceError, ModelError
from mace.oracles.protocol import Found, Gap, Limits, Oracle, Refuted, Unknown
from mace.proof import Proof
from mace.question import Question
from mace.space import Space
from mace.tables import Ensemble, Formula, Label, Network
from mace.verify import properties as kinds
from mace.verify.properties import Property, text_of
from mace.verify.questions import (
    Broken,
    Case,
    Pairs,
    Rows,
    class_goal,
    condition_cases,
    condition_of,
    holds_for,
    ordered,
    question_of,
    relation_of,
    step_cases,
)
from mace.verify.shrink import shrink
from mace.verify.structure import follows, same_network
from mace.verify.subject import Subject, simple
from mace.verify.verdict import Verdict, Violation

if TYPE_CHECKING:
    import pandas as pd

    from mace.certificate import Certificate

ANYTHING = Gap(Fraction(10**12))  # the first point found will do: nobody asked for the nearest
MOST_REFUSED = 1000


def verify(
    model: object,
    space: Space,
    property: Property | str,  # noqa: A002
    *,
    data: pd.DataFrame | None = None,
    timeout: float | None = 60.0,
    memory: int | None = 4096,
    load: Callable[[Path], object] | None = None,
) -> Verdict:
    """Whether a property holds for every input that the space allows.

    model:    as for `mace.explain`.
    space:    the inputs: all values that its features may take, under its rules; which features may change from a
              given row plays no part here.
    property: one of `mace.verify`'s properties, or its text.
    data:     rows for `robust(0)`, and for plain values in witnesses.
    timeout:  seconds for the whole property (None: no limit); memory: MB for each solver.
    load:     reads the model that `equivalent` names by its file.
    Returns a Verdict. Raises a MaceError for a wrong model, space or property; a limit does not raise.
    """
    if isinstance(property, str):
        property = kinds.read(property)  # noqa: A001
    if not isinstance(space, Space):
        raise ModelError(f"the second argument must be a mace.Space, got {type(space).__name__}")
    deadline = Deadline.asked(timeout)
    began = time.perf_counter()
    limits = Limits(deadline, None if memory is None else memory * 2**20)
    if isinstance(property, kinds.Robust):
        from mace.verify.robustness import robustness

        verdict = robustness(model, space, property, data, limits)
    else:
        subject = Subject(model, space)
        compiling = subject.explainer.ready()
        limits, began = replace(limits, deadline=deadline.later(compiling)), began + compiling
        plain = _plain_row(subject.space, data)
        verdict = _Run(subject, property, limits, plain, load).verdict()
    return replace(verdict, name=text_of(property), seconds=time.perf_counter() - began)


def _plain_row(space: Space, data: pd.DataFrame | None) -> dict[str, Any]:
    if data is not None and len(data):
        return space.row(data.iloc[0])
    axes = {feature.name: feature.axis(simple(feature)) for feature in space.features}
    return {name: space[name].show(axis, axis.start) for name, axis in axes.items()}


@dataclass
class _Run:
    """One property on its way to a verdict."""

    subject: Subject
    given: Property
    limits: Limits
    plain: Mapping[str, Any]
    load: Callable[[Path], object] | None
    asked: int = 0
    refuted: int = 0
    oracles: list[str] = field(default_factory=list)
    certificates: list[Certificate] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)

    def verdict(self) -> Verdict:
        """Ask everything, up to the first violation."""
        reason = follows(self.subject, self.given)
        if reason is not None:
            return Verdict("", "proved", reason, oracle="structure")
        wants_witness = isinstance(self.given, kinds.Reachable)
        for case in self._cases():
            found = self.decide(case)
            if found is None:
                continue
            rows, decisions = found
            if wants_witness:
                return self._done("proved", "this input gets it", witness=Violation(rows, decisions))
            return self._done("violated", _broken_by(rows), violation=Violation(rows, decisions))
        if self.doubts:
            settled = f"{self.refuted} of {self.asked} questions were refuted"
            return self._done("unknown", f"{self.doubts[0]} ({settled})")
        if wants_witness:
            return self._done("violated", "proved: no allowed input gets it")
        if not self.asked:
            same = isinstance(self.given, kinds.Equivalent)
            why = "both compute the same from the same numbers" if same else "no tree changes its answer along it"
            return Verdict("", "proved", why, oracle="structure")
        return self._done("proved", f"no allowed input breaks it ({_count(self.refuted, 'question')} refuted)")

    def _done(self, status: Any, why: str, **more: Any) -> Verdict:
        # What was refuted before a violation was found proves nothing about the property.
        complete = "violation" not in more and len(self.certificates) == self.refuted
        certified = self.certificates if complete else []
        return Verdict(
            "", status, why, certificates=tuple(certified), asked=self.asked, refuted=self.refuted,
            oracle=", ".join(dict.fromkeys(self.oracles)), notes=tuple(dict.fromkeys(self.notes)), **more,
        )  # fmt: skip

    # ------------------------------------------------------------------------------------------ questions

    def _cases(self) -> Iterator[Case]:
        given, subject = self.given, self.subject
        match given:
            case kinds.Monotone():
                yield from self._monotone(given)
            case kinds.Fair():
                yield from self._fair(given)
            case kinds.Equivalent():
                yield from self._equivalent(given)
            case kinds.Reachable(label=label):
                index = _class(subject, label)
                for axes in subject.wholes:
                    goal = class_goal(subject, index)
                    question = question_of(subject.space, axes, subject.table, subject.columns, goal, subject.rules)
                    yield Case(question, _single(subject, axes), self._says(label_of(subject, index)))
            case kinds.Bounded():
                yield from self._bounded(given)
            case kinds.Holds(program=source):
                condition = condition_of(subject, source)

                def broken(rows: Rows) -> tuple[Label, ...] | None:
                    said = subject.decisions(rows)
                    two = list(said) if len(said) == 2 else [said[0], said[0]]
                    return None if holds_for(condition, subject, rows, two) else tuple(said)

                yield from condition_cases(subject, condition, broken)
            case kinds.Robust():
                raise AssertionError("robust is a question about one row")
            case _:
                assert_never(given)

    def _says(self, label: Label) -> Broken:
        def broken(rows: Rows) -> tuple[Label, ...] | None:
            said = tuple(self.subject.decisions(rows))
            return said if said[0] == label else None

        return broken

    def _monotone(self, given: kinds.Monotone) -> Iterator[Case]:
        subject = self.subject
        feature = subject.space[given.feature]
        if not ordered(feature):
            raise MaceError(f"monotone: `{feature.name}` is {feature.kind}: its levels have no order")
        good = self._favourable(given.favourable)
        pairs = [(i, j) for i in good for j in range(len(subject.classes)) if j not in good] or [(0, 0)]
        rising = given.direction == "increasing"

        def broken(rows: Rows) -> tuple[Label, ...] | None:
            (axis, other) = (subject.space[feature.name].axis(row[feature.name]) for row in rows)
            moved = other.value(other.start) - axis.value(axis.start)
            if any(row[feature.name] is None for row in rows) or moved == 0 or (moved > 0) != rising:
                return None
            if any(rows[0][name] != rows[1][name] for name in rows[0] if name != feature.name):
                return None
            one, after = subject.decisions(rows)
            if not subject.classes:
                return (one, after) if after < one else None
            worse = subject.classes.index(one) in good and subject.classes.index(after) not in good
            return (one, after) if worse else None

        text = f"moving {feature.name} turns the decision"
        if isinstance(subject.table, Ensemble):
            before = len(self.doubts)
            yield from step_cases(subject, feature.name, rising, pairs, broken, text)
            if len(self.doubts) == before or not any(feature.name in rule.reads for rule in subject.rules):
                return
            del self.doubts[before:]  # with the rules that read the feature it may still be settled
        sign = ">" if rising else "<"
        relation = f"`other_{feature.name}` {sign} `{feature.name}`".replace(
            "`", "" if feature.name.isidentifier() else "`"
        )
        yield from Pairs(subject, subject, (feature.name,), (relation,)).cases(pairs, broken, text)

    def _favourable(self, labels: tuple[Any, ...] | None) -> list[int]:
        classes = self.subject.classes
        if labels is not None:
            return [_class(self.subject, label) for label in labels]
        if len(classes) > 2:
            raise GoalError(
                "monotone: which classes are favourable?", hint=f"favourable=[{classes[-1]!r}], for instance"
            )
        return [1] if classes else []

    def _fair(self, given: kinds.Fair) -> Iterator[Case]:
        subject = self.subject
        for name in given.features:
            _ = subject.space[name]
        doubled, relation = relation_of(subject.space, given.features, given.within)

        def broken(rows: Rows) -> tuple[Label, ...] | None:
            one, other = rows
            if all(one[name] == other[name] for name in given.features):
                return None
            for feature in subject.space.features:
                if feature.name in given.features or one[feature.name] == other[feature.name]:
                    continue
                if feature.name not in doubled:
                    return None
                lower, upper = feature.bounds()
                ends = [feature.read(row[feature.name]) for row in rows]
                if None in ends or abs(Fraction(ends[0] or 0) - Fraction(ends[1] or 0)) > given.within * (
                    upper - lower
                ):
                    return None
            said = subject.decisions(rows)
            return (said[0], said[1]) if said[0] != said[1] else None

        count = len(subject.classes)
        # The two inputs may change places: each pair of classes is asked for once.
        pairs = [(i, j) for i in range(count) for j in range(i + 1, count)] or [(0, 0)]
        text = f"changing {', '.join(given.features)} changes the decision"
        yield from Pairs(subject, subject, doubled, relation).cases(pairs, broken, text)

    def _equivalent(self, given: kinds.Equivalent) -> Iterator[Case]:
        subject, other = self.subject, Subject(self._other(given.other), self.subject.space)
        if same_network(subject, other):
            return
        if {type(subject.table), type(other.table)} == {Ensemble, Network}:
            self.doubts.append("no prover takes a network and a tree ensemble together")
            return
        if bool(subject.classes) != bool(other.classes):
            raise ModelError("one of the two models has classes, and the other predicts a number")

        def broken(rows: Rows) -> tuple[Label, ...] | None:
            said = (*subject.decisions(rows), *other.decisions(rows))
            return said if said[0] != said[1] else None

        text = "the two models differ"
        if not subject.classes:
            yield from Pairs(subject, other, ()).cases([(0, 0)], broken, text)
            yield from Pairs(other, subject, ()).cases([(0, 0)], broken, text)
            return
        pairs = [(i, j) for i, a in enumerate(subject.classes) for j, b in enumerate(other.classes) if a != b]
        if not pairs:
            return
        # The wholes are those of the first model; rows that only the second one cannot take are an error of its own.
        yield from Pairs(subject, other, ()).cases(pairs, broken, text)

    def _other(self, given: Any) -> Any:
        if isinstance(given, (str, Path)) and not kinds.is_program(given):
            if str(given).endswith(".mace"):
                return Path(given)
            if self.load is None:
                raise ModelError("equivalent: give the model itself", hint="A file is read by the command line only.")
            return self.load(Path(given))
        return given

    def _bounded(self, given: kinds.Bounded) -> Iterator[Case]:
        from mace.goals import Between, Probability, Value, lower
        from mace.plausibility import rule_of

        subject = self.subject
        if isinstance(subject.table, Formula):
            raise GoalError("bounded: a program returns a class, not a number")
        label = None
        if subject.classes:
            if given.label is None:
                raise GoalError("bounded: of which class is this the probability?", hint="bounded(0, 0.9, label=1)")
            label = label_of(subject, _class(subject, given.label))
        rules = [*subject.rules, *(rule_of(rule, subject.space) for rule in given.where)]
        outside = []
        if given.lower is not None and (label is None or given.lower > 0):
            outside.append(Between(high=given.lower, high_strict=True))
        if given.upper is not None and (label is None or given.upper < 1):
            outside.append(Between(low=given.upper, low_strict=True))
        for side in outside:
            goal, table = lower(Value(side) if label is None else Probability(label, side), subject.table)

            def broken(rows: Rows, side: Between = side) -> tuple[Any, ...] | None:
                import numpy as np

                for row in rows:
                    axes = subject.space.axes(row)
                    if not all(rule.holds(axes, tuple(axis.start for axis in axes)) for rule in rules):
                        return None
                said = subject.decisions(rows) if label is None else subject.probabilities(rows, label)
                return tuple(said) if bool(side.holds(np.asarray(said))[0]) else None

            for axes in subject.wholes:
                question = question_of(subject.space, axes, table, subject.columns, goal, rules)
                yield Case(question, _single(subject, axes), broken)

    # ------------------------------------------------------------------------------------------ answers

    def decide(self, case: Case) -> tuple[Rows, tuple[Label, ...]] | None:
        """Rows that break the property, or None; then the case was refuted, or a doubt was noted."""
        self.asked += 1
        deadline = self.limits.deadline
        if deadline.over:
            self.doubts.append(deadline.why)
            return None
        reply, name, refused, accepted = ask(case, None, self.limits, self.breaks)
        self.oracles.append(name)
        if accepted is not None:
            rows = shrink(accepted, lambda candidate: self.breaks(case, candidate) is not None, self.plain)
            decisions = self.breaks(case, rows)
            assert decisions is not None
            return rows, decisions
        match reply:
            case Refuted(proof=proof):
                self.refuted += 1
                if refused:
                    self.notes.append(
                        f"the deployed model itself was asked about {len(refused)} points near a boundary"
                    )
                self._certify(case.question, refused, proof)
            case Unknown(why=why):
                self.doubts.append(deadline.why if deadline.over else why)
        return None

    def breaks(self, case: Case, rows: Rows) -> tuple[Label, ...] | None:
        """What the deployed model says of allowed rows that break the property; None if they do not."""
        return case.broken(rows) if all(self.subject.allowed(row) for row in rows) else None

    def _certify(self, question: Question, refused: Iterable[Point], proof: Proof | None) -> None:
        from mace.certificate import certificate

        if proof is None:
            return
        for point in refused:
            question = question.away(AvoidPoint(point))
        try:
            self.certificates.append(certificate(question, None, None, proof))
        except CertificateError as error:
            self.notes.append(error.message)


def ask(
    case: Case,
    radius: Fraction | None,
    limits: Limits,
    breaks: Callable[[Case, Rows], tuple[Label, ...] | None],
) -> tuple[Any, str, list[Point], Rows | None]:
    """One question: the reply, the oracle's name, points that the replay refused, and the rows that it accepted."""
    refused: list[Point] = []
    try:
        oracle = oracle_for(case.question)
    except ModelError as error:
        return Unknown(error.message), "none", refused, None
    try:
        while True:
            reply = oracle.ask(radius, limits, strict=radius is not None, gap=ANYTHING)
            if not isinstance(reply, Found):
                return reply, oracle.name, refused, None
            rows = case.rows(reply.point)
            if case.question.obeys(reply.point) and breaks(case, rows) is not None:
                return reply, oracle.name, refused, rows
            refused.append(reply.point)
            if not case.exact:
                why = "a point that the prover found breaks the property by no allowed rows"
                return Unknown(why), oracle.name, refused, None
            oracle.forbid(reply.point)
            if limits.deadline.over or len(refused) >= MOST_REFUSED:
                why = f"the deployed model refused {len(refused)} points that the oracle found"
                return Unknown(why), oracle.name, refused, None
    finally:
        oracle.close()


def oracle_for(question: Question) -> Oracle:
    """A prover that takes the question, else the solvers."""
    from mace.oracles.smt import SmtOracle

    try:
        if isinstance(question.model, Ensemble):
            from mace.oracles.ensembles import EnsembleOracle

            return EnsembleOracle(question)
        if isinstance(question.model, Network) and all(c.values is not None or c.is_affine for c in question.columns):
            from mace.oracles.networks import NetworkOracle

            return NetworkOracle(question)
    except (ModelError, TypeError):
        pass  # more levels than the prover takes, or a column that rises and falls
    return SmtOracle(question)


def _single(subject: Subject, axes: tuple[Any, ...]) -> Callable[[Point], Rows]:
    return lambda point: (subject.space.show(axes, point),)


def _class(subject: Subject, label: Any) -> int:
    """The number of a class given by its label, or by the text of it."""
    classes = list(subject.classes)
    for place, known in enumerate(classes):
        if known == label or str(known) == str(label):
            return place
    shown = ", ".join(map(repr, classes)) or "none: it predicts a number"
    raise GoalError(f"{label!r} is not a class of this model", hint=f"Its classes: {shown}.")


def label_of(subject: Subject, index: int) -> Label:
    """The label of a class."""
    return subject.classes[index]


def _broken_by(rows: Rows) -> str:
    if len(rows) == 1:
        return "this input breaks it"
    differ = [name for name in rows[0] if rows[0][name] != rows[1][name]]
    return f"these two inputs, which differ in {', '.join(differ)}, break it"


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'' if number == 1 else 's'}"
