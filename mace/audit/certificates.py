"""Many certificates of one model, which is written and read once.

In:  answers to questions about the same model.
Out: a file for each, as small as its proof, and one beside them that holds the model; the checker's verdict on each.
Promise: whoever has a certificate of a folder finds its model there: the model is written first, each file appears
whole or not at all, and processes that write the same model at once write the same bytes.
Why: nearly all of a certificate of a forest is the forest.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import time
import zlib
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.base.deadline import NEVER, Deadline, alarm
from mace.base.files import write_whole
from mace.certify import elaboration
from mace.certify.models import Written, model_written
from mace.certify.numbers import canonical
from mace.certify.writer import Certificate, certificate, fitting, zipped
from mace.errors import CertificateError
from mace.problem.distance import NearestRow
from mace.proofs.check import known_model
from mace.proofs.reader import MODEL
from mace.tables.table import Formula, Table

if TYPE_CHECKING:
    from mace.explain.proved.bound import Proved
    from mace.problem.question import Question

# Quotes inside a JSON text are escaped, so this stands for the field itself.
REFERENCE = re.compile(rb'"model":\{"sha256":"([0-9a-f]{64})"\}')
_DAMAGED = (OSError, EOFError, zlib.error)  # what a file that is absent or not whole raises


class Writer:
    """Writes the certificates of answers about one model."""

    def __init__(self, table: Table) -> None:
        self.table = table
        self._there: set[Path] = set()  # files of the model that hold it
        self._last: tuple[Certificate, bytes] | None = None  # a certificate, and the text that is written of it
        self._shared: dict[str, tuple[Any, bytes]] = {}  # parts that certificates share, and their texts

    @cached_property
    def _model(self) -> Written:
        assert not isinstance(self.table, Formula)
        return model_written(self.table)

    @cached_property
    def _packed(self) -> bytes:
        return zipped(fitting(self._model.text))

    @cached_property
    def _known(self) -> Any:
        return known_model({"statement": {"model": self._model.parsed}})

    @cached_property
    def _digest(self) -> str:
        return hashlib.sha256(self._model.text).hexdigest()

    def ready(self) -> float:
        """Write the model, once and for all answers, and compile what certificates need; the seconds it took.

        Raises CertificateError.
        """
        began = time.perf_counter()
        _ = self._digest, self._packed, self._known
        elaboration.warm(self.table)
        return time.perf_counter() - began

    def of(self, answer: Proved) -> Certificate:
        """The certificate of an answer, with the digest of its model; raises CertificateError as `answer.certificate`.

        To save or check it is this class's part: alone it is not complete.
        """
        if answer.proof is None or answer.question is None:
            raise CertificateError(f"the oracle {answer.oracle!r} gave no proof that stands alone")
        return certificate(
            answer.question, answer.claim, answer.witness, answer.proof, {"sha256": self._digest}, NEVER, self._known
        )

    def save(self, short: Certificate, path: Path) -> bytes:
        """Write a certificate, gzipped, and before it the model if it is not there; returns the certificate's bytes."""
        model = path.parent / (self._digest + MODEL)
        if model not in self._there or not model.exists():
            if not model.exists() or model.read_bytes() != self._packed:
                write_whole(model, self._packed)
            self._there.add(model)
        raw = zipped(fitting(self._written(short)))
        write_whole(path, raw)
        return raw

    def _written(self, short: Certificate) -> bytes:
        """The text of a certificate; what is checked is what was saved."""
        if self._last is None or self._last[0] is not short:
            self._last = short, self._assembled(short.data)
        return self._last[1]

    def _assembled(self, data: dict[str, Any]) -> bytes:
        """`canonical`, where the text of what certificates of one model and one space share is written once."""
        statement = data["statement"]
        parts = {"about": data["about"], "columns": statement["columns"], "rules": statement["rules"]}
        left = canonical({**data, "about": "", "statement": {**statement, "columns": "", "rules": ""}})
        text: list[bytes] = []
        for name, part in parts.items():  # in the order of the text, which is that of their names
            if name not in self._shared or self._shared[name][0] != part:
                self._shared[name] = part, canonical(part)
            # As in `REFERENCE`: quotes inside a text are escaped.
            before, field, left = left.partition(f'"{name}":""'.encode())
            text += [before, field[:-2], self._shared[name][1]]
        return b"".join([*text, left])

    def check(self, short: Certificate, deadline: Deadline) -> tuple[str, str]:
        """The checker's verdict: "accepted", "refused" or "unchecked", and its words."""
        from mace.proofs.check import check

        late = f"{deadline.why}, reached before the checker had read it; `mace check` reads it at any time"
        if deadline.over:
            return "unchecked", late
        data = json.loads(self._written(short))
        data["statement"]["model"] = self._model.parsed
        try:
            with alarm(deadline.left(), _ring):
                verdict = check(data)
        except _TooLongError:
            return "unchecked", late
        status = "accepted" if verdict.accepted else "unchecked" if verdict.unusable else "refused"
        return status, str(verdict)


class Writers:
    """Saves certificates of answers about several models, each of which is written and read once."""

    def __init__(self) -> None:
        self._of: dict[int, Writer] = {}  # each holds its model, so that no other one is given its number

    def save(self, answer: Proved, path: Path) -> None:
        """Write the certificate of an answer, gzipped; raises CertificateError as `answer.certificate`, FileError."""
        question = answer.question
        if question is None or answer.proof is None or answer.together is not None or not _trained(question):
            answer.certificate.save(path)
            return
        assert not isinstance(question.model, Formula)
        writer = self._of.setdefault(id(question.model), Writer(question.model))
        writer.save(writer.of(answer), path)


def _trained(question: Question) -> bool:
    """Whether a question is about a trained model, and its certificate is one proof, not one for each row."""
    return not isinstance(question.model, Formula) and not isinstance(question.distance, NearestRow)


def model_of(raw: bytes) -> str | None:
    """The name of the file with a certificate's model, from the certificate's bytes; None if it holds the model."""
    try:
        found = REFERENCE.search(gzip.decompress(raw))
    except _DAMAGED:
        return None
    return None if found is None else found[1].decode() + MODEL


class EarlierCertificates:
    """The certificates that an earlier run left in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._models: dict[str, bool] = {}  # names of files, and whether each holds its model

    def whole(self, name: str, sha256: str) -> bool:
        """Whether a certificate and the file of its model are there as written, to their last bytes."""
        try:
            raw = (self.folder / name).read_bytes()
        except OSError:
            return False
        if hashlib.sha256(raw).hexdigest() != sha256:
            return False
        model = model_of(raw)
        return model is None or self._holds(model)

    def _holds(self, name: str) -> bool:
        """Whether a file holds the model whose digest it is called by; each is read once."""
        if name not in self._models:
            try:
                text = gzip.decompress((self.folder / name).read_bytes())
                self._models[name] = hashlib.sha256(text).hexdigest() + MODEL == name
            except _DAMAGED:
                self._models[name] = False
        return self._models[name]


class _TooLongError(Exception):
    pass


def _ring(*_: object) -> None:
    raise _TooLongError
