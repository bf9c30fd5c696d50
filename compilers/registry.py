"""Everything that depends on the library of a model asks here; `libraries.py` has the list of them.

In:  a model of any library, or a `ModelFile`.
Out: its `Library`, its `Reader`, the deployed model, how its categories are numbered.
Promise: no library is imported to find out which class a model has.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, NamedTuple

from mace.base.classes import module_of, package_of
from mace.base.files import read_bytes
from mace.compilers.deployed import Deployed, as_estimator, as_it_is, as_rows, as_values, names_of
from mace.compilers.libraries import file_types, known, libraries, readers_near
from mace.compilers.library import FileType, Intake, Library, Reader, is_class
from mace.compilers.model_file import ModelFile
from mace.compilers.pipeline.steps import is_pipeline
from mace.compilers.recoding import Recoding
from mace.compilers.sklearn.common import DAMAGE
from mace.compilers.sklearn.projections import mixes
from mace.errors import ModelError, UnreadableError
from mace.space.feature import Feature
from mace.space.space import Space

LARGEST_FILE = 2**30  # bytes


def extras() -> dict[str, tuple[str, ...]]:
    """What `mace.base.versions` is asked about: the libraries that mace does not depend on, and skops."""
    wanted = [library.distributions for library in libraries() if library.extra]
    found = {name: names for distributions in wanted for name, names in distributions.items()}
    return {**found, "skops": ("skops",)}


def file_type(path: Path) -> FileType | None:
    """The type of a model file; None if its ending is no type's. Raises FileError for a file that cannot be read."""
    packed = len(path.suffixes) > 1 and path.suffix == ".gz"
    found = file_types("".join(path.suffixes[-2:]) if packed else path.suffix)
    if len(found) < 2:
        return found[0] if found else None
    data = read_bytes(path, LARGEST_FILE)
    plain = next(kind for kind in found if kind.holds is None)
    return next((kind for kind in found if kind.holds is not None and kind.holds(data)), plain)


# ------------------------------------------------------------------------------------------------ classes of models


class Registered(NamedTuple):
    """A row of `Library.readers`, and the class of a model's that it is for: its own, or a base class."""

    path: str
    kind: type
    reader: Reader


def registered(model: object) -> Registered | None:
    """How a model is read; None for a class that is not."""
    for base in type(model).__mro__:
        for path, reader in readers_near(module_of(base)).items():
            if is_class(base, path):
                return Registered(path, base, reader)
    return None


def library_of(model: object) -> Library | None:
    """The library that a model, or the class from which its own is made, comes from."""
    if isinstance(model, ModelFile):
        return known(model.format.package)
    packages = (package_of(base) for base in type(model).__mro__)
    return next((library for package in packages if (library := known(package)) is not None), None)


class Chain(NamedTuple):
    """A model, and those that it has inside.

    wrappers: the models with another one inside, from the outermost in.
    steps:    those of pipelines on the way, with their names; None without a pipeline. Where the final model averages
              pipelines, the last one gives the columns of all of them.
    name:     the name of the last step of these.
    final:    the model that is given the matrix.
    side_by_side: whether the last step gives the columns of several models, beside each other.
    mixing:   the last of the steps, which mix columns and are read as layers of the final model's table.
    """

    wrappers: tuple[Any, ...]
    steps: tuple[tuple[str, Any], ...] | None
    name: str
    final: Any
    mixing: tuple[Any, ...] = ()
    side_by_side: bool = False


def chain_of(model: Any) -> Chain:
    """What a model has inside; raises ModelError for a model that is damaged, or not fitted."""
    wrappers: list[Any] = []
    steps: list[tuple[str, Any]] | None = None
    before = ""
    while True:
        if is_pipeline(model):
            inner = list(getattr(model, "steps", ()))
            if not inner:
                raise ModelError("the pipeline has no steps")
            steps = [*(steps or ()), *((before + name, step) for name, step in inner[:-1])]
            before, model = f"{before}{inner[-1][0]}__", inner[-1][1]
            continue
        inner = _inside(model)
        if inner is None:
            if (union := _before_members(model)) is not None:
                steps = [*(steps or ()), ("members", union)]
            mixing: list[Any] = []
            while steps and mixes(steps[-1][1]):
                mixing.insert(0, steps.pop()[1])
            kept = None if steps is None else tuple(steps)
            name = before.removesuffix("__")
            return Chain(tuple(wrappers), kept, name, model, tuple(mixing), union is not None)
        wrappers.append(model)
        model = inner


def _inside(model: Any) -> Any:
    """The model that one hands its rows to; None for one that hands them to none."""
    found = registered(model)
    if found is None or found.reader.inside is None:
        return None
    try:
        return found.reader.inside(model)
    except DAMAGE as error:
        raise unreadable(found.path, error) from error


def _members(model: Any) -> list[Chain]:
    """What each of the models has inside that one averages; none where it averages none."""
    found = registered(model)
    if found is None or found.reader.members is None:
        return []
    try:
        return [chain_of(member) for member in found.reader.members(model)]
    except DAMAGE as error:
        raise unreadable(found.path, error) from error


def _before_members(model: Any) -> Any:
    """The steps before each of the models that one averages, beside each other; None where they have none."""
    chains = _members(model)
    if all(chain.steps is None for chain in chains):
        return None
    from sklearn.pipeline import FeatureUnion, Pipeline

    return FeatureUnion([
        (f"member{number}", Pipeline([*(chain.steps or [("itself", "passthrough")])]))
        for number, chain in enumerate(chains)
    ])  # fmt: skip


