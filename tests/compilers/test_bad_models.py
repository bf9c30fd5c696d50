"""Every damaged, unfitted or unsupported model is refused with a message that says what is wrong with it."""

from __future__ import annotations

import pytest

from mace.compilers import read
from mace.errors import ModelError
from tests.corpus.bad.models.damaged import CASES


@pytest.mark.parametrize("name", CASES)
def test_a_bad_model_is_refused_with_its_message(name: str) -> None:
    build, message = CASES[name]
    with pytest.raises(ModelError) as caught:
        read(build())
    assert message in str(caught.value)
