"""`mace serve`: a page on this machine, to try values, ask for the nearest change and see the menu."""

from __future__ import annotations

import secrets
import socket
from typing import Annotated, Any

import typer

from mace.cli.alive import alive
from mace.cli.options import Given, Measured
from mace.cli.output import say
from mace.errors import FileError, MaceError

HERE = "127.0.0.1"


def serve(
    given: Given,
    measured: Measured,
    goal: Annotated[str | None, typer.Option("--goal", help="The decision wanted, as for `mace explain`.")] = None,
    host: Annotated[str, typer.Option("--host", help="The address to listen at; others than this machine's own open "
                                                     "the data and the model to whoever has the token.")] = HERE,
    port: Annotated[int, typer.Option("--port", help="0: any that is free.")] = 0,
    timeout: Annotated[float, typer.Option("--timeout", help="Seconds for each answer; 0: no limit.")] = 30.0,
) -> None:  # fmt: skip
    """Serve a page on which to choose a person, lock features, move values, and see what would change the decision."""
    from mace.explain.explainer import Explainer
    from mace.present.live import Live, application
    from mace.problem.goal_decision import lower

    try:
        import uvicorn
    except ImportError:
        raise MaceError("the page needs Starlette and uvicorn", hint="pip install 'mace-smt[serve]'.") from None

    frame, space = given.read_table()
    explainer = Explainer(given.read_model(), space, background=frame, **measured.settings)
    wanted: Any = goal if goal is not None else given.favourable
    if wanted is None:
        raise MaceError("no goal given", hint="--goal names the decision wanted: --goal 1.")
    lower(explainer.wanted(wanted), explainer.table)  # or say what is wrong
    explainer.ready()
    token = secrets.token_urlsafe(16)
    sock = listening(host, port)
    port = sock.getsockname()[1]
    names = [f"{name}:{port}" for name in dict.fromkeys([host, HERE, "localhost"])]
    if host not in (HERE, "localhost"):
        say(f"mace: {host} is not this machine alone: whoever reaches it and has the token sees the data", err=True)
        names.append(f"{socket.gethostname()}:{port}")
    alive.hush()
    say(f"http://{host}:{port}/?token={token}")
    say("mace: Ctrl-C ends it", err=True)
    app = application(Live(explainer, frame, wanted, timeout or None), token, names)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", access_log=False)).run(sockets=[sock])


def listening(host: str, port: int) -> socket.socket:
    """A socket that listens at an address; raises FileError where that cannot be."""
    sock = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.bind((host, port))
        sock.listen()
    except (OSError, OverflowError, ValueError, TypeError) as error:
        sock.close()
        raise FileError(f"{host}:{port}: cannot listen there ({error})", hint="Another --port, or --port 0.") from None
    return sock
