"""The house keeps its shape: floors, packages, and nothing heavy before it is needed."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import mace
from mace.base import views
from tests import house

HEAVY = {
    "cvc5", "dask", "distributed", "jinja2", "joblib", "lark", "matplotlib", "numba", "numpy", "pandas",
    "pebble", "pyarrow", "pysmt", "rich", "scipy", "sklearn", "typer", "z3",
}  # fmt: skip


def test_every_file_stands_in_a_room() -> None:
    homeless = [module for module in house.MODULES if house.room_of(module) is None]
    assert homeless == [], "name the room of each in tests/house.py"


def test_a_file_imports_its_own_room_or_lower_floors() -> None:
    assert house.upwards(house.arrows()) == []


def test_no_files_import_each_other_in_a_circle() -> None:
    assert house.circles(house.arrows()) == []


def test_no_rooms_import_each_other_in_a_circle() -> None:
    assert house.circles(house.between_rooms(house.arrows())) == []


@pytest.mark.parametrize("divided", house.DIVIDED)
def test_no_rooms_inside_another_one_import_each_other_in_a_circle(divided: str) -> None:
    rooms = house.within(house.arrows(), divided)
    assert len(rooms) > 5
    assert house.circles(rooms) == []


def test_the_house_has_at_most_ten_floors() -> None:
    assert len({room.floor for room in house.ROOMS.values()}) <= 10


def test_the_drawing_in_architecture_is_that_of_the_imports() -> None:
    assert house.written() == house.drawing(), "python -m tests.house --write"


@pytest.mark.parametrize(("page", "at_least"), [("ARCHITECTURE.md", 60), ("CONTRIBUTING.md", 150)])
def test_every_file_that_a_page_about_the_house_names_is_there(page: str, at_least: int) -> None:
    tops = ("mace", "compilers", "proofs", "tests", "docs")
    there = {f"/{path.relative_to(house.ROOT).as_posix()}" for top in tops for path in (house.ROOT / top).rglob("*.*")}
    there |= {f"/{path.name}" for path in house.ROOT.glob("*.*")}
    said = re.findall(r"`([\w./-]+\.(?:py|go|md|toml))`", (house.ROOT / page).read_text(encoding="utf-8"))
    assert len(said) > at_least
    assert [name for name in said if not any(path.endswith(f"/{name}") for path in there)] == []


@pytest.mark.parametrize("module", [name for name in house.MODULES if house.room_of(name) == "mace.proofs"])
def test_proofs_import_themselves_and_the_standard_library_only(module: str) -> None:
    for name, line in house.imports(house.MODULES[module]):
        alone = name.startswith("mace.proofs.") or name.split(".")[0] in sys.stdlib_module_names
        assert alone, f"{house.MODULES[module]}:{line}: imports {name}"


def test_every_package_on_the_disk_is_named_in_pyproject() -> None:
    listed = tomllib.loads((house.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"][
        "packages"
    ]
    on_disk = sorted(name for name, path in house.MODULES.items() if path.name == "__init__.py")
    assert sorted(listed) == on_disk


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in house.MODULES.values()}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_the_two_folders_outside_are_linked_inside() -> None:
    for name in ("compilers", "proofs"):
        link = house.ROOT / "mace" / name
        assert link.is_symlink()
        assert link.readlink() == Path("..") / name


@pytest.mark.parametrize("name", ["compilers", "proofs"])
def test_a_folder_imported_under_another_name_says_so(name: str) -> None:
    code = f"import {name}"
    run = subprocess.run([sys.executable, "-c", code], cwd=house.ROOT, capture_output=True, text=True)
    assert run.returncode != 0
    assert f"import `mace.{name}`, not `{name}`" in run.stderr


def test_importing_mace_loads_nothing_heavy() -> None:
    code = "import mace, mace.datasets, mace.proofs, sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=house.ROOT, capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) & HEAVY == set()


def test_the_command_line_answers_before_anything_heavy_is_loaded() -> None:
    code = "import mace.cli, sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=house.ROOT, capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) & HEAVY <= {"typer", "rich"}


def test_answering_begins_without_what_compiles_provers_or_asks_services() -> None:
    provers = ("boxes.search", "means.loop", "relaxation.relaxation")
    imported = ["mace.explain.explainer", "mace.solve.networks.search", "mace.solve.warm"]
    imported += [f"mace.solve.ensembles.{name}" for name in provers]
    code = f"import {', '.join(imported)}, sys; print(*{{'http', 'numba', 'pandas', 'sklearn'}} & {{*sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], cwd=house.ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_answering_begins_without_our_own_files_that_few_models_need() -> None:
    rare = {
        "lark", "mace.audit", "mace.certify.writer", "mace.compilers.enclosures", "mace.compilers.pipeline.reader",
        "mace.explain.sets.answer", "mace.explain.unread.explainer", "mace.proofs.convert",
        "mace.solve.ensembles.relaxation.relaxation", "mace.solve.networks.model", "mace.verify",
    }  # fmt: skip
    assert {name for name in rare if name.startswith("mace")} <= house.MODULES.keys()
    code = f"import mace.cli, mace.explain.explainers, sys; print(*{rare} & {{*sys.modules}})"
    run = subprocess.run([sys.executable, "-c", code], cwd=house.ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == []


def test_no_file_of_ours_asks_for_a_public_name_while_it_is_imported() -> None:
    """Two threads may then wait for each other: for a file, and for the lock under which public names are imported."""
    for path in house.MODULES.values():
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ImportFrom) and node.module == "mace":
                assert not {alias.name for alias in node.names} & {*mace.LAZY, *mace.FUNCTIONS}, path


@pytest.mark.parametrize("name", mace.__all__)
def test_a_public_name_is_found_where_it_is_said_to_be(name: str) -> None:
    assert name in dir(mace)
    assert getattr(mace, name) is not None


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'explian'; it has Answer"):
        _ = mace.explian  # type: ignore[attr-defined]


FUNCTIONS = ("audit", "explain", "report", "verify")


@pytest.mark.parametrize(
    "first",
    [
        "import mace",
        "import mace.audit.run, mace.verify.prove, mace.report.page, mace.explain.explainer",
        "from mace.verify import fair",
        "from mace.report.text import as_text; from mace import audit",
        "import mace.cli.audit, mace.explain.answer as answer, mace.audit.record as record; assert record.Record",
        "from mace.audit import record; from mace.explain.run import explain",
        "from mace import *",
    ],
)
def test_functions_are_functions_whatever_was_imported_before(first: str) -> None:
    code = f"""{first}
