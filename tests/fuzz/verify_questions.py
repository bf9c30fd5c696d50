"""Properties put to `mace.verify`, each settled a second time by enumeration through the library's own `predict`.

What is compared: the verdict, the rows of a violation, every certificate, and that a verdict without certificates says
why there are none. `verify_problem(seed)` is one fitted model and some properties of it, the same in every run.
"""

from __future__ import annotations

import json
import re
import warnings
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

import mace
from mace.space.space import Space
from mace.verify.verdict import Verdict
from tests.fuzz import pipelines
from tests.fuzz.models import FAMILIES
from tests.fuzz.questions import Asked, WrongAnswerError, labels_of, own_predict, plain_world
from tests.fuzz.spaces import Draw, pick
from tests.fuzz.verify_truths import Claim, Mask, Said, Table, claim, rule, written

# Families whose sums, casts or layers may stand beside each other in `equivalent`.
TREES = ("tree", "forest", "boosting", "hist-boosting", "xgboost", "lightgbm", "bagging", "extra-trees")
NETS = ("logistic", "ridge-classifier", "mlp", "onnx", "linear-svc")
TREE_NUMBERS = ("tree-number", "forest-number", "boosting-number", "hist-number", "xgboost-number", "lightgbm-number")
NET_NUMBERS = ("linear-number", "ridge-number", "mlp-number")
MOST = 6


def verify_problem(seed: int) -> None:
    """Fit one small random model, by its seed of one family of any kind, and put some properties to `mace.verify`.

    Raises AssertionError, with all that is needed to ask again, where a verdict contradicts enumeration, a violation
    does not break the property, a certificate is refused, or anything is raised that is no MaceError.
    """
    from tests.fuzz.engine import Batch, run

    names = verify_names()
    outcome = run(Batch(f"verify/{names[seed % len(names)]}", seed, 1))
    if outcome.failure:
        raise AssertionError(outcome.failure)


def verify_names() -> list[str]:
    """All kinds of models; those of pipelines begin with `pipeline-`."""
    return [*FAMILIES, *(f"pipeline-{name}" for name in pipelines.LAST)]


