"""What some actions do together, in any order.

In:  the changes that actions make, the forms of a state, variants, and a box.
Out: forms of all states that some of the variants can lead to; and of what all of them lead to, where that is one.
Promise: of the variants nothing is assumed but that each is taken once, by the interpreter, in some order.
"""

from __future__ import annotations

from collections.abc import Iterable

from mace.plans.changes import Changes
from mace.plans.nodes import Forms
from mace.plans.task import Variant
from mace.worlds.affine import ZERO, Form, Ranges, hull
from mace.worlds.forms import Enclosing


def anywhere(changes: Changes, state: Forms, rest: list[Variant], ranges: Ranges) -> dict[str, Form]:
    """All states that some of the rest can lead to, in any order."""
    found = dict(state)
    mixed, alone = _mixed(changes, rest), _alone(changes, rest)
    for name, variant in alone.items():
        found[name] = hull(state[name], changes.changed(variant, state, Enclosing(ranges))[name], ranges)
    for name in {name for v in rest for name in v.action.affects}:
        effects = [changes.effects[v.number].get(name) for v in rest if name in v.action.affects]
        if name in mixed or name in alone:
            continue
        # What sets a feature may come first, and what adds to it after that.
        for effect in sorted((e for e in effects if e is not None), key=lambda e: e.adds):
            if effect.adds:
                low, high = effect.form.span(ranges)
                found[name] = found[name].wider(min(low, ZERO), max(high, ZERO))
            else:
                found[name] = hull(found[name], effect.form, ranges)
        slack = changes.slack(name, found[name], ranges) * len(effects)
        found[name] = found[name].wider(-slack, slack)
    for _ in rest if mixed else ():
        now = dict(found)
        for variant in (v for v in rest if mixed.intersection(v.action.affects)):
            changed = changes.changed(variant, now, Enclosing(ranges))
            for name in variant.action.affects:
                if name in mixed:
                    found[name] = hull(found[name], changed[name], ranges)
    return {name: changes.inside(name, form) for name, form in found.items()}


def _mixed(changes: Changes, rest: Iterable[Variant]) -> set[str]:
    """Features to which some of the rest does what is not simple, and that it does not do alone."""
    alone = _alone(changes, rest)
    return {n for v in rest for n in v.action.affects if changes.effects[v.number].get(n) is None and n not in alone}


def _alone(changes: Changes, rest: Iterable[Variant]) -> dict[str, Variant]:
    """Features that one of the rest changes by itself, in a way that reads nothing the others change.

    They are changed alike whenever its turn comes.
    """
    some: list[Variant] = list(rest)
    found: dict[str, Variant] = {}
    for variant in some:
        others = {name for v in some if v is not variant for name in v.action.affects}
        if changes.reads[variant.number].isdisjoint(others):
            found |= {
                n: variant
                for n in variant.action.affects
                if n not in others and n not in changes.effects[variant.number]
            }
    return found


def all_of(changes: Changes, state: Forms, rest: list[Variant], ranges: Ranges) -> dict[str, Form]:
    """The features that all of the rest together change in one way, whatever the order."""
    found = {
        name: changes.changed(variant, state, Enclosing(ranges))[name]
        for name, variant in _alone(changes, rest).items()
    }
    for name in {name for v in rest for name in v.action.affects} - found.keys():
        effects = [changes.effects[v.number].get(name) for v in rest if name in v.action.affects]
        if any(effect is None for effect in effects):
            continue
        if all(effect is not None and effect.adds for effect in effects):
            form = state[name]
            for effect in effects:
                assert effect is not None
                form = changes.rounded(name, form + effect.form)
            found[name] = form
        elif len(effects) == 1 and effects[0] is not None:
            found[name] = effects[0].form
    return found