import importlib, inspect, pickle, pydoc, sys
from importlib.resources import files
import mace, mace.proofs
import mace.audit.store, mace.verify.suite as suite
for name in {FUNCTIONS}:
    function, package = getattr(mace, name), sys.modules["mace." + name]
    assert inspect.isfunction(function) and inspect.ismodule(package), name
    assert package is importlib.import_module("mace." + name)
    assert getattr(package, name) is function, name
    assert pickle.loads(pickle.dumps(function)) is function, name
    text = pydoc.plain(pydoc.render_doc(function))
    assert text.startswith(f"Python Library Documentation: function {{name}} in module mace.{{name}}"), text
    assert inspect.getdoc(function).splitlines()[0] in text and str(inspect.signature(function))[:9] in text, text
    for public in package.__all__:
        assert getattr(function, public) is getattr(package, public), public
from mace.verify import fair
assert mace.verify.fair is fair and mace.verify.monotone("a").feature == "a"
assert mace.audit.read is mace.audit.export.read and mace.report.to_html and mace.verify.run_suite is suite.run_suite
assert mace.rules.rises_only_if and mace.datasets.NAMES and mace.Space and mace.Answer and mace.errors.MaceError
assert (files("mace.report") / "report.css").is_file() and (files("mace.verify") / "run.py").is_file()
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=house.ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr


@pytest.mark.parametrize(
    "code",
    [
        """
from unittest import mock
import mace
with mock.patch("mace.explain"):
    pass
assert mace.explain.__name__ == "explain"
""",
        """
import importlib, sys
class Early:  # as another thread would, while this one is still at the first lines of `mace`
    def find_spec(self, name, path, target=None):
        if name == "mace.base.views":
            sys.meta_path.remove(self)
            importlib.import_module("mace.explain")
sys.meta_path.insert(0, Early())
import mace
assert callable(mace.explain)
""",
        """
import sys, threading, time
from importlib.machinery import PathFinder
class Slow:
    def find_spec(self, name, path, target=None):
        if name == "mace.verify":
            spec = PathFinder.find_spec(name, path, target)
            spec.loader.create_module = lambda _: time.sleep(0.5)
            return spec
sys.meta_path.insert(0, Slow())
import mace
found = []
threads = [threading.Thread(target=lambda n=n: found.append(getattr(mace, n))) for n in ("verify", "Verdict")]
for thread in threads:
    thread.start()
    time.sleep(0.1)
for thread in threads:
    thread.join()
assert len(found) == 2, found
""",
    ],
    ids=["deleted", "in the middle of `import mace`", "by two threads"],
)
def test_a_function_is_there_however_it_was_first_named(code: str) -> None:
    run = subprocess.run([sys.executable, "-c", code], cwd=house.ROOT, capture_output=True, text=True)
    assert run.returncode == 0 and not run.stderr, run.stderr


def test_every_view_is_there_and_every_view_that_is_wanted_has_a_name() -> None:
    text = "".join(path.read_text(encoding="utf-8") for path in house.MODULES.values())
    assert sorted(set(re.findall(r'(?<![\w.])view\("([^"]+)"\)', text))) == views.names()
    for name in views.names():
        assert callable(views.view(name))


@pytest.mark.parametrize("folder", ["", ".ensembles", ".forms", ".networks", ".smt", ".splitting"])
def test_a_class_of_a_prover_has_a_name_of_its_own_in_its_folder(folder: str) -> None:
    paths = [path for name, path in house.MODULES.items() if name.rpartition(".")[0] == f"mace.solve{folder}"]
    assert paths
    trees = [ast.parse(path.read_text(encoding="utf-8")) for path in paths]
    names = [node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef)]
    assert sorted(names) == sorted({*names})


def test_a_function_fits_on_a_screen_or_is_compiled_and_says_why() -> None:
    for path in house.MODULES.values():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and (node.end_lineno or 0) - node.lineno >= 60:
                where = f"{path}:{node.lineno}: {node.name}"
                assert any(ast.unparse(one) in ("compiled", "lean") for one in node.decorator_list), where
                assert "Long " in (ast.get_docstring(node) or ""), f"{where}: why is it so long?"
