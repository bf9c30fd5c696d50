"""Options that several commands share.

A frozen dataclass is a group of options: what a command takes to name a model and a table, to measure, to pick a row.
Its methods turn what was typed into what the package works on. `flat` (`signatures.py`) gives a command the fields of
the groups among its parameters, so that each option is written once. Heavy libraries are imported by the methods that
need them.
"""

from __future__ import annotations

import functools
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias

import typer

from mace.base.suggestions import among, few, meant
from mace.cli.alive import alive
from mace.cli.output import Format, say
from mace.errors import FileError, MaceError, RowError, SpaceError

if TYPE_CHECKING:
    import pandas as pd

    from mace.space.space import Space

FormatOption: TypeAlias = Annotated[Format, typer.Option("--format", help="text or json.")]
OracleOption: TypeAlias = Annotated[str, typer.Option("--oracle", help="auto, ensembles, networks, smt, z3 or cvc5.")]
GroupsOption: TypeAlias = Annotated[
    str | None,
    typer.Option("--groups", help='Columns to compare by: Sex,AgeGroup; one with a comma in it as "a, b".'),
]
SpaceOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--space", help="A space file (TOML), or adult, credit, compas, german, loans. Default: that of --data."
    ),
]


@dataclass(frozen=True)
class Trained:
    """The model, and whether its file is trusted."""

    model: Annotated[
        Path | None,
        typer.Option(
            "--model",
            help="A model: .json (XGBoost, CatBoost), .ubj (XGBoost), .txt (LightGBM), .onnx, .pmml, .skops, a .mace "
            "program, or, with --trust-pickle, joblib or pickle.",
        ),
    ] = None
    trust_pickle: Annotated[
        bool,
        typer.Option("--trust-pickle", help="Load pickled models. A pickle runs any code that its author put into it."),
    ] = False
    dump: Annotated[
        str | None,
        typer.Option(
            "--dump",
            help="What a .json of XGBoost's dump_model lacks: "
            '"objective=binary:logistic base_score=0.5 columns=a,b,c", num_class, num_parallel_tree.',
        ),
    ] = None

    def read_model(self, path: Path | None = None) -> object:
        """The model of `--model`, or of another file under the same trust."""
        path = path or self.model
        if path is None:
            raise MaceError("no model given", hint="--model model.joblib --trust-pickle, or --model rules.mace.")
        if path.suffix == ".mace":
            return path
        return self._loaded if path == self.model else self._load(path)

    @functools.cached_property
    def _loaded(self) -> object:
        """The model of `--model`, read once."""
        assert self.model is not None
        return self._load(self.model)

    def _load(self, path: Path) -> object:
        import warnings

        alive.doing = "reading the model"

        from mace.compilers.load import PickleWarning, load_model

        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            loaded = load_model(path, self.trust_pickle, self.dump if path == self.model else None)
        for warning in caught:
            if issubclass(warning.category, PickleWarning):
                continue  # --trust-pickle says that this is known
            say(f"mace: warning: {warning.message}", err=True)
        return loaded


