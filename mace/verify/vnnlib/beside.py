"""A network that gives linear forms of its inputs beside its outputs: relations of inputs become ones of outputs.

In:  a `Network`, the box of its inputs, and forms of these.
Out: a `Network` with one more output for each form, and what is to be added to that output to have the form.
Promise: without rounding the new outputs are what is said; with rounding, as far from it as sums of the network's
precision may be. So whatever bounds refute of the new network is refuted of the old one beside exact forms.
How: a form less its least value in the box is not negative, and passes every ReLU as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from mace.base.exact import below, exact, nearest
from mace.errors import MaceError
from mace.tables.table import Floats, Layer, Network

LARGEST = 2.0**1000  # what a chain bounds is far smaller
MOST_FORMS = 2**12  # passing every layer, they are squares of so many numbers
Form = Mapping[int, Fraction]  # the coefficients of inputs, by their numbers


class Beside(NamedTuple):
    """The network, and for each of its new outputs what that is less than its form."""

    network: Network
    less: tuple[Fraction, ...]


def beside(network: Network, lower: Sequence[Fraction], upper: Sequence[Fraction], forms: Sequence[Form]) -> Beside:
    """The network with the forms as outputs after its own; raises MaceError where these are beyond what is bounded."""
    if len(forms) > MOST_FORMS:
        raise MaceError(f"one case has {len(forms):,} inequalities over inputs; bounded are {MOST_FORMS:,}")
    weights = np.zeros((network.columns, len(forms)))
    less = []
    for place, form in enumerate(forms):
        least = Fraction(0)
        for number, factor in form.items():
            weights[number, place] = nearest(min(max(factor, -exact(LARGEST)), exact(LARGEST)))
            # Of the rounded weight, so that the new sum is not negative.
            least += exact(weights[number, place]) * (lower if factor > 0 else upper)[number]
        if not -LARGEST < least < LARGEST or not np.abs(weights[:, place]).max(initial=0.0) < LARGEST:
            raise MaceError(f"an inequality over inputs has numbers beyond {LARGEST:g}")
        less.append(exact(below(least)))
    layers = []
    for place, layer in enumerate(network.layers):
        fan_in = layer.weights.shape[0]
        if place == 0:
            added = np.hstack([layer.weights, weights])
            bias = np.concatenate([layer.bias, [-float(one) for one in less]])
        else:
            added = _blocks(layer.weights, len(forms), fan_in)
            bias = np.concatenate([layer.bias, np.zeros(len(forms))])
        layers.append(Layer(added, bias, layer.activation))
    return Beside(Network(tuple(layers), network.columns, "value", (), dtype=network.dtype), tuple(less))


def _blocks(weights: Floats, count: int, fan_in: int) -> Floats:
    """The weights of a layer, and beside them so many values that pass unchanged."""
    found = np.zeros((fan_in + count, weights.shape[1] + count))
    found[:fan_in, : weights.shape[1]] = weights
    found[fan_in:, weights.shape[1] :] = np.eye(count)
    return found


__all__ = ["Beside", "Form", "beside"]
