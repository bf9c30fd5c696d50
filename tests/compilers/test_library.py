"""A library is added in one place: its folder says all that is known of it, and the list names the folder."""

from __future__ import annotations

import importlib
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import mace.compilers
from mace.base.versions import versions
from mace.compilers import extras, libraries, read, readers
from mace.compilers.libraries import ENDINGS, PICKLED, file_types
from mace.compilers.library import public_name
from mace.compilers.registry import library_of
from mace.errors import ModelError
from tests import house

FOLDER = Path(mace.compilers.__file__).parent
PROJECT = tomllib.loads((house.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def test_every_folder_with_a_library_is_in_the_list() -> None:
    written = {path.parent.name for path in FOLDER.glob("*/library.py")}
    listed = [importlib.import_module(f"mace.compilers.{name}.library").LIBRARY for name in sorted(written)]
    assert {library.name for library in listed} == {library.name for library in libraries()}
    assert {library.package: {ending for kind in library.files for ending in kind.endings} for library in listed} == {
        package: set(endings) for package, endings in ENDINGS.items()
    }


def test_a_class_is_named_as_people_import_it() -> None:
    assert public_name(KNeighborsClassifier) == "sklearn.neighbors.KNeighborsClassifier"
    assert public_name(dict) == "dict"

    class Own:
        pass

    assert public_name(Own).startswith(f"{__name__}.test_a_class")


@pytest.mark.parametrize("module", [None, 7])
def test_a_class_that_does_not_say_where_it_was_defined_is_named_without_it(module: Any) -> None:
    class Anything:
        def predict(self, frame: Any) -> list[int]:
            return [int(value > 2) for value in frame["a"]]

    class Frame(pd.DataFrame):
        pass

    class Tree(DecisionTreeClassifier):
        pass

    for made in (Anything, Frame, Tree):
        made.__module__ = module
    space, frame = mace.Space([mace.Feature("a", "integer", 0, 4)]), Frame({"a": [0, 1, 2, 3]})
    assert public_name(Anything) == Anything.__qualname__
    assert mace.explain(mace.BlackBox(Anything().predict, [0, 1]), space, {"a": 1}, goal=1).distance == 0.5
    assert mace.explain(Anything(), space, {"a": 1}, goal=1).distance == 0.5
    assert mace.explain(Tree().fit(frame, [0, 0, 1, 1]), space, frame.iloc[:1]).distance == 0.5
    with pytest.raises(ModelError, match=r"models of class .*Anything are not supported"):
        mace.verify(Anything(), space, "fair(a)")


def test_no_class_and_no_ending_belongs_to_two_libraries() -> None:
    assert len(readers()) == sum(len(library.readers) for library in libraries())
    types = [kind for library in libraries() for kind in library.files]
    plain = [ending for kind in types if kind.holds is None for ending in kind.endings]
    assert len(set(plain)) == len(plain)  # of the other types, each says itself whether a file is its own
    assert {ending for kind in types for ending in kind.endings} == set(plain)
    assert not set(PICKLED) & {*plain, *(ending for library in libraries() for ending in library.unread_files)}
    assert all(kind in file_types(ending) for kind in types for ending in kind.endings)
    for library in libraries():
        own = (f"{library.package}.", f"mace.compilers.{library.package}.")  # made here for models of the library
        assert all(path.startswith(own) for path in (*library.readers, *library.unread))
        assert not library.readers.keys() & library.unread.keys()


@pytest.mark.parametrize("library", libraries(), ids=lambda library: library.name)
def test_what_brings_a_library_is_what_pyproject_says(library: Any) -> None:
    wanted = PROJECT["optional-dependencies"][library.extra] if library.extra else PROJECT["dependencies"]
    brought = {re.split(r"[^A-Za-z0-9-]", one)[0] for one in wanted}
    assert all(brought & set(names) for names in library.distributions.values())


def test_no_library_is_imported_to_find_out_which_class_a_model_has() -> None:
    heavy = {library.package for library in libraries()} | {"onnxruntime", "skops", "joblib"}
    code = "import mace.compilers, sys; print(*sorted({m.split('.')[0] for m in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", code], cwd=house.ROOT, capture_output=True, text=True, check=True)
    assert not set(run.stdout.split()) & heavy


def test_what_is_known_of_other_libraries_is_not_imported_to_read_a_model() -> None:
    code = """
import sys
from sklearn.tree import DecisionTreeClassifier
from mace.compilers import read
from mace.compilers.libraries import ENDINGS
print(read(DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [0, 1])).name)
print(*sorted({name.split(".")[2] for name in sys.modules if name.startswith("mace.compilers.")} & {*ENDINGS}))
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=house.ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["DecisionTreeClassifier", "sklearn"]


def test_a_library_that_is_installed_under_another_name_has_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    from importlib import metadata

    def version(name: str) -> str:
        if name == "xgboost-cpu":
            return "3.2.0"
        raise metadata.PackageNotFoundError(name)

    monkeypatch.setattr(metadata, "version", version)
    found = versions(extras())
    assert found["xgboost"] == "3.2.0"
    assert found["lightgbm"] == "not installed (optional)"
    assert "xgboost-cpu" not in found


def test_a_subclass_from_elsewhere_is_of_the_library_of_its_base() -> None:
    xgboost = pytest.importorskip("xgboost", reason="an extra that is not installed")

    class Mine(xgboost.XGBClassifier):  # type: ignore[misc, name-defined]
        """Only its name is new."""

    found = library_of(Mine())
    assert found is not None and found.name == "XGBoost"
    assert library_of(object()) is None


@pytest.mark.parametrize("library", libraries(), ids=lambda library: library.name)
def test_what_is_not_read_is_refused_by_name_with_what_to_do_instead(library: Any) -> None:
    for path, instead in library.unread.items():
        package, _, name = path.rpartition(".")
        model = object.__new__(getattr(importlib.import_module(package), name))
        with pytest.raises(ModelError, match=re.escape(name)) as caught:
            read(model)
        assert instead in str(caught.value)


@pytest.mark.parametrize(
    "library", [one for one in libraries() if one.small is not None], ids=lambda library: library.name
)
def test_the_doctor_reads_a_small_model_of_each_library(library: Any) -> None:
    from mace.cli.self_test import _read

    pytest.importorskip(library.package, reason="an extra that is not installed")
    assert "says what the library says" in _read(library)
