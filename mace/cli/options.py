"""Options that several commands share, and what they stand for.

A frozen dataclass is a group of options: what a command takes to name a model and a table, to measure, to pick a row.
Its methods turn what was typed into what the package works on. `flat` gives a command the fields of the groups among
its parameters, so that each option is written once. Nothing heavy is imported before a method needs it.
"""

from __future__ import annotations

import functools
import inspect
import re
import shutil
import sys
import textwrap
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import MISSING, Field, dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeAlias, get_args, get_origin, get_type_hints

import typer

from mace.base.console import console
from mace.base.escape import json_text, lines, short
from mace.base.meant import among, meant
from mace.cli.alive import alive
from mace.cli.faults import explained
from mace.errors import FileError, MaceError, RowError

if TYPE_CHECKING:
    import pandas as pd

    from mace.explain.explainer import Explainer
    from mace.explain.unread import Unread
    from mace.problem.question import Question
    from mace.space.space import Space
    from mace.worlds.world import World

SHOWN = re.compile(r" *\d* \| ")  # a line of a program in a message, or what marks a place in it
WIDEST = 1_000_000  # columns of what is no terminal
DONE, UNDECIDED, NOT_FOUND, USAGE, INTERNAL, SOLVERS_AGREE = 0, 5, 10, 2, 6, 7


class Format(str, Enum):
    """How results are printed."""

    text = "text"
    json = "json"


FormatOption: TypeAlias = Annotated[Format, typer.Option("--format", help="text or json.")]
OracleOption: TypeAlias = Annotated[
    str, typer.Option("--oracle", help="auto, ensembles, networks, smt, z3, cvc5 or search.")
]
GroupsOption: TypeAlias = Annotated[str | None, typer.Option("--groups", help="Columns to compare by: Sex,AgeGroup.")]
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
        typer.Option("--data", help="A CSV file, or adult, credit, compas, german (read from $MACE_DATA), loans."),
    ] = None

    target: Annotated[
        str | None, typer.Option("--target", help="The column of a CSV file that the model predicts: left out.")
    ] = None
    drop: Annotated[str | None, typer.Option("--drop", help="Columns of a CSV file to leave out: Id,Date.")] = None

    def read_table(self) -> tuple[pd.DataFrame, Space]:
        """The table, and the space: the one given, the data set's own, or one inferred (and said so on stderr)."""
        from mace import datasets
        from mace.space.space import Space

        alive.doing = "reading the table"
        if self.data is None:
            raise MaceError("no data given", hint="--data table.csv, or the name of a data set: --data loans.")
        if self.data in datasets.NAMES:
            if self.target is not None or self.drop is not None:
                option = "--target" if self.target is not None else "--drop"
                hint = f"What is not asked for is left out of {self.data} already."
                raise MaceError(f"{option} is about a CSV file, and {self.data} is a data set by name", hint=hint)
            dataset = datasets.load(self.data)
            return dataset.X, read_space(self.space) if self.space else dataset.space
        from mace.cli.table import read_csv

        known = f"Data sets by name: {', '.join(datasets.NAMES)}."
        frame = read_csv(self.data, meant(self.data, datasets.NAMES, known))
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
            return frame, read_space(self.space)
        taken, left = self._taken(frame)
        inferred = Space.from_frame(frame[taken])
        say(f"no --space given; inferred from {self.data}:", err=True)
        if left:
            say(f"  left out, since the model does not take them: {', '.join(left)}", err=True)
        for note in inferred.notes:
            say(f"  {note}", err=True)
        return frame, inferred

    def _taken(self, frame: pd.DataFrame) -> tuple[list[Any], list[str]]:
        """The columns that the model was fitted on, if the table has them all, and the others."""
        from mace.explain.inferred import columns_of

        names = list(frame.columns)
        taken = set() if self.model is None else set(columns_of(self.read_model()))
        if not taken or not taken <= set(names):  # fitted on columns that a space encodes, or it does not say
            return names, []
        return [name for name in names if name in taken], [str(name) for name in names if name not in taken]

    @property
    def favourable(self) -> Any:
        """The goal of a data set that is known by name; None for any other table."""
        from mace import datasets

        return datasets.load(self.data).goal if self.data in datasets.NAMES else None


