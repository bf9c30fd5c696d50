"""Figure 4: how far the counterfactuals of each method are, as box plots: a panel for each model and table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mace.present.drawing import BLUE, GREEN, GREY, INK, ORANGE, PALE, RED, Display
from mace.reproduce.entry import Entry
from mace.reproduce.recourse.improvement import improvement, largest_gap
from mace.reproduce.recourse.printed import NORMS, SOURCE
from mace.reproduce.recourse.setting import MODEL_NAMES, SETTING, WORDS, others, proved, records, settings
from mace.reproduce.result import Figure, Grid, Reproduced
from mace.reproduce.work import Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE = "Distances of the counterfactuals by method"
GAP = "1e-5"
WHY = f"it is nearer by less than {GAP}, the gap at which ours stop"
NOTES = ["The figure prints no numbers; the way it points is that no method is nearer than MACE."]
COLOURS = (PALE, ORANGE, GREY, RED, GREEN)  # of as many methods as a model has


class Panel(Display):
    """The distances of one model and table: for each norm a box a method."""

    height = 2.8

    def __init__(self, data: str, model: str, distances: dict[tuple[str, str], list[float]]) -> None:
        self.distances = {key: values for key, values in distances.items() if values}
        self.title = f"{data}, {MODEL_NAMES[model]}"

    @property
    def alt(self) -> str:
        """The medians in words."""
        medians = {key: sorted(values)[len(values) // 2] for key, values in self.distances.items()}
        return "; ".join(f"{norm} {method}: median {value:.4g}" for (norm, method), value in medians.items())

    def _draw(self, ax: Axes) -> None:
        methods = list(dict.fromkeys(method for _, method in self.distances))
        norms = [norm for norm in NORMS if any(norm == key for key, _ in self.distances)]
        for k, method in enumerate(methods):
            there = [
                (n, self.distances[norm, method]) for n, norm in enumerate(norms) if (norm, method) in self.distances
            ]
            places = [n * (len(methods) + 1) + k for n, _ in there]
            boxes = ax.boxplot(
                [values for _, values in there], positions=places, widths=0.7, patch_artist=True, showfliers=False,
                medianprops={"color": INK, "linewidth": 1.5},
            )  # fmt: skip
            for box in boxes["boxes"]:
                box.set(facecolor=COLOURS[k % len(COLOURS)], edgecolor=BLUE if k == 0 else GREY)
            ax.plot([], [], "s", color=COLOURS[k % len(COLOURS)], label=method)
        ax.set_xticks([n * (len(methods) + 1) + (len(methods) - 1) / 2 for n in range(len(norms))], norms)
        ax.set_ylabel("distance")
        ax.set_yscale("symlog", linthresh=1e-4)
        ax.set_ylim(0, 1.3)  # no distance is above 1
        ax.legend(
            fontsize=8, frameon=False, ncols=len(methods), loc="lower center", bbox_to_anchor=(0.5, 1.0),
            columnspacing=0.9, handletextpad=0.1,
        )  # fmt: skip


def run(work: Work) -> Reproduced:
    """Ask every chosen setting; a panel for each model and table, and as tables the means and the largest gaps."""
    panels: dict[tuple[str, str], dict[tuple[str, str], list[float]]] = {}
    figures, gaps, rows, settled = [], [], 0, 0
    for cell in settings(work):
        found = records(work, cell, [GAP], others(cell))
        ours = found[GAP]
        rows, settled = rows + len(ours), settled + proved(ours)
        column = f"{cell.data} {cell.norm}"
        gaps.append(Figure((MODEL_NAMES[cell.model],), column, largest_gap(ours), None, len(ours), proved(ours)))
        for name, answered in found.items():
            method = "ours" if name == GAP else name
            values = [record.distance for record in answered if record.distance is not None]
            panels.setdefault((cell.data, cell.model), {})[cell.norm, method] = values
            mean = sum(values) / len(values) if values else None
            by, _ = improvement(ours, answered)
            alike = None if method == "ours" or by is None else by >= 0
            row = (MODEL_NAMES[cell.model], method)
            figures.append(Figure(row, column, mean, None, len(answered), proved(answered), alike, WHY))
    plots = [Panel(data, model, distances) for (data, model), distances in panels.items()]
    grids = [
        Grid("Mean distance, of the rows that a method answers (! where it is nearer than ours)", ("model", "method"),
             figures, "", 5),
        Grid("Largest proved gap between our distance and its lower bound", ("model",), gaps, "", 9),
    ]  # fmt: skip
    return Reproduced("mace-figure-4", TITLE, f"{SOURCE}, figure 4", grids, SETTING, NOTES, plots, rows, settled)


ENTRY = Entry("mace-figure-4", TITLE, f"{SOURCE}, figure 4", run, WORDS)
