"""The page of `mace serve`: who is answered, what it asks, and what a browser shows of it."""

from __future__ import annotations

import json
import os
import re
import threading
import urllib.error
import urllib.request

import numpy as np
import pandas as pd
import pytest
from sklearn.tree import DecisionTreeClassifier

import mace
from mace.cli.serve import listening
from mace.errors import FileError
from tests.browser import NEEDED, seen

pytest.importorskip("starlette")
uvicorn = pytest.importorskip("uvicorn")

HOSTILE = "</script><b>x"


@pytest.fixture(scope="module")
def address():
    from mace.present.live import Live, application

    made = np.random.default_rng(0)
    X = pd.DataFrame(
        {"Income": made.integers(10, 60, 80), "Job": made.choice(["a", HOSTILE], 80), "Owns": made.integers(0, 2, 80)}
    )
    space = mace.Space.from_frame(X, unit={"Income": "EUR"}, decisions={0: "refused", 1: "approved"})
    tree = DecisionTreeClassifier(max_depth=4, random_state=0).fit(
        space.encode(X), (X.Income + 10 * X.Owns >= 45).astype(int)
    )
    row = int(np.flatnonzero((X.Income < 30) & (X.Owns == 0))[0])
    sock = listening("127.0.0.1", 0)
    port = sock.getsockname()[1]
    app = application(Live(mace.Explainer(tree, space, background=X), X, 1), "secret", [f"127.0.0.1:{port}"])
    server = uvicorn.Server(uvicorn.Config(app, log_level="error", access_log=False))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [sock]}, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{port}", row
    server.should_exit = True
    thread.join(10)


def ask(address, what, body, token="secret", host=None):
    headers = {"X-Mace-Token": token, "Content-Type": "application/json"} | ({"Host": host} if host else {})
    request = urllib.request.Request(f"{address}/{what}", json.dumps(body).encode(), headers)
    try:
        with urllib.request.urlopen(request) as got:
            return got.status, json.loads(got.read())
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def test_nobody_without_the_token_or_by_another_name_is_answered(address):
    base, _ = address
    assert ask(base, "person", {"row": 0}, token="wrong")[0] == 403
    assert ask(base, "person", {"row": 0}, host="evil.example")[0] == 421
    for path in ("/", "/?token=wrong"):
        with pytest.raises(urllib.error.HTTPError, match="403"):
            urllib.request.urlopen(base + path)
    with pytest.raises(FileError, match="cannot listen there"):
        listening("127.0.0.1", int(base.rpartition(":")[2]) if os.name == "nt" else 70_000)


def test_what_a_page_never_sends_is_refused_in_words(address):
    base, row = address
    values = ask(base, "person", {"row": row})[1]["values"]
    for what, body in (("person", {"row": True}), ("person", {"row": -1}), ("decide", {"values": [1]}), ("decide", [])):
        assert ask(base, what, body)[0] in (400, 422)
    for locked in (5, [["Income"]]):
        assert ask(base, "nearest", {"values": values, "locked": locked})[0] == 200
    headers = {"X-Mace-Token": "secret"}
    for raw, status in ((b"[" * 50_000, 400), (b'{"row": ' + b"9" * 5000 + b"}", 400), (b" " * 200_000, 413)):
        with pytest.raises(urllib.error.HTTPError, match=str(status)):
            urllib.request.urlopen(urllib.request.Request(f"{base}/person", raw, headers))
    parts = (b" " * 60_000 for _ in range(2))  # of no length that is said
    with pytest.raises(urllib.error.HTTPError, match="413"):
        urllib.request.urlopen(urllib.request.Request(f"{base}/person", parts, headers), timeout=20)


def test_the_page_fetches_nothing_and_runs_its_own_script_alone(address):
    base, _ = address
    with urllib.request.urlopen(f"{base}/?token=secret") as got:
        policy, text = got.headers["Content-Security-Policy"], got.read().decode()
    assert "default-src 'none'" in policy and "unsafe" not in policy
    assert text.count("<script") == 1 and "http://" not in text and "https://" not in text
    assert HOSTILE not in text and "wanted: approved" in text


