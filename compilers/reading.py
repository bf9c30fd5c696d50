"""From a trained model to its table: the reader of its class, and those of the models that it has inside.

In:  a library's own model object, or a `ModelFile`.
Out: `read(model)`, a table of plain numbers (`mace.tables.table`), checked, and compared with the library's `predict`;
     `read_coded` and `read_chain`, the same without the comparison.
Promise: a class that has no reader, a model that is not fitted, and a table whose indices, shapes or numbers do not fit
together are a ModelError that says which; no library is imported to find out which class a model has.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mace.base.suggestions import closest
from mace.compilers.crosscheck import cross_check_matrix
from mace.compilers.libraries import libraries, readers
from mace.compilers.library import descends, public_name
from mace.compilers.model_file import ModelFile
from mace.compilers.registry import Chain, chain_of, deployed, registered, step_of, unreadable
from mace.compilers.side_by_side import side_by_side
from mace.compilers.sklearn.common import DAMAGE
from mace.compilers.sklearn.projections import projected
from mace.errors import ModelError, UnreadableError
from mace.tables.table import Table
from mace.tables.validity import validate

# What a subclass may not redefine: its decision would no longer be that of the class whose reader is used.
_DECIDING = (
    "predict", "predict_proba", "decision_function", "score_samples", "_predict", "_raw_predict", "_forward_pass_fast",
    "_joint_log_likelihood", "_check_X",
)  # fmt: skip


def read(model: object, known: Sequence[Sequence[float]] | None = None) -> Table:
    """The table of a fitted model: plain numbers, validated, and compared with the model's own `predict`.

    model: an object of one of the classes in `readers()`, or of a subclass that decides in the same way.
    known: for every column of the model, numbers that it holds in use, which are tried too.
    Raises ModelError for any other class, an unfitted model, or a damaged one, for one whose library says otherwise
    than its table, and for a pipeline or a model that codes the categories of a frame by itself: these are compiled
    over a space of their raw columns (`pipeline.reader.compile_raw`).
    """
    table = read_coded(model)
    if step_of(model) is not None:
        raise ModelError(
            f"{table.name} was fitted on a frame with categories, which it numbers by itself",
            hint="It is read over the frame's own columns: give a space of these.",
        )
    cross_check_matrix(table, deployed(model), known)
    return table


def read_coded(model: object) -> Table:
    """As `read`, for any supported model: the table of one that codes categories by itself sees these codes."""
    chain = chain_of(model)
    if chain.steps is not None:
        over = f"{type(chain.wrappers[0]).__name__} over a pipeline" if chain.wrappers else "a pipeline"
        raise ModelError(f"{over} is read over the columns of a space", hint="Give its space as well (--space).")
    return read_chain(chain)


def read_chain(chain: Chain) -> Table:
    """The table of a model over what its last step is given, whatever stands before that."""
    table, inner = projected(chain.mixing, _read_one(chain.final)), chain.final
    for model in reversed(chain.wrappers):
        table = _read_one(model, inner, table)
        found = registered(model)
        if found is None or not found.reader.passes_on:
            inner = model
    return table


def _read_one(model: Any, *inside: Any) -> Table:
    """What the reader of a model's class makes of it.

    inside: the model inside, and its table; nothing for a model without one.
    """
    if isinstance(model, ModelFile):
        return validate(model.table())
    found = registered(model)
    if found is None:
        raise _unsupported(model)
    refuse_other_decision(model, found.kind)
    try:
        members = found.reader.members(model) if found.reader.members is not None and not inside else ()
        if coding := [member for member in members if step_of(member) is not None]:
            raise UnreadableError(
                f"{type(model).__name__}: its {type(coding[0]).__name__} numbers categories by itself, which is not "
                "supported for one of several members",
                hint="Encode the categories in a step before it: make_pipeline(OrdinalEncoder(), ..).",
            )
        if members:
            chains = [chain_of(member) for member in members]
            tables = [read_chain(chain) for chain in chains]
            apart = any(chain.steps is not None for chain in chains)
            inside = (None, None, side_by_side(tables) if apart else tables, [chain.final for chain in chains])
        return validate(found.reader.read(model, *inside))
    except DAMAGE as error:
        raise unreadable(found.path, error) from error


def _unsupported(model: object) -> ModelError:
    """The error for a class without a reader."""
    kind = type(model)
    near = closest(kind.__name__, (path.rpartition(".")[2] for path in readers()), alike=0.8)
    hint = f"The nearest that is read is {near}. " if near else ""
    hint += f"compilers/COVERAGE.md lists all {len(readers())} classes that are read; `mace doctor` the libraries."
    for library in libraries():
        hint = next((what for path, what in library.unread.items() if descends(model, path)), hint)
    if isinstance(model, type):
        return ModelError(f"{model.__qualname__} is a class, not a trained model", hint=hint)
    error = UnreadableError if callable(getattr(model, "predict", None)) or callable(model) else ModelError
    return error(f"models of class {public_name(kind)} are not supported", hint=hint)


def refuse_other_decision(model: object, base: type) -> None:
    """Raise unless `model` decides by the methods of `base` itself."""
    kind = type(model)
    for name in _DECIDING:
        if name in getattr(model, "__dict__", {}) or _definition(kind, name) is not _definition(base, name):
            raise UnreadableError(
                f"{public_name(kind)} has its own `{name}`, so it may decide otherwise "
                f"than {base.__qualname__}, whose numbers would be read"
            )


def _definition(kind: type, name: str) -> object:
    """What a class says about a name itself or through its bases, before any descriptor acts."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
