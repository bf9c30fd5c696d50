"""A model file is read only if it is trusted, and every way to fail has its own message."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest

from mace.compilers import read
from mace.compilers.load import BEGIN, PickleWarning, load_model
from mace.errors import FileError, ModelError
from mace.tables.table import Ensemble
from tests.compilers import cases


class Alarm:
    """Runs code when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> Any:
        return Path.touch, (self.path,)


def write(path: Path, content: object) -> Path:
    path.write_bytes(pickle.dumps(content))
    return path


@pytest.mark.parametrize("kind", ["pickle", "joblib", "compressed"])
def test_a_trusted_file_gives_the_model(tmp_path: Path, kind: str) -> None:
    model, path = cases.fitted(cases.forest, 2), tmp_path / "model"
    if kind == "pickle":
        write(path, model)
    else:
        joblib.dump(model, path, compress=3 if kind == "compressed" else 0)
    with pytest.warns(PickleWarning, match="runs the code that it names"):
        table = read(load_model(path, trust_pickle=True))
    assert isinstance(table, Ensemble)
    assert np.array_equal(table.start, [0.0, 0.0])


def test_nothing_in_an_untrusted_file_runs(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    path = write(tmp_path / "model.pkl", Alarm(mark))
    with pytest.raises(ModelError, match=r"reading a pickle runs any code.*\n.*--trust-pickle"):
        load_model(path)
    assert not mark.exists()


def test_an_absent_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"no model file .*model\.pkl"):
        load_model(tmp_path / "model.pkl", trust_pickle=True)
    with pytest.raises(FileError, match="is not a file"):
        load_model(tmp_path, trust_pickle=True)


@pytest.mark.filterwarnings("ignore::mace.compilers.load.PickleWarning")
@pytest.mark.parametrize("content", [b"", b"hello.", b"\x80\x04\x95", b"\x80\x63junk", b"\x80\x04\x8e" + b"\x11" * 8])
def test_a_damaged_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "model.pkl"
    path.write_bytes(content)
    with pytest.raises(FileError, match="cannot be read as a pickle"):
        load_model(path, trust_pickle=True)


@pytest.mark.parametrize("trusted", [False, True])
def test_a_text_is_no_matter_of_trust(tmp_path: Path, trusted: bool) -> None:
    path = tmp_path / "notes.md"
    path.write_text("# What was done\n" + "ü" * BEGIN, encoding="utf-8")
    with pytest.raises(ModelError, match=r"notes\.md holds text, no model\nModels are read from .*\.onnx"):
        load_model(path, trust_pickle=trusted)


@pytest.mark.filterwarnings("ignore::mace.compilers.load.PickleWarning")
@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_no_pickle_is_taken_for_a_text(tmp_path: Path, protocol: int) -> None:
    path = tmp_path / "model.pkl"
    path.write_bytes(pickle.dumps(cases.fitted(cases.tree, 2), protocol))
    assert load_model(path, trust_pickle=True)


@pytest.mark.filterwarnings("ignore::mace.compilers.load.PickleWarning")
def test_a_truncated_file_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "model.pkl", cases.fitted(cases.forest, 2))
    path.write_bytes(path.read_bytes()[:-1000])
    with pytest.raises(FileError, match="cannot be read as a pickle"):
        load_model(path, trust_pickle=True)


@pytest.mark.filterwarnings("ignore::mace.compilers.load.PickleWarning")
def test_a_file_of_another_version_is_refused(tmp_path: Path) -> None:
    import sklearn

    path = tmp_path / "model.pkl"
    here, there = sklearn.__version__.encode(), b"0" * len(sklearn.__version__)
    path.write_bytes(pickle.dumps(cases.fitted(cases.tree, 2)).replace(here, there))
    with pytest.raises(FileError, match=rf"written by scikit-learn {there.decode()}, and this is {here.decode()}"):
        load_model(path, trust_pickle=True)


@pytest.mark.filterwarnings("ignore::mace.compilers.load.PickleWarning")
def test_a_file_that_needs_a_missing_module_says_which(tmp_path: Path) -> None:
    path = tmp_path / "model.pkl"
    path.write_bytes(b"cno_such_module\nModel\n.")
    with pytest.raises(FileError, match="needs a module that is not here: No module named 'no_such_module'"):
        load_model(path, trust_pickle=True)


@pytest.mark.filterwarnings("ignore::mace.compilers.load.PickleWarning")
@pytest.mark.parametrize("content", [{"a": 1}, [1, 2], "text", Path])
def test_a_file_without_a_model_is_refused(tmp_path: Path, content: object) -> None:
    with pytest.raises(ModelError, match="which is not a model: no `predict`"):
        load_model(write(tmp_path / "model.pkl", content), trust_pickle=True)
