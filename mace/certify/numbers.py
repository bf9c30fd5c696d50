"""Exact numbers, and JSON of them, as a certificate writes them."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

from mace.base.exact import text as exact_text
from mace.errors import CertificateError

MAX_TEXT = 4000


def text(number: Fraction) -> str:
    """Exact text, of a length that the checker reads."""
    shown = exact_text(number)
    if len(shown) > MAX_TEXT:
        raise CertificateError(
            f"an exact number of this question needs more than {MAX_TEXT} digits",
            hint="Give real features a `step`: then distances have short denominators.",
        )
    return shown


def canonical(data: Any) -> bytes:
    """JSON of which there is one for each value: what is hashed and written."""
    return json.dumps(data, separators=(",", ":"), sort_keys=True, allow_nan=False).encode()
