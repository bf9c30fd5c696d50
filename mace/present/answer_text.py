"""An answer as a before/after table: for a terminal (rich), a notebook (HTML) and plain text."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING

from mace.base.escape import one_line
from mace.base.figures import DIGITS, at_least, at_most, cell, move, number
from mace.base.suggestions import some
from mace.present.html import grid
from mace.present.words import COLORS, bracketed, chance, decision

if TYPE_CHECKING:
    from rich.console import RenderableType

    from mace.explain.answer import Answer

MOST_HELD = 12  # features that may, or may not, change, by name


def bounds(answer: Answer) -> str:
    """One sentence: status, distance and lower bound."""
    meaning = answer.meaning
    if answer.status == "infeasible":
        return f"infeasible ({meaning})"
    if answer.distance is None or answer.exact_distance is None:
        floor = f"; none is closer than {at_least(answer.exact_lower_bound)}" if answer.lower_bound else ""
        return f"{answer.status} ({meaning}{floor}): {one_line(answer.why)}"
    what = f"{answer.distance_name} distance"
    if len(answer.levels) > 1 and answer.status == "optimal":  # the bounds of each stand below
        held = f"{what} {answer.distance:.9g}"
    else:
        held = bracketed(what, answer.exact_distance, answer.exact_lower_bound)
    why = f": {one_line(answer.why)}" if answer.why else ""
    return f"{answer.status} ({meaning}{why}): {held}"


def levels(answer: Answer) -> list[str]:
    """A line for each of several objectives."""
    if len(answer.levels) < 2:
        return []
    lines = []
    for place, level in enumerate(answer.levels, 1):
        head = f"{place}. {one_line(level.name)}"
        if level.value is None or level.exact_value is None:
            lines.append(f"{head}: {level.status}")
        elif level.exact_value == level.exact_lower_bound:
            lines.append(f"{head} = lower bound = {number(level.exact_value, DIGITS)}")
        else:
            lines.append(f"{head} {at_most(level.exact_value)}, lower bound {at_least(level.exact_lower_bound)}")
        if level.of_answer is not None and level.value is not None and level.of_answer > level.value:
            lines[-1] += f"; {level.of_answer:.9g} here, as its tolerance allows"
        if level.why:
            lines[-1] += f" ({one_line(level.why)})"
    return lines


def held(answer: Answer) -> list[str]:
    """A line of the features that may not change, where there are any, or of the others, where these are fewer."""
    fixed = [one_line(feature.name) for feature in answer.space.features if feature.change == "fixed"]
    free = [one_line(feature.name) for feature in answer.space.features if feature.change != "fixed"]
    if 0 < len(free) < len(fixed):
        return [f"only {some(free, MOST_HELD)} may change"]
    return [f"may not change: {some(fixed, MOST_HELD)}"] if fixed else []


def _rows(answer: Answer) -> list[list[str]]:
    """One row per feature that any counterfactual changes: name, start, then value and move per counterfactual."""
    rows = []
    for feature in answer.space.features:
        if not any(feature.name in c.changes for c in answer.counterfactuals):
            continue
        before = answer.start[feature.name]
        row = [one_line(feature.name), cell(before, feature.unit)]
        for c in answer.counterfactuals:
            if feature.name in c.changes:
                after = c.changes[feature.name][1]
                by = move(before, after)
                row.append(cell(after, feature.unit) + (f"  ({by})" if by else ""))
            else:
                row.append("·")
        rows.append(row)
    return rows


def _head(answer: Answer) -> list[str]:
    many = len(answer.counterfactuals) > 1
    return [
        "feature",
        "now",
        *(f"needed ({n})" if many else "needed" for n in range(1, len(answer.counterfactuals) + 1)),
    ]


def _distances(answer: Answer) -> list[str] | None:
    """The row of distances, where there is more than one counterfactual."""
    if len(answer.counterfactuals) < 2:
        return None
    return ["distance", "0", *(f"{c.distance:.6g} ({c.status})" for c in answer.counterfactuals)]


def _outcomes(answer: Answer) -> list[str] | None:
    """The row of what the model says in numbers, before and after; None for a model that has none."""
    found = answer.outcomes
    if found is None or len(found.values) != len(answer.counterfactuals) + 1:
        return None
    return [one_line(found.name), *(chance(value, found.name) for value in found.values)]


def _last_rows(answer: Answer) -> list[list[str]]:
    """What stands below the changes."""
    return [row for row in (_outcomes(answer), _distances(answer)) if row]


def as_rich(answer: Answer) -> RenderableType:
    """For a rich console."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    parts: list[RenderableType] = [Text(decision(answer), style="bold")]
    if answer.counterfactuals and _rows(answer):
        table = Table(box=None, pad_edge=False)
        for number, name in enumerate(_head(answer)):
            table.add_column(name, style="bold" if number == 0 else "", overflow="fold")
        for row in _rows(answer):
            table.add_row(*(Text(cell) for cell in row))
        for row in _last_rows(answer):
            table.add_row(*(Text(cell, style="dim") for cell in row))
        parts.append(table)
    parts.append(Text(bounds(answer), style=COLORS[answer.status]))
    parts += [Text(line) for line in (*levels(answer), *held(answer))]
    parts += [Text(f"note: {one_line(note)}", style="dim") for note in answer.notes]
    parts.append(Text(f"oracle {answer.oracle}, {answer.seconds:.3f} s", style="dim"))
    return Group(*parts)


def as_text(answer: Answer) -> str:
    """Plain text, the same words."""
    lines = [decision(answer)]
    rows = [_head(answer), *_rows(answer)]
    rows += _last_rows(answer)
    if answer.counterfactuals and len(rows) > 1:
        widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
        lines += [
            "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
        ]
    lines += [bounds(answer), *levels(answer), *held(answer)]
    lines += [f"note: {one_line(note)}" for note in answer.notes]
    return "\n".join(lines)


def as_html(answer: Answer) -> str:
    """For a notebook; every value is escaped."""
    return f"<div><p>{escape(decision(answer))}</p>{below_decision(answer)}</div>"


def below_decision(answer: Answer) -> str:
    """The same without what was decided and wanted, for a page that has it in its heading."""
    notes = "".join(f"<br>{escape(line)}" for line in (*levels(answer), *held(answer)))
    notes += "".join(f"<br>note: {escape(one_line(note))}" for note in answer.notes)
    table = grid(_head(answer), [*_rows(answer), *_last_rows(answer)]) if answer.counterfactuals else ""
    return f"{table}<p>{escape(bounds(answer))}{notes}</p>"
