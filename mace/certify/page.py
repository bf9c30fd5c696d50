"""A page that checks certificates in a browser: one HTML file with the checker and a Python in it.

In:  the folder of an unpacked npm package `pyodide` (Python, compiled to WebAssembly; it is not part of mace).
Out: an HTML file that works from the disk and without a network. Its Content-Security-Policy forbids any connection.
Promise: the checker in it is `proofs/check.py` and what it imports, byte for byte; the page shows their SHA-256.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from importlib.resources import files
from pathlib import Path
from string import Template

import mace.proofs
from mace.base.colours import colours
from mace.base.files import read_bytes, write_whole
from mace.base.versions import MACE
from mace.errors import FileError

LOCK = "pyodide-lock.json"
RUNTIME = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", LOCK)
NEEDED = (
    "__init__.py",
    "changes.py",
    "check.py",
    "columns.py",
    "convert.py",
    "elaborate_*.py",
    "reader.py",
    "kernel/*.py",
)  # of proofs/
LARGEST = 2**27  # bytes of a file of the runtime
PACKAGE = Path("node_modules") / "pyodide"
HINT = f"`npm install pyodide` fetches it into ./{PACKAGE}; name another folder with --pyodide."


def checker() -> dict[str, str]:
    """The checker's files: name below proofs/ -> text."""
    folder = Path(mace.proofs.__file__).resolve().parent
    found = sorted(path for pattern in NEEDED for path in folder.glob(pattern))
    return {path.relative_to(folder).as_posix(): path.read_text("utf-8") for path in found}


def write_page(path: str | Path, pyodide: str | Path | None = None) -> Path:
    """Write the page; about 9 MB, most of it Python itself.

    path:    where to; an existing file is replaced when the new one is complete.
    pyodide: the folder of the unpacked npm package; None: node_modules/pyodide in the working directory.
    Returns the path. Raises FileError if it cannot be written, or a file of the runtime cannot be read.
    """
    folder = PACKAGE if pyodide is None else Path(pyodide)
    absent = [name for name in RUNTIME if not (folder / name).is_file()]
    if absent:
        raise FileError(f"{folder}: no Pyodide 314 or later is there: without {', '.join(absent)}", hint=HINT)
    raw = {name: read_bytes(folder / name, LARGEST, HINT) for name in RUNTIME}
    about = json.loads(raw[LOCK])["info"]
    # The list of packages that could be fetched is long, and the checker needs none.
    raw[LOCK] = json.dumps({"info": about, "packages": {}}).encode()
    runtime = {name: base64.b64encode(gzip.compress(file, mtime=0)).decode() for name, file in raw.items()}
    sources = {name: [text, hashlib.sha256(text.encode()).hexdigest()] for name, text in checker().items()}
    text = Template((files("mace.certify") / "checking.html").read_text("utf-8")).substitute(
        colours=colours(), version=MACE, python=about["python"], sources=_inside(sources), runtime=_inside(runtime)
    )
    return write_whole(Path(path), text.encode())


def _inside(data: object) -> str:
    """JSON that may stand in a script element: no text in it ends the element."""
    return json.dumps(data).replace("<", "\\u003c")