def verify_questions(draw: Draw, name: str) -> Counter[str]:
    """Some properties of one model; how they ended."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        asked = (
            pipelines.pipeline_world(draw, name.removeprefix("pipeline-"))
            if name.startswith("pipeline-")
            else plain_world(draw, name)
        )
        if asked is None:
            return Counter({"scikit-learn refuses": 1})
        ended: Counter[str] = Counter()
        for _ in range(pick(draw, [1, MOST, MOST // 2, MOST])):
            found = question(draw, asked)
            if found is not None:
                ended[ask(asked, *found)] += 1
    return ended


def question(draw: Draw, asked: Asked) -> tuple[Claim, list[str], Mask] | None:
    """A property, the rules of the space, and the rows that are allowed under them."""
    world = asked.world
    rules, allowed = rule(draw, world)
    if not allowed.any():
        return None
    found = claim(
        draw, Table(world.space, world.points), world.said, classes_of(asked), world.probabilities,
        lambda: second(draw, asked),
    )  # fmt: skip
    if found is None:
        return None
    if found.told and rules:  # a row to be robust about must be allowed itself
        rules, allowed = [], np.ones_like(allowed)
    return found, rules, allowed


def classes_of(asked: Asked) -> list[Any]:
    """The labels that a model may give; none for one that predicts a number."""
    if not asked.family.classes:
        return []
    known = getattr(asked.world.model, "classes_", None)
    if known is not None:
        return [label.item() for label in np.asarray(known)]
    return [-1, 1] if asked.family.name == "isolation" else list(range(asked.family.classes))


def second(draw: Draw, asked: Asked) -> tuple[Any, Said, str] | None:
    """Another model over the same space, and its decisions at all points."""
    world, name = asked.world, asked.family.name
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    rows = [world.points[int(k)] for k in rng.integers(0, len(world.points), 60)]
    frame = asked.frames(rows)
    y = labels_of(asked.frames(rows).fillna(0.0), asked.family.classes, rng) if not asked.family.raw else None
    if y is None or draw(st.booleans()):  # nearly the same as the first one
        known = {str(point): said for point, said in zip(world.points, world.said, strict=True)}
        y = np.array([known[str(row)] for row in rows])
    if asked.family.classes and len(set(y.tolist())) < 2:
        return None
    try:
        if asked.family.raw:
            model = pipelines.fitted(draw, name, world.space, frame, y, rng)
            others = np.asarray(model.predict(asked.frames(world.points)))
        else:
            alike = next((group for group in (TREES, NETS, TREE_NUMBERS, NET_NUMBERS) if name in group), (name,))
            kind = FAMILIES[pick(draw, alike)]
            if any(feature.missing for feature in world.space.features) and not kind.missing:
                return None
            if kind.classes != FAMILIES[name].classes and len(set(y.tolist())) not in kind.classes:
                return None
            model = kind.make(draw, frame, y, rng)
            others = own_predict(model)(asked.frames(world.points))
    except (ValueError, TypeError):  # the library itself refuses
        return None
    return model, others, f"beside {model!r}\nfitted to {frame.to_dict('list')}\nwith {y.tolist()}"


# ---------------------------------------------------------------------------------------------- comparing


def ask(asked: Asked, found: Claim, rules: list[str], allowed: Mask) -> str:
    """One verdict against enumeration: how it ended.

    Raises WrongAnswerError, with all that is needed to ask again.
    """
    space = replace(asked.world.space, rules=rules)
    told = f"{asked.told}\n{space}\n{found.given!r}\n{found.told}"
    try:
        verdict = mace.verify(asked.world.model, space, found.given, timeout=600)
        json.dumps(verdict.to_dict(), allow_nan=False)
        shown = str(verdict)
    except mace.errors.MaceError as error:
        return "refused: " + re.sub(r"[-\d.]+|`[^`]*`", "..", error.message.splitlines()[0])[:70]
    except Exception as error:
        raise WrongAnswerError(f"{type(error).__name__}: {error}\n{told}") from error
    why = fault(asked, space, found, verdict, allowed)
    if why:
        raise WrongAnswerError(f"{why}\n{told}\n{shown}")
    return f"{verdict.status} by {verdict.oracle or 'nobody'}" + (", certified" if verdict.certified else "")


def fault(asked: Asked, space: Space, found: Claim, verdict: Verdict, allowed: Mask) -> str:
    """What is wrong with a verdict; empty for nothing."""
    for number, certificate in enumerate(verdict.certificates):
        checked = certificate.check()
        if not checked.accepted:
            return f"certificate {number} is refused: {checked.reason}"
    if verdict.status == "unknown":
        return ""
    said = asked.world.said
    broken = found.broken(said, allowed)
    wants = type(found.given).__name__ == "Reachable"
    holds = bool(broken.any()) if wants else not broken.any()
    if (verdict.status == "proved") != holds:
        return _doubtful(asked, found, verdict, allowed, f"{verdict.status}, and enumeration says otherwise")
    shown = verdict.witness if wants else verdict.violation
    if (shown is not None) != bool(broken.any()):
        return "" if verdict.oracle == "structure" or not shown else "a violation where there is none"
    if shown is not None:
        places = tuple(_place(asked, space, row) for row in shown.inputs)
        place = places if broken.ndim == 2 and len(places) == 2 else places[-1:]
        if broken.ndim == 2 and len(places) == 1:
            return "one row where two are wanted"
        if not broken[place]:
            return _doubtful(asked, found, verdict, allowed, f"rows {places} do not break it")
        return ""
    if not verdict.certificates and not any("no certificate" in note for note in verdict.notes):
        return "no certificate, and no word why"
    return ""


def _place(asked: Asked, space: Space, row: dict[str, Any]) -> int:
    known = [str(written(point, space)) for point in asked.world.points]
    return known.index(str({name: row[name] for name in space.names}))


def _doubtful(asked: Asked, found: Claim, verdict: Verdict, allowed: Mask, why: str) -> str:
    """`why`, unless the library says of these rows something else when each is given alone."""
    if asked.family.exact:
        return why
    alone = np.array([asked.alone(row) for row in asked.world.points])
    return "" if (alone != asked.world.said).any() else why
