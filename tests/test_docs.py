"""The documentation: every block of code runs, every command works, and the site builds without a warning."""

from __future__ import annotations

import contextlib
import importlib.util
import io
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import joblib
import pytest
from sklearn.ensemble import RandomForestClassifier
from typer.testing import CliRunner

import mace
from mace import datasets, errors
from mace.cli import app
from mace.reproduce.registry import entries
from tests import notebooks

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs").glob("*.md"))
QUICK = {"index.md", "messages.md"}


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", page.read_text(encoding="utf-8"), flags=re.DOTALL)


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, id=page.stem, marks=[] if page.name in QUICK else [pytest.mark.slow])
        for page in PAGES
        if blocks(page, "python") and not page.stem.startswith("notebook-")
    ],
)
def test_the_code_of_a_page_runs_from_top_to_bottom(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    space: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        for code in blocks(page, "python"):
            exec(compile(code, page.name, "exec"), space)
    assert "refused" in printed.getvalue() or page.name not in ("index.md", "explain.md", "menu.md")


@pytest.mark.parametrize("path", notebooks.notebooks(), ids=lambda path: path.stem)
def test_the_page_of_a_notebook_shows_what_the_notebook_holds(path):
    kept = notebooks.load(path)
    assert notebooks.page_of(path).read_text(encoding="utf-8") == notebooks.page(kept, path.stem)
    assert [cell["execution_count"] for cell in kept["cells"] if cell["cell_type"] == "code"]
    assert (kept["nbformat"], kept["nbformat_minor"]) == (4, 5)


@pytest.mark.slow
@pytest.mark.parametrize("path", notebooks.notebooks(), ids=lambda path: path.stem)
def test_a_notebook_gives_the_outputs_that_it_holds(path):
    kept = notebooks.load(path)
    assert not notebooks.unlike(kept, notebooks.run(kept))


@pytest.mark.slow
def test_every_command_of_the_pages_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    loans = datasets.load("loans")
    forest = RandomForestClassifier(5, max_depth=3, random_state=0).fit(loans.space.encode(loans.X), loans.y)
    joblib.dump(forest, "forest.joblib")
    commands = [line for page in PAGES for block in blocks(page, "sh") for line in block.splitlines() if line]
    assert len(commands) >= 6
    for command in commands:
        run = CliRunner().invoke(app, shlex.split(command)[1:])
        assert run.exit_code == 0, f"{command}\n{run.output}"


@pytest.mark.slow
def test_the_site_builds_without_a_warning(tmp_path):
    pytest.importorskip("mkdocstrings")
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT, capture_output=True, text=True, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert built.returncode == 0 and "WARNING" not in built.stderr, built.stderr
    api = (tmp_path / "site" / "api.html").read_text(encoding="utf-8")
    messages = (tmp_path / "site" / "messages.html").read_text(encoding="utf-8")
    assert messages.count("<tr>") > 700 and "is not a class of this model" in messages
    assert "<li><code>space</code>:" in api and not re.search(r"(src|href)=\"https?://[^\"]*(font|cdn)", api)


def test_messages_are_listed_as_the_sources_hold_them():
    made = importlib.util.spec_from_file_location("every_message", ROOT / "docs" / "every_message.py")
    listed = importlib.util.module_from_spec(made)
    sys.modules[made.name] = listed  # for the annotations of its class
    made.loader.exec_module(listed)
    source = """
def read(name, known):
    hint = meant(name, known, f"It has {known}.")
    raise SpaceError(f"no feature `{name}`" + " here", hint=hint)
def ask(): raise NotOursError("no")
def find(name, known): raise SpaceError("no column", hint=among(name, known))
"""
    found, other = listed.of_source(source, "mace/space")
    assert other.hint == "Did you mean …? It has …."
    assert found == ("SpaceError", "no feature `…` here", "Did you mean …? It has ….", "mace/space")
    assert listed._cell("a|b `c`") == "a&#124;b &#96;c&#96;"
    assert {kind for kind in vars(errors) if kind.endswith("Error")} <= {*listed.KINDS}


def test_every_page_is_in_the_table_of_contents():
    listed = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert all(f": {page.name}" in listed for page in PAGES)


def test_the_page_of_functions_has_every_public_name():
    said = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = {name.strip() for found in re.findall(r"members: \[(.*)\]", said) for name in found.split(",")}
    for module in (
        "mace",
        *(f"mace.{name}" for name in ("metrics", "verify", "scorecards", "plans", "audit", "report")),
    ):
        whole = importlib.import_module(module)  # the package, where a function has its name
        public = [name for name in whole.__all__ if callable(getattr(whole, name))]
        assert len(public) > 2
        shown = {name for name in public if re.search(rf"^::: mace\.[a-z_.]+\.{name}$", said, re.MULTILINE)}
        assert [name for name in public if name not in shown | listed] == [], module
    for module in (mace.rules, mace.errors):
        own = [name for name, thing in vars(module).items() if getattr(thing, "__module__", "") == module.__name__]
        public = [name for name in own if name[0] != "_" and name not in ("Span", "caret", "MaceError")]
        assert [name for name in public if name not in listed] == [], module


def test_the_table_of_tables_has_every_one():
    said = (ROOT / "docs" / "tables.md").read_text(encoding="utf-8")
    assert all(f"| `{one.name}` | {one.title} | {one.source} |" in said for one in entries())


def test_links_between_the_texts_lead_somewhere():
    texts = [path for folder in (".", "docs", "proofs", "compilers") for path in sorted((ROOT / folder).glob("*.md"))]
    checked = 0
    for path in texts:
        prose = re.sub(r"```.*?```|`[^`]*`", "", path.read_text(encoding="utf-8"), flags=re.DOTALL)
        for link in re.findall(r"\]\(([^)\s]+)\)", prose):
            file, _, anchor = link.partition("#")
            if ":" in link:  # elsewhere
                continue
            target = path.parent / file if file else path
            assert target.exists(), f"{path.name}: {link}"
            heads = re.findall(r"^#+ (.*)$", target.read_text(encoding="utf-8"), flags=re.MULTILINE) if anchor else []
            names = {re.sub(r"[^\w\- ]", "", head.strip().lower()).replace(" ", "-") for head in heads}
            assert not anchor or anchor in names, f"{path.name}: {link}"
            checked += 1
    assert checked >= 30
