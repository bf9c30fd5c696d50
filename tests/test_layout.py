"""The house keeps its shape: floors, packages, and nothing heavy before it is needed."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import mace
from tests import house

HEAVY = {
    "cvc5", "dask", "distributed", "jinja2", "joblib", "lark", "matplotlib", "numba", "numpy", "pandas",
    "pebble", "pyarrow", "pysmt", "rich", "scipy", "sklearn", "typer", "z3",
}  # fmt: skip


# What is still crooked; each line that can go must go.
UPWARDS = {
    "mace.audit.run (floor 7) imports mace.report.plots (floor 8)",
    "mace.explain.answer (floor 6) imports mace.present.answer_plot (floor 7)",
    "mace.explain.answer (floor 6) imports mace.present.answer_text (floor 7)",
}
ROOMS_IN_CIRCLES = {"mace.explain, mace.present", "mace.audit, mace.report"}
CIRCLES = {
    "mace.space.file, mace.space.infer, mace.space.space",
    "mace.problem.goals, mace.problem.question",
    "mace.language.logic.paths, mace.language.logic.show",
    "mace.explain.answer, mace.present.answer_plot, mace.present.answer_text",
    "mace.compilers, mace.compilers.load",
    "mace.audit.cores, mace.audit.task",
    "mace.audit.export, mace.audit.findings, mace.audit.run, mace.audit.show, mace.audit.store, "
    "mace.report.displays, mace.report.plots",
    "mace.verify.product, mace.verify.product.networks, mace.verify.product.trees",
    "mace.verify.robustness, mace.verify.run",
}


def test_every_file_stands_in_a_room() -> None:
    homeless = [module for module in house.MODULES if house.room_of(module) is None]
    assert homeless == [], "name the room of each in tests/house.py"


def test_a_file_imports_its_own_room_or_lower_floors() -> None:
    assert set(house.upwards(house.arrows())) == UPWARDS


def test_no_files_import_each_other_in_a_circle() -> None:
    found = {", ".join(group) for group in house.circles(house.arrows())}
    assert found == CIRCLES


def test_no_rooms_import_each_other_in_a_circle() -> None:
    found = {", ".join(group) for group in house.circles(house.between_rooms(house.arrows()))}
    assert found == ROOMS_IN_CIRCLES


def test_the_house_has_at_most_ten_floors() -> None:
    assert len({room.floor for room in house.ROOMS.values()}) <= 10


def test_the_drawing_in_architecture_is_that_of_the_imports() -> None:
    assert house.written() == house.drawing(), "python -m tests.house --write"


@pytest.mark.parametrize("module", [name for name in house.MODULES if house.room_of(name) == "mace.proofs"])
def test_proofs_import_the_standard_library_only(module: str) -> None:
    for name, line in house.imports(house.MODULES[module]):
        assert name.split(".")[0] in sys.stdlib_module_names, f"{house.MODULES[module]}:{line}: imports {name}"


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


@pytest.mark.parametrize("name", mace.__all__)
def test_a_public_name_is_found_where_it_is_said_to_be(name: str) -> None:
    assert name in dir(mace)
    if name in mace.PUBLIC and find_spec(mace.PUBLIC[name]) is None:
        pytest.skip(f"{mace.PUBLIC[name]} is not written yet")
    assert getattr(mace, name) is not None


def test_an_unknown_public_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'explian'; it has Answer"):
        _ = mace.explian  # type: ignore[attr-defined]
