"""Goals from texts, labels and lists of labels.

In:  a text such as `>50K`, `not 0`, `p(good) >= 0.7`, `300 <= price <= 350`, `price within 5% of 320`, `good by 0.1`;
     or a label, several labels, or an object of `mace.problem.goals`; a label may stand as people call it (`approved`).
Out: the object.
Promise: `parse(str(goal), classes) == goal`.

    goal        = classes | probability | number | margin
    classes     = label {("," | "or") label} | ("not" | "anything but") label {("," | "or") label}
    probability = "p(" label ")" compare value | value compare "p(" label ")" [compare value]
    number      = name compare value | value compare name [compare value] | name "within" value ["%"] "of" value
    margin      = label "by" value ["in score"]
    compare     = "<=" | "<" | ">=" | ">"

`within 5% of y` is |f - y| <= 0.05 |y|, and |f| < 0.05 for y = 0; its ends are computed exactly, then read as if they
were written: `within 5% of 0.6` is `0.57 <= f <= 0.63`.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Collection, Iterable, Mapping, Sequence

from mace.base.escape import short
from mace.base.exact import as_written, nearest
from mace.base.suggestions import few, meant
from mace.base.values import name_of, plain
from mace.errors import GoalError
from mace.problem.goals import Between, Classes, Margin, Probability, Value, Wanted
from mace.tables.table import Label


def wanted(
    goal: object,
    classes: Sequence[Label],
    present: Label | None = None,
    called: Mapping[str, str] | None = None,
    features: Collection[str] = (),
) -> Wanted:
    """What a caller means by a goal.

    goal:    None for anything but the present class; a label, several labels, a text, or an object of this file.
    classes: the model's; none for a model that predicts a number.
    called:  what people call a class, by its text; a text that names no class may name it so.
    features: names that a text may not give to the number that a model predicts: those of the features.
    Raises GoalError for what is no goal of such a model.
    """
    if isinstance(goal, (Classes, Probability, Value, Margin)):
        return goal
    if goal is None:
        if not classes:
            raise GoalError("a model that predicts a number needs a goal", hint=HINT_NUMBER)
        return Classes(frozenset(label for label in classes if label != present), present)
    if isinstance(goal, (list, tuple, set, frozenset)):
        return Classes(known([plain(label) for label in goal], classes))
    label = plain(goal)
    if isinstance(label, str) and label not in classes:
        return _not_of(features, label, _parse_called(label, classes, called or {}))
    return Classes(known([label], classes))


_NUMBER = r"([-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*%?)"
_COMPARE = r"(<=|>=|<|>)"
_CHAIN = rf"^(?:{_NUMBER}\s*{_COMPARE}\s*)?NAME(?:\s*{_COMPARE}\s*{_NUMBER})?$"
_PROBABILITY = re.compile(_CHAIN.replace("NAME", r"p\(\s*(.+?)\s*\)"))
_COMPARED = re.compile(_CHAIN.replace("NAME", r"`?([^\W\d][^<>=`]*?)`?"))
_WITHIN = re.compile(rf"^`?([^\W\d][^<>=`]*?)`?\s+within\s+{_NUMBER}\s+of\s+{_NUMBER}$")
_MARGIN = re.compile(rf"^(.+?)\s+by\s+{_NUMBER}(\s+in\s+score)?$")
_BUT = re.compile(r"^(?:not|anything\s+but)\s+(.+)$")
_LABEL = r"""(?:'[^']*'|"[^"]*"|[-+.\w]+)"""
_CLASSES = re.compile(rf"(?:anything but )?{_LABEL}(?: or {_LABEL})*")
HINT_NUMBER = "For instance `300 <= y <= 350`, `y >= 300`, or `y within 5% of 320`."


def parse(text: str, classes: Sequence[Label]) -> Wanted:
    """The goal that a text means for a model with these classes (none: it predicts a number).

    Raises GoalError for a text that is no goal, and for one that names no class of the model.
    """
    text = text.strip()
    if not classes:
        return _parse_number(text)
    if (label := _find(text, classes)) is not None:
        return Classes(frozenset([label[0]]))
    if found := _BUT.match(text):
        out = _labels(found[1], classes)
        return Classes(known([c for c in classes if c not in out], classes), out[0] if len(out) == 1 else None)
    if found := _PROBABILITY.match(text):
        low, first, name, second, high = found.groups()
        return Probability(_labels(name, classes, one=True)[0], _between(text, low, first, second, high, share=True))
    if (found := _MARGIN.match(text)) and _find(found[1], classes) is not None:
        by = _value(found[2])
        if by <= 0:
            raise GoalError(f"the margin of the goal `{text}` must be > 0")
        return Margin(_labels(found[1], classes, one=True)[0], by, bool(found[3]))
    return Classes(frozenset(_labels(text, classes)))


def about_classes(text: str) -> bool:
    """Whether the text of a goal, as `str` writes it, is about classes: where only the text of a goal is left."""
    return _CLASSES.fullmatch(text) is not None


def _not_of(features: Collection[str], text: str, found: Wanted) -> Wanted:
    """A goal that names no feature: it is about what the model predicts, whatever it calls that."""
    if isinstance(found, Value) and found.name in features:
        raise GoalError(
            f"`{text}`: {found.name} is a feature, and a goal is about the number that the model predicts",
            hint=f"Call that number anything else. What a feature may become is a rule: `{text}`.",
        )
    return found


