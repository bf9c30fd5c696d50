"""Files read whole within a limit, and written whole or not at all.

In:  a path.    Out: its text; or a file that holds what was given, or what it held before.
Promise: a FileError names the file and what stands in the way; no draft is left behind. Where somebody reads what is
written and stops, BrokenPipeError says so, as of anything that is printed.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import os
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mace.errors import FileError

_OPEN = re.compile(r"/(?:dev|proc/self)/(stdout|stderr|fd/[0-9]{1,9})")
LARGEST = 2**20  # bytes of a text that a person wrote


def reason(error: Exception) -> str:
    """What the system said, without its number and without the name of a file that the message has already."""
    return (isinstance(error, OSError) and error.strerror) or str(error)


def read_text(path: Path, hint: str, largest: int = LARGEST) -> str:
    """The text of a file in UTF-8, with or without a byte order mark, of at most so many bytes; raises FileError."""
    try:
        return io.TextIOWrapper(io.BytesIO(read_bytes(path, largest, hint)), encoding="utf-8-sig").read()
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: {no_text(error)}", hint=hint) from None


def no_text(error: UnicodeDecodeError) -> str:
    """Why a file is no text in UTF-8, for a message."""
    if error.object[:4] in (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE):
        return "it is in UTF-32, and must be in UTF-8"
    if error.object[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
        return "it is in UTF-16, and must be in UTF-8"
    return f"it is no text in UTF-8: it holds the byte 0x{error.object[error.start]:02x}"


def read_toml(path: Path, hint: str) -> tuple[dict[str, Any], str]:
    """The values and the text of a TOML file; raises FileError with the hint."""
    text = read_text(path, hint)
    return parse_toml(text, str(path), hint), text


def parse_toml(text: str, name: str, hint: str = "") -> dict[str, Any]:
    """The values in a text of TOML; raises FileError that names the file."""
    try:
        return tomllib.loads(text)
    except (ValueError, RecursionError) as error:  # no TOML; a number of thousands of digits; nested too deeply
        raise FileError(f"{name}: is not valid TOML: {error}", hint=hint) from None


def read_bytes(path: Path, largest: int, hint: str = "") -> bytes:
    """The bytes of a file, at most so many; raises FileError with the hint."""
    try:
        with path.open("rb") as file:
            return _at_most(largest, file, str(path), hint)
    except (OSError, ValueError) as error:  # a ValueError for a name with the byte 0
        raise FileError(f"{path}: cannot be read ({reason(error)})", hint=hint) from None


def read_unpacked(path: Path, largest: int, hint: str = "") -> bytes:
    """The bytes of a file as `read_bytes` does; of one whose name ends in `.gz` those that gzip packed."""
    raw = read_bytes(path, largest, hint)
    if path.suffix != ".gz":
        return raw
    import gzip  # late: most files are not packed
    import zlib

    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            return _at_most(largest, file, str(path), hint, " when it is unpacked")
    except (OSError, EOFError, zlib.error) as error:
        raise FileError(f"{path}: cannot be unpacked ({reason(error)})", hint=hint) from None


def _at_most(largest: int, file: io.BufferedIOBase, name: str, hint: str, when: str = "") -> bytes:
    """All bytes that a file gives, at most so many; raises FileError."""
    try:
        # One more than allowed shows a file that is too large, whatever its directory says of its size.
        found = file.read(largest + 1)
    except MemoryError:
        raise FileError(f"{name}: needs more memory than there is", hint=hint) from None
    if len(found) > largest:
        raise FileError(f"{name} is larger than {largest / 2**20:.3g} MB{when}", hint=hint)
    return found


def check_folder(path: Path) -> None:
    """Raise FileError unless a file of this name can be written: to be asked before the work, not after it."""
    if not path.parent.is_dir():
        raise FileError(f"{path}: there is no folder {path.parent}", hint="Make it, or give another name.")
    if path.is_dir():
        raise FileError(f"{path}: this is a folder", hint="Give the name of a file.")
    if not is_stream(path):
        _probe(path.parent, f"{path}: cannot be written")


def is_stream(path: Path) -> bool:
    """Whether a path names what is written to as it is: a pipe, a device, or a file that is open already."""
    return _descriptor(path) is not None or path.exists() and not (path.is_file() or path.is_dir())


def is_open(path: Path) -> bool:
    """Whether a path names a file that this process has open, as /dev/stdin does."""
    return str(path) == "/dev/stdin" or _descriptor(path) is not None


def _descriptor(path: Path) -> int | None:
    """The number of a file that this process has open, where a path says so, as /dev/stdout does."""
    name = _OPEN.fullmatch(str(path))
    return None if name is None else {"stdout": 1, "stderr": 2}.get(name[1]) or int(name[1].rpartition("/")[2])


def make_folder(path: Path, what: str) -> Path:
    """A folder for files of a kind (`what`), made where it is not there; raises FileError where none can be written."""
    cannot = f"{path}: cannot be used as a folder for {what}"
    try:
        path.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise FileError(f"{cannot}: this is a file", hint="Give the name of a folder.") from None
    except OSError as error:
        raise FileError(f"{cannot} ({reason(error)})", hint="Give another name.") from None
    _probe(path, cannot)
    return path


def _probe(folder: Path, cannot: str) -> None:
    """Raise FileError unless a file can be made in a folder: only making one tells."""
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise FileError(f"{cannot} ({reason(error)})", hint="Give another name.") from None


@contextlib.contextmanager
def draft_of(path: Path) -> Iterator[Path]:
    """A draft beside a file, which takes its place when it is complete; raises FileError where it cannot be written."""
    try:
        if is_stream(path):  # a draft would take the place of /dev/stdout itself, even where that leads to a file
            with tempfile.TemporaryDirectory() as folder:
                yield (draft := Path(folder) / "draft")
                _pour(draft.read_bytes(), path)
            return
        handle, name = tempfile.mkstemp(prefix=f".{path.name[:100]}.", dir=path.parent)
        os.close(handle)
        draft = Path(name)
        try:
            yield draft
            draft.chmod(0o644)
            draft.replace(path)
        except BaseException:
            draft.unlink(missing_ok=True)
            raise
    except BrokenPipeError:  # whoever read /dev/stdout has seen enough, which is no mistake
        raise
    except OSError as error:
        raise FileError(f"{path}: cannot be written ({reason(error)})") from None


def _pour(raw: bytes, path: Path) -> None:
    """Write to a pipe, a device, or a file that is open already."""
    number = _descriptor(path)
    sys.stdout.flush()
    with path.open("wb") if number is None else os.fdopen(os.dup(number), "wb") as file:
        file.write(raw)


def write_whole(path: Path, raw: bytes) -> Path:
    """Write a file whole, or leave it as it was; raises FileError."""
    with draft_of(path) as draft:
        draft.write_bytes(raw)
    return path
