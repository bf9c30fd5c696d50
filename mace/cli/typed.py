"""A command as it is typed: what typer would drop without a word, or refuse without saying what to do.

In:  the words after the name of a command.    Out: as typer reads them.
Promise: an option that takes one value is given once, so that none is lost; a word that belongs to no option is told
which one it may be meant for.
"""

from __future__ import annotations

import shlex
from pathlib import PurePath
from typing import Any, NoReturn

from typer.core import TyperCommand

from mace.base.escape import short
from mace.cli.table import PARQUET
from mace.errors import MaceError

# Of a file that stands alone, by its ending, the option that it may be meant for: if by none of these, that of models.
FILES = {".csv": "--data", PARQUET: "--data", ".toml": "--space", ".mace": "--rule"}
MODELS = "--model"


class Command(TyperCommand):
    """A command of typer that reads its words so."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """As typer's, and before it: which options are there, and which words are left."""
        if args and not ctx.resilient_parsing:
            _, words, order = self.make_parser(ctx).parse_args(args=list(args))
            if not any(param.is_eager for param in order):  # --help is answered whatever else is there
                self._once(order)
                if words:
                    self._left(ctx, words[0])
        return super().parse_args(ctx, args)

    @staticmethod
    def _once(order: list[Any]) -> None:
        """Refuse an option that is given again, where only the last value would count."""
        for param in order:
            single = param.param_type_name == "option" and not param.multiple and not param.is_flag
            if single and (times := order.count(param)) > 1:
                raise MaceError(
                    f"{param.opts[0]} is given {times} times, and takes one value", hint="Ask once for each."
                )

    def _left(self, ctx: Any, word: str) -> NoReturn:
        """Refuse a word that belongs to no option."""
        params, ending = self.get_params(ctx), PurePath(word).suffix.lower()
        options = {name for param in params for name in param.opts}
        meant = "--row" if word.isdecimal() else FILES.get(ending, MODELS) if ending else ""
        if meant not in options or any(param.param_type_name == "argument" for param in params):  # one word too many
            meant = ""
        hint = f"Is it {meant} {shlex.quote(word)}?" if meant else f"`mace {self.name} --help` says what it takes."
        raise MaceError(f"{short(word)} belongs to no option", hint=hint)
