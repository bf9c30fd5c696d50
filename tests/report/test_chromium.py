"""The report in a real browser: it fits a phone and a desktop, prints, fetches nothing, complains of nothing."""

from __future__ import annotations

import html
import json
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import mace
from tests.browser import NEEDED, browse
from tests.report import made

pytestmark = [pytest.mark.slow, NEEDED]
SIZES = {"phone": (390, 844), "desktop": (1280, 900)}
# The page in a frame of each width: the policy of the page forbids scripts, so the one that measures stands outside.
MEASURE = """<!DOCTYPE html><title>measure</title><pre id="out"></pre>
<script>
const out = {};
const frames = %s;
const page = %s;
let left = Object.keys(frames).length;
for (const [name, [width, height]] of Object.entries(frames)) {
  const frame = document.createElement("iframe");
  frame.style.cssText = `border: 0; width: ${width}px; height: ${height}px`;
  frame.onload = () => {
    const inside = frame.contentDocument;
    const sizes = [...inside.querySelectorAll("svg text")].map(t => t.getBoundingClientRect().height);
    const figures = [...inside.querySelectorAll("figure")].map(f => f.getBoundingClientRect().right);
    out[name] = {
      width: inside.documentElement.scrollWidth,
      figures: Math.max(...figures),
      smallest: Math.min(...sizes),
      alerts: inside.querySelectorAll("script").length,
    };
    left -= 1;
    if (!left) document.getElementById("out").textContent = JSON.stringify(out);
  };
  frame.srcdoc = page;
  document.body.append(frame);
}
</script>
"""


@pytest.fixture(scope="module", params=["x", made.HOSTILE], ids=["plain", "hostile"])
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    return mace.report(made.audit(request.param), folder / "report.html", 1)


@pytest.fixture
def asked(report: Path) -> Iterator[tuple[str, list[str]]]:
    """The address of a server that has the report only, and what it was asked for."""
    paths: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        def log_request(self, *_: object) -> None:
            paths.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(report.parent)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", paths
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_it_asks_for_nothing_and_complains_of_nothing(asked: tuple[str, list[str]], tmp_path: Path):
    address, paths = asked
    # What went elsewhere would be refused by the page's policy, and the console would say so.
    dom, errors = browse(tmp_path, "--dump-dom", f"{address}/report.html")
    assert "What this report is not." in dom
    assert paths == ["/report.html"]
    assert not re.findall("CONSOLE.*", errors)


def test_the_console_would_have_said_so(tmp_path: Path):
    page = tmp_path / "bad.html"
    policy = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'\">"
    page.write_text(f"<!DOCTYPE html>{policy}<title>x</title><script>alert(1)</script>", encoding="utf-8")
    _, errors = browse(tmp_path, "--dump-dom", page.as_uri())
    assert re.findall("CONSOLE.*Content Security Policy", errors)


def test_it_fits_a_phone_and_a_desktop(report: Path, tmp_path: Path):
    page = json.dumps(report.read_text(encoding="utf-8")).replace("</", "<\\/")
    outer = tmp_path / "measure.html"
    outer.write_text(MEASURE % (json.dumps(SIZES), page), encoding="utf-8")
    dom, errors = browse(tmp_path, "--virtual-time-budget=5000", "--dump-dom", outer.as_uri())
    found = re.search(r'<pre id="out">(.+?)</pre>', dom)
    assert found is not None, errors
    for name, measured in json.loads(html.unescape(found[1])).items():
        width = SIZES[name][0]
        assert measured["width"] <= width, f"{name}: the page is wider than the screen"
        assert measured["figures"] <= width
        assert measured["smallest"] >= 7.5, f"{name}: a text of a plot is {measured['smallest']} px high"
        assert measured["alerts"] == 0


@pytest.mark.parametrize("size", SIZES)
def test_it_can_be_looked_at(report: Path, tmp_path: Path, size: str):
    picture = tmp_path / "report.png"
    width, height = SIZES[size]
    browse(tmp_path, f"--window-size={width},{height}", f"--screenshot={picture}", report.as_uri())
    raw = picture.read_bytes()
    assert raw.startswith(b"\x89PNG")
    assert int.from_bytes(raw[16:20], "big") == width


def test_it_prints(report: Path, tmp_path: Path):
    printed = tmp_path / "report.pdf"
    _, errors = browse(tmp_path, "--no-pdf-header-footer", f"--print-to-pdf={printed}", report.as_uri())
    raw = printed.read_bytes()
    assert raw.startswith(b"%PDF")
    assert 3 <= len(re.findall(rb"/Type\s*/Page\b", raw)) <= 20
    assert not re.findall("CONSOLE.*", errors)
