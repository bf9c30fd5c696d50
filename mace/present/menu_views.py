"""A menu as text, as HTML and in sentences.

In:  a `Menu`.    Out: texts; of HTML every value is escaped.
Promise: "proved" stands only where a refutation does; what was not decided is said to be open, and what is left out of
a long list is counted.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from mace.base.escape import one_line
from mace.base.figures import cell, counted
from mace.explain.menu import Way
from mace.present.html import grid
from mace.present.words import sentences as changes_of

if TYPE_CHECKING:
    from mace.explain.menu import Menu
    from mace.explain.safe import Safe
    from mace.space.space import Space

MOST = 10  # ways of several features, and sets that cannot, that a text shows


def sentences(menu: Menu) -> list[str]:
    """What each feature can do alone, the ways of several features, and what is left open."""
    if menu.ways and not menu.ways[0].features:
        return [f"Nothing has to change: the decision is {one_line(menu.wanted)} already."]
    said = [f"{one_line(name)} alone is {_of_one(menu, name)}" for name in menu.free]
    for way in menu.ways:
        if len(way.features) > 1:
            changes = "; ".join(moves(way))
            said.append(f"{_names(way.features)} together are enough: {changes}.{_keeps(menu.space, way)}")
    if not menu.ways and menu.complete:
        said.append("Whatever is changed of what may change, the decision stays the same: proved.")
    elif menu.complete:
        said.append("Other features are enough only together with all those of one of these ways: proved.")
    else:
        said.append(f"It is not known whether {counted(len(menu.undecided), 'other set is', 'other sets are')} enough.")
    return said


def _of_one(menu: Menu, name: str) -> str:
    """What one feature can do alone, after "it is"."""
    found = menu.alone(name)
    if found is None:
        return "perhaps enough: not known."
    if isinstance(found, Way):
        return f"enough: {'; '.join(moves(found))}.{_keeps(menu.space, found)}"
    return "not enough, whatever it becomes: proved."


def _names(features: tuple[str, ...]) -> str:
    names = [one_line(name) for name in features]
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else "nothing"


def moves(way: Way) -> list[str]:
    """The changes of a way, one text each, without the name of a feature that changes alone."""
    moved = changes_of(way.answer)
    if len(way.features) == 1:
        moved = [text.removeprefix(one_line(way.features[0])).strip() for text in moved]
    if way.answer.status != "optimal":
        moved.append("perhaps less is enough" if moved else "enough, but the nearest change is not known")
    return moved


def _keeps(space: Space, way: Way) -> str:
    """How far the new values may move, in words."""
    if way.box is None:
        return ""
    if len(way.box.ranges) == 1:
        (name,) = way.box.ranges
        return f" The wanted decision is proved for {range_words(space, way.box, name)}."
    return f" The wanted decision is proved for every combination of {_mixture(space, way.box)}."


def _mixture(space: Space, box: Safe) -> str:
    return ", ".join(f"{one_line(name)} {range_words(space, box, name)}" for name in box.ranges)


def range_words(space: Space, box: Safe, name: str) -> str:
    """A range of one feature: `29,900 to 33,000 EUR a year`, or its levels."""
    feature, values = space[name], box.ranges[name]
    if not feature.numeric:
        return " or ".join(cell(level) for level in values)
    if values[0] == values[1]:
        return f"exactly {cell(values[0], feature.unit)}"
    return f"{cell(values[0])} to {cell(values[1], feature.unit)}"


def _head(menu: Menu) -> str:
    now = "" if menu.decision is None else f"decision: {one_line(menu.space.called(menu.decision))}, "
    return f"{now}wanted: {one_line(menu.wanted)}"


def ending(menu: Menu) -> str:
    """How many there are, and whether these are all."""
    if menu.complete:
        counts = f"{_sets(len(menu.ways), 'minimal')} enough, {_sets(len(menu.cannot), 'maximal')} not"
        return f"{counts}; proved: every other set holds one of the first or lies in one of the second"
    why = one_line(menu.why) or "no answer"
    return (
        f"{_sets(len(menu.ways))} enough, perhaps with less; {_sets(len(menu.cannot), 'maximal')} not, proved; "
        f"{len(menu.undecided)} undecided ({why})"
    )


def _sets(count: int, which: str = "") -> str:
    """So many sets of features, and the verb."""
    return f"{count} {f'{which} ' if which else ''}{'set of features is' if count == 1 else 'sets of features are'}"


def _rest(found: Sequence[object]) -> list[str]:
    return [f"  .. and {len(found) - MOST} more"] if len(found) > MOST else []


def as_text(menu: Menu) -> str:
    """Plain text: what each feature can do alone, what several can, what cannot, and whether these are all."""
    if menu.ways and not menu.ways[0].features:
        return "\n".join([_head(menu), *sentences(menu)])
    lines = [_head(menu), "alone:"]
    width = max((len(one_line(name)) for name in menu.free), default=0)
    lines += [f"  {one_line(name):{width}}  {_of_one(menu, name)}" for name in menu.free]
    several = [way for way in menu.ways if len(way.features) > 1]
    if several:
        lines.append("together:")
    for way in several[:MOST]:
        whose = "" if way.answer.counterfactuals else f"{_names(way.features)}: "
        lines.append(f"  {whose}{'; '.join(moves(way))}")
        if way.box is not None:
            lines.append(f"      proved for {_mixture(menu.space, way.box)}")
    lines += _rest(several)
    if menu.cannot:
        lines.append("not enough, whatever becomes of all of these, proved:")
        lines += [f"  {', '.join(map(one_line, one.features)) or 'no change'}" for one in menu.cannot[:MOST]]
        lines += _rest(menu.cannot)
    if menu.held:
        lines.append(f"may not change: {', '.join(map(one_line, menu.held))}")
    lines.append(ending(menu))
    return "\n".join([*lines, *(f"note: {one_line(note)}" for note in menu.notes)])


def as_html(menu: Menu) -> str:
    """For a notebook."""
    return f"<div><p>{escape(_head(menu))}</p>{below_decision(menu)}</div>"


def below_decision(menu: Menu) -> str:
    """The same without what was decided and wanted, for a page that has it in its heading."""
    asked = any(way.box is not None for way in menu.ways)  # else there is no such column
    rows = (
        [_names(way.features), "; ".join(moves(way))] + ([_range(menu.space, way)] if asked else [])
        for way in menu.ways
    )
    table = grid(("Enough", "Nearest change", *(["Proved for"] if asked else [])), rows)
    cannot = "".join(f"<li>{escape(', '.join(map(one_line, one.features)) or 'no change')}</li>" for one in menu.cannot)
    below = f"<p>Not enough, whatever becomes of all of these, proved:</p><ul>{cannot}</ul>" if cannot else ""
    return f"{table}{below}<p>{escape(ending(menu))}</p>"


def _range(space: Space, way: Way) -> str:
    if way.box is None:
        return "·"
    several = len(way.box.ranges) > 1
    return _mixture(space, way.box) if several else range_words(space, way.box, next(iter(way.box.ranges)))
