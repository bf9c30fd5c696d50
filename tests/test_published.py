"""`python -m tests.published` on files of our own: one that is read, one that is refused, one that is none."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from tests import published
from tests.compilers.pmml_files import SHAPES


@pytest.mark.slow
def test_the_command_tells_what_became_of_every_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "read.xml").write_text(SHAPES["scorecard"](np.random.default_rng(0)))
    (tmp_path / "refused.pmml").write_text('<PMML version="4.4"><NeuralNetwork/></PMML>')
    (tmp_path / "other.json").write_text("{}")
    arguments = ["published", str(tmp_path), "--rows", "20", "--judges", ""]
    monkeypatch.setattr(sys, "argv", arguments)
    assert published.main() == 0
    lines = capsys.readouterr().out.splitlines()
    assert any("read.xml | 20 rows" in line and "optimal, certificate accepted" in line for line in lines)
    assert any("refused.pmml | refused: PMML: a model of this kind (NeuralNetwork" in line for line in lines)
    assert not any("other.json" in line for line in lines)
