"""The house keeps its shape: floors, packages, and nothing heavy before it is needed."""

from __future__ import annotations

import ast
import subprocess
import sys
import tomllib
from importlib.util import find_spec
from pathlib import Path

import pytest

import mace

ROOT = Path(__file__).parent.parent

# Where a module stands (ARCHITECTURE.md). The longest matching name decides; a new top file must be added here.
FLOORS = {
    "mace.proofs": 0,
    "mace.base.console": 1,
    "mace.base.deadline": 1,
    "mace.errors": 1,
    "mace.base.escape": 1,
    "mace.base.exact": 1,
    "mace.base.files": 1,
    "mace.base.lazy": 1,
    "mace.base.values": 1,
    "mace.language": 2,
    "mace.language.logic": 3,
    "mace.space.axes": 4,
    "mace.solve.background": 4,
    "mace.space.columns": 4,
    "mace.tables.decide": 4,
    "mace.problem.distance": 4,
    "mace.problem.exclusions": 4,
    "mace.problem.goal_scores": 4,
    "mace.problem.goals": 4,
    "mace.tables.margins": 4,
    "mace.tables.members": 4,
    "mace.problem.missing": 4,
    "mace.problem.programs": 4,
    "mace.problem.proof": 4,
    "mace.problem.question": 4,
    "mace.rules": 4,
    "mace.space.space": 4,
    "mace.space.file": 4,
    "mace.space.infer": 4,
    "mace.tables.table": 4,
    "mace.tables.validity": 4,
    "mace.oracles": 5,
    "mace.explain.answer": 6,
    "mace.present.drawing": 6,
    "mace.certify.exclusions": 6,
    "mace.present.answer_plot": 6,
    "mace.certify.writer": 6,
    "mace.certify.recheck": 6,
    "mace.solve.driver": 6,
    "mace.present.answer_text": 6,
    "mace.certify.record": 6,
    "mace.compilers": 7,
    # `explain` takes a trained model, so it calls the compilers and stands above them.
    "mace.explain.explainer": 8,
    "mace.audit": 8,
    "mace.__main__": 8,
    "mace.cli": 8,
    "mace.datasets": 8,
    "mace.cli.demo": 8,
    "mace.cli.doctor": 8,
    "mace.certify.export": 8,
    "mace.cli.inspect": 8,
    "mace.explain.judge": 8,
    "mace.report": 8,
    "mace.verify": 8,
    "mace": 8,
}
# Compilers know models and programs: no question, no oracle, no search.
COMPILERS_MAY_IMPORT = {
    "mace.errors",
    "mace.base.exact",
    "mace.base.files",
    "mace.language",
    "mace.tables.decide",
    "mace.tables.margins",
    "mace.tables.members",
    "mace.tables.table",
    "mace.space.axes",
    "mace.space.columns",
    "mace.space.space",
    "mace.tables.validity",
}
HEAVY = {
    "cvc5", "dask", "distributed", "jinja2", "joblib", "lark", "matplotlib", "numba", "numpy", "pandas",
    "pebble", "pyarrow", "pysmt", "rich", "scipy", "sklearn", "typer", "z3",
}  # fmt: skip


def modules() -> dict[str, Path]:
    """Every module by its installed name, each file once."""
    found: dict[str, Path] = {}
    for top, name in (("mace", "mace"), ("compilers", "mace.compilers"), ("proofs", "mace.proofs")):
        for path in sorted((ROOT / top).rglob("*.py")):
            inside = path.relative_to(ROOT / top).with_suffix("").parts
            if top == "mace" and inside[0] in ("compilers", "proofs"):
                continue  # the links: the same files again
            parts = inside[:-1] if inside[-1] == "__init__" else inside
            found[".".join((name, *parts))] = path
    return found


MODULES = modules()


def prefix(module: str, names: object) -> str | None:
    """The longest of the names that is the module or a package above it."""
    parts = module.split(".")
    for length in range(len(parts), 0, -1):
        name = ".".join(parts[:length])
        if name in names:  # type: ignore[operator]
            return name
    return None


def floor(module: str) -> int:
    name = prefix(module, FLOORS)
    assert name is not None
    return FLOORS[name]


def imports(module: str, path: Path) -> set[tuple[str, int]]:
    """What the file imports, with line numbers: at the top, inside functions, and for type checkers."""
    found: set[tuple[str, int]] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {(alias.name, node.lineno) for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: write the whole name, not a relative import"
            for alias in node.names:
                whole = f"{node.module}.{alias.name}"
                found.add((whole if whole in MODULES else str(node.module), node.lineno))
    return found


def test_every_file_has_a_floor() -> None:
    homeless = [module for module in MODULES if module != "mace" and prefix(module, FLOORS) == "mace"]
    assert homeless == [], "add each to FLOORS here and, where it is a new part, to ARCHITECTURE.md"


@pytest.mark.parametrize("module", MODULES)
def test_a_file_imports_its_own_floor_or_lower_ones(module: str) -> None:
    for name, line in imports(module, MODULES[module]):
        if name == "mace" or name.startswith("mace."):
            if name == "mace" and module != "mace":  # `import mace` for the version
                assert floor(module) == 8, f"{MODULES[module]}:{line}: import from the module that defines the name"
                continue
            assert floor(name) <= floor(module), (
                f"{MODULES[module]}:{line}: {module} is on floor {floor(module)} and imports {name}, on {floor(name)}"
            )


@pytest.mark.parametrize("module", [name for name in MODULES if floor(name) == 7])
def test_a_compiler_sees_models_and_programs_only(module: str) -> None:
    for name, line in imports(module, MODULES[module]):
        if name.startswith("mace") and not name.startswith("mace.compilers"):
            assert prefix(name, COMPILERS_MAY_IMPORT), f"{MODULES[module]}:{line}: a compiler may not import {name}"


@pytest.mark.parametrize("module", [name for name in MODULES if floor(name) == 0])
def test_proofs_import_the_standard_library_only(module: str) -> None:
    for name, line in imports(module, MODULES[module]):
        assert name.split(".")[0] in sys.stdlib_module_names, f"{MODULES[module]}:{line}: imports {name}"


def test_every_package_on_the_disk_is_named_in_pyproject() -> None:
    listed = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["setuptools"]["packages"]
    on_disk = sorted(name for name, path in MODULES.items() if path.name == "__init__.py")
    assert sorted(listed) == on_disk


def test_every_folder_with_modules_is_a_package() -> None:
    folders = {path.parent for path in MODULES.values()}
    assert [folder for folder in sorted(folders) if not (folder / "__init__.py").is_file()] == []


def test_the_two_folders_outside_are_linked_inside() -> None:
    for name in ("compilers", "proofs"):
        link = ROOT / "mace" / name
        assert link.is_symlink()
        assert link.readlink() == Path("..") / name


@pytest.mark.parametrize("name", ["compilers", "proofs"])
def test_a_folder_imported_under_another_name_says_so(name: str) -> None:
    code = f"import {name}"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode != 0
    assert f"import `mace.{name}`, not `{name}`" in run.stderr


def test_importing_mace_loads_nothing_heavy() -> None:
    code = "import mace, mace.datasets, mace.proofs, sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert set(run.stdout.split()) & HEAVY == set()


def test_the_command_line_answers_before_anything_heavy_is_loaded() -> None:
    code = "import mace.cli, sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
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
