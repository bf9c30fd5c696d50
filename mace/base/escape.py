r"""One door for text that others wrote: names, labels, file names, messages, on their way to a terminal or a file.

In:  a text.    Out: the same text with an escape such as `\x1b` for every character that cannot be seen.
Promise: what comes out moves no cursor, changes no colour or title and turns no direction of writing; what is printed
as one line is one line. JSON stays the same value. What joins letters in Persian or in emoji stays.
Source: Unicode 15, categories Cc, Cf, Cs, Zl, Zp; Boucher and Anderson 2021 (Trojan Source) for the bidirectional
marks; OWASP, CSV Injection, for the cells that spreadsheets take for formulae.
"""

from __future__ import annotations

import json
import re

# Zero-width joiners (U+200C, U+200D) are the only characters of category Cf that stay.
_FORMAT = (
    "\xad\u0600-\u0605\u061c\u06dd\u070f\u0890\u0891\u08e2\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff"
    "\ufff9-\ufffb\U000110bd\U000110cd\U00013430-\U0001345f\U0001bca0-\U0001bca3\U0001d173-\U0001d17a"
    "\U000e0000-\U000e007f"
)
_NOT_TEXT = "\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff"  # lone halves of pairs, and what is no character at all
_BREAKS = "\u2028\u2029"
_UNSEEN = re.compile(f"[\x00-\x1f\x7f-\x9f{_FORMAT}{_BREAKS}{_NOT_TEXT}]")
_UNSEEN_IN_LINES = re.compile(f"[\x00-\x08\x0b-\x1f\x7f-\x9f{_FORMAT}{_BREAKS}{_NOT_TEXT}]")
MOST_BITS = 200  # of a whole number that a message shows
_LONG = re.compile(r"\S{1000,}")  # longer than any name or path that a person reads
_SHORT = {"\n": "\\n", "\t": "\\t", "\r": "\\r"}
# A spreadsheet reads a cell that begins so as a formula; the wide signs are those of East Asian keyboards.
_FORMULA = re.compile("[=+\\-@\t\r\n＝＋－＠]")
# How numpy writes its own scalars, alone or in a list: what stands inside is what Python calls them.
_SCALAR = re.compile(r"""\bnp\.(?:(?:float|int|uint|str_)\w*\(('[^']*'|"[^"]*"|[^()'"]*)\)|(True|False)_)""")
_NUMBER = re.compile(r"[-+]?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?", re.ASCII)


def one_line(text: object) -> str:
    """A text in one line, for a name or a value inside a message or a table."""
    return _UNSEEN.sub(_escaped, str(text))


def lines(text: object) -> str:
    """A text whose line breaks and tabs are meant."""
    return _UNSEEN_IN_LINES.sub(_escaped, str(text))


def json_text(value: object, indent: int | None = None, *, allow_nan: bool = False) -> str:
    """JSON for UTF-8, in which every character that cannot be seen is written by its number.

    allow_nan: write NaN and infinities, which JSON does not have. Raises ValueError for them otherwise.
    """
    text = json.dumps(value, indent=indent, ensure_ascii=False, allow_nan=allow_nan)
    # Outside of its texts JSON has no such characters but line breaks, which are meant.
    return _UNSEEN_IN_LINES.sub(lambda found: json.dumps(found[0])[1:-1], text)


def short(value: object, longest: int = 60) -> str:
    """A value as Python writes it, in one line and cut, for a message; also of a number too long to be written.

    Numbers and texts of numpy are written as Python's.
    """
    if isinstance(value, int) and value.bit_length() > MOST_BITS:
        return f"a whole number of {value.bit_length()} bits"
    try:
        text = _SCALAR.sub(lambda found: found[1] or found[2], repr(value))
    except ValueError:  # A number that is too long stands inside.
        text = f"a {type(value).__name__}"
    return one_line(text if len(text) <= longest else f"{text[: longest - 2]}..")


def readable(text: str) -> str:
    """A text in which no word is longer than a person reads."""
    return _LONG.sub(lambda found: f"{found[0][:60]}..", text)


def to_cell(text: str) -> str:
    """A text for a cell of a CSV file: behind an apostrophe where a spreadsheet would take it for a formula."""
    return f"'{text}" if _is_formula(text) else text


def from_cell(text: str) -> str:
    """The way back from `to_cell`."""
    return text[1:] if text[:1] == "'" and _is_formula(text) else text


def _is_formula(text: str) -> bool:
    """Whether a text, or what stands behind its apostrophes, begins as a formula does and is no number."""
    inside = text.lstrip("'")
    return bool(_FORMULA.match(inside)) and not _NUMBER.fullmatch(inside)


def _escaped(found: re.Match[str]) -> str:
    code = ord(found[0])
    return _SHORT.get(found[0]) or (
        f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"
    )
