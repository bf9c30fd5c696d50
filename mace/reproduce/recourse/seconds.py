"""Table 6: how long an answer takes."""

from __future__ import annotations

from mace.reproduce.entry import Entry
from mace.reproduce.recourse.printed import SECONDS, SECONDS_OF_OTHERS, SOURCE
from mace.reproduce.recourse.setting import GAPS, MODEL_NAMES, SETTING, WORDS, others, proved, records, settings
from mace.reproduce.result import Figure, Grid, Listing, Reproduced
from mace.reproduce.work import Work, seconds_of

TITLE = "Mean seconds for a row"
NOTES = [
    "The paper's seconds are those of a Xeon of 2.6 GHz. Ours are wall time in a worker process, with what else the "
    "machine was doing; reading the model is not in them, compiled code is there.",
]


def run(work: Work) -> Reproduced:
    """Ask every chosen setting at three gaps; our seconds beside the paper's."""
    figures, rows, settled = [], 0, 0
    spans: dict[tuple[str, str], list[float]] = {}
    for cell in settings(work):
        found = records(work, cell, GAPS, others(cell))
        for gap in GAPS:
            ours = found[gap]
            rows, settled = rows + len(ours), settled + proved(ours)
            mean, paper = seconds_of(ours), SECONDS[cell.model, gap].get((cell.data, cell.norm))
            alike = None if mean is None or paper is None else mean < paper
            why = "" if alike is not False else "slower than the paper's: see the note on machines"
            row = (MODEL_NAMES[cell.model], gap)
            figures.append(Figure(row, f"{cell.data} {cell.norm}", mean, paper, len(ours), proved(ours), alike, why))
        for method in others(cell):
            if (mean := seconds_of(found[method])) is not None:
                spans.setdefault((cell.model, method), []).append(mean)
    lines = []
    for (model, method), means in spans.items():
        low, high = SECONDS_OF_OTHERS[model, method.partition(",")[0]]
        lines.append((MODEL_NAMES[model], method, f"{min(means):.3f} to {max(means):.3f}", f"{low:g} to {high:g}"))
    parts: list[Grid | Listing] = [
        Grid(f"{TITLE} (in brackets: the paper's MACE; ! where it was faster)", ("model", "gap"), figures, "s", 3),
        Listing(
            "Mean seconds of the other methods, from setting to setting", ("model", "method", "here", "paper"), lines
        ),
    ]
    return Reproduced("mace-table-6", TITLE, f"{SOURCE}, table 6", parts, SETTING, NOTES, (), rows, settled)


ENTRY = Entry("mace-table-6", TITLE, f"{SOURCE}, table 6", run, WORDS)
