"""Proofs whose goal is divided at places of one's choice: the same claim by another proof."""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.proofs.columns import unfolded
from mace.proofs.kernel.proof import RULES

MOST = 2000  # nodes, beyond which nothing more is divided


class Divided:
    """A proof by rules for points, as a tree of nodes, written anew with `part` at some of its places."""

    def __init__(self, proof: list[Any], parts: int, rng: np.random.Generator, chance: float) -> None:
        self.nodes, self.rng, self.chance = iter(proof), rng, chance
        self.written: list[Any] = []
        self.write(self.tree(), [*range(parts)], [*range(parts)])

    def tree(self) -> tuple[Any, list[Any]]:
        """The next node and its children."""
        node = next(self.nodes)
        return node, [self.tree() for _ in range(RULES[node[0]].children)]

    def write(self, tree: tuple[Any, list[Any]], parts: list[int], had: list[int]) -> None:
        """A tree of nodes in a state that has some parts of the goal open; had: those that were open where it stood."""
        node, children = tree
        if parts and len(self.written) < MOST and self.rng.random() < self.chance:
            k = int(self.rng.choice(parts))
            self.written.append(["part", k])
            self.write(tree, [k], had)
            self.write(tree, [other for other in parts if other != k], had)
            return
        if node[0] == "part":
            one, others = children
            if node[1] in parts:
                self.written.append(node)
                self.write(one, [node[1]], [node[1]])
                parts = [other for other in parts if other != node[1]]
            self.write(others, parts, [other for other in had if other != node[1]])
            return
        self.written.append(restricted(node, [had.index(k) for k in parts]))
        for child in children:
            self.write(child, parts, had)


def restricted(node: list[Any], parts: list[int]) -> list[Any]:
    """A node that says something of each open part of a goal, with what it says at these places."""
    name, *fields = node
    if name in ("dual", "prices"):
        return [name, *(fields[k] for k in parts)]
    if name == "narrow":
        return [name, fields[0], *(fields[1 + k] for k in parts)]
    if name == "tighten":
        return [name, *([*end[:4], *(end[4 + k] for k in parts)] for end in fields)]
    return node


def divided(data: Any, rng: np.random.Generator, chance: float = 0.3) -> Any:
    """A certificate with another proof, that divides the goal here and there."""
    proof = Divided(unfolded(data)["proof"], len(data["statement"]["goal"]), rng, chance).written
    return {**data, "proof": proof}


def entangled(data: Any, rng: np.random.Generator) -> Any:
    """A certificate whose proof has one mistake about the parts of its goal, where it has any to make."""
    nodes = unfolded(data)["proof"]  # parts may move, so that none changes one before it
    places = [k for k, node in enumerate(nodes) if node[0] in ("part", "dual", "prices", "narrow", "tighten")]
    if not places:
        return data
    k = int(rng.choice(places))
    node, count = nodes[k], len(data["statement"]["goal"])
    first, last = end(nodes, k + 1), end(nodes, k)
    if node[0] == "tighten":
        node = [*node[:-1], [*node[-1][:4], *shuffled(node[-1][4:], rng)]]
        return {**data, "proof": [*nodes[:k], node, *nodes[k + 1 :]]}
    if node[0] == "narrow":
        return {**data, "proof": [*nodes[:k], [*node[:2], *shuffled(node[2:], rng)], *nodes[k + 1 :]]}
    if node[0] != "part":
        return {**data, "proof": [*nodes[:k], [node[0], *shuffled(node[1:], rng)], *nodes[k + 1 :]]}
    one, others = nodes[k + 1 : first], nodes[first:last]
    wrong: list[Any] = [
        [["part", int(rng.integers(-1, count + 1))], *one, *others],
        [["part", [True, str(node[1]), None, [node[1]]][rng.integers(4)]], *one, *others],
        [node, *others, *one],
        [node, *one, *one],
        [node, *others, *others],
        [node, *one, ["empty"]],
        [node, ["empty"], *others],
        [node, *one, [nodes[last - 1][0]]],
        [node, *one],
        one,
        others,
    ]
    return {**data, "proof": [*nodes[:k], *wrong[rng.integers(len(wrong))], *nodes[last:]]}


def end(nodes: list[Any], k: int) -> int:
    """Where the tree ends that begins at a node."""
    still = 1
    while still and k < len(nodes):
        still += RULES[nodes[k][0]].children - 1
        k += 1
    return k


def shuffled(entries: list[Any], rng: np.random.Generator) -> list[Any]:
    """One too few, one twice, or in another order."""
    if not entries:
        return []
    k = int(rng.integers(len(entries)))
    wrong = (entries[:k] + entries[k + 1 :], [*entries[: k + 1], *entries[k:]], entries[k:] + entries[:k])
    return wrong[rng.integers(len(wrong))]