@dataclass(frozen=True)
class Measured:
    """How far is far, and what must hold between features."""

    distance: Annotated[
        str, typer.Option("--distance", help="l0, l1, linf, a mixture such as l0=0.5,l1=0.5, or a .mace file.")
    ] = "l1"
    weight: Annotated[list[str] | None, typer.Option("--weight", help="FEATURE=NUMBER. May be repeated.")] = None
    rule: Annotated[
        list[str] | None,
        typer.Option("--rule", help="A condition between features, or a .mace file. May be repeated."),
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """As `mace.explain` and `mace.audit` take them."""
        distance: object = self.distance
        if self.distance.endswith(".mace"):
            distance = Path(self.distance)
        elif "=" in self.distance:
            distance = _pairs(self.distance.split(","), "--distance")
        return {
            "distance": distance,
            "weights": _pairs(self.weight or [], "--weight") or None,
            "rules": [Path(text) if text.endswith(".mace") else text for text in self.rule or []],
        }


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
    price: Annotated[
        list[str] | None, typer.Option("--price", help="FEATURE=MONEY, for --objective cost. May be repeated.")
    ] = None

    def of(self, measured: Measured) -> dict[str, Any]:
        """What is measured, as `mace.explain` takes it."""
        if self.price and not any("cost" in text for text in self.objective or ()):
            raise MaceError("--price is what a change costs, and no objective counts that", hint="--objective cost")
        if not self.objective:
            return measured.settings
        from mace.problem.objectives import Objective

        settings, prices = measured.settings, _pairs(self.price or [], "--price")
        weights = settings.pop("weights")

        def objective(text: str) -> Objective:
            total = "=" in text
            weighs = total or text.startswith(("l0", "l1", "linf", "gower"))
            return Objective(text, weights if weighs else None, prices if total or text.startswith("cost") else None)

        return {**settings, "objectives": [objective(text) for text in self.objective]}


@dataclass(frozen=True)
class Asked:
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


def explainer_of(
    given: Given, measured: Measured, asked: Asked, prioritised: Prioritised | None = None
) -> tuple[Explainer, pd.Series[Any]]:
    """The explainer of a model that is read, and the row that is asked about."""
    from mace.explain.explainer import Explainer

    space, row, settings = _read(given, measured, asked, prioritised)
    return Explainer(given.read_model(), space, **settings), row


def explainer_by_oracle(
    given: Given, measured: Measured, asked: Asked, prioritised: Prioritised, oracle: str
) -> tuple[Explainer | Unread, pd.Series[Any]]:
    """The explainer of any model, and the row: what no reader takes, or `--oracle search`, is only asked."""
    from mace.explain.explainers import explainer_of

    space, row, settings = _read(given, measured, asked, prioritised)
    return explainer_of(given.read_model(), space, oracle, **settings), row


def row_of(frame: pd.DataFrame, number: int) -> pd.Series[Any]:
    """A row of the data, by its number; raises RowError where there is none."""
    if not 0 <= number < len(frame):
        has = f"the data has the rows 0..{len(frame) - 1}" if len(frame) else "the data has no rows"
        raise RowError(f"--row {number}: {has}")
    return frame.iloc[number]


def _read(
    given: Given, measured: Measured, asked: Asked, prioritised: Prioritised | None
) -> tuple[Space, pd.Series[Any], dict[str, Any]]:
    """The space, the row, and what an explainer is made with."""
    frame, space = given.read_table()
    row = row_of(frame, asked.row)
    settings = measured.settings if prioritised is None else prioritised.of(measured)
    return space, row, {"background": frame, **settings}


def question_of(given: Given, measured: Measured, asked: Asked) -> Question:
    """The question about the row."""
    explainer, row = explainer_of(given, measured, asked)
    return explainer.question(row, asked.goal, asked.most_changes)[0]


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


class Planned(NamedTuple):
    """What plans are asked for."""

    model: object
    space: Space
    world: World | str | Path
    frame: pd.DataFrame
    goal: object

    def row(self, number: int) -> pd.Series[Any]:
        """A row of the data, by its number."""
        return row_of(self.frame, number)


def planned_of(given: Given, world: str | None, goal: object) -> Planned:
    """The model, the space, the world and the data that plans are asked for; of a benchmark what is not given."""
    from mace import datasets

    if given.data in datasets.PERSONS:
        persons = datasets.load(given.data)
        assert isinstance(persons, datasets.Persons)
        model = persons.model if given.model is None else given.read_model()
        space, frame = read_space(given.space) if given.space else persons.space, persons.X
        world, goal = world or persons.name.removeprefix("cscf-"), persons.goal if goal is None else goal
    else:
        frame, space = given.read_table()
        model = given.read_model()
        goal = given.favourable if goal is None else goal
    if world is None:
        raise MaceError("no world given", hint="--world actions.mace, or the name of one that comes with mace: loans.")
    return Planned(model, space, world, frame, goal)


def space_of(given: Given) -> Space:
    """The space that is given, or that of the data."""
    from mace import datasets

    if given.space is not None:
        return read_space(given.space)
    if given.data in datasets.PERSONS:
        return datasets.load(given.data).space
    return given.read_table()[1]


def names_of(text: str | None) -> list[str]:
    """Names with commas between them."""
    return [name.strip() for name in (text or "").split(",") if name.strip()]


def say(text: object, *, err: bool = False, nl: bool = True) -> None:
    """Print a text on stdout or stderr: the only place of the command line that prints one.

    nl: False for code, of which nothing is changed; on a terminal the lines of other texts are broken between words.
    """
    alive.spoke()
    said = lines(text)
    typer.echo(wrapped(said) if nl and (sys.stderr if err else sys.stdout).isatty() else said, err=err, nl=nl)


def print_json(value: object) -> None:
    """Print JSON, and nothing else, on stdout."""
    alive.spoke()
    typer.echo(json_text(value, indent=2, allow_nan=True))


def terminal() -> Any:
    """Where tables are printed; what is not a terminal gets lines that are neither cut nor broken."""
    alive.spoke()
    return console() if sys.stdout.isatty() else console(soft_wrap=True, width=WIDEST)


def wrapped(text: str) -> str:
    """A text for a terminal: long lines are broken between words, and go on farther to the right.

    A line of somebody's program, numbered, or marked below, stays as it is.
    """
    width = max(40, shutil.get_terminal_size().columns)
    return "\n".join(
        line
        if SHOWN.match(line)
        else textwrap.fill(
            line, width, subsequent_indent=" " * (len(line) - len(line.lstrip()) + 4), break_long_words=False,
            break_on_hyphens=False, drop_whitespace=True,
        )
        for line in text.split("\n")
    )  # fmt: skip


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """The command with every group of options among its parameters replaced by the fields of the group.

    typer reads the options of a command from its signature; the command itself is called with the groups.
    """
    groups: dict[str, Any] = {}
    shown: list[inspect.Parameter] = []
    hints = get_type_hints(command, include_extras=True)
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        if is_dataclass(kind) and isinstance(kind, type):
            groups[name] = kind
            inside = get_type_hints(kind, include_extras=True)
            shown += [_parameter(field.name, inside[field.name], _default(field)) for field in fields(kind)]
        else:
            shown.append(_parameter(name, kind, parameter.default))

    @functools.wraps(command)
    def called(**values: Any) -> None:
        made = {
            name: kind(**{field.name: values.pop(field.name) for field in fields(kind)})
            for name, kind in groups.items()
        }
        with explained(), typed:
            command(**made, **values)

    typed = _Typed(shown)
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in shown}
    called.__signature__ = inspect.Signature(shown)  # type: ignore[attr-defined]
    return called


