"""The page that one can touch: a person's values, the decision, the nearest change, the menu, the box that is safe.

In:  an explainer, the rows of a table, a goal, a token.
Out: a Starlette application, for `mace serve`.
Promise: who does not name the token, or comes by another name of this host than those allowed, is not answered; the
page fetches nothing from anywhere else and runs no script but its own. What it calls proved has a certificate; that of
the nearest change is checked before it is shown. One question is asked at a time. A certificate that is dropped on the
page is checked by the checker alone, in a process of its own.
"""

from __future__ import annotations

import copy
import hmac
import json
import secrets
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mace.proofs
from mace.base.deadline import Deadline
from mace.base.escape import json_text
from mace.base.values import for_json
from mace.errors import CertificateError, GoalError, MaceError
from mace.explain.safe import BoxesAround, Safe
from mace.present.html import template
from mace.present.menu_views import ending, moves, range_words
from mace.present.words import chance
from mace.space.feature import Change, Feature

if TYPE_CHECKING:
    import pandas as pd
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import Response

    from mace.explain.answer import Answer
    from mace.explain.explainer import Explainer, GoalSpec
    from mace.space.space import Space

MOST_TRIED = 50  # rows at the top of the table, and about as many below, in search of somebody to begin with
MOST_BYTES = 100_000  # of what a page sends
MOST_PROOF = 2**25  # bytes of a certificate that is dropped on it
CHECKING = 120.0  # seconds for one


