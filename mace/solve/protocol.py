"""What every oracle promises, and the three answers it may give.

Promise: `Refuted` means that no allowed point with the goal, as far as the deployed floating-point model could accept
it, lies within the radius asked, outside of what the deployed model itself refused when it was asked (`refused`);
`Found` holds an allowed point within the radius that the deployed model accepted, or, where there is none to ask, that
has the goal for certain. A limit that was reached is `Unknown`, with the reason and whatever bound was proved before.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import NamedTuple, Protocol, TypeAlias

from mace.base.deadline import NEVER, Deadline, now
from mace.base.escape import short
from mace.base.exact import as_written
from mace.errors import MaceError, NumberError
from mace.problem.distance import Distance
from mace.problem.exclusions import Avoid
from mace.problem.proof import Proof
from mace.space.axes import Point

NEARLY = Fraction(1, 10**9)  # near enough for distances of about 1
USUAL_SHARE = Fraction(1, 10**8)  # of a distance: near enough where nothing says what distances come to
MOST_MEMORY = 2**40  # MB; what is more is no limit


def memory_asked(memory: object) -> int | None:
    """The MB that a caller allows, as a whole number (rounded up); None for no limit. Raises MaceError."""
    if memory is None:
        return None
    if isinstance(memory, bool) or not isinstance(memory, (int, float)) or not memory > 0:
        raise MaceError(f"memory_mb must be a number > 0, or None for no limit; got {short(memory)}")
    return math.ceil(memory) if memory < MOST_MEMORY else None


def jobs_asked(n_jobs: object) -> int:
    """How many things a caller wants done at once, as joblib counts: None and -1 mean one a core. Raises MaceError."""
    if n_jobs is None or n_jobs == -1:
        return os.cpu_count() or 1
    if not isinstance(n_jobs, int) or isinstance(n_jobs, bool) or n_jobs < 1:
        raise MaceError(f"n_jobs must be a whole number >= 1, or -1 or None for all cores; got {short(n_jobs)}")
    return n_jobs


@dataclass(frozen=True, slots=True)
class Limits:
    """What one call may use: the time up to a deadline, bytes of memory (None: no limit), and threads.

    With more threads a hard question takes less time; its answer is the same.
    """

    deadline: Deadline = NEVER
    memory: int | None = None
    jobs: int = 1

    @classmethod
    def of(cls, seconds: float | None, memory: int | None = None) -> Limits:
        """The limits of a call that begins now."""
        return cls(Deadline.after(seconds), memory)

    @classmethod
    def asked(cls, deadline: Deadline, memory_mb: object, n_jobs: object = 1) -> Limits:
        """The limits that a caller wants, who gives memory in MB. Raises MaceError."""
        allowed = memory_asked(memory_mb)
        return cls(deadline, None if allowed is None else allowed * 2**20, jobs_asked(n_jobs))


@dataclass(frozen=True, slots=True)
class Gap:
    """When close is close enough: upper - lower <= absolute, or <= relative * upper."""

    absolute: Fraction = Fraction(0)
    relative: Fraction = Fraction(0)

    @classmethod
    def asked(cls, gap: object, rgap: object, usual: Gap | None = None) -> Gap:
        """The gap that a caller wants: numbers as they are written; None stands for what is usual, or else for 0.

        Raises MaceError for what is no number >= 0.
        """
        known = usual or cls()
        return cls(_not_negative("gap", gap, known.absolute), _not_negative("rgap", rgap, known.relative))

    @classmethod
    def usual(cls, distance: Distance, absolute: Fraction, relative: Fraction = Fraction(0)) -> Gap:
        """What is near enough where nobody says: the first for distances of about 1, the second of any distance.

        Where some feature is far cheaper than others (`Norm.finest`), the first would hide several times the distance
        of a point that changes this feature alone: there only a part of what that comes to counts by itself. Where some
        are far dearer, floats tell distances apart by no more than a part of them.
        """
        return cls(absolute * distance.finest, max(relative, USUAL_SHARE) if distance.uneven else relative)

    def times(self, unit: Fraction) -> Gap:
        """The gap of distances that are counted in a unit, as distances themselves: see `Norm.unit`."""
        return replace(self, absolute=self.absolute * unit)

    def met(self, lower: Fraction, upper: Fraction) -> bool:
        """Whether the two bounds are close enough."""
        return upper - lower <= max(self.absolute, self.relative * upper)


class Asked(NamedTuple):
    """What an oracle was asked: points within the radius (below it, if `strict`), or anywhere."""

    radius: Fraction | None
    strict: bool
    gap: Gap
    limits: Limits


class ProvedBound(NamedTuple):
    """A lower bound, and the proof of it where there is one."""

    lower: Fraction
    proof: Proof | None


def _not_negative(name: str, given: object, usual: Fraction) -> Fraction:
    """The number that an argument of this name says."""
    try:
        number = usual if given is None else as_written(given)
    except NumberError as error:
        raise MaceError(f"{name} must be a number >= 0: {error.message}", hint=error.hint) from None
    if number < 0 or isinstance(given, bool):
        raise MaceError(f"{name} must be a number >= 0, got {short(given)}")
    return number


@dataclass(frozen=True, slots=True)
class Found:
    """A point with the goal within the radius; nothing is closer than `lower`, by `proof` where there is one.

    spare: a lower bound with a shorter proof, which counts where no time is left to check `proof`.
    """

    point: Point
    lower: Fraction | None = None
    proof: Proof | None = None
    why: str = ""
    spare: ProvedBound | None = None


@dataclass(frozen=True, slots=True)
class Refuted:
    """No point with the goal within the radius (`proof` where the oracle writes one)."""

    proof: Proof | None = None


@dataclass(frozen=True, slots=True)
class Unknown:
    """No answer: `why` says which limit or failure; `lower` was proved all the same, by `proof`; `spare` as above."""

    why: str
    lower: Fraction | None = None
    proof: Proof | None = None
    spare: ProvedBound | None = None


Reply: TypeAlias = Found | Refuted | Unknown


def combined(
    replies: Sequence[Reply],
    best: Point | None,
    distance: Fraction | None,
    proof: Proof | None,
    within: Fraction | None = None,
) -> Found | Refuted | Unknown:
    """What replies about pieces of one question, a box cut or a goal divided, say of all of it, by a proof for all.

    best, distance: the nearest point that is known, and how far it is. within: the radius that was asked about, if any:
    of pieces that were refuted it is only known that nothing lies in it.
    """
    open_ = [reply for reply in replies if not isinstance(reply, Refuted)]
    lowers, why = [reply.lower or Fraction(0) for reply in open_], next((one.why for one in open_ if one.why), "")
    if best is None:
        known = lowers if within is None else [within, *lowers]
        return Unknown(why, min(known), proof) if lowers else Refuted(proof)
    assert distance is not None
    lower = min([distance, *lowers])
    return Found(best, lower, proof, why if lower < distance else "")


class Hearing:
    """Passes on the bounds that an oracle has so far, now and then while it searches."""

    EVERY = 0.2  # seconds

    def __init__(self, hears: Callable[[Fraction, Fraction | None], None]) -> None:
        self.hears, self._last = hears, now()

    def tell(self, bounds: Callable[[], tuple[Fraction, Fraction | None]]) -> None:
        """Ask a search for its two bounds, if nobody has heard of them for long enough.

        The lower one is what the search believes; its proof, which comes after it, may reach a little less.
        """
        if now() - self._last >= self.EVERY:
            self.hears(*bounds())
            self._last = now()


@dataclass(frozen=True, slots=True)
class Replay:
    """The deployed model, asked about one point: whether it has the goal there.

    by_leaves: whether what it says of a point of a tree ensemble holds for all points that reach the same leaves.
    hearing:   who is told how far the search is.
    """

    accepts: Callable[[Point], bool]
    by_leaves: bool = True
    hearing: Hearing | None = None


class Oracle(Protocol):
    """Answers about one question; keeps its state (a solver, a compiled model) between calls.

    optimises: whether ask(None) goes on to the proved optimum by itself.
    """

    name: str
    optimises: bool

    @property
    def refused(self) -> Sequence[Avoid]:
        """What the deployed model refused so far; excluded from the question after its own exclusions."""
        ...

    def ask(
        self,
        radius: Fraction | None,
        limits: Limits,
        *,
        strict: bool = False,
        best: Point | None = None,
        gap: Gap = Gap(),
        replay: Replay | None = None,
    ) -> Reply:
        """Look for a point with the goal at distance <= radius (< radius if strict; anywhere if None).

        best:   a known point with the goal, to start from.
        gap:    how far an oracle that optimises must go.
        replay: asked about every point before it is called found; what it refuses is excluded.
        """
        ...

    def close(self) -> None:
        """End child processes and free memory."""
        ...
