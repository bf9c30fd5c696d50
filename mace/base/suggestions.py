"""Suggestions for unknown words: "Did you mean ..?".

In:  a word, and the words that are known.
Out: `Did you mean ..?`, or nothing where no word is like it; the first few of the known words, which may be thousands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import islice

ALIKE = 0.6  # of difflib's ratio
CERTAINLY = 0.8
LONGEST = 200  # characters of what may be a word
FEW = 12  # words that a message lists


def closest(word: object, known: Iterable[object], alike: float = ALIKE) -> str:
    """The known word that is most like this text, whatever the case of its letters; empty if none is.

    A known word of several, of which this is one (`income` of `monthly income`), is more like it than any other.
    """
    if not isinstance(word, str) or len(word) > LONGEST:  # a number is no word, and may be too long to be written
        return ""
    texts = {str(name).casefold(): str(name) for name in known}
    holding = [text for text in texts if word.casefold() in re.findall(r"\w+", text)]
    found = get_close_matches(word.casefold(), list(texts), n=1, cutoff=CERTAINLY if len(holding) == 1 else alike)
    return texts[(found or holding)[0]] if found or len(holding) == 1 else ""


def meant(word: object, known: Iterable[object], otherwise: str = "") -> str:
    """A hint: `Did you mean X?` before what is said otherwise."""
    found = closest(word, known)
    return f"Did you mean {found!r}? {otherwise}".strip() if found else otherwise


def few(words: Iterable[object], most: int = FEW) -> str:
    """The first of some words, one after the other: `a, b, ..` where there are more."""
    first = [str(word) for word in islice(words, most + 1)]
    return ", ".join([*first[:most], *([".."] if len(first) > most else [])])


def some(words: Sequence[object], most: int = FEW) -> str:
    """The first of some words, and how many more there are: `a, b and 3 more`."""
    more = f" and {len(words) - most:,} more" if len(words) > most else ""
    return f"{', '.join(map(str, words[:most]))}{more}"


def among(word: object, known: Iterable[object], what: str = "It") -> str:
    """The hint about a word that is none of what something has: the one that is most like it, and the first few."""
    known = list(known)
    return meant(word, known, f"{what} has {few(known)}.")
