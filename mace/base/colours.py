"""The colours of every page of HTML, for light and for dark screens; on paper they are the light ones.

Out: the text of a style sheet that defines them, to stand first in a page's own: `var(--ink)`, `var(--ground)`, ..
Promise: what stands in the colour of text on the page's ground has a contrast of 4.5:1 or more in both.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


@cache
def colours() -> str:
    """The style sheet; a page names no colour of its own."""
    return (files("mace.base") / "colours.css").read_text(encoding="utf-8")
