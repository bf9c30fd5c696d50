"""All that is known of PyTorch."""

from __future__ import annotations

from typing import Any

import numpy as np

from mace.compilers.deployed import Deployed, Given, Rows, as_rows
from mace.compilers.library import Library, Reader, is_a
from mace.compilers.torch.reader import dtype_of, read_module
from mace.errors import ModelError


def _deployed(model: Any, _: Given) -> Deployed:
    """The module's own results, without gradients: class 1 above one half, the first of the largest, or the number."""
    import torch

    if torch.get_float32_matmul_precision() != "highest":
        raise ModelError(
            f"PyTorch multiplies with {torch.get_float32_matmul_precision()} precision in this process",
            hint='Call torch.set_float32_matmul_precision("highest"); the bounds allow for float32 throughout.',
        )
    kind, place = getattr(torch, dtype_of(model)), next(model.parameters()).device
    last = model
    while is_a(last, "torch.nn.Sequential") and len(last):
        last = last[-1]
    binary, shares = is_a(last, "torch.nn.Sigmoid"), is_a(last, "torch.nn.Softmax")

    def ask(frame: Any) -> Rows:
        with torch.inference_mode():
            given = torch.from_numpy(as_rows(frame).copy()).to(device=place, dtype=kind)
            return np.asarray(model(given).cpu().numpy())

    def predict(frame: Any) -> Rows:
        found = ask(frame)
        if binary:
            return np.asarray(found[:, 0] > 0.5).astype(int)
        return np.asarray(found[:, 0] if found.shape[1] == 1 else np.argmax(found, axis=1))

    def probabilities(frame: Any) -> Rows:
        found = ask(frame).astype(np.float64)
        return np.column_stack([1 - found, found]) if binary else found

    return Deployed(predict, probabilities=probabilities if binary or shares else None)


def _small(frame: Any, labels: Any) -> Any:
    """One layer whose plane separates the classes by the means of the columns."""
    import torch

    rows, known = as_rows(frame), np.asarray(labels)
    apart = rows[known == 1].mean(axis=0) - rows[known == 0].mean(axis=0)
    layer = torch.nn.Linear(rows.shape[1], 1).double()
    with torch.no_grad():
        layer.weight.copy_(torch.from_numpy(apart[None, :]))
        layer.bias.fill_(float(-apart @ rows.mean(axis=0)))
    return torch.nn.Sequential(layer, torch.nn.Sigmoid()).eval()


_REFUSED = (
    "modules with a forward of their own; hooks; activations other than ReLU and LeakyReLU; convolutions; several "
    "scores behind a Sigmoid; training mode; parameters other than float32 or float64 throughout"
)
LIBRARY = Library(
    name="PyTorch",
    package="torch",
    distributions={"torch": ("torch",)},
    extra="torch",
    deployed=_deployed,
    readers={
        "torch.nn.Module": Reader(read_module, "margin", _REFUSED),
    },
    small=_small,
)
