"""What stands between dense layers, as dense layers: a normalisation by fixed numbers, and a leaky ReLU.

In:  the numbers that a library keeps.    Out: layers of a `Network`, weights (inputs, outputs).
Promise: the margins of these layers (`mace.tables.margins`) hold what a library's own way of computing rounds.
* A normalisation is (x - mean) s + shift with s = factor / sqrt(variance + eps). PyTorch and onnxruntime compute it as
  x s + (shift - mean s), s rounded four times: at most 5.5 u |x s| + 6.5 u |mean s| + 2 u |shift| together. Here it is
  two layers, of at least `WIDE` inputs, so that the margin g(WIDE + 1) of each is larger. A runtime that multiplies the
  layer before by s rounds no more.
* A leaky ReLU is max(z, 0) - slope max(-z, 0), with one product that rounds.
"""

from __future__ import annotations

import numpy as np

from mace.tables.table import Floats, Layer

WIDE = 8


def normalising(mean: Floats, variance: Floats, eps: float, factor: Floats, shift: Floats) -> list[Layer] | None:
    """The layers of a normalisation, all numbers of shape (width,); None where it divides by 0 or what is below."""
    with np.errstate(divide="ignore", invalid="ignore"):
        scale = factor / np.sqrt(variance + eps)
    if not np.isfinite(scale).all():
        return None
    width = len(mean)
    wide = max(width, WIDE)
    rows, padded = np.zeros((width, wide)), np.zeros(wide)
    rows[:, :width] = np.eye(width)
    padded[:width] = -mean
    return [
        Layer(rows, np.zeros(wide), "identity"),
        Layer(np.eye(wide), padded, "identity"),
        Layer(rows.T * scale, shift, "identity"),
    ]


def leaking(last: Layer, slope: float) -> list[Layer]:
    """A layer without activation, and the leaky ReLU after it; slope: from 0 to 1."""
    width = len(last.bias)
    return [
        Layer(np.hstack([last.weights, -last.weights]), np.append(last.bias, -last.bias), "relu"),
        Layer(np.vstack([np.eye(width), -slope * np.eye(width)]), np.zeros(width), "identity"),
    ]


__all__ = ["leaking", "normalising"]
