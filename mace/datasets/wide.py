"""Tables with many columns: Hill-Valley, arrhythmia, LSVT voice rehabilitation.

In:  a name, and the folder with `<file>.csv.gz`.    Out: a `Wide`: features, outcome, space, and how it was made.
Promise: the rows are those of the known file (SHA-256 of its text), or a FileError says why not.
Source: UCI Machine Learning Repository (CC BY 4.0): Graham and Oppacher 2008, doi 10.24432/C5JC8P; Guvenir et al. 1997;
Tsanas et al. 2014.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from mace.errors import FileError

if TYPE_CHECKING:
    import pandas as pd

    from mace.space.space import Space

VARIABLE = "MACE_DATA"


@dataclass(frozen=True)
class KnownFile:
    """A file: its name, the SHA-256 of its text, its outcome, and the favourable value."""

    file: str
    sha256: str
    target: str
    goal: int


KNOWN = {
    "hillvalley": KnownFile(
        "hillvalley_noise", "1b3b12feb1c4c9b40cbb7d98bfa2e47e28e7e5e271bca47f7e497fb0c944c2c6", "hill", 1
    ),
    "arrhythmia": KnownFile(
        "arrhythmia", "50f66bef1ffc58d5205662f1441510dcd3214613f3cf8370fcca9c718269b9b6", "abnormal", 0
    ),
    "lsvt": KnownFile("lsvt", "b60a28f3054683fd5126f3a8788869bce38f0b24a0c91ade53fbb4debc69d8b2", "acceptable", 1),
}
# Columns that are no features: another outcome, and the person whom several rows are of.
LEFT_OUT = {"arrhythmia": ["class16"], "lsvt": ["subject"]}
FEW = 4  # distinct values of a column of arrhythmia up to which it counts as categorical


@dataclass(frozen=True)
class Wide:
    """A table.

    X: features, shape (rows, features).    y: the outcome, 0 or 1.    goal: the favourable one.
    groups: what must not be split between training and test, or None.
    notes: how X was made of the file.
    """

    name: str
    X: pd.DataFrame
    y: pd.Series[int]
    goal: int
    space: Space
    groups: pd.Series[int] | None
    notes: tuple[str, ...]


def wide(name: str, folder: str | Path | None = None) -> Wide:
    """Load a table; folder: None: the one that the environment variable MACE_DATA names. Raises FileError."""
    from mace.space.space import Space

    if name not in KNOWN:
        raise FileError(f"there is no table {name!r}", hint=f"Tables: {', '.join(KNOWN)}.")
    known = KNOWN[name]
    frame = _read(known, folder)
    groups = frame.get("subject")
    out = frame.drop(columns=[known.target, *LEFT_OUT.get(name, [])])
    notes: list[str] = []
    categorical: list[str] = []
    if name == "arrhythmia":
        constant = [column for column in out if out[column].nunique(dropna=False) <= 1]
        out = out.drop(columns=constant)
        lacking = [column for column in out if out[column].isna().any()]
        out = out.fillna(out[lacking].median())
        categorical = [str(column) for column in out if frame[column].nunique() <= FEW]
        notes = [
            f"{len(constant)} constant columns left out, missing values of {len(lacking)} columns filled by the "
            f"median, {len(categorical)} columns of at most {FEW} values categorical."
        ]
    elif name == "lsvt":
        categorical = ["female"]
    space = Space.from_frame(out, categorical=categorical, encoding=dict.fromkeys(categorical, "as-is"), name=name)
    return Wide(name, out, frame[known.target], known.goal, space, groups, tuple(notes))


def _read(known: KnownFile, folder: str | Path | None) -> pd.DataFrame:
    import pandas as pd

    given = folder if folder is not None else os.environ.get(VARIABLE)
    file = Path(given or "") / f"{known.file}.csv.gz"
    if not given or not file.is_file():
        raise FileError(
            f"{known.file}.csv.gz: not found" + (f" in {given}" if given else ""),
            hint=f"Put it into a folder, and name that with the environment variable {VARIABLE}.",
        )
    try:
        text = gzip.decompress(file.read_bytes())
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{file}: cannot be read ({error})", hint="It must be a CSV compressed with gzip.") from None
    if (found := hashlib.sha256(text).hexdigest()) != known.sha256:
        raise FileError(f"{file}: this is not the known table: the SHA-256 of its text is {found}")
    return pd.read_csv(io.BytesIO(text))
