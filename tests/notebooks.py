"""Notebooks of the documentation: run them, keep what they print, and write the page of each.

`python -m tests.notebooks --write` runs every notebook in docs/notebooks from top to bottom, puts the outputs into it,
and writes the page of each; names after it say which. Without `--write` it says which outputs have changed.

In:  notebooks of format 4.5, with markdown and Python alone.    Out: the same with outputs; a page of markdown.
Promise: an output is what the code printed, and what the value of its last line shows in a notebook (HTML, a plot, or
its repr). Nothing but the Python of the tests is needed.
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "docs" / "notebooks"
SECONDS = re.compile(r"\b\d+\.\d+ s\b")


def notebooks() -> list[Path]:
    """Every notebook, by name."""
    return sorted(FOLDER.glob("*.ipynb"))


def load(path: Path) -> dict[str, Any]:
    """A notebook as plain values."""
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def run(notebook: dict[str, Any]) -> dict[str, Any]:
    """The notebook with the outputs of a run in a new folder."""
    made, names = json.loads(json.dumps(notebook)), {"__name__": "__main__"}
    count, before = 0, Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            for cell in made["cells"]:
                if cell["cell_type"] == "code":
                    count += 1
                    cell["outputs"] = _outputs("".join(cell["source"]), names, count)
                    cell["execution_count"] = count
        finally:
            os.chdir(before)
    return made


def _outputs(code: str, names: dict[str, Any], count: int) -> list[dict[str, Any]]:
    """What a cell prints, and what its last value shows."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, value = io.StringIO(), None
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "notebook", "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), "notebook", "eval"), names)
    out = []
    if printed.getvalue():
        out.append({"output_type": "stream", "name": "stdout", "text": _split(printed.getvalue())})
    if value is not None:
        shown = {kind: _split(text) for kind, text in _shown(value, count).items()}
        out.append({"output_type": "execute_result", "execution_count": count, "metadata": {}, "data": shown})
    return out


def _shown(value: Any, count: int) -> dict[str, str]:
    """A value by the types in which a notebook may show it."""
    from mace.present.drawing import Display, to_svg

    found = {"text/plain": repr(value)}
    if isinstance(value, Display):
        found["image/svg+xml"] = to_svg(value, f"plot-{count}")
    elif hasattr(value, "_repr_html_"):
        found["text/html"] = value._repr_html_()
    return found


def _split(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def unlike(kept: dict[str, Any], ran: dict[str, Any]) -> list[str]:
    """The cells whose text is another than the one kept; how long something took may differ."""
    out = []
    for one, other in zip(kept["cells"], ran["cells"], strict=True):
        texts = [SECONDS.sub("0 s", json.dumps(_texts(cell))) for cell in (one, other)]
        if texts[0] != texts[1]:
            out.append(f"{''.join(one['source'])}\nkept: {texts[0]}\nnow:  {texts[1]}")
    return out


def _texts(cell: dict[str, Any]) -> list[Any]:
    """The words of a cell's outputs; a drawing is not compared, since it changes with matplotlib."""
    return [
        {kind: text for kind, text in output.get("data", {"text": output.get("text")}).items() if "svg" not in kind}
        for output in cell.get("outputs", [])
    ]


def page(notebook: dict[str, Any], name: str) -> str:
    """The notebook as a page of the documentation."""
    parts = []
    for cell in notebook["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        for output in cell["outputs"]:
            data = output.get("data", {})
            drawn = data.get("image/svg+xml") or data.get("text/html")
            if drawn:
                parts.append(f'<div class="output" style="overflow-x: auto">\n{"".join(drawn)}\n</div>')
            else:
                text = "".join(output.get("text") or data["text/plain"]).rstrip("\n")
                parts.append(f"```text\n{text}\n```")
    parts.append(f"The notebook itself: [{name}.ipynb](notebooks/{name}.ipynb).")
    return "\n\n".join(parts) + "\n"


def page_of(path: Path) -> Path:
    """Where the page of a notebook stands."""
    return FOLDER.parent / f"notebook-{path.stem}.md"


def main() -> int:
    """Run all notebooks; 1 where an output is another than the one kept."""
    code = 0
    named = [name for name in sys.argv[1:] if name != "--write"]
    for path in notebooks():
        if named and path.stem not in named:
            continue
        kept = load(path)
        ran = run(kept)
        if "--write" in sys.argv:
            path.write_text(json.dumps(ran, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            page_of(path).write_text(page(ran, path.stem), encoding="utf-8")
        elif found := unlike(kept, ran):
            print(f"{path.name}:", *found, sep="\n")
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
