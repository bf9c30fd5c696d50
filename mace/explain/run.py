"""`mace.explain`: the nearest counterfactuals of one row. Nothing heavy is imported before the function is called."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.base.arguments import checked

if TYPE_CHECKING:
    import pandas as pd
    from numpy.typing import NDArray

    from mace.explain.answer import Answer
    from mace.explain.explainer import GoalSpec
    from mace.problem.objectives import DistanceSpec, ObjectiveSpec
    from mace.search.registry import ProposerSpec
    from mace.solve.driver import Bracket
    from mace.space.space import Space


@checked
def explain(
    model: object, space: Space | pd.DataFrame | NDArray[Any], x: object, *,
    goal: GoalSpec = None, distance: DistanceSpec = "l1", weights: Mapping[str, object] | None = None,
    gap: object = None, rgap: object = None, count: int = 1, together: bool = False, diversity: object = "features",
    most_changes: int | None = None, rules: Sequence[str | Path] = (), oracle: str = "auto",
    timeout: float | None = 60.0, memory_mb: int | None = 4096, n_jobs: int | None = 1,
    objectives: Sequence[ObjectiveSpec] | None = None,
    background: pd.DataFrame | None = None, callback: Callable[[Bracket], None] | None = None,
    proposer: ProposerSpec | None = None, random_state: int = 0, max_calls: int | None = None,
    constrained: Sequence[str] = (), confidence: float | None = None,
) -> Answer:  # fmt: skip
    """The nearest points with the goal, with a lower bound below which there is none.

    model:      a fitted estimator of a supported class, a scikit-learn Pipeline or a booster with categories over the
                raw columns, or a program of the core language (text, or a Path to a .mace file) over the features
                that returns the class number. Of anything else with `predict`, of a function and of a `mace.BlackBox`
                the best point that a search finds is returned, and nothing is proved (oracle "search").
    space:      what may change, and how; rules of the space hold too. A frame (or an array) in its place stands for
                the space that is inferred from it, and for the background; notes say what was taken for granted.
    x:          the row to explain: a Series, a dict or a list, in the space's own columns and types. Many rows of a
                frame: `Explainer(..).explain(frame)`.
    goal:       the class wanted, several classes, or a text: `not 0`, `p(good) >= 0.7`, `good by 0.1`; of a model that
                predicts a number `300 <= y <= 350`, `y within 5% of 320`. None: any class but the present one.
                See `mace.problem.goal_text`; `answer.goal` is the text of what was understood.
    distance:   "l0", "l1", "linf", a mixture ({"l0": 0.5, "l1": 0.5} or "l0=0.5,l1=0.5"), or a Path to a .mace program.
    objectives: in order of priority, in the place of a distance: `["l1 within 1%", "changes"]` is, of all points that
                are at most 1 % farther than the nearest one, one with the fewest changes. See `mace.Objective`.
    weights:    feature name -> weight >= 0; 1 where absent.
    gap, rgap:  stop when upper - lower <= gap (absolute) or <= rgap * upper. Default: provers go to the exact optimum
                (networks over floats 1e-9, closeness and sums 1e-6 of it), solvers to 1e-6 or 1e-3 of the distance.
                The absolute ones grow with weights; where these are far apart, a part of the distance is enough, too.
    count:      how many answers; later ones differ by `diversity`: "features" (leave a feature as it is that an earlier
                answer changed), "points" (any other point), or a number: the least distance between any two.
    together:   the answers as one set with the least sum of distances, any two of which differ: "F" (other features
                change), "FV" (other values), "points", a least distance, ["F", 0.1]; {"F": 0.01} takes it off the sum.
    most_changes: at most this many features may change.
    rules:      conditions between features, as texts, or Paths of .mace programs that return true or false.
    oracle:     "auto", "ensembles", "networks", "smt" (z3 and cvc5 race), "z3" or "cvc5"; "search": the model is only
                asked, and nothing is proved unless its space is small.
    timeout:    seconds for the answer, all its points and proofs (None: no limit); memory_mb: MB for each solver.
    n_jobs:     how many threads a hard question about trees may use (-1, None: one a core); the answer is the same.
    background: rows to start from; those with the goal outcome give the first upper bound.
    callback:   called with the bracket after every question, and a few times a second while a prover searches.
    proposer:   a heuristic that looks for near points: "tabu", "swarm", .. (`mace.search.registry.PROPOSERS`), or an
                object of `mace.search`. Beside a prover it gives upper bounds early, and changes no verdict; for a
                model that is only asked it is the search itself ("tabu" by default). `random_state` repeats it.
    max_calls:  how many rows a model that is only asked may be asked about, or the model for a proposer.
    constrained, confidence: for a model that is only asked: features to keep, before any distance; least `confidence`.
    Returns an Answer. Raises a MaceError for a wrong model, space, row, goal, distance or rule.
    """
    from mace.explain.explainers import explain_row

    read: dict[str, Any] = {"gap": gap, "rgap": rgap, "memory_mb": memory_mb, "n_jobs": n_jobs}
    return explain_row(
        model, space, x, oracle, read, {"constrained": constrained, "confidence": confidence}, background=background,
        rules=rules, distance=distance, weights=weights, objectives=objectives, goal=goal, count=count,
        together=together, diversity=diversity, timeout=timeout, most_changes=most_changes, callback=callback,
        proposer=proposer, random_state=random_state, max_calls=max_calls,
    )  # fmt: skip