def unreadable(path: str, error: Exception) -> ModelError:
    """The error for a model that `fit` cannot have left so: a reader looks at dozens of attributes, and each may be
    missing or of another type in a damaged model."""
    name = path.rpartition(".")[2]
    return ModelError(f"this {name} cannot be read ({type(error).__name__}: {error})", hint="Fit it again.")


def given_rows(final: Any) -> list[Any]:
    """The models that one averages, each inside of its own pipeline; or else itself."""
    return [chain.final for chain in _members(final)] or [final]


def intake_of(final: Any) -> Intake:
    """How the model reads the matrix that it is given; of one that averages others, how these do.

    Raises UnreadableError where some of these read it otherwise than others.
    """
    found = {Intake() if library is None else library.intake for library in map(library_of, given_rows(final))}
    if len(found) > 1:
        raise UnreadableError(f"{type(final).__name__} over models of several libraries is not supported")
    return found.pop()


# ------------------------------------------------------------------------------------------------- what they say


def deployed(model: Any, *, raw: Literal["frame", "array"] | None = None) -> Deployed:
    """The model as its users call it.

    raw: its frames hold columns of any type, categories among them, and it takes them as frames or as arrays without
         names; None: they hold numbers only.
    """
    given = {"frame": as_it_is, "array": as_values, None: as_rows}[raw]
    library = library_of(model)
    if isinstance(model, ModelFile):
        found = model.deployed(given)
    else:
        found = as_estimator(model, given) if library is None else library.deployed(model, given)
    return replace(found, spelled=spelling(model))


def spelling(model: Any) -> Callable[[str], str]:
    """How a model spells the name of a column: as the library does that is given the frame, and steps before it as it
    is.
    """
    chain = chain_of(model)
    if any(names_of(step) is not None for step in (*(step for _, step in chain.steps or ()), *chain.mixing)):
        return str
    # Votes keep the names of one of their members, which may be of several libraries; bagging its own.
    own = names_of(chain.final)
    library = library_of(next((one for one in given_rows(chain.final) if names_of(one) == own), chain.final))
    return str if library is None else library.spelled


def step_of(model: Any) -> Any:
    """The step that numbers the categories of the model that is given the matrix; None if its trees see the columns as
    they are given. Raises ModelError for categories whose numbering is not known."""
    final = chain_of(model).final
    library = library_of(final)
    return None if library is None else library.categories.step(final)


def takes_raw(model: Any, space: Space) -> bool:
    """Whether a model without such a step was still fitted on the space's raw columns: its categories are numbers.

    Raises ModelError for a model of such columns that does not say which number a category has.
    """
    final = chain_of(model).final
    library = library_of(final)
    return library is not None and library.categories.takes_raw(final, space)


def over_features(model: Any, space: Space) -> bool:
    """Whether a model is read over a space's raw columns (`pipeline.reader`), not over those that the space encodes.

    Raises ModelError for categories whose numbering is not known.
    """
    return chain_of(model).steps is not None or step_of(model) is not None or takes_raw(model, space)


def may_lack(space: Space) -> list[Feature]:
    """The numbers that a space's rows may lack, where a model is given the columns that it encodes."""
    return [feature for feature in space.features if feature.encoding == "as-is" and feature.missing]


def names_known(model: Any) -> tuple[str, ...] | None:
    """The names of the columns that a model was fitted on, wherever its library keeps them; None if it knows none."""
    library = library_of(model)
    if (found := names_of(model)) is not None or library is None:
        return found
    if (found := library.names(model)) is not None:
        return found
    try:
        return deployed(model).names
    except ModelError:  # it is not read
        return None


def types_asked(model: Any, space: Space) -> Mapping[str, str]:
    """`types_of` a model that is only asked, or of those that it hands its frames to; none where these do not say which
    categories they have."""
    chain = chain_of(model)
    if chain.steps is not None:  # its first step is given the frame
        return {}
    try:
        step = step_of(model)
        found = dict(types_of(model, step.on(space) if isinstance(step, Recoding) else step, space, behind=False))
    except ModelError:
        found = {}
    for member in () if found else _averaged(chain.final):
        found |= {name: kind for name, kind in types_asked(member, space).items() if found.get(name) != "category"}
    return found


def _averaged(final: Any) -> list[Any]:
    """The models of votes, stacks and calibrations, read or not."""
    members = getattr(final, "estimators_", None)
    calibrated = getattr(final, "calibrated_classifiers_", None) or ()
    return [*(members if isinstance(members, list) else ()), *(one.estimator for one in calibrated)]


def types_of(model: Any, step: Any, space: Space, *, behind: bool) -> Mapping[str, str]:
    """The features that the model takes as columns of pandas' type `category` (or one of whole numbers of a type), or
    as `object`, by name.

    behind: whether other steps of a pipeline come before it.
    """
    library = library_of(model)
    types = step.types() if isinstance(step, Recoding) else library.categories.types(model) if library else None
    if types is None:
        return {}
    if behind and "object" not in types.values():
        return {f.name: "category" for f in space.features if any(isinstance(level, str) for level in f.levels)}
    return {name: kind for name, kind in types.items() if name in space.names and not space[name].numeric}
