"""What can be read, as a Markdown table made from the registry: `python -m mace.compilers.coverage`.

In:  `libraries()`, and STEPS of pipelines.
Out: text; COVERAGE.md beside this file holds it, and a test compares the two.
"""

from __future__ import annotations

import sys

from mace.compilers import libraries, readers
from mace.compilers.enclosures.registry import ENCLOSED
from mace.compilers.enclosures.steps import STEPS as BOUNDED_STEPS
from mace.compilers.library import FileType
from mace.compilers.pipeline.steps import PARTS, STEPS

_HEAD = """# What can be read

Made by `python -m mace.compilers.coverage > compilers/COVERAGE.md`. "exact": the table repeats the library bit by bit.
"margin": within a rigorous bound, so that answers stay sound and only points within the bound are in doubt. What is
refused is an error that names it.

| model | arithmetic | refused |
|---|---|---|
"""
_UNREAD = """
A model that holds another one may also hold a pipeline: it is read over the pipeline's columns. Of what is often asked
for, these are not read:

| model | instead |
|---|---|
"""
_BOXES = """
## Bounded over boxes

These have no table, or not in this form. `mace.explain` asks their own `predict`, and bounds what they say over boxes
of rows: by intervals and slopes, in floats that are rounded outwards by more than the library may round. So an answer
is proved "optimal" (within `gap` and `rgap`, by default a thousandth) or "infeasible", but there is no certificate.
Where time ends first, both bounds are reported. Distances are norms, no value may be missing, and of several answers
the first is proved.

| model | what of it |
|---|---|
{models}

Steps directly before them, or before models with a table: {steps}; and, of a number before a
linear model or a network, `log`, `log1p`, `sqrt`, powers, quantiles and clips. Members and final estimators may be
pipelines of these.
"""
_STEPS = """
## Steps of a pipeline

Followed exactly, in {parts}, nested as they come, with "passthrough" and
"drop". Before trees a number may go through all of them: the tests become tests on the raw number. A linear
model over bins, with no other numbers than integers of at most 1000 values, is one tree a feature; bins before others
and before networks are answered by the solvers. There `log`, `log1p`, `sqrt`, powers, quantiles and a clip that
has an effect are looked up for an integer feature, and bounded over boxes for a real one.

`PCA` directly before a linear model or a network is one more layer of it; before trees it is bounded over boxes. So is
`PolynomialFeatures`: products of dummies, and of dummies and one number, are one more layer, others are bounded.

Each stage is followed with its container and types, as the real steps give them. XGBoost takes what a sparse matrix
does not store for missing, all others for 0. Numbers in float32 between steps, and nullable types, are refused. A model
without a pipeline is given dense rows of float64.

| step | what becomes of a column |
|---|---|
"""
_FOOT = """
## Files

Model files need no `--trust-pickle`: {files}.

Those of XGBoost, LightGBM, CatBoost and ONNX are read without their libraries; with them, answers are confirmed by the
library's own `predict`. A PyTorch module with a `forward` of its own may be read through its ONNX export:
`torch.onnx.export(model, torch.zeros(1, columns), "model.onnx")`; the weights that it may write into a file beside the
model are read from there and from nowhere else.

CatBoost's own reader of JSON rounds numbers off, so that a `.json` of its models is read within a margin of 8 units of
rounding; the objects themselves are read exactly. Of published files these say what the library says on 11,000 rows, on
and beside their borders too: those of github.com/Imamhossain01/Cardiovascular-Disease-Prediction (300 trees) and
hxllmvdx/MatMod-glowbyte-case (1,000), two of kiwicom/catboost-cxx (1,001 and 993), ten of maxpoletaev/go-catboost (100
to 201; several classes, missing values, trees that are not symmetric) and catboost/catboost's own for Java. Sixteen
others were refused, as their trees ask for statistics of categories, three older ones as they have no `scale_and_bias`,
one as its categories have no names; five were binary files under the name of JSON.{unread}

A `.json` of XGBoost's `dump_model` holds trees alone. It is read with what it lacks, `--dump "objective=binary:logistic
base_score=0.5 columns=a,b,c"` or `load_model(path, dump=...)`, and answers say so; splits on categories are refused.
"""

_KINDS = """
### {endings}

Files of {name} are read as the standard says, without any program that scores them; where rounding, the order of a sum
or a tie between classes could decide, no answer rests on it. Read are, by the names of the format:

| kind of model | arithmetic | refused |
|---|---|---|
{read}

and not:

| kind of model | instead |
|---|---|
{unread}
"""


def table() -> str:
    """The whole document."""
    rows = [f"| `{path}` | {one.precision} | {one.refused or '-'} |" for path, one in sorted(readers().items())]
    parts = ", ".join(f"`{path.rpartition('.')[2]}`" for path in PARTS)
    steps = [f"| `{path}` | {(handler.__doc__ or '').strip()} |" for path, handler in sorted(STEPS.items())]
    files = ", ".join(
        f"{' and '.join(f'`{ending}`' for ending in kind.endings)} ({library.name})"
        for library in libraries()
        for kind in library.files
    )
    unread = [
        f"| `{path}` | {instead} |" for library in libraries() for path, instead in sorted(library.unread.items())
    ]
    binary = "".join(
        f" A `{ending}` of {library.name} is not read. {instead}"
        for library in libraries()
        for ending, instead in library.unread_files.items()
    )
    body = (
        "\n".join(rows)
        + "\n"
        + _UNREAD
        + "\n".join(unread)
        + "\n"
        + _boxes()
        + _STEPS.format(parts=parts)
        + "\n".join(steps)
        + "\n"
    )
    return _HEAD + body + _FOOT.format(files=files, unread=binary) + "".join(map(_kinds, _of_many_programs()))


def _boxes() -> str:
    """What is bounded over boxes."""
    models = [f"| `{path}` | {what} |" for path, (_, what) in sorted(ENCLOSED.items())]
    steps = ", ".join(f"`{path.rpartition('.')[2]}`" for path in sorted(BOUNDED_STEPS))
    return _BOXES.format(models="\n".join(models), steps=steps)


def _of_many_programs() -> list[tuple[str, FileType]]:
    """The types of files that many programs write, with the names of their formats."""
    return [(library.name, kind) for library in libraries() for kind in library.files if kind.models]


def _kinds(one: tuple[str, FileType]) -> str:
    name, kind = one
    read = [f"| `{what}` | {found.precision} | {found.refused or '-'} |" for what, found in sorted(kind.models.items())]
    unread = [f"| `{what}` | {instead} |" for what, instead in sorted(kind.unread.items())]
    endings = " and ".join(f"`{ending}`" for ending in kind.endings)
    return _KINDS.format(endings=endings, name=name, read="\n".join(read), unread="\n".join(unread))


if __name__ == "__main__":
    sys.stdout.write(table())
