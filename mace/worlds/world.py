"""A world over a space: `World.read` and `World.load` make one, and its `step` takes one action.

In:  a text, or the path of a `.mace` file, and a space.    Out: a `World`.
Promise: what `World.read` returns is well formed: every name is known, every action has a cost that cannot be negative
and conditions that some state meets, consequences go round in no circle, parameters have finitely many values.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

from mace.base.arguments import check, spelled
from mace.base.escape import short
from mace.base.files import read_text
from mace.base.suggestions import among, few, meant
from mace.base.views import view
from mace.errors import MaceError, SpaceError
from mace.space.axes import Axis
from mace.space.space import Space
from mace.worlds import build, steps
from mace.worlds.describe import describe
from mace.worlds.parts import Laws
from mace.worlds.sections import sections
from mace.worlds.sense import check_sense
from mace.worlds.steps import Refused, State, Step

FOLDER = Path(__file__).parent


@dataclass(frozen=True, eq=False, repr=False)
class World(Laws):
    """What can be done over a space, and what follows from it."""

    @classmethod
    @spelled
    def read(cls, text: str, space: Space, name: str = "<world>") -> World:
        """A world from its text.

        space: whose features its actions read and change.
        name:  what messages call it, mostly the name of its file.
        Raises ProgramError naming line and column, and SpaceError for what is no space.
        """
        if not isinstance(space, Space):
            raise SpaceError(f"a world stands over a mace.Space, got {type(space).__name__}")
        check({"text": text})
        if not isinstance(name, str):
            raise MaceError(f"the name of a world must be a text; got {short(name)}")
        found = sections(text, name)
        parts = build.build(found, text, name, space)
        made = cls(found.name or Path(name).stem, space, parts.actions, parts.edges, text)
        check_sense(made)
        return made

    @classmethod
    @spelled
    def load(cls, file: str | Path, space: Space) -> World:
        """A world from a file; or by its name, one that comes with mace.

        file: the path of a .mace file; or "loans", over the space of that data set, "adult", over that of "cscf-adult",
              "german" and "german-corrected", over that of "cscf-german".
        Raises ProgramError naming line and column, FileError for a file that is not there.
        """
        if not isinstance(file, (str, os.PathLike)):
            raise MaceError(f"a world is loaded by its name, or from a path; got {short(file)}")
        path = FOLDER / f"{file}.mace" if file in known_worlds() else Path(file)
        hint = meant(
            str(file), known_worlds(), f"Give the path of a world (.mace), or one of {', '.join(known_worlds())}."
        )
        return cls.read(read_text(path, hint), space, path.name if path.parent == FOLDER else str(path))

    def start(self, axes: Sequence[Axis]) -> State:
        """The state of a row, given by the axes of `Space.axes`: feature -> exact value, levels by index."""
        return steps.start_state(self, axes)

    def step(
        self, axes: Sequence[Axis], state: State, action: str, values: Mapping[str, Fraction], discount: bool = True
    ) -> Step | Refused:
        """Take one action in a state, by the interpreter.

        axes:   of the person's row; they say what values features can take.
        values: parameter -> exact value.
        discount: whether consequences make it cheaper.
        Returns the step with the state after it, or why it cannot be taken. Raises MaceError for an action, or a
        parameter, that the world does not have.
        """
        known = [one.name for one in self.actions]
        if action not in known:
            raise MaceError(f"the world has no action {short(action)}", hint=among(action, known))
        takes = [parameter.name for parameter in self[action].parameters]
        if set(values) != set(takes):
            named = f"the parameters {few(takes)}" if takes else "no parameters"
            raise MaceError(f"the action `{action}` has {named}; got {few(values) or 'none'}")
        return steps.take(self, axes, state, self[action], values, discount)

    def _repr_html_(self) -> str:
        return str(view("as HTML")(f"{self!r}\n\n{self.text}"))

    def describe(self) -> dict[str, Any]:
        """The world in plain values, for `mace inspect --world`."""
        return describe(self)


def known_worlds() -> list[str]:
    """The names of the worlds that come with mace."""
    return sorted(path.stem for path in FOLDER.glob("*.mace"))