@dataclass(frozen=True)
class Given(Trained):
    """The model, its space and the table."""

    space: SpaceOption = None
    data: Annotated[
        str | None,
        typer.Option(
            "--data", help="A CSV or Parquet file, or loans, adult, credit, compas, german (from $MACE_DATA)."
        ),
    ] = None

    target: Annotated[
        str | None, typer.Option("--target", help="The column of a file that the model predicts: left out.")
    ] = None
    drop: Annotated[str | None, typer.Option("--drop", help="Columns of a file to leave out: Id,Date.")] = None

    def read_table(self, *, shown: bool = False) -> tuple[pd.DataFrame, Space]:
        """The table, and the space: the one given, the data set's own, or one inferred (and said so on stderr).

        shown: the command shows the whole space: then the features are not told of on stderr.
        """
        from mace import datasets
        from mace.space.space import Space

        alive.doing = "reading the table"
        if self.data is None:
            raise MaceError("no data given", hint="--data table.csv, or the name of a data set: --data loans.")
        if self.data in datasets.NAMES:
            if self.target is not None or self.drop is not None:
                option = "--target" if self.target is not None else "--drop"
                hint = f"What is not asked for is left out of {self.data} already."
                raise MaceError(f"{option} is about a file, and {self.data} is a data set by name", hint=hint)
            dataset = datasets.load(self.data)
            return dataset.X, read_space(self.space) if self.space else dataset.space
        from mace.cli.table import as_declared, read_rows
        from mace.explain.reading.inferred import to_check

        known = f"Data sets by name: {', '.join(datasets.NAMES)}."
        frame = read_rows(self.data, meant(self.data, datasets.NAMES, known))
        left_out = [("--target", self.target)] * (self.target is not None)
        left_out += [("--drop", name) for name in names_of(self.drop)]
        for option, name in left_out:
            if name not in frame.columns:
                raise RowError(
                    f"{option} {name}: the data has no such column",
                    hint=among(str(name), frame.columns),
                )
        frame = frame.drop(columns=[name for _, name in left_out])
        if self.space:
            space = read_space(self.space)
            for option, name in left_out:
                if name in space.names:
                    raise SpaceError(
                        f"{option} {name}: {self.space} declares it as a feature of the rows",
                        hint=f"If the model does not take it, take it out of {self.space}; else give no {option}.",
                    )
            return as_declared(frame, self.data, space), space
        taken, left = self._taken(frame)
        inferred = Space.from_frame(frame[taken], name=Path(self.data).stem)
        lines = to_check(inferred) if shown else _told(inferred, self._inspected(left))
        if left:
            lines = [f"left out, since the model does not take them: {', '.join(left)}", *lines]
        say(f"no --space given; inferred from {self.data}{':' if lines else ''}", err=True)
        for line in lines:
            say(f"  {line}", err=True)
        return frame, inferred

    def _inspected(self, left: list[str]) -> str:
        """The command that shows the space which was inferred; left: columns that the model does not take."""
        words = ["mace", "inspect", "--data", str(self.data)]
        if self.target is not None:
            words += ["--target", self.target]
        if dropped := [*names_of(self.drop), *left]:
            quoted = ['"' + name.replace('"', '""') + '"' if "," in name or '"' in name else name for name in dropped]
            words += ["--drop", ",".join(quoted)]
        return shlex.join(words)

    def _taken(self, frame: pd.DataFrame) -> tuple[list[Any], list[str]]:
        """The columns that the model was fitted on, if the table has them all, and the others."""
        from mace.explain.reading.inferred import columns_of, spelled_by

        names = list(frame.columns)
        if self.model is None:
            return names, []
        taken = set(columns_of(self.read_model()))
        spelled = {name: to for to, name in spelled_by(self.read_model(), names).items()}
        if not taken or not taken <= set(spelled.values()):  # fitted on what a space encodes, or it does not say
            return names, []
        return [n for n in names if spelled.get(n) in taken], [str(n) for n in names if spelled.get(n) not in taken]

    @property
    def favourable(self) -> Any:
        """The goal of a data set that is known by name; None for any other table."""
        from mace import datasets

        return datasets.load(self.data).goal if self.data in datasets.NAMES else None


MOST_TOLD = 24  # features of an inferred space that stderr has a line for


def _told(space: Space, inspect: str) -> list[str]:
    """What was taken for granted, a line a feature; of many features how many of each kind.

    inspect: the command that shows the space.
    """
    from collections import Counter

    from mace.explain.reading.inferred import to_check

    otherwise = f"to say otherwise: {inspect} --save space.toml, edit it, and --space space.toml"
    if len(space.features) <= MOST_TOLD:
        return [*space.notes, otherwise]
    kinds = Counter(feature.kind for feature in space.features)
    counted = ", ".join(f"{count} {kind}" for kind, count in kinds.most_common())
    lines = [f"{len(space.features)} features, each with the values observed: {counted}"]
    if still := [f.name for f in space.features if f.numeric and f.lower == f.upper]:
        lines.append(f"with one value only, so that they cannot change: {few(still)}")
    return [*lines, *to_check(space), f"to see each: {inspect}", otherwise]


DISTANCE = "l1"  # where nobody says which


