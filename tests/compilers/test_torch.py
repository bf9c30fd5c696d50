"""PyTorch's modules decide as the library does, and what is not followed is refused where it stands.

PyTorch is several gigabytes, and no part of what the tests install: where it is not there, these are skipped.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest

import mace
from mace import Feature, Space
from mace.compilers import read
from mace.compilers.between import WIDE
from mace.errors import ModelError
from mace.tables.decide import class_of

torch: Any = pytest.importorskip("torch")
nn = torch.nn

EVERY = np.array(list(itertools.product(range(6), repeat=3)), dtype=np.float64)
SPACE = Space([Feature(name, "integer", 0, 5) for name in "abc"])
ENDS: dict[str, Callable[[], list[Any]]] = {
    "sigmoid": lambda: [nn.Linear(5, 1), nn.Sigmoid()],
    "scores": lambda: [nn.Linear(5, 3)],
    "softmax": lambda: [nn.Linear(5, 3), nn.Softmax(dim=1)],
    "log-softmax": lambda: [nn.Linear(5, 3), nn.LogSoftmax(dim=-1)],
}


def module(end: str, seed: int, kind: Any) -> Any:
    """A network of everything that is followed, with statistics of some rows."""
    torch.manual_seed(seed)
    inside = nn.Sequential(nn.Linear(4, 5), nn.LeakyReLU(0.1), nn.Identity())
    made = nn.Sequential(
        nn.Flatten(), nn.BatchNorm1d(3), nn.Linear(3, 4), nn.ReLU(), nn.Dropout(0.2), nn.BatchNorm1d(4), inside,
        *ENDS[end](),
    ).to(kind)  # fmt: skip
    made.train()
    for _ in range(5):
        made(torch.randn(32, 3, dtype=kind) * 2 + 2.5)
    last = made[-1] if end == "scores" else made[-2]
    rows = torch.from_numpy(EVERY).to(kind)
    with torch.no_grad():  # so that every class is decided for somewhere
        last.bias -= made.eval()[: len(made) - (end != "scores")](rows).median(dim=0).values
    return made.eval()


def decisions(made: Any, end: str, rows: Any) -> Any:
    """What the module says of rows, without a line of the reader's."""
    kind = next(made.parameters()).dtype
    with torch.inference_mode():
        found = made(torch.from_numpy(np.asarray(rows, dtype=np.float64)).to(kind)).numpy()
    return (found[:, 0] > 0.5).astype(int) if end == "sigmoid" else found.argmax(axis=1)


@pytest.mark.parametrize("kind", ["float32", "float64"])
@pytest.mark.parametrize("end", list(ENDS))
def test_a_module_decides_as_its_table(end: str, kind: str) -> None:
    made = module(end, 1, getattr(torch, kind))
    table: Any = read(made)
    rng = np.random.default_rng(0)
    rows = np.concatenate([EVERY, rng.normal(2.5, 3, (200, 3))])
    found = [class_of(table, row) for row in rows]
    said = decisions(made, end, rows).tolist()
    assert all(table.classes[a] == b for a, b in zip(found, said, strict=True) if a is not None)
    assert sum(one is not None for one in found) > 0.95 * len(rows)


@pytest.mark.parametrize("end", list(ENDS))
def test_the_nearest_point_is_that_of_the_enumeration(end: str) -> None:
    for seed, kind in ((0, torch.float32), (1, torch.float64)):
        made = module(end, seed, kind)
        said = decisions(made, end, EVERY)
        start = EVERY[seed * 50 + 17]
        row = dict(zip("abc", map(int, start), strict=True))
        goal = (int(decisions(made, end, start[None])[0]) + 1) % len(set(said.tolist()))
        answer = mace.explain(made, SPACE, row, goal=goal, distance="l1")
        with_goal = EVERY[said == goal]
        least = np.abs(with_goal - start).sum(axis=1).min() / 15
        assert answer.status == "optimal"
        assert answer.distance == pytest.approx(least, abs=1e-12)
        assert answer.certificate is not None
        assert answer.certificate.check().accepted


def test_probabilities_of_a_sigmoid_are_asked_for() -> None:
    made = module("sigmoid", 2, torch.float64)
    with torch.inference_mode():
        p = made(torch.from_numpy(EVERY)).numpy()[:, 0]
    start, high = EVERY[int(p.argmin())], round(float(np.quantile(p, 0.8)), 3)
    answer = mace.explain(made, SPACE, dict(zip("abc", map(int, start), strict=True)), goal=f"p(1) >= {high}")
    assert answer.distance == pytest.approx(np.abs(EVERY[p >= high] - start).sum(axis=1).min() / 15, abs=1e-12)


