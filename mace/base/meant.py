"""What somebody may have meant who wrote a word that nobody knows.

In:  a word, and the words that are known.    Out: `Did you mean ..?`, or nothing where no word is like it.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

ALIKE = 0.6  # of difflib's ratio
LONGEST = 200  # characters of what may be a word


def closest(word: object, known: Iterable[object], alike: float = ALIKE) -> str:
    """The known word that is most like this text, whatever the case of its letters; empty if none is."""
    if not isinstance(word, str) or len(word) > LONGEST:  # a number is no word, and may be too long to be written
        return ""
    texts = {str(name).casefold(): str(name) for name in known}
    found = get_close_matches(word.casefold(), list(texts), n=1, cutoff=alike)
    return texts[found[0]] if found else ""


def meant(word: object, known: Iterable[object], otherwise: str = "") -> str:
    """A hint: `Did you mean X?` before what is said otherwise."""
    found = closest(word, known)
    return f"Did you mean {found!r}? {otherwise}".strip() if found else otherwise