@dataclass(frozen=True)
class Measured:
    """How far is far, and what must hold between features."""

    distance: Annotated[
        str, typer.Option("--distance", help="l0, l1, linf, a mixture such as l0=0.5,l1=0.5, or a .mace file.")
    ] = DISTANCE
    weight: Annotated[list[str] | None, typer.Option("--weight", help="FEATURE=NUMBER. May be repeated.")] = None
    rule: Annotated[
        list[str] | None,
        typer.Option("--rule", help="A condition between features, or a .mace file. May be repeated."),
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """As `mace.explain` and `mace.audit` take them."""
        return {
            "distance": Path(self.distance) if self.distance.endswith(".mace") else self.distance,
            "weights": _pairs(self.weight or [], "--weight") or None,
            "rules": [Path(text) if text.endswith(".mace") else text for text in self.rule or []],
        }


PriceOption = Annotated[
    list[str] | None, typer.Option("--price", help="FEATURE=MONEY, for --objective cost. May be repeated.")
]


@dataclass(frozen=True)
class Prioritised:
    """Objectives in the place of a distance."""

    objective: Annotated[
        list[str] | None,
        typer.Option(
            "--objective",
            help="In the place of --distance, the most important first: l0, l1, linf, changes, cost, gower, a .mace "
            "file, a sum such as l1=1,changes=0.05; `l1 within 1%` leaves so much to the next. May be repeated.",
        ),
    ] = None
    price: PriceOption = None

    def of(self, measured: Measured) -> dict[str, Any]:
        """What is measured, as `mace.explain` takes it."""
        if self.price and not any("cost" in text for text in self.objective or ()):
            raise MaceError("--price is what a change costs, and no objective counts that", hint="--objective cost")
        if not self.objective:
            return measured.settings
        from mace.problem.objectives import Objective

        settings, prices = measured.settings, _pairs(self.price or [], "--price")
        weights = settings.pop("weights")

        def weighs(text: str) -> bool:
            return "=" in text or text.startswith(("l0", "l1", "linf", "gower", "plausibility"))

        def objective(text: str) -> Objective:
            priced = "=" in text or text.startswith("cost")
            return Objective(text, weights if weighs(text) else None, prices if priced else None)

        if weights and not any(map(weighs, self.objective)):
            hint = "l0, l1, linf, gower and plausibility take weights."
            raise MaceError("--weight is what a change weighs, and no objective counts that", hint=hint)
        return {**settings, "objectives": [objective(text) for text in self.objective]}


@dataclass(frozen=True)
class RowAndGoal:
    """Which row, and what is wanted for it."""

    row: Annotated[int, typer.Option("--row", help="Which row of the data to explain, from 0.")] = 0
    goal: Annotated[
        str | None,
        typer.Option(
            "--goal",
            help="The class wanted, or `not 0`, `p(good) >= 0.7`, `good by 0.1`, `300 <= y <= 350`, "
            "`y within 5% of 320`. Default: any class but the present one.",
        ),
    ] = None
    most_changes: Annotated[int | None, typer.Option("--most-changes", help="Change at most this many features.")] = (
        None
    )


@dataclass(frozen=True)
class Several:
    """How many answers, and how they differ."""

    count: Annotated[int, typer.Option("--count", help="How many different answers.")] = 1
    together: Annotated[
        bool, typer.Option("--together", help="The answers as one set, with the least sum of distances.")
    ] = False
    diversity: Annotated[
        str,
        typer.Option(
            "--diversity",
            help="features, points, or the least distance between two answers; "
            "with --together also F, FV, F+FV, F=0.01.",
        ),
    ] = "features"

    @property
    def settings(self) -> dict[str, Any]:
        """As `mace.explain` takes them."""
        return {"count": self.count, "together": self.together, "diversity": self.diversity}


@dataclass(frozen=True)
class Proposing:
    """A heuristic that looks for near points."""

    proposer: Annotated[
        str | None,
        typer.Option(
            "--proposer",
            help="Look for near points beside the prover, or of a model that is only asked: tabu, lns, swarm, mo, pft, "
            "ar, spheres, face-knn, face-radius, nsga2, ga, dice-random, dice-genetic.",
        ),
    ] = None
    max_calls: Annotated[
        int | None, typer.Option("--max-calls", help="How many rows a search may ask the model about.")
    ] = None
    random_state: Annotated[
        int, typer.Option("--random-state", help="The seed of a proposer's search: the same one repeats it.")
    ] = 0

    @property
    def settings(self) -> dict[str, Any]:
        """As `mace.explain` takes them."""
        return {"proposer": self.proposer, "max_calls": self.max_calls, "random_state": self.random_state}


@dataclass(frozen=True)
class Limits:
    """What each answer may take."""

    timeout: Annotated[float, typer.Option("--timeout", help="Seconds for each answer; 0 means no limit.")] = 60.0
    memory_mb: Annotated[int, typer.Option("--memory-mb", help="MB for each answer.")] = 4096

    @property
    def settings(self) -> dict[str, Any]:
        """As `mace.explain` and `mace.audit` take them."""
        return {"timeout": self.seconds, "memory_mb": self.memory_mb}

    @property
    def seconds(self) -> float | None:
        """The time limit as the library takes it; raises MaceError."""
        if not self.timeout >= 0:
            raise MaceError(f"--timeout must be a number of seconds > 0, or 0 for no limit; got {self.timeout:g}")
        return self.timeout or None


def read_space(name: str) -> Space:
    """A space by its file, or by the name of a data set."""
    from mace import datasets
    from mace.space.space import Space

    if name in datasets.NAMES:
        return Space.load(Path(datasets.__file__).parent / f"{name}.toml")
    if not Path(name).exists():
        known = f"Give the path of a space file (TOML), or the name of a data set: {', '.join(datasets.NAMES)}."
        raise FileError(f"{name}: there is no such file", hint=meant(name, datasets.NAMES, known))
    return Space.load(name)


_NAME = re.compile(r'\s*(?:"((?:[^"]|"")+)"\s*(?=,|\Z)|([^,]*))(?:,|\Z)')


def names_of(text: str | None) -> list[str]:
    """Names with commas between them; one that has a comma stands in double quotes, as in a CSV file."""
    found = (quoted.replace('""', '"') or bare for quoted, bare in _NAME.findall(text or ""))
    return [name.strip() for name in found if name.strip()]


def _pairs(texts: list[str], option: str) -> dict[str, object]:
    pairs: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals:
            raise MaceError(f"{option} {text!r}: expected NAME=NUMBER")
        if name.strip() in pairs:
            raise MaceError(f"{option} gives {name.strip()!r} twice", hint="Leave one of them out.")
        pairs[name.strip()] = value.strip()
    return pairs