class Live:
    """What the page asks; every method takes plain values and returns plain values. Raises MaceError."""

    def __init__(self, explainer: Explainer, rows: pd.DataFrame, goal: GoalSpec, seconds: float | None = 30.0) -> None:
        self.explainer, self.rows, self.goal, self.seconds = explainer, rows, goal, seconds
        self._one = threading.Lock()

    @property
    def wanted(self) -> str:
        """What is wanted, as people call it."""
        return self.explainer.wanted(self.goal).named(self.explainer.space.called)

    def first(self) -> int:
        """The first row that lacks what is wanted, of those at the top of the table and of some below; 0 if none does.

        A table that is sorted by what it is about has many who have it at its top.
        """
        rows = range(len(self.rows))
        places: list[int] = [*rows[:MOST_TRIED], *rows[MOST_TRIED :: len(rows) // MOST_TRIED + 1]]
        for place in places:
            try:
                if not self.decide(self.person({"row": place}))["reached"]:
                    return place
            except MaceError:  # a row that the space does not have
                continue
        return 0

    def features(self) -> list[dict[str, Any]]:
        """How each feature is shown: a slider with its range, or a choice of levels."""
        return [_control(feature) for feature in self.explainer.space.features]

    def person(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The values of a row of the table, and how many rows there are."""
        row = asked.get("row")
        if isinstance(row, bool) or not isinstance(row, int) or not 0 <= row < len(self.rows):
            raise MaceError(f"the data has the rows 0 to {len(self.rows) - 1}")
        values = self.explainer.space.row(self.rows.iloc[row])
        return {"row": row, "values": {name: for_json(value) for name, value in values.items()}}

    def decide(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The decision about some values, and what the model says of them in numbers."""
        with self._one:
            question, decided = self.explainer.question(asked["values"], self.goal)
            judge = self.explainer.judge
            try:
                found = judge.outcomes(question, [question.start])
            except MaceError:  # a model whose `predict_proba` fails decides all the same
                found = None
            return {
                "decision": self.explainer.space.called(decided),
                "reached": bool(judge.meets(question, question.start)),
                "number": "" if found is None else f"{found.name} = {chance(found.values[0], found.name)}",
            }

    def nearest(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """The nearest change of what is not locked, its proof checked, and the box in which the decision stays."""
        with self._one:
            explainer = self._locked(asked)
            answer = explainer.explain(asked["values"], goal=self.goal, timeout=self.seconds)
            found = answer.counterfactuals[0] if answer.counterfactuals else None
            return {
                "status": answer.status,
                "meaning": answer.meaning,
                "why": answer.why,
                "changes": answer.sentences(),
                "values": None if found is None else {name: for_json(value) for name, value in found.values.items()},
                "proof": _proof(answer),
                "safe": self._safe(explainer, asked, answer),
            }

    def menu(self, asked: Mapping[str, Any]) -> dict[str, Any]:
        """What is enough, and what provably is not."""
        with self._one:
            made = self._locked(asked).menu(asked["values"], goal=self.goal, timeout=self.seconds)
        ways = [
            {
                "features": list(way.features),
                "changes": moves(way),
                "values": {name: for_json(value) for name, value in way.answer.counterfactuals[0].values.items()},
                "safe": {}
                if way.box is None
                else {name: range_words(made.space, way.box, name) for name in way.box.ranges},
            }
            for way in made.ways
            if way.answer.counterfactuals
        ]
        cannot = [list(one.features) for one in made.cannot]
        return {"ways": ways, "cannot": cannot, "complete": made.complete, "ending": ending(made)}

    def _locked(self, asked: Mapping[str, Any]) -> Explainer:
        """The explainer of a space in which the locked features stay."""
        said = asked.get("locked", [])
        locked = [name for name in said if isinstance(name, str)] if isinstance(said, list) else []
        made = copy.copy(self.explainer)
        held: dict[str, Change] = dict.fromkeys(locked, "fixed")
        made.space = self.explainer.space.change(**held)
        return made

    def _safe(self, explainer: Explainer, asked: Mapping[str, Any], answer: Answer) -> dict[str, str]:
        point, question = answer.witness, answer.question
        if point is None or question is None or point == question.start:
            return {}
        solver = explainer.row_solver(asked["values"], self.goal, None, "auto", Deadline.asked(self.seconds), None)
        try:
            box = BoxesAround(question, point, solver.search, solver.limits).box(question.changed(point))
        except GoalError:
            return {}
        return _ranges(explainer.space, box)


def _ranges(space: Space, box: Safe | None) -> dict[str, str]:
    return {} if box is None else {name: range_words(space, box, name) for name in box.ranges}


def _for_script(value: object) -> Any:
    """A value as JSON inside of a script element, which no text in it can end."""
    from markupsafe import Markup

    text = json_text(value).replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return Markup(text)  # noqa: S704  nothing in it is markup any more


def _proof(answer: Answer) -> str:
    """What the checker says of the certificate, which is written and checked now."""
    try:
        return str(answer.certificate.check())
    except CertificateError as error:
        return f"no certificate: {error.message}"


def checked(raw: bytes) -> dict[str, Any]:
    """What the checker says of a certificate's bytes; raises MaceError where it takes too long."""
    checker = Path(mace.proofs.__file__).resolve().parent / "check.py"
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "certificate"
        file.write_bytes(raw)
        command = [sys.executable, "-I", "-S", str(checker), str(file)]
        try:
            run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=CHECKING)
        except subprocess.TimeoutExpired:
            raise MaceError(f"not checked within {CHECKING:.0f} s", hint="mace check has no limit.") from None
    said = run.stdout.partition("\n")[0] or "the checker could not be run"
    return {"accepted": run.returncode == 0, "said": said}


def _control(feature: Feature) -> dict[str, Any]:
    plain: dict[str, Any] = {"name": feature.name, "unit": feature.unit, "fixed": feature.change == "fixed"}
    if feature.numeric:
        low, high = feature.bounds()
        step = feature.step if feature.step is not None else 1 if feature.kind == "integer" else None
        return plain | {
            "kind": "number",
            "low": for_json(low),
            "high": for_json(high),
            "step": "any" if step is None else for_json(step),
        }
    return plain | {"kind": "levels", "levels": [for_json(level) for level in feature.levels]}


@dataclass(frozen=True)
class Door:
    """Who is let in: whoever names the token, and calls this host by one of its names."""

    token: str
    hosts: Sequence[str]

    def refuses(self, request: Request, said: str) -> Response | None:
        """The answer to a request that is not let in; None for one that is."""
        from starlette.responses import PlainTextResponse

        if request.headers.get("host", "") not in self.hosts:
            return PlainTextResponse("this is another host\n", 421)
        if not hmac.compare_digest(said.encode(), self.token.encode()):
            return PlainTextResponse("the address lacks its token: use the one that `mace serve` printed\n", 403)
        return None


async def _body(request: Request, most: int = MOST_BYTES) -> bytes | None:
    """What a request sends; None where it is too long, which is not read to its end."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > most:
            return None
    return body


def _page(live: Live, first: int, nonce: str) -> str:
    """The page with its controls, at one person; its script and style carry the nonce."""
    text = template(files("mace.present").joinpath("live.html.jinja").read_text(encoding="utf-8"), "the page")
    features = live.features()
    levels = {one["name"]: one["levels"] for one in features if one["kind"] == "levels"}
    shown = text.render(
        nonce=nonce,
        features=features,
        count=len(live.rows),
        first=first,
        wanted=live.wanted,
        levels=_for_script(levels),
    )
    return str(shown)


def _of_json(method: Callable[[Mapping[str, Any]], dict[str, Any]]) -> Callable[[bytes], dict[str, Any]]:
    """A method that takes what JSON says; raises ValueError for what is no question."""

    def called(raw: bytes) -> dict[str, Any]:
        asked = json.loads(raw)
        if not isinstance(asked, dict) or not isinstance(asked.get("values", {}), dict):
            raise ValueError("no object")
        return method(asked)

    return called


def _answering(door: Door, method: Callable[[bytes], dict[str, Any]], most: int = MOST_BYTES) -> Any:
    """What answers a request with the JSON of a method, or with what is wrong in words.

    most: bytes that a request may send.
    """

    async def answer(request: Request) -> Response:
        from starlette.concurrency import run_in_threadpool
        from starlette.responses import JSONResponse

        no = door.refuses(request, request.headers.get("x-mace-token", ""))
        if no is not None:
            return no
        try:
            body = await _body(request, most)
            if body is None:
                return JSONResponse({"error": "too long"}, 413)
            return JSONResponse(await run_in_threadpool(method, body))
        except MaceError as error:
            return JSONResponse({"error": str(error)}, 422)
        except (ValueError, KeyError, RecursionError) as error:
            return JSONResponse({"error": f"not understood: {error}"}, 400)

    return answer


def application(live: Live, token: str, hosts: Sequence[str]) -> Starlette:
    """The application; raises MaceError where Starlette is not installed.

    token: what every request must name. hosts: the names of this host, with the port, by which it may be called.
    """
    try:
        from starlette.applications import Starlette
        from starlette.responses import HTMLResponse
        from starlette.routing import Route
    except ImportError:
        raise MaceError("the page needs Starlette and uvicorn", hint="pip install 'mace-smt[serve]'.") from None

    door, first = Door(token, hosts), live.first()

    def page(request: Request) -> Response:
        no = door.refuses(request, request.query_params.get("token", ""))
        if no is not None:
            return no
        nonce = secrets.token_urlsafe(16)
        shown = _page(live, first, nonce)
        policy = f"default-src 'none'; script-src 'nonce-{nonce}'; style-src 'nonce-{nonce}'; connect-src 'self'; "
        policy += "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
        headers = {"Content-Security-Policy": policy, "Referrer-Policy": "no-referrer", "Cache-Control": "no-store"}
        return HTMLResponse(shown, headers=headers)

    methods = {"person": live.person, "decide": live.decide, "nearest": live.nearest, "menu": live.menu}
    routes = [
        Route("/", page),
        Route("/check", _answering(door, checked, MOST_PROOF), methods=["POST"]),
        *(Route(f"/{name}", _answering(door, _of_json(method)), methods=["POST"]) for name, method in methods.items()),
    ]
    return Starlette(routes=routes)
