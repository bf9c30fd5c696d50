"""A model behind HTTP on this machine that fails one call in ten: answers, budgets kept, nothing called proved."""

from __future__ import annotations

import itertools
import json
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

import mace
from mace.errors import ModelError
from mace.explain.answer import UNREAD
from mace.space.feature import Feature
from mace.space.space import Space

SPACE = Space([Feature("income", "integer", 0, 100_000), Feature("debt", "integer", 0, 50_000)])
ROW = {"income": 20_000, "debt": 9_000}


class Service(ThreadingHTTPServer):
    """Counts its requests and the rows in them; every request whose number `fails` says fails."""

    def __init__(self, fails: Any) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.fails, self.numbers, self.requests, self.rows = fails, itertools.count(1), 0, 0

    def predict(self, frame: Any) -> Any:
        """What a client of the service does."""
        body = json.dumps(frame.to_dict("list")).encode()
        url = f"http://127.0.0.1:{self.server_port}/predict"
        with urllib.request.urlopen(urllib.request.Request(url, body), timeout=30) as reply:
            return json.load(reply)


class Handler(BaseHTTPRequestHandler):
    server: Service

    def do_POST(self) -> None:
        rows = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests += 1
        if self.server.fails(next(self.server.numbers)):
            self.send_error(503)
            return
        self.server.rows += len(rows["income"])
        said = ["good" if i - 2 * d > 15_000 else "bad" for i, d in zip(rows["income"], rows["debt"], strict=True)]
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps(said).encode())

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


def served(fails: Any) -> Iterator[Service]:
    with Service(fails) as service:
        thread = threading.Thread(target=service.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield service
        finally:
            service.shutdown()
            thread.join()


@pytest.fixture
def flaky() -> Iterator[Service]:
    yield from served(lambda number: number % 10 == 0)


@pytest.fixture
def dying() -> Iterator[Service]:
    yield from served(lambda number: number > 5)


def box(service: Service, **settings: Any) -> mace.BlackBox:
    return mace.BlackBox(service.predict, classes=["bad", "good"], pause=0, batch=32, **settings)


def test_a_service_that_fails_one_call_in_ten(flaky: Service) -> None:
    answer = mace.explain(box(flaky), SPACE, ROW, goal="good", max_calls=700, timeout=120)
    assert answer.status == "bounded"
    assert answer.lower_bound == 0
    assert UNREAD in str(answer)
    assert answer.calls == flaky.rows <= 700
    failed = flaky.requests // 10
    assert failed >= 2
    assert f"{failed} calls failed on the way and were made again" in answer.notes
    (found,) = answer.counterfactuals
    assert found.values["income"] - 2 * found.values["debt"] > 15_000
    assert answer.distance == pytest.approx(0.065, abs=1e-3)  # 6.5 % of all debts, the cheaper way


def test_the_same_calls_give_the_same_answer(flaky: Service) -> None:
    first, second = (mace.explain(box(flaky), SPACE, ROW, goal="good", max_calls=200) for _ in range(2))
    assert first.counterfactuals == second.counterfactuals


def test_a_service_that_dies_leaves_what_was_found_and_says_so(dying: Service) -> None:
    answer = mace.explain(box(dying, retries=2), SPACE, ROW, goal="good")
    assert answer.status in ("bounded", "unknown")
    assert "failed 3 times in a row (HTTPError: HTTP Error 503: Service Unavailable)" in answer.why
    assert answer.lower_bound == 0


def test_a_service_that_never_answers_is_one_message(dying: Service) -> None:
    dying.numbers = itertools.count(100)
    with pytest.raises(ModelError, match="cannot be asked: the model failed 4 times in a row"):
        mace.explain(box(dying), SPACE, ROW, goal="good")
