"""Many real features: distances over them count in parts that a checker takes, or the answer says that they do not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

from mace import Space, explain
from mace.certify import statement
from mace.errors import CertificateError
from mace.proofs import reader

FEATURES = statement.FEW + 5


def test_distances_without_a_common_denominator_have_no_certificate(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(60, FEATURES)), columns=[f"x{k}" for k in range(FEATURES)])
    model = DecisionTreeClassifier(random_state=0).fit(frame, frame.x0 > 0)
    row = frame[frame.x0 <= 0].iloc[0]
    answer = explain(model, Space.from_frame(frame), row, goal=True)
    made = answer.certificate
    assert made.check().accepted
    assert not answer.notes

    monkeypatch.setattr(reader, "MAX_BITS", 1000)
    verdict = made.check()
    assert verdict.unusable and "common denominator" in str(verdict)
    again = explain(model, Space.from_frame(frame), row, goal=True)
    assert again.status == "optimal" and again.distance == answer.distance
    assert any("common denominator" in note for note in again.notes)
    with pytest.raises(CertificateError, match=f"common denominator, and {FEATURES} features have more"):
        again.certificate  # noqa: B018  # it is made where it is asked for
    # With a step their ends have few digits.
    frame = frame.round(1)
    steps = Space.from_frame(frame, step=dict.fromkeys(frame.columns, 0.1))
    row = frame[~model.predict(frame)].iloc[0]
    assert explain(model, steps, row, goal=True).certificate.check().accepted
