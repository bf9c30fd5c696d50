"""What every plot shares: colours that color-blind readers tell apart, a place to draw, texts that are only texts.

In:  values.    Out: matplotlib artists, or an SVG element for a page of HTML.
Promise: a name or a value is drawn as it is written, never read as mathematics or markup; the same plot gives the same
bytes; an SVG holds no address, no date, no style that reaches beyond it, and no id that another has.
Source: Okabe and Ito 2008, for the palette; each colour here has a contrast of 3:1 or more on white, save the fills.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import TYPE_CHECKING, Any

from mace.base.escape import one_line
from mace.errors import MaceError

if TYPE_CHECKING:
    from typing import Self

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, RED, ORANGE, GREY, GREEN, PURPLE = "#0072B2", "#D55E00", "#E69F00", "#6E6E6E", "#007A5A", "#A3507F"
INK, FAINT, PALE = "#1A1A1A", "#C9CED6", "#CFE3F1"
WIDTH = 4.7  # inches: on a phone a plot of this width is shrunk by a fifth, and its texts can still be read
LONGEST = 24  # characters of a name beside an axis

_STYLE: dict[str, Any] = {
    "svg.hashsalt": "mace",
    "svg.fonttype": "none",  # Texts stay texts: they can be searched, copied, read aloud.
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9.5,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": GREY,
    "axes.labelcolor": INK,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "hatch.linewidth": 0.6,
}


class Display:
    """A plot that is made once and drawn where one wants it, as scikit-learn's displays are.

    `plot(ax=None)` draws into `ax`, or a new figure; then `ax_` and `figure_` are set. `height` is a good height in
    inches at the width `WIDTH`; `title` and `alt` say in words what the plot shows.
    """

    ax_: Axes
    figure_: Figure
    title = ""
    height = 3.0

    @property
    def alt(self) -> str:
        """The plot in words, for those who do not see it."""
        return self.title

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw into `ax`; into a new figure if there is none. Raises MaceError if matplotlib is not installed."""
        need_matplotlib()
        if ax is None:
            import matplotlib.pyplot as pyplot

            figure, ax = pyplot.subplots(figsize=(1.4 * WIDTH, 1.2 * self.height), layout="constrained")
            figure.suptitle(plain(self.title, 80))  # above a legend, which may stand above the axes
        self.ax_ = ax
        self.figure_ = ax.get_figure(root=True)  # type: ignore[assignment]
        self._draw(ax)
        return self

    def _draw(self, ax: Axes) -> None:
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({one_line(self.title)}: {one_line(self.alt)})"


def need_matplotlib() -> None:
    """Raise MaceError, saying what to install, where matplotlib is absent."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        raise MaceError("plots need matplotlib", hint="pip install 'mace-smt[report]'.") from None


def plain(text: object, longest: int = LONGEST) -> str:
    """A text for matplotlib: in one line, cut, and with no sign that starts mathematics."""
    line = one_line(text)
    # Cut in the middle: names of a kind often begin alike.
    tail = longest * 2 // 5
    short = line if len(line) <= longest else f"{line[: longest - tail - 1].rstrip()}…{line[-tail:].lstrip()}"
    return _without_mathematics(short)


def plain_each(texts: Iterable[object], longest: int = LONGEST) -> list[str]:
    """Texts that stand beside each other, each as `plain` has it; of those that are cut alike the part that differs."""
    lines = [one_line(text) for text in texts]
    shown = [plain(line, longest) for line in lines]
    for short in {one for one in shown if shown.count(one) > 1}:
        alike = {line for line, one in zip(lines, shown, strict=True) if one == short}
        common = len(list(takewhile(lambda letters: len(set(letters)) == 1, zip(*alike, strict=False))))
        begin = max(0, common - longest // 3)
        for place, line in enumerate(lines):
            if len(alike) > 1 and line in alike:
                part = line[begin : begin + longest - 2].strip()
                end = "…" if begin + longest - 2 < len(line) else ""
                shown[place] = _without_mathematics(f"{'…' if begin else ''}{part}{end}")
    return shown


def _without_mathematics(line: str) -> str:
    """Mathematics stands between dollars; a dollar with a backslash is a dollar."""
    return line.replace("$", r"\$")


@contextmanager
def style() -> Iterator[None]:
    """Our style, whatever the user's own settings are."""
    need_matplotlib()
    import matplotlib as mpl

    with mpl.rc_context():
        mpl.rcdefaults()
        for key, value in _STYLE.items():
            mpl.rcParams[key] = value  # type: ignore[index]
        yield


def to_svg(display: Display, name: str) -> str:
    """The plot as an SVG element for a page of HTML; `name` is unlike that of any other plot of the page."""
    with style(), warnings.catch_warnings():
        # A letter that matplotlib's font lacks is no matter: it stays text, and the reader's browser has the fonts.
        warnings.filterwarnings("ignore", message="Glyph|Matplotlib currently does not support", category=UserWarning)
        from matplotlib.figure import Figure

        figure = Figure(figsize=(WIDTH, display.height), layout="constrained")
        display.plot(figure.subplots())
        out = io.StringIO()
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(out, format="svg", metadata=nothing, transparent=True)
    return _for_html(out.getvalue(), name, one_line(display.title), one_line(display.alt))


def _for_html(svg: str, name: str, title: str, alt: str) -> str:
    """matplotlib's file as an element: no prologue, no namespaces, no style sheet, ids of its own, words for it."""
    from xml.etree import ElementTree as Tree

    root = Tree.fromstring(svg)  # noqa: S314  written by matplotlib a moment ago
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag.rpartition("}")[2] in ("metadata", "style"):
                parent.remove(child)
    wanted = set(re.findall(r"#([\w.-]+)", " ".join(v for e in root.iter() for v in e.attrib.values())))
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        found = {key.rpartition("}")[2]: value for key, value in element.attrib.items()}
        if found.get("id") not in wanted:
            found.pop("id", None)
        element.attrib = {key: _renamed(key, value, name) for key, value in found.items()}
    for key in ("width", "height", "version"):
        root.attrib.pop(key, None)
    root.attrib |= {"role": "img", "aria-labelledby": f"{name}-title {name}-alt"}
    words = Tree.Element("title", {"id": f"{name}-title"}), Tree.Element("desc", {"id": f"{name}-alt"})
    words[0].text, words[1].text = title, alt
    root[:0] = words
    # Not method="html", which would leave the texts of elements named `style` or `script` unescaped.
    return Tree.tostring(root, encoding="unicode", short_empty_elements=False)


def _renamed(key: str, value: str, name: str) -> str:
    if key == "id":
        return f"{name}-{value}"
    if key == "href":
        return value.replace("#", f"#{name}-", 1)
    return re.sub(r"url\(#([^)]+)\)", rf"url(#{name}-\1)", value)
