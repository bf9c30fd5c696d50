"""The members of an element of PMML, asked for by name, type and range.

In:  an `Element` of a file.    Out: numbers, words and texts.
Promise: whatever stands in the file, the only exception is a ModelError that names the element and its line.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from mace.compilers.formats.fields import shown, writable
from mace.compilers.formats.xml import Element
from mace.errors import ModelError

LONGEST_TEXT = 10_000
UNREAD = {
    "NeuralNetwork": "Write the network as ONNX.",
    "SupportVectorMachineModel": "Give the model of its library itself, with a linear kernel.",
    "NaiveBayesModel": "Use scikit-learn's MultinomialNB or BernoulliNB.",
    "GaussianProcessModel": "Its scores are sums over all stored rows: use a linear model, or trees.",
    "BayesianNetworkModel": "Its probabilities are sums over hidden fields: fit a tree or a line to what it decides.",
    "TextModel": "A space has no texts: make numbers of them before the model, as columns of the frame.",
    "NearestNeighborModel": "Its votes depend on distances to all stored rows: fit an ensemble of trees to them.",
    "ClusteringModel": "It decides nothing that a goal could name.",
    "AssociationModel": "It decides nothing that a goal could name.",
    "SequenceModel": "It decides nothing that a goal could name.",
    "BaselineModel": "It compares many rows with those before, and decides nothing about one row.",
    "TimeSeriesModel": "It continues a series by itself: no column of a row enters it.",
    "AnomalyDetectionModel": "Give the model of its library itself (IsolationForest).",
}
"""Kinds of models that are asked for and not read: what to do instead."""


def wrong(element: Element, what: str) -> ModelError:
    """The error for a file that does not keep to the standard."""
    return ModelError(
        f"the PMML file is damaged: {element.name} in line {element.line} {what}",
        hint="It may be cut off or edited: save the model again.",
    )


def unsupported(element: Element, what: str, hint: str = "") -> ModelError:
    """The error for what the standard allows and the reader does not know."""
    return ModelError(f"PMML: {what} ({element.name} in line {element.line}) is not supported", hint=hint)


def given(element: Element, name: str) -> str:
    """The text of an attribute that must be there."""
    found = element.attributes.get(name)
    if found is None:
        raise wrong(element, f"has no `{name}`")
    if len(found) > LONGEST_TEXT or "\0" in found or not writable(found):
        raise wrong(element, f"has a `{name}` that is too long, or holds what no text may hold")
    return found


def word(element: Element, name: str, known: Sequence[str], default: str | None = None) -> str:
    """One of some words that are supported."""
    found = element.attributes.get(name, default)
    if found is None or found not in known:
        what = f"{name} = {shown(found)}" if found is not None else f"no `{name}`"
        raise unsupported(element, what, f"Supported are {', '.join(known)}.")
    return found


def number(element: Element, name: str, default: float | None = None) -> float:
    """A finite number."""
    if default is not None and name not in element.attributes:
        return default
    return number_of(given(element, name), element, name)


def number_of(text: str, element: Element, name: str) -> float:
    """The number that a text says, as the nearest double."""
    try:
        found = float(text) if len(text) < 1000 and "_" not in text else math.nan
    except ValueError:
        found = math.nan
    if not math.isfinite(found):
        raise wrong(element, f"has {name} = {shown(text)}, expected a number")
    return found


def only_child(element: Element, *names: str) -> Element:
    """The child of one of these names; raises where there is none, or several."""
    found = element.all(*names)
    if len(found) != 1:
        raise wrong(element, f"has {len(found)} of {', '.join(names)}, expected one")
    return found[0]
