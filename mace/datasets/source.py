"""Find a data set: generated, in a folder, or through scikit-learn's `fetch_openml`; and know it for the right one.

In:  a name and perhaps a folder. Out: a Dataset.
Promise: unless told `verify=False`, the rows are exactly those that mace's tests and figures speak of. A file is known
by the SHA-256 of its CSV text, a download (whose order of rows may differ) by that of its sorted lines.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

from mace.base.arguments import spelled
from mace.base.escape import short
from mace.base.suggestions import meant
from mace.datasets.cscf import PERSONS, Persons, persons
from mace.datasets.dataset import Dataset
from mace.errors import FileError

if TYPE_CHECKING:
    import pandas as pd

VARIABLE = "MACE_DATA"
LIMIT = 50_000_000  # bytes of CSV text; the largest table has 4.3 million


@dataclass(frozen=True)
class KnownTable:
    """What a real table is known by: its target and favourable value, and the digests of its text."""

    target: str
    goal: int
    text_sha256: str
    lines_sha256: str


KNOWN = {
    "adult": KnownTable(
        "IncomeOver50K",
        1,
        "68522a8b7542ab7814ca4b7e0ab168fc77ae1ba641cc5fad640c81c201d7c41c",
        "c9442b6212f2f7b2bd6cae461d28bff01ea022331fa719ce326b85c9c80c0d86",
    ),
    "credit": KnownTable(
        "NoDefaultNextMonth",
        1,
        "ef93d2fd23aa5eddeab9268f685242b67f3580f00c5e571d9d1957f7729dfde5",
        "1abc814def6ba611ec9a6efe88d01cb474ebdc114cc27eb121e3f5e7c04b4719",
    ),
    "compas": KnownTable(
        "TwoYearRecid",
        0,
        "833070b5775451fd870d32398435c601a24a612379d5139ebb9e0558ac1a1e7a",
        "f8eda2d89b0d65bbc58412770d1e22fc4703a37314534b12671a286296b47cae",
    ),
    "german": KnownTable(
        "GoodCustomer",
        1,
        "4cb7c99bd02af6ad8420ab8cfdce9414f974af403d03730495f3d82602f8f37c",
        "2daa140a0d69c06f75759926526cc65b448f47fc9368714041317a39844f917c",
    ),
}
NAMES = ("loans", *KNOWN)


@overload
def load(  # type: ignore[overload-overlap]
    name: Literal["cscf-adult", "cscf-german"], path: str | Path | None = None
) -> Persons: ...


@overload
def load(name: str, path: str | Path | None = None, *, verify: bool = True) -> Dataset: ...


@spelled
def load(name: str, path: str | Path | None = None, *, verify: bool = True) -> Dataset | Persons:
    """Load a data set by name.

    name:   "loans" (generated, needs nothing), "adult", "credit", "compas" or "german"; "cscf-adult" and "cscf-german"
            are the 100 persons of the benchmark of sequences, with network and world (`mace.datasets.cscf`).
    path:   the folder with `<name>.csv.gz`, or that file. Without it: the folder that the environment variable
            MACE_DATA names, else a download through scikit-learn's `fetch_openml`, which keeps a copy.
    verify: refuse a table that differs from the known one.
    Raises  FileError if the table is not found, not readable, or not the known one.
    """
    if name in PERSONS:
        return persons(name, path)
    if name not in NAMES:
        known = (*NAMES, *PERSONS)
        hint = meant(name, known, f"Data sets: {', '.join(known)}.")
        raise FileError(f"there is no data set {short(name)}", hint=hint)
    if name == "loans":
        from mace.datasets.loans import loans

        return Dataset(name, loans(), "Approved", 1)
    file = _file(name, path)
    frame = _read(name, file, verify) if file is not None else _download(name, verify)
    return Dataset(name, frame, KNOWN[name].target, KNOWN[name].goal)


def _file(name: str, path: str | Path | None) -> Path | None:
    """The file to read; None where there is nothing but the network to ask."""
    if path is not None:
        given = Path(path)
        file = given / f"{name}.csv.gz" if given.is_dir() else given
        if not file.is_file():
            raise FileError(
                f"{file}: no such file", hint=f"Give the folder that holds {name}.csv.gz, or leave `path` out."
            )
        return file
    folder = os.environ.get(VARIABLE)
    if not folder:
        return None
    file = Path(folder) / f"{name}.csv.gz"
    return file if file.is_file() else None


def _read(name: str, file: Path, verify: bool) -> pd.DataFrame:
    import pandas as pd

    try:
        with gzip.open(file) as stream:
            text = stream.read(LIMIT + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{file}: cannot be read ({error})", hint="It must be a CSV compressed with gzip.") from None
    if len(text) > LIMIT:
        raise FileError(f"{file}: holds more than {LIMIT} bytes, which no data set known here does")
    if verify and hashlib.sha256(text).hexdigest() != KNOWN[name].text_sha256:
        raise FileError(
            f"{file}: this is not the known {name} table: the SHA-256 of its text is"
            f" {hashlib.sha256(text).hexdigest()}, expected {KNOWN[name].text_sha256}",
            hint="Replace the file, or load it as it is with verify=False.",
        )
    try:
        frame = pd.read_csv(io.BytesIO(text), keep_default_na=False)
    except (ValueError, UnicodeDecodeError) as error:
        raise FileError(f"{file}: not a CSV table ({error})") from None
    return _with_columns(name, frame, str(file))


def _download(name: str, verify: bool) -> pd.DataFrame:
    from mace.datasets.openml import download

    frame = _with_columns(name, download(name), f"{name} from OpenML")
    if verify and lines_sha256(frame) != KNOWN[name].lines_sha256:
        raise FileError(
            f"{name}: what OpenML holds today cannot be brought into the known shape"
            f" ({len(frame)} rows came out, and some differ)",
            hint=f"Put {name}.csv.gz into a folder and name it with {VARIABLE}, or load this table with verify=False.",
        )
    return frame


def _with_columns(name: str, frame: pd.DataFrame, where: str) -> pd.DataFrame:
    """The frame in the order of the space, the target last; whatever else it holds is dropped."""
    import tomllib

    space = tomllib.loads((Path(__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))
    wanted = [*(feature["name"] for feature in space["feature"]), KNOWN[name].target]
    missing = [column for column in wanted if column not in frame.columns]
    if missing:
        raise FileError(f"{where}: there is no column `{missing[0]}`", hint=f"The table needs {', '.join(wanted)}.")
    return frame[wanted]


def lines_sha256(frame: pd.DataFrame) -> str:
    """A digest of the rows, whatever their order."""
    lines = frame.to_csv(index=False, lineterminator="\n").splitlines()
    return hashlib.sha256("\n".join([lines[0], *sorted(lines[1:])]).encode()).hexdigest()