def _parse_called(text: str, classes: Sequence[Label], called: Mapping[str, str]) -> Wanted:
    """As `parse`; a text that is no goal is read once more with the names of people in the place of labels."""
    try:
        return parse(text, classes)
    except GoalError as error:
        known = {name: label for label in classes if (name := name_of(label, called))}
        renamed = text
        for name, label in known.items():
            renamed = repr(label).join(re.split(rf"(?<!\w){re.escape(name)}(?!\w)", renamed))
        if renamed != text:
            return parse(renamed, classes)
        if not known:
            if text not in called.values():
                raise
            hint = f"{error.hint} The space's `decisions` are names of other labels: {few(called)}."
            raise GoalError(error.message, hint=hint) from None
        raise GoalError(
            error.message, hint=meant(text, known, f"{error.hint} People call them {', '.join(known)}.".strip())
        ) from None


def _parse_number(text: str) -> Value:
    if found := _WITHIN.match(text):
        name, tolerance, target = found[1], found[2].replace(" ", ""), as_written(found[3].strip("% "))
        size = as_written(tolerance.rstrip("%")) / (100 if tolerance.endswith("%") else 1)
        if size < 0:
            raise GoalError(f"the tolerance of the goal `{text}` must be >= 0")
        if not tolerance.endswith("%"):
            return Value(Between(nearest(target - size), nearest(target + size)), name)
        if target == 0:  # A share of nothing is nothing: then the tolerance itself is the limit.
            return Value(Between(-nearest(size), nearest(size), low_strict=True, high_strict=True), name)
        return Value(Between(nearest(target - size * abs(target)), nearest(target + size * abs(target))), name)
    if (found := _COMPARED.match(text)) and (found[2] or found[4]):
        low, first, name, second, high = found.groups()
        return Value(_between(text, low, first, second, high), name)
    raise GoalError(f"`{text}` is no goal for a model that predicts a number", hint=HINT_NUMBER)


def _between(
    text: str, left: str | None, first: str | None, second: str | None, right: str | None, share: bool = False
) -> Between:
    """The interval of `left first x second right`."""
    low: tuple[float, bool] | None = None
    high: tuple[float, bool] | None = None
    for compare, end, is_left in ((first, left, True), (second, right, False)):
        if compare is None or end is None:
            continue
        number, strict = _value(end), len(compare) == 1
        if share and not 0 <= number <= 1:
            raise GoalError(f"`{text}`: a probability lies between 0 and 1")
        if (compare[0] == "<") == is_left:
            low, twice = (number, strict), low is not None
        else:
            high, twice = (number, strict), high is not None
        if twice:
            raise GoalError(f"`{text}` bounds the same side twice", hint="Write `0.3 <= x <= 0.6`.")
    if low is None and high is None:
        raise GoalError(f"`{text}` says nothing about what it names", hint="Compare it with a number: `>= 0.7`.")
    if low is not None and high is not None and (low[0] > high[0] or (low[0] == high[0] and (low[1] or high[1]))):
        raise GoalError(f"`{text}` holds for no number")
    return Between(
        None if low is None else low[0],
        None if high is None else high[0],
        low is not None and low[1],
        high is not None and high[1],
    )


def _value(text: str) -> float:
    share = text.strip().endswith("%")
    return nearest(as_written(text.strip("% ")) / (100 if share else 1))


def _labels(text: str, classes: Sequence[Label], one: bool = False) -> list[Label]:
    """The labels in a list of names; the whole text is tried first, for a name may hold a comma or an `or`."""
    if (whole := _find(text, classes)) is not None:
        return [whole[0]]
    found = []
    for part in [text] if one else _parts(text):
        label = _find(part, classes)
        if label is None:
            raise _no_class(part, classes)
        found.append(label[0])
    return found


def _parts(text: str) -> list[str]:
    """The parts of a list between commas and `or`, those inside quotes aside."""
    masked = re.sub(r"'[^']*'|\"[^\"]*\"", lambda quoted: "_" * len(quoted[0]), text)
    cuts = [(0, 0), *(cut.span() for cut in re.finditer(r"\s*,\s*|\s+or\s+", masked)), (len(text), len(text))]
    return [text[end:start] for (_, end), (start, _) in itertools.pairwise(cuts)]


def _find(text: str, classes: Sequence[Label]) -> tuple[Label] | None:
    """The class that a text names, by its own text, its quoted text or its number; in a tuple, for None may be one."""
    text = text.strip()
    for name in (str, repr):
        for label in classes:
            if name(label) == text:
                return (label,)
    try:
        number = float(text)
    except ValueError:
        return None
    same = [label for label in classes if isinstance(label, (int, float)) and label == number]
    return (same[0],) if same and not isinstance(same[0], bool) else None


def known(labels: Iterable[Label], classes: Sequence[Label]) -> frozenset[Label]:
    """The labels, all of them classes of the model, and at least one."""
    found = []
    for label in labels:
        if not classes:
            raise GoalError("a regression model has no classes; its goal is an interval", hint=HINT_NUMBER)
        named = _find(label, classes) if isinstance(label, str) and label not in classes else (label,)
        if named is None or named[0] not in classes:
            raise _no_class(label, classes)
        found.append(named[0])
    if not found:
        raise GoalError("the goal names no class", hint=f"Its classes are {listed(classes)}.")
    return frozenset(found)


def _no_class(name: object, classes: Sequence[Label]) -> GoalError:
    return GoalError(
        f"the goal {short(name)} is not a class of this model",
        hint=meant(
            name,
            classes,
            f"Its classes are {listed(classes)}. Goals may also be `not {classes[0]}`, `p({classes[-1]}) >= 0.7` "
            f"or `{classes[-1]} by 0.1`.",
        ),
    )


def listed(classes: Sequence[Label]) -> str:
    """The names of classes, for a message."""
    return ", ".join(repr(label) for label in classes)
