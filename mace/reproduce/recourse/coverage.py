"""Table 2: the share of rows for which a method finds a counterfactual."""

from __future__ import annotations

from mace.reproduce.entry import Entry
from mace.reproduce.recourse.printed import COVERAGE, SOURCE
from mace.reproduce.recourse.setting import MODEL_NAMES, SETTING, WORDS, others, proved, records, settings
from mace.reproduce.result import Figure, Grid, Reproduced
from mace.reproduce.work import Work

TITLE = "Coverage: percent of rows with an answer"
WHY = {
    "PFT": "here a feature with levels goes to its nearest level that passes all tests, so that an answer is always a "
    "row of the table's kind; the paper does not say why its own PFT finds nothing on Adult",
    "AR": "it chooses among 100 values of each number and all levels of every other feature, which suffices; the paper "
    "does not say what its AR could choose from",
}


def run(work: Work) -> Reproduced:
    """Ask every chosen setting; the methods' coverage beside the paper's."""
    figures, rows, settled = [], 0, 0
    for cell in settings(work):
        found = records(work, cell, ["1e-3"], others(cell))
        ours = found.pop("1e-3")
        rows, settled = rows + len(ours), settled + proved(ours)
        for method, answered in {"MACE": ours, **found}.items():
            share = 100 * sum(record.distance is not None for record in answered) / max(len(answered), 1)
            paper = COVERAGE.get((cell.model, method), {}).get((cell.data, cell.norm))
            # The direction of a coverage: whether the method leaves rows without an answer.
            alike = None if paper is None else (share < 100) == (paper < 100)
            row = (MODEL_NAMES[cell.model], "ours" if method == "MACE" else method)
            why = "" if alike is not False else WHY.get(method, "")
            figures.append(
                Figure(row, f"{cell.data} {cell.norm}", share, paper, len(answered), proved(answered), alike, why)
            )
    grid = Grid(f"{TITLE} (in brackets: the paper's)", ("model", "method"), figures, "%", 0)
    return Reproduced("mace-table-2", TITLE, f"{SOURCE}, table 2", [grid], SETTING, [], (), rows, settled)


ENTRY = Entry("mace-table-2", TITLE, f"{SOURCE}, table 2", run, WORDS)
