"""PMML's RuleSetModel, as a `Tree` of one level: the first rule that holds decides.

Where the heaviest rule decides, rules are asked in the order of their weights; of equal ones the first of the file.
JPMML takes the heaviest rule of each class, and of these the most confident one: where that may be another, it is said.
Rules inside of others hold where those around them do. A rule whose predicate is unknown does not fire.
Source: PMML 4.4, Ruleset (dmg.org/pmml/v4-4/RuleSet.html).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mace.compilers.formats.xml import Element
from mace.compilers.pmml.content import PmmlNode, Tree
from mace.compilers.pmml.fields import Scope
from mace.compilers.pmml.predicates import TRUE, Predicate, Several, inside
from mace.compilers.pmml.tags import given, number, only_child, unsupported, word, wrong
from mace.compilers.pmml.trees import Classes

DEEPEST = 50


def read_rules(element: Element, scope: Scope, classes: Classes | None) -> Tree:
    """The rules of a RuleSetModel; raises ModelError."""
    if classes is None:
        raise unsupported(element, "rules that give numbers")
    rules = only_child(element, "RuleSet")
    methods = rules.all("RuleSelectionMethod")
    if not methods:
        raise wrong(rules, "has no RuleSelectionMethod")
    how = word(methods[0], "criterion", ("firstHit", "weightedMax"))
    found = list(_flat(rules, scope, (), 0))
    if how == "weightedMax":
        found.sort(key=lambda one: -number(one[0], "weight", 1.0))
    nodes = [PmmlNode(predicate, classes.place(given(rule, "score"))) for rule, predicate in found]
    if "defaultScore" in rules.attributes:
        nodes.append(PmmlNode(TRUE, classes.place(given(rules, "defaultScore"))))
    if not nodes:
        raise wrong(rules, "has no rules")
    return Tree(PmmlNode(TRUE, None, (), tuple(nodes)), disputed=how == "weightedMax" and _disputed(found))


def _disputed(rules: Sequence[tuple[Element, Predicate]]) -> bool:
    """Whether some rule, of those from the heaviest down, is of another class and no less confident than one before."""
    least: dict[str, float] = {}  # of the rules so far, by class
    for rule, _ in rules:
        confidence, score = number(rule, "confidence", 1.0), given(rule, "score")
        if any(confidence >= one for other, one in least.items() if other != score):
            return True
        least[score] = min(confidence, least.get(score, confidence))
    return False


def _flat(
    element: Element, scope: Scope, around: tuple[Predicate, ...], deep: int
) -> Iterator[tuple[Element, Predicate]]:
    """The simple rules, each with all that has to hold."""
    if deep > DEEPEST:
        raise unsupported(element, f"rules nested deeper than {DEEPEST}")
    for rule in element.all("SimpleRule", "CompoundRule"):
        both = (*around, inside(rule, scope))
        if rule.name == "CompoundRule":
            yield from _flat(rule, scope, both, deep + 1)
        else:
            yield rule, both[0] if len(both) == 1 else Several("and", both)