def test_the_page_begins_with_the_first_who_lacks_what_is_wanted(address):
    base, _ = address
    with urllib.request.urlopen(f"{base}/?token=secret") as got:
        (first,) = re.findall(r'id="row" type="number" min="0" max="79" value="(\d+)"', got.read().decode())
    people = [ask(base, "person", {"row": row})[1]["values"] for row in range(int(first) + 1)]
    reached = [ask(base, "decide", {"values": values})[1]["reached"] for values in people]
    assert not reached.pop() and all(reached)


def test_a_table_that_is_sorted_by_decision_begins_with_somebody_below():
    from mace.present.live import Live

    X = pd.DataFrame({"Income": np.arange(400, 0, -1), "Age": 30})
    tree = DecisionTreeClassifier(random_state=0).fit(X, X.Income > 100)
    explainer = mace.Explainer(tree, mace.Space.from_frame(X))
    assert 300 <= Live(explainer, X, True).first() < 310
    assert Live(explainer, X.iloc[:3], True).first() == 0


def test_a_person_a_decision_the_nearest_change_and_the_menu(address):
    base, row = address
    values = ask(base, "person", {"row": row})[1]["values"]
    now = ask(base, "decide", {"values": values})[1]
    assert now["decision"] == "refused" and not now["reached"] and now["number"] == "p(approved) = 0.0%"
    found = ask(base, "nearest", {"values": values})[1]
    assert found["status"] == "optimal" and found["proof"].startswith("accepted") and found["safe"]
    assert ask(base, "decide", {"values": found["values"]})[1]["reached"]
    locked = ask(base, "nearest", {"values": values, "locked": ["Owns"]})[1]
    assert locked["values"]["Owns"] == values["Owns"] and locked["changes"][0].startswith("Income from")
    menu = ask(base, "menu", {"values": values, "locked": ["Owns"]})[1]
    assert (
        menu["complete"] and [way["features"] for way in menu["ways"]] == [["Income"]] and menu["cannot"] == [["Job"]]
    )
    none = ask(base, "nearest", {"values": values, "locked": ["Owns", "Income"]})[1]
    assert none["status"] == "infeasible" and none["values"] is None


def test_a_certificate_is_checked_by_the_checker_alone(address, tmp_path):
    base, _ = address
    frame = pd.DataFrame({"a": range(10)})
    tree = DecisionTreeClassifier(random_state=0).fit(frame, frame.a >= 5)
    proof = tmp_path / "proof.json"
    mace.explain(tree, frame, frame.iloc[0], goal=True).certificate.save(proof)
    text = proof.read_bytes()

    def said(raw, token="secret"):
        sent = urllib.request.Request(f"{base}/check", raw, {"X-Mace-Token": token})
        with urllib.request.urlopen(sent, timeout=60) as got:
            return json.loads(got.read())

    good = said(text)
    assert good["accepted"] and good["said"].startswith("accepted: no allowed point with the goal is closer than")
    claimed = json.loads(text)["statement"]["claim"]["closer_than"]
    bad = said(text.replace(f'"{claimed}"'.encode(), b'"9/10"'))
    assert not bad["accepted"] and bad["said"].startswith("refused")
    assert said(b"{")["said"].startswith("unusable")
    with pytest.raises(urllib.error.HTTPError, match="403"):
        said(text, token="wrong")


def test_what_is_not_understood_has_a_message(address):
    base, row = address
    values = ask(base, "person", {"row": row})[1]["values"]
    assert ask(base, "person", {"row": 80}) == (422, '{"error":"the data has the rows 0 to 79"}')
    for body, code in (({"values": {**values, "Income": -5}}, 422), ({"values": 3}, 400), ({}, 400), ([1], 400)):
        assert ask(base, "decide", body)[0] == code
    assert ask(base, "nearest", {"values": values, "locked": ["Incom"]})[0] == 422


@pytest.mark.slow
@NEEDED
@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_shows_decision_and_menu_at_any_width(address, width, tmp_path):
    base, row = address
    page = f"{base}/?token=secret&row={row}&ask=menu"
    shown = seen(tmp_path, page, ["refused", "Income alone: from"], f"--window-size={width},900")
    assert ">refused</strong>" in shown and "Income alone: from" in shown and "Set these values" in shown
    assert HOSTILE not in shown and 'role="status"' in shown
