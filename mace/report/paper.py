"""The paper's tables 4 and 7 on a terminal, each with the paper's figures beside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mace.report.text import percent, row, stacked, table

if TYPE_CHECKING:
    from mace.audit.intervals import Share
    from mace.audit.paper import Line, Restricted

NOTE = (
    "Paper: the figures of Karimi et al. 2020 for 500 rows; its forest, its split of the table and how it breaks ties "
    "are others. Nearest counterfactuals are seldom unique under l0 and linf: what is found there depends on ties, "
    "what every nearest one must do does not."
)


def as_rich(lines: list[Line]) -> Any:
    """The two tables, each with the paper's figures beside, and what they mean."""
    from rich.text import Text

    def one(title: str, verb: str, sides: list[Restricted]) -> Any:
        made = table(
            title,
            "distance",
            "paper",
            f"found: {verb} age",
            "must, proved",
            "paper",
            "farther by (found)",
            "farther by (must)",
            "no recourse",
            "rows proved",
        )
        for line, side in zip(lines, sides, strict=True):
            row(
                made,
                line.distance,
                f"{side.paper.found:.1%}",
                _short(side.found),
                _short(side.proved.must),
                f"{side.paper.farther:.1%}",
                percent(side.farther),
                percent(side.proved.increase),
                side.proved.blocked.count,
                f"{line.proved.count} of {line.rows}",
            )
        return made

    first = f"age in the nearest counterfactuals of {lines[0].rows} rejected rows, forest of Adult (paper: table 4)"
    return stacked(
        [
            one(first, "changes", [line.fixed for line in lines]),
            one("age lowered (paper: table 7)", "lowers", [line.not_lowered for line in lines]),
            Text(NOTE),
        ]
    )


def _short(one: Share) -> str:
    """A share without its counts, which are those of the rows proved."""
    return "none" if one.value is None else f"{one.value:.1%} [{one.lower:.1%}, {one.upper:.1%}]"
