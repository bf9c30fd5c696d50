"""`mace schema`: what `--format json` prints, as a JSON Schema."""

from __future__ import annotations

from typing import Annotated

import typer

from mace.base.formats import VERSIONS
from mace.base.suggestions import meant
from mace.cli.output import print_json
from mace.errors import MaceError


def schema(
    kind: Annotated[
        str | None, typer.Argument(metavar="[KIND]", help=f"{', '.join(VERSIONS)}. Default: all in one.")
    ] = None,
) -> None:
    """Print the JSON Schema of what --format json prints (draft 2020-12)."""
    from mace.cli.schemas import all_schemas
    from mace.cli.schemas import schema as schema_of

    if kind is not None and kind not in VERSIONS:
        raise MaceError(
            f"no kind of output is called {kind!r}", hint=meant(kind, VERSIONS, f"Known: {', '.join(VERSIONS)}.")
        )
    print_json(all_schemas() if kind is None else schema_of(kind))
