"""Read PyTorch's modules: a Sequential, nested as it may be, of dense layers and what stands between them.

In:  a `torch.nn` module in evaluation mode.
Out: a Network, in the precision of its parameters. One score behind a Sigmoid decides for class 1 above one half, one
     score alone is a number, and of several the first of the largest is the class; their numbers are the classes.
Promise: only the classes below are followed, each by its own `forward`. A module of somebody's own, hooks, a module in
training mode, and parameters of several types or of few bits are ModelErrors that say where they are.
How it computes: a number of float64 is rounded to the parameters' type, and each module gives numbers of that type.
* BatchNorm1d and LeakyReLU: `mace.compilers.between`.
* LogSoftmax: a score less the largest, less a logarithm of at most log(scores): two scores that differ by less than
  16 u may tie, and the slack of "softmax" is 32 u.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from mace.compilers.between import leaking, normalising
from mace.compilers.library import is_a, public_name
from mace.errors import ModelError
from mace.tables.table import Compare, Decision, Floats, Layer, Link, Network, Rule

HALF = {"float32": 1.5 * 2.0**-24, "float64": 1.5 * 2.0**-53}  # a sigmoid is above one half from about here
MOST_NUMBERS = 2**24  # of all layers, as for files
EXPORT = (
    'Export it: torch.onnx.export(model, torch.zeros(1, columns), "model.onnx") writes a file that is read where it '
    "holds a chain of dense layers."
)
_HOOKS = ("_forward_hooks", "_forward_pre_hooks")


@dataclass
class _Walk:
    """The layers so far; `width` is how many numbers a row has, 0 before the first layer that says so.

    ended: the name of the last module, which makes probabilities of scores; "" where there is none.
    """

    dtype: Literal["float32", "float64"]
    width: int = 0
    columns: int = 0
    numbers: int = 0
    ended: str = ""
    layers: list[Layer] = field(default_factory=list)

    def add(
        self, where: str, weights: Floats, bias: Floats, activation: Literal["relu", "identity"] = "identity"
    ) -> None:
        """A layer of weights (inputs, outputs)."""
        self.starts(where, len(weights))
        self.numbers += weights.size
        if self.numbers > MOST_NUMBERS:
            raise ModelError(f"{where}: the layers have more than {MOST_NUMBERS} numbers")
        self.layers.append(Layer(weights, bias, activation))
        self.width = len(bias)

    def starts(self, where: str, inputs: int) -> None:
        """Say how many numbers a module takes."""
        self.columns = self.columns or inputs
        if self.width not in (0, inputs):
            raise ModelError(f"{where} takes {inputs} numbers, and is given {self.width}")
        self.width = inputs


def read_module(model: Any) -> Network:
    """The table of a module; raises ModelError."""
    walk = _Walk(_dtype(model))
    for where, module in _modules(model, type(model).__name__):
        if walk.ended:
            raise ModelError(f"{where} comes after {walk.ended}, and nothing may")
        _STEPS[_kind(module, where)](walk, where, module)
    if not walk.layers:
        raise ModelError(f"this {type(model).__name__} has no layers: it computes nothing")
    outputs = walk.width
    layers = [*walk.layers]
    if layers[-1].activation != "identity":
        layers.append(Layer(np.eye(outputs), np.zeros(outputs), "identity"))
    if walk.dtype == "float32":  # It is given float32(x): a layer of its own, whose margin holds that rounding.
        layers.insert(0, Layer(np.eye(walk.columns), np.zeros(walk.columns), "identity"))
    rule, decisions, link = _end(walk, outputs)
    classes = tuple(range(2 if rule == "sigmoid" else 0 if outputs == 1 else outputs))
    return Network(tuple(layers), walk.columns, rule, classes, "PyTorch network", walk.dtype, decisions, link)


def _end(walk: _Walk, outputs: int) -> tuple[Rule, tuple[Decision, ...] | None, Link | None]:
    """How the scores decide."""
    if walk.ended == "Sigmoid":
        if outputs != 1:
            raise ModelError(
                f"the module ends in a Sigmoid of {outputs} scores, several labels a row", hint="Ask about one score."
            )
        half = HALF[walk.dtype]
        decisions = (((Compare(None, 0, -half),),), ((Compare(0, None, half, strict=True),),))
        return "sigmoid", decisions, Link("logistic", dtype=walk.dtype)
    if walk.ended:
        if outputs == 1:
            raise ModelError(f"the module ends in a {walk.ended} of one score: no input has another decision")
        return "softmax", None, Link("softmax", dtype=walk.dtype) if walk.ended == "Softmax" else None
    return ("value" if outputs == 1 else "argmax"), None, None


def dtype_of(model: Any) -> str:
    """The type of its parameters and of the numbers that it keeps beside; "" for several types, or none."""
    kinds = {str(one.dtype) for one in (*model.parameters(), *model.buffers()) if one.is_floating_point()}
    return kinds.pop().removeprefix("torch.") if len(kinds) == 1 else ""


def _dtype(model: Any) -> Literal["float32", "float64"]:
    found = dtype_of(model)
    if found == "float32":
        return "float32"
    if found == "float64":
        return "float64"
    raise ModelError(
        f"the parameters of this module are {found or 'of several types, or there are none'}",
        hint="Supported are float32 and float64 throughout: model.float() or model.double().",
    )


def _modules(module: Any, where: str) -> Iterator[tuple[str, Any]]:
    """The modules that a row goes through, in order, each with its place."""
    if any(getattr(module, name, None) for name in _HOOKS) or "forward" in vars(module):
        raise ModelError(f"{where} has hooks, or a forward of its own", hint=EXPORT)
    if not is_a(module, "torch.nn.Sequential"):
        yield where, module
        return
    for name, inner in module.named_children():
        yield from _modules(inner, f"{where}[{name}]")


def _kind(module: Any, where: str) -> str:
    """The name of a class that is followed; raises ModelError for others."""
    name = type(module).__name__
    if name not in _STEPS or not is_a(module, f"torch.nn.{name}"):
        raise ModelError(
            f"{where} is a {public_name(type(module))}, which is not followed",
            hint=f"Followed are a Sequential of {', '.join(sorted(_STEPS))}. {EXPORT}",
        )
    return name


def _array(where: str, tensor: Any, size: tuple[int, ...]) -> Floats:
    """The numbers of a tensor; None stands for zeros."""
    if tensor is None:
        return np.zeros(size)
    array = np.asarray(tensor.detach().cpu().numpy(), dtype=np.float64)
    if array.shape != size or not np.isfinite(array).all():
        raise ModelError(f"{where} has numbers of shape {array.shape} for {size}, or some that are not finite")
    return array


def _linear(walk: _Walk, where: str, module: Any) -> None:
    inputs, outputs = int(module.in_features), int(module.out_features)
    weights = _array(where, module.weight, (outputs, inputs))
    walk.add(where, weights.T.copy(), _array(where, module.bias, (outputs,)))


def _relu(walk: _Walk, where: str, module: Any) -> None:  # noqa: ARG001  as all steps
    last = _last(walk, where)
    walk.layers[-1] = Layer(last.weights, last.bias, "relu")


def _leaky(walk: _Walk, where: str, module: Any) -> None:
    last, slope = _last(walk, where), float(module.negative_slope)
    if not 0 <= slope <= 1:
        raise ModelError(f"{where} has the slope {slope}", hint="Followed are slopes from 0 to 1.")
    if walk.dtype == "float32":
        slope = float(np.float32(slope))
    walk.layers.pop()
    walk.width = len(last.weights)
    for layer in leaking(last, slope):
        walk.add(where, layer.weights, layer.bias, layer.activation)


def _last(walk: _Walk, where: str) -> Layer:
    """The layer that an activation belongs to: the last one, or one that changes nothing."""
    if not walk.width:
        raise ModelError(f"{where} comes before any layer that says how many columns there are")
    if not walk.layers or walk.layers[-1].activation != "identity":
        walk.add(where, np.eye(walk.width), np.zeros(walk.width))
    return walk.layers[-1]


def _normed(walk: _Walk, where: str, module: Any) -> None:
    width = int(module.num_features)
    if module.running_mean is None or module.running_var is None:
        raise ModelError(
            f"{where} keeps no running statistics, so that a row's result depends on the rows beside it",
            hint="Train it with track_running_stats=True.",
        )
    _needs_evaluation(where, module)
    walk.starts(where, width)
    mean = _array(where, module.running_mean, (width,))
    variance = _array(where, module.running_var, (width,))
    factor = _array(where, module.weight, (width,)) if module.weight is not None else np.ones(width)
    layers = normalising(mean, variance, module.eps, factor, _array(where, module.bias, (width,)))
    if layers is None:
        raise ModelError(f"{where} divides by a variance that is zero or negative")
    for layer in layers:
        walk.add(where, layer.weights, layer.bias)


def _nothing(_: _Walk, where: str, module: Any) -> None:
    if not is_a(module, "torch.nn.Identity"):
        _needs_evaluation(where, module)


def _flat(_: _Walk, where: str, module: Any) -> None:
    if module.start_dim != 1:
        raise ModelError(f"{where} moves numbers between rows", hint="Use Flatten(start_dim=1).")


def _needs_evaluation(where: str, module: Any) -> None:
    if module.training:
        raise ModelError(f"{where} is in training mode", hint="Call model.eval() first.")


def _ends(walk: _Walk, where: str, module: Any) -> None:
    if not walk.layers:
        raise ModelError(f"{where} comes before any layer")
    if getattr(module, "dim", -1) not in (-1, 1):
        raise ModelError(f"{where} works along the rows", hint="Use dim=1.")
    walk.ended = type(module).__name__


_STEPS: Mapping[str, Callable[[_Walk, str, Any], None]] = {
    "Linear": _linear, "ReLU": _relu, "LeakyReLU": _leaky, "BatchNorm1d": _normed, "Dropout": _nothing,
    "AlphaDropout": _nothing, "Identity": _nothing, "Flatten": _flat, "Sigmoid": _ends, "Softmax": _ends,
    "LogSoftmax": _ends,
}  # fmt: skip
