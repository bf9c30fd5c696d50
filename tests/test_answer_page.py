"""An answer as a page: it can be handed on, and holds its own proof."""

from __future__ import annotations

import base64
import gzip
import json
import re
from pathlib import Path

import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.base.colours import colours
from mace.certify.writer import Certificate
from mace.errors import FileError
from mace.space.feature import Feature
from mace.space.space import Space

HOSTILE = "<script>alert(1)</script>"
SPACE = Space([Feature(HOSTILE, "integer", 0, 20), Feature("b", "integer", 0, 20)])
X = pd.DataFrame([[k, 20 - k] for k in range(20)], columns=SPACE.names)


@pytest.fixture(scope="module")
def answer() -> mace.Answer:
    tree = DecisionTreeClassifier(random_state=0).fit(X, [int(k > 9) for k in range(20)])
    return mace.explain(tree, SPACE, [1, 19], goal=1, count=2)


def test_the_page_holds_the_certificate(answer: mace.Answer, tmp_path: Path) -> None:
    page = answer.to_html(tmp_path / "answer.html").read_text()
    held = re.search(r'href="data:application/gzip;base64,([^"]+)"', page)
    assert held is not None
    made = Certificate(json.loads(gzip.decompress(base64.b64decode(held[1]))))
    assert made.check().accepted
    assert made.digest == answer.certificate.digest
    assert made.digest in page


def test_nothing_on_the_page_runs_or_is_fetched(answer: mace.Answer, tmp_path: Path) -> None:
    page = answer.to_html(tmp_path / "answer.html", answer.menu()).read_text()
    assert "What is enough" in page
    assert "<script" not in page
    assert HOSTILE.replace("<", "&lt;").replace(">", "&gt;") in page
    assert not re.search(r'(href|src)="(?!#|data:application/gzip)', page)


def test_what_has_no_certificate_says_why(tmp_path: Path) -> None:
    model = LogisticRegression().fit(X.to_numpy(), [int(k > 9) for k in range(20)])
    near = mace.explain(
        mace.BlackBox(lambda rows: model.predict(rows.to_numpy()), classes=[0, 1]), SPACE, [1, 19], goal=1
    )
    page = near.to_html(tmp_path / "answer.html").read_text()
    assert "certificate" in page.partition("The proof")[2]
    assert "data:application" not in page


def test_a_page_that_cannot_be_written_leaves_nothing(answer: mace.Answer, tmp_path: Path) -> None:
    with pytest.raises(FileError):
        answer.to_html(tmp_path / "nowhere" / "answer.html")
    assert not list(tmp_path.iterdir())


def test_the_changes_of_one_way_are_told_apart(tmp_path: Path) -> None:
    tree = DecisionTreeClassifier(random_state=0).fit([[0, 0], [0, 9], [9, 0], [9, 9]], [0, 0, 0, 1])
    near = mace.explain(tree, SPACE, [1, 1], goal=1)
    assert len(near.sentences()) == 2
    assert "; b from 1 to" in near.to_html(tmp_path / "answer.html").read_text()


def test_the_decision_stands_on_the_page_once(answer: mace.Answer, tmp_path: Path) -> None:
    page = answer.to_html(tmp_path / "answer.html", answer.menu()).read_text()
    shown = page.partition("<body>")[2]
    assert shown.count("ecision: 0, wanted: 1") == 1 and "<h1>Decision: 0, wanted: 1</h1>" in shown
    assert "decision: 0, wanted: 1" in answer._repr_html_() and "decision: 0, wanted: 1" in answer.menu()._repr_html_()


def test_a_menu_that_was_not_asked_how_far_values_may_move_has_no_column_of_it(answer: mace.Answer) -> None:
    assert "Proved for" in answer.menu()._repr_html_()
    assert "Proved for" not in answer.menu(safe=False)._repr_html_()


def test_pages_can_be_read_on_light_and_on_dark_screens() -> None:
    """Colours have one owner; what is text stands off what it stands on by 4.5:1 (WCAG 2, AA)."""
    root = Path(mace.__file__).parent
    pages = [path for ending in ("jinja", "html", "css") for path in root.rglob(f"*.{ending}")]
    assert len(pages) > 5
    for path in pages:
        text = path.read_text(encoding="utf-8")
        if path.name != "colours.css":
            assert not re.search(r"(: |\()(#[0-9a-fA-F]{3,8}\b|rgba?\(|white\b|black\b)", text), path
            assert path.suffix == ".css" or re.search(r"\{\{ colours \}\}|\$colours", text), path
    light, dark = (
        dict(re.findall(r"--([\w-]+): (#\w+)", part)) for part in colours().split("@media print")[0].split("@media")
    )
    for palette in (light, light | dark):
        for ground in ("ground", "pale"):
            for name in ("ink", "soft", "link", "good", "bad", "open"):
                assert _contrast(palette[name], palette[ground]) >= 4.5, (name, ground, palette)
        assert _contrast(palette["on-link"], palette["link"]) >= 4.5


def _contrast(one: str, other: str) -> float:
    def luminance(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
        shares = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
        linear = [share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4 for share in shares]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