class _Typed(AbstractContextManager[None]):
    """Messages about an argument of a function name the option that was typed for it."""

    def __init__(self, shown: list[inspect.Parameter]) -> None:
        names = "|".join(parameter.name for parameter in shown)
        self._argument = re.compile(rf"({names}) must be ")

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        if isinstance(error, MaceError) and (found := self._argument.match(error.message)):
            said = f"--{found[1].replace('_', '-')} must be {error.message[found.end() :]}"
            # None cannot be typed.
            error.reword(said.replace(", or None for no limit", "").replace(" or None for all cores", " for all cores"))


def _parameter(name: str, kind: Any, default: object) -> inspect.Parameter:
    # typer's own messages about numbers do not say what was typed, and are made for programs.
    plain, *said = get_args(kind) if get_origin(kind) is Annotated else (kind,)
    for number, (parser, metavar) in NUMBERS.items():
        if number in (plain, *get_args(plain)):
            for option in said:
                option.parser, option.metavar = parser, option.metavar or metavar
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _whole(typed: str) -> int:
    try:
        return int(typed)
    except ValueError:
        raise typer.BadParameter(f"must be a whole number, got {short(typed)}") from None


def _number(typed: str) -> float:
    try:
        return float(typed)
    except ValueError:
        raise typer.BadParameter(f"must be a number, got {short(typed)}") from None


NUMBERS: dict[type, tuple[Callable[[str], Any], str]] = {int: (_whole, "<int>"), float: (_number, "<float>")}


def _default(field: Field[Any]) -> object:
    return inspect.Parameter.empty if field.default is MISSING else field.default


def _pairs(texts: list[str], option: str) -> dict[str, object]:
    pairs: dict[str, object] = {}
    for text in texts:
        name, equals, value = text.rpartition("=")
        if not equals:
            raise MaceError(f"{option} {text!r}: expected NAME=NUMBER")
        pairs[name.strip()] = value.strip()
    return pairs
