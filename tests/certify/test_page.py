"""The page that checks certificates in a browser: its checker is the kernel as it is, and so are its verdicts."""

from __future__ import annotations

import base64
import gzip
import json
import os
import re
import subprocess
import threading
from pathlib import Path

import pytest

import mace.proofs
from mace.certify.page import LOCK, PACKAGE, RUNTIME, checker, write_page
from mace.errors import FileError
from tests.browser import NEEDED, command

PROOFS = Path(mace.proofs.__file__).resolve().parent
VECTORS = PROOFS / "vectors"
PYODIDE = Path(os.environ.get("MACE_PYODIDE", Path(__file__).parents[2] / PACKAGE))
SECONDS = 280
# What somebody does who picks files, and what is then to be read on the page.
PICKED = """<script>
const dropped = %s;
const begun = setInterval(() => {
  if (!$("state").textContent.startsWith("Starting")) clearInterval(begun);
  if ($("pick").disabled) return;
  const list = new DataTransfer();
  for (const [name, text] of Object.entries(dropped))
    list.items.add(new File([Uint8Array.from(atob(text), letter => letter.charCodeAt(0))], name));
  $("pick").files = list.files;
  $("pick").dispatchEvent(new Event("change"));
  const done = setInterval(() => {
    const items = [...document.querySelectorAll("#verdicts li")];
    if (items.length < %d || items.some(item => item.textContent.endsWith("checking ..."))) return;
    clearInterval(done);
    console.log("VERDICTS " + JSON.stringify(items.map(item => [...item.children].map(e => e.textContent))) + " END");
  }, 100);
}, 100);
</script>"""


@pytest.fixture
def runtime(tmp_path: Path) -> Path:
    """A folder with what a page needs, but for its meaning."""
    folder = tmp_path / "pyodide"
    folder.mkdir()
    for name in RUNTIME:
        (folder / name).write_bytes(name.encode())
    (folder / LOCK).write_text('{"info": {"python": "3.14.2"}, "packages": {"numpy": {"version": "2"}}}')
    return folder


def held(page: Path, name: str) -> dict[str, object]:
    """The JSON in an element of the page."""
    found = re.search(rf'<script type="application/json" id="{name}">(.*?)</script>', page.read_text("utf-8"))
    assert found
    return dict(json.loads(found[1]))


def test_the_page_holds_the_checker_byte_for_byte_and_all_that_it_imports(runtime: Path, tmp_path: Path) -> None:
    sources = held(write_page(tmp_path / "page.html", runtime), "sources")
    assert sources == {name: [text, sources[name][1]] for name, text in checker().items()}  # type: ignore[index]
    for name, (text, _) in sources.items():  # type: ignore[misc]
        assert (PROOFS / name).read_text("utf-8") == text
        for module in re.findall(r"^from mace\.proofs\.([\w.]+) import", text, re.MULTILINE):
            assert f"{module.replace('.', '/')}.py" in sources


def test_the_runtime_is_in_it_without_a_list_of_packages_to_fetch(runtime: Path, tmp_path: Path) -> None:
    packed = held(write_page(tmp_path / "page.html", runtime), "runtime")
    assert set(packed) == set(RUNTIME)
    assert json.loads(gzip.decompress(base64.b64decode(str(packed[LOCK]))))["packages"] == {}


def test_the_page_may_open_no_connection(runtime: Path, tmp_path: Path) -> None:
    text = write_page(tmp_path / "page.html", runtime).read_text("utf-8")
    assert "default-src 'none'" in text and "connect-src 'none'" in text
    assert text == write_page(tmp_path / "again.html", runtime).read_text("utf-8")


def test_without_a_runtime_it_says_what_to_fetch(runtime: Path, tmp_path: Path) -> None:
    (runtime / "pyodide.asm.wasm").unlink()
    with pytest.raises(FileError, match=r"without pyodide\.asm\.wasm") as caught:
        write_page(tmp_path / "page.html", runtime)
    assert "npm install pyodide" in (caught.value.hint or "")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.slow
@NEEDED
@pytest.mark.skipif(
    not (PYODIDE / LOCK).is_file(), reason=f"needs Pyodide: npm install pyodide, or MACE_PYODIDE; not in {PYODIDE}"
)
def test_in_a_browser_every_vector_has_its_verdict(tmp_path: Path) -> None:
    index = json.loads((VECTORS / "index.json").read_text("utf-8"))
    raw = {path.name: path.read_bytes() for path in VECTORS.iterdir() if path.name != "index.json"}
    script = PICKED % (json.dumps({name: base64.b64encode(raw[name]).decode() for name in raw}), len(index))
    page = write_page(tmp_path / "page.html", PYODIDE)
    page.write_text(page.read_text("utf-8").replace("</html>", f"{script}</html>"), encoding="utf-8")
    with subprocess.Popen(
        command(tmp_path, page.as_uri()), stderr=subprocess.PIPE, text=True, errors="replace"
    ) as browser:
        late = threading.Timer(SECONDS, browser.kill)
        late.start()
        assert browser.stderr is not None
        said = next((line for line in browser.stderr if "VERDICTS" in line), "")
        late.cancel()
        browser.kill()
    found = re.search(r"VERDICTS (.*) END", said)
    assert found, "the page said nothing"
    verdicts = dict(json.loads(found[1]))
    wrong = [(e["file"], e["verdict"], verdicts.get(e["file"])) for e in index]
    assert not [one for one in wrong if not str(one[2]).startswith(one[1])]
