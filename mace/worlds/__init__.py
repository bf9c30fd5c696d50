"""Worlds: what people can do, what follows from it, what it costs; in the core language, over the features of a space.

In:  the text of a world (`.mace`) and a space.    Out: a `World`, whose `step` takes one action in one state.
Promise: a world has one meaning, the interpreter's (`mace.worlds.steps`); enclosures of it (`mace.worlds.forms`)
contain all that the interpreter can give. A wrong world is a ProgramError at its place.
Source: Naumann and Ntoutsi 2021, sections 3 and 4: actions, conditions, costs, graphs of consequences.
"""

from mace.worlds.parts import Action, Consequence, Parameter
from mace.worlds.steps import Refused, Step
from mace.worlds.world import World, known_worlds

__all__ = ["Action", "Consequence", "Parameter", "Refused", "Step", "World", "known_worlds"]
