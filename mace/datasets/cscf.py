"""The benchmark of consequence-aware sequences: 100 persons, the published network, and the published world.

In:  the files `cscf_<name>_{instances,features,mlp}.csv.gz` of a folder.    Out: `Persons`.
Promise: the network is a scikit-learn Pipeline over the raw columns, with the published weights, means and deviations.
Its last layer has one output, the difference of the two published ones, which decides alike, ties included; sums are
in float64, where the original computes in float32.
Source: Naumann and Ntoutsi 2021, and its public implementation (MIT), with models of Ramakrishnan et al. 2020 (MIT).
"""

from __future__ import annotations

import itertools
import os
import warnings
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mace.errors import FileError

if TYPE_CHECKING:
    import pandas as pd

    from mace.space.space import Space
    from mace.worlds import World

PERSONS = ("cscf-adult", "cscf-german")
STEP = "0.001"
# Numbers that actions change live on the grid of the published search, within the published conditions; all others
# are whole, and stay as they are.
RANGES: dict[str, tuple[float, float]] = {
    "Age": (0, 120), "Education num": (0, 16.5), "Capital Gain": (0, 100_000), "Capital Loss": (0, 5_000),
    "Hours/Week": (0, 100), "loan_duration": (0, 120), "credit_amount": (0, 100_000), "age_in_years": (0, 120),
}  # fmt: skip
HIDDEN = {"adult": (50, 50), "german": (40, 40)}
CLASSES = {"adult": (0, 1), "german": (1, 2)}


@dataclass(frozen=True, eq=False)
class Persons:
    """100 persons whom a network rejects, the network, and what they can do.

    name: "cscf-adult" or "cscf-german".
    X:    the persons, shape (100, features); levels are the published codes, as texts.
    goal: the favourable class.
    """

    name: str
    X: pd.DataFrame
    features: pd.DataFrame
    weights: pd.DataFrame
    goal: int = 1

    @cached_property
    def space(self) -> Space:
        """Numbers on a grid of 0.001, levels as codes."""
        from mace.space.feature import Feature
        from mace.space.space import Space

        made = []
        for row in self.features.to_dict("records"):
            name = row["name"]
            if row["type"] != "numeric":
                made.append(Feature(name, "categorical", levels=str(row["codes"]).split()))
            elif name in RANGES:
                low, high = RANGES[name]
                made.append(Feature(name, "real", lower=low, upper=high, step=STEP))
            else:
                values = self.X[name]
                made.append(Feature(name, "integer", lower=int(values.min()), upper=int(values.max())))
        return Space(made, name=self.name)

    @cached_property
    def model(self) -> Any:
        """The published network behind its scaling and one-hot columns, as a fitted Pipeline."""
        return _pipeline(self.name.removeprefix("cscf-"), self.X, self.features, self.weights)

    @cached_property
    def world(self) -> World:
        """The published actions and consequences."""
        from mace.worlds import World

        return World.load(self.name.removeprefix("cscf-"), self.space)


def persons(name: str, path: str | Path | None = None) -> Persons:
    """Read a benchmark; raises FileError where its files are not found."""
    import pandas as pd

    folder = Path(path or os.environ.get("MACE_DATA", ""))
    short = name.removeprefix("cscf-")
    found: dict[str, pd.DataFrame] = {}
    for part in ("instances", "features", "mlp"):
        file = folder / f"cscf_{short}_{part}.csv.gz"
        if not file.is_file():
            raise FileError(
                f"{file}: no such file",
                hint="Name the folder that holds the cscf files with MACE_DATA, or give `path`.",
            )
        try:
            found[part] = pd.read_csv(file, dtype={"codes": str, "row": str}, keep_default_na=part != "mlp")
        except (OSError, ValueError, EOFError) as error:
            raise FileError(f"{file}: cannot be read ({error})") from None
    features = found["features"][found["features"]["type"] != "class"]
    frame = found["instances"]
    for row in features.to_dict("records"):
        if row["type"] != "numeric":
            frame[row["name"]] = frame[row["name"]].astype(str)
    return Persons(name, frame, features, found["mlp"])


def _pipeline(name: str, frame: pd.DataFrame, features: pd.DataFrame, weights: pd.DataFrame) -> Any:
    """The published network: fitted on nothing that matters, then given its published numbers."""
    import numpy as np
    from sklearn.compose import ColumnTransformer
    from sklearn.neural_network import MLPClassifier
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    steps: list[tuple[str, Any, list[str]]] = []
    # Neighbours of one kind share a step: the order of the network's inputs is that of the features.
    for kind, rows in itertools.groupby(features.to_dict("records"), key=lambda row: row["type"] == "numeric"):
        some = list(rows)
        names = [row["name"] for row in some]
        codes = [str(row["codes"]).split() for row in some]
        step = StandardScaler() if kind else OneHotEncoder(categories=codes, sparse_output=False)
        steps.append((names[0], step, names))
    columns = ColumnTransformer(steps)
    network = MLPClassifier(HIDDEN[name], max_iter=1, random_state=0)
    made = Pipeline([("columns", columns), ("network", network)])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # one step of training does not converge, and is thrown away
        made.fit(frame, np.resize(CLASSES[name], len(frame)))
    known = features.set_index("name")
    for first, step, names in steps:
        if isinstance(step, StandardScaler):
            scaler = columns.named_transformers_[first]
            scaler.mean_ = known.loc[names, "mean"].to_numpy(np.float64)
            scaler.scale_ = known.loc[names, "std"].to_numpy(np.float64)
            scaler.var_ = scaler.scale_**2
    layers = []
    for _, part in weights.groupby("layer"):
        table = part.pivot(index="row", columns="col", values="value")
        bias = table.loc["bias"].to_numpy()
        inner = table.drop(index="bias")
        layers.append((inner.loc[sorted(inner.index, key=int)].to_numpy(), bias))
    last, offset = layers[-1]
    layers[-1] = (last[:, 1:] - last[:, :1], offset[1:] - offset[:1])
    network.coefs_ = [np.ascontiguousarray(matrix) for matrix, _ in layers]
    network.intercepts_ = [bias for _, bias in layers]
    return made
