"""Many certificates of one model: what they share is written, packed and read once.

In:  answers to questions about the same model.
Out: files that are byte for byte the text that `Certificate.save` writes, gzipped; and the checker's verdict on each.
Why: nine tenths of a certificate of a forest are the forest. Its part of the deflate stream ends at a full flush, so it
can stand in the middle of every file as it is.
"""

from __future__ import annotations

import json
import os
import signal
import struct
import tempfile
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.certificate import Certificate, certificate, model_part
from mace.errors import CertificateError
from mace.tables import Formula, Table

if TYPE_CHECKING:
    from mace.answer import Answer

PLACE = b'"model":{}'  # Where the model goes; inside a JSON text the quotes would be escaped, so it stands there once.
HEADER = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"  # gzip, no name, no time


class Writer:
    """Writes the certificates of answers about one model."""

    def __init__(self, table: Table) -> None:
        self.table = table

    @cached_property
    def _text(self) -> bytes:
        assert not isinstance(self.table, Formula)
        return _json(model_part(self.table))

    @cached_property
    def _packed(self) -> bytes:
        return _deflate(b'"model":' + self._text, last=False)

    @cached_property
    def _parsed(self) -> Any:
        return json.loads(self._text)

    def of(self, answer: Answer) -> Certificate:
        """The certificate of an answer but for the model's part; raises CertificateError as `answer.certificate`."""
        if answer.proof is None or answer.question is None:
            raise CertificateError(f"the oracle {answer.oracle!r} gave no proof that stands alone")
        lower = None if answer.status == "infeasible" else answer.exact_lower_bound
        return certificate(answer.question, lower, answer.witness, answer.proof, model={})

    def save(self, short: Certificate, path: Path) -> int:
        """Write the whole certificate as gzip; returns its size. The file appears whole or not at all."""
        before, _, after = _json(short.data).partition(PLACE)
        size = len(before) + len(self._text) + len(b'"model":') + len(after)
        check = zlib.crc32(after, zlib.crc32(self._text, zlib.crc32(b'"model":', zlib.crc32(before))))
        raw = b"".join(
            [
                HEADER,
                _deflate(before, last=False),
                self._packed,
                _deflate(after, last=True),
                struct.pack("<II", check, size % 2**32),
            ]
        )
        write_whole(path, raw)
        return len(raw)

    def check(self, short: Certificate, seconds: float | None) -> tuple[str, str]:
        """The checker's verdict: "accepted", "refused" or "unchecked", and its words."""
        from mace.proofs.check import check

        data = json.loads(_json(short.data))
        data["statement"]["model"] = self._parsed
        try:
            with _alarm(seconds):
                verdict = check(data)
        except _TooLongError:
            return "unchecked", f"the checker was stopped after {seconds:g} s"
        return ("accepted" if verdict.accepted else "refused"), str(verdict)


def write_whole(path: Path, raw: bytes) -> None:
    """Write a file so that it appears whole or not at all; raises CertificateError."""
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(raw)
            Path(temporary).chmod(0o644)
            Path(temporary).replace(path)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
    except OSError as error:
        raise CertificateError(f"{path}: cannot be written ({error})") from None


def _json(data: Any) -> bytes:
    return json.dumps(data, separators=(",", ":"), sort_keys=True, allow_nan=False).encode()


def _deflate(raw: bytes, *, last: bool) -> bytes:
    """A stretch of a deflate stream that refers to nothing before it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    return packer.compress(raw) + packer.flush(zlib.Z_FINISH if last else zlib.Z_FULL_FLUSH)


class _TooLongError(Exception):
    pass


@contextmanager
def _alarm(seconds: float | None) -> Iterator[None]:
    """Raise _TooLongError in the block after so many seconds, where the system and the thread allow it."""
    here = threading.current_thread() is threading.main_thread()
    if seconds is None or not hasattr(signal, "setitimer") or not here:
        yield
        return

    def ring(*_: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
