"""Figure 4: how far the counterfactuals of each method are, as box plots: a panel for each model and table."""

from __future__ import annotations

from typing import TYPE_CHECKING

from mace.present.drawing import BLUE, GREEN, GREY, ORANGE, PALE, RED, Display
from mace.reproduce.entry import Entry
from mace.reproduce.recourse.printed import NORMS, SOURCE
from mace.reproduce.recourse.setting import MODEL_NAMES, SETTING, WORDS, Setting, others, proved, records, settings
from mace.reproduce.result import Figure, Grid, Reproduced
from mace.reproduce.work import Work

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TITLE = "Distances of the counterfactuals by method"
GAP = "1e-3"
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
                [values for _, values in there], positions=places, widths=0.7, patch_artist=True, showfliers=False
            )
            for box in boxes["boxes"]:
                box.set(facecolor=COLOURS[k % len(COLOURS)], edgecolor=BLUE if k == 0 else GREY)
            ax.plot([], [], "s", color=COLOURS[k % len(COLOURS)], label=method)
        ax.set_xticks([n * (len(methods) + 1) + (len(methods) - 1) / 2 for n in range(len(norms))], norms)
        ax.set_ylabel("distance")
        ax.set_yscale("symlog", linthresh=1e-4)
        ax.set_ylim(0, 1.3)  # no distance is above 1
        ax.legend(fontsize=7, frameon=False, ncols=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def run(work: Work) -> Reproduced:
    """Ask every chosen setting; a panel for each model and table, and the means as a table."""
    panels: dict[tuple[str, str], dict[tuple[str, str], list[float]]] = {}
    figures, rows, settled = [], 0, 0
    for cell in settings(work):
        found = _distances(work, cell)
        panels.setdefault((cell.data, cell.model), {}).update(
            {(cell.norm, method): values for method, (values, _, _) in found.items()}
        )
        asked, final = found["ours"][1:]
        rows, settled = rows + asked, settled + final
        for method, (values, count, sure) in found.items():
            mean = sum(values) / len(values) if values else None
            row = (MODEL_NAMES[cell.model], method)
            figures.append(Figure(row, f"{cell.data} {cell.norm}", mean, None, count, sure))
    plots = [Panel(data, model, distances) for (data, model), distances in panels.items()]
    grid = Grid("Mean distance", ("model", "method"), figures, "", 5)
    return Reproduced("mace-figure-4", TITLE, f"{SOURCE}, figure 4", [grid], SETTING, [], plots, rows, settled)


def _distances(work: Work, cell: Setting) -> dict[str, tuple[list[float], int, int]]:
    """Method -> the distances found, how many rows, how many of them proved."""
    found = records(work, cell, [GAP], others(cell))
    return {
        "ours" if name == GAP else name: (
            [record.distance for record in answered if record.distance is not None],
            len(answered),
            proved(answered),
        )
        for name, answered in found.items()
    }


ENTRY = Entry("mace-figure-4", TITLE, f"{SOURCE}, figure 4", run, WORDS)