def test_a_score_alone_is_a_number() -> None:
    torch.manual_seed(3)
    made = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.Linear(4, 1)).double().eval()
    with torch.inference_mode():
        said = made(torch.from_numpy(EVERY)).numpy()[:, 0]
    start, high = EVERY[int(said.argmin())], float(np.quantile(said, 0.7)) + 1e-6
    answer = mace.explain(made, SPACE, dict(zip("abc", map(int, start), strict=True)), goal=f"y >= {high}")
    assert answer.distance == pytest.approx(np.abs(EVERY[said >= high] - start).sum(axis=1).min() / 15, abs=1e-12)


def test_columns_of_a_frame_are_given_in_order() -> None:
    made = nn.Linear(3, 2).eval()
    frame = pd.DataFrame(EVERY, columns=list("abc"))
    answer = mace.explain(made, Space.from_frame(frame), frame.iloc[7])
    assert answer.status in ("optimal", "infeasible")


@pytest.mark.parametrize("width", [1, 3])
def test_the_margin_holds_what_a_norm_rounds_away(width: int) -> None:
    """Where the mean is large, (x - mean) s and x s - mean s differ by far more than an ulp of the result."""
    made = nn.Sequential(nn.BatchNorm1d(width), nn.Linear(width, 1), nn.Sigmoid())
    with torch.no_grad():
        made[0].running_mean.fill_(1000.3)
        made[0].running_var.fill_(1e-4)
        made[1].weight.fill_(1.0)
        made[1].bias.fill_(0.0)
    made.eval()
    table: Any = read(made)
    assert len(table.layers[2].weights) == WIDE
    rows = np.linspace(1000.29, 1000.31, 301)[:, None].repeat(width, axis=1)
    found = [class_of(table, row) for row in rows]
    assert all(a is None or a == b for a, b in zip(found, decisions(made, "sigmoid", rows).tolist(), strict=True))
    assert None in found


class _Own(nn.Module):  # type: ignore[misc]
    def forward(self, x: Any) -> Any:
        return x


def _hooked() -> Any:
    made = nn.Sequential(nn.Linear(3, 2)).eval()
    made[0].register_forward_hook(lambda *_: None)
    return made


@pytest.mark.parametrize(
    ("made", "says"),
    [
        (lambda: nn.Sequential(nn.Linear(3, 2), nn.Tanh()), r"Sequential\[1\] is a torch.nn.modules.activation.Tanh"),
        (lambda: nn.Sequential(nn.Linear(3, 2), _Own()), r"Sequential\[1\] is a .*_Own, which is not followed"),
        (lambda: nn.Sequential(nn.Linear(3, 2), nn.Dropout()).train(), "training mode"),
        (lambda: nn.Sequential(nn.BatchNorm1d(3, track_running_stats=False), nn.Linear(3, 2)), "running statistics"),
        (lambda: nn.Sequential(nn.Linear(3, 2), nn.Linear(3, 2)), "takes 3 numbers, and is given 2"),
        (lambda: nn.Sequential(nn.Linear(3, 2), nn.Sigmoid()), "several labels"),
        (lambda: nn.Sequential(nn.Linear(3, 2), nn.Softmax(dim=0)), "along the rows"),
        (lambda: nn.Sequential(nn.Linear(3, 2), nn.Softmax(dim=1), nn.ReLU()), "comes after Softmax"),
        (lambda: nn.Sequential(nn.ReLU(), nn.Linear(3, 2)), "before any layer"),
        (lambda: nn.Sequential(nn.Linear(3, 2)).half(), "float16"),
        (lambda: nn.Sequential(nn.Linear(3, 2), nn.Linear(2, 2).double()), "several types"),
        (_hooked, "hooks"),
        (lambda: nn.Sequential(nn.Linear(3, 2), nn.Flatten(0)), "between rows"),
    ],
)  # fmt: skip
def test_what_is_not_followed_is_refused(made: Callable[[], Any], says: str) -> None:
    with pytest.raises(ModelError, match=says):
        read(made() if "training" in says else made().eval())


def test_less_precise_products_are_refused() -> None:
    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("medium")
    try:
        with pytest.raises(ModelError, match="medium precision"):
            mace.explain(nn.Linear(3, 2).eval(), SPACE, {"a": 1, "b": 1, "c": 1}, goal=1)
    finally:
        torch.set_float32_matmul_precision(before)
