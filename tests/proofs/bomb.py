"""A short file that stands for more text than a checker reads."""

from __future__ import annotations

import zlib

from mace.proofs.reader import MAX_BYTES

HEADER = b"\x1f\x8b\x08" + bytes(6) + b"\xff"  # of gzip, RFC 1952: deflated, without name or time
BLANKS = 2**20  # in a block


def bomb() -> bytes:
    """The beginning of a gzip file, of a few hundred kilobytes: blanks, one block of them after the other."""
    pack = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    # After a full flush nothing refers to what was before, so that a block can follow itself.
    block = pack.compress(b" " * BLANKS) + pack.flush(zlib.Z_FULL_FLUSH)
    return HEADER + block * (MAX_BYTES // BLANKS + 1)
