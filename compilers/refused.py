"""What is refused, why, and what to do instead, as a page made from the registry: `python -m mace.compilers.refused`.

In:  what the readers of `libraries()` say that they refuse, each part between two semicolons.
Out: text; docs/refused.md holds it, and a test compares the two, so that nothing is refused without advice.
"""

from __future__ import annotations

import sys
from typing import NamedTuple

from mace.base.suggestions import some
from mace.compilers import libraries
from mace.compilers.enclosures.registry import ENCLOSED
from mace.compilers.enclosures.steps import MIXING
from mace.compilers.pipeline.steps import UNREAD


class Advice(NamedTuple):
    """Why something is refused, and what to do instead."""

    why: str
    instead: str


_OUTPUTS = Advice(
    "A goal is about one output.",
    "Fit one model for each output.",
)
_MEMBERS = Advice(
    "What members say is no sum of the leaves of trees, and no linear function of the columns.",
    "Use trees, forests or linear models as members; or explain one member.",
)
_LINK = Advice("The link is not one that mace can turn round.", "Use one of the links that the message names.")
_PRODUCT = Advice(
    "A product of two numbers is not linear.", "Make the product a column of its own before the model, as an integer."
)
_OWN_COLUMN = Advice("It is no column by itself.", "Make it a column of the frame, and use that.")
_NOT_WRITTEN = Advice(
    "What it does to rows is not followed, and half of a model is not the model.",
    "Write the model without it; most programs can.",
)

ADVICE: dict[str, Advice] = {
    "several outputs": _OUTPUTS,
    "several labels a row": _OUTPUTS._replace(instead="Fit one model for each label."),
    "several targets": _OUTPUTS,
    "an `init` that is a model": Advice("It adds a model that may be of any kind.", "Leave `init` at its default."),
    "members other than trees": _MEMBERS._replace(instead="Use trees as members."),
    "hard votes of other models than trees": _MEMBERS._replace(instead='Use trees as members, or voting="soft".'),
    "more than two classes, but for means of trees and forests": Advice(
        "A mean of what exponentials make of several scores compares no scores.",
        "Use trees and forests as members, or explain one of the members.",
    ),
    "members whose probability is no known function of one score": Advice(
        "The mean of it is not known either.",
        "Calibrate them, or use trees, forests, gradient boosting, logistic regression, perceptrons.",
    ),
    "members that are pipelines and are given some of the columns": Advice(
        "Their steps are followed over all columns.", "Put the steps before the whole, or leave max_features at 1.0."
    ),
    "members that predict an exponential": Advice(
        "A mean of exponentials is no comparison of a score.", "Use members with a squared error."
    ),
    "members with sigmoids, networks, pipelines": _MEMBERS,
    "members that are not linear": _MEMBERS._replace(instead="Use linear models as members."),
    "regressors that are not linear": Advice(
        "A sum of outputs is one more layer of a linear model.", "Fit one model to the sum, or one for each output."
    ),
    "votes of other models than trees": _MEMBERS._replace(instead="Write the members as trees."),
    "trees and linear models together": Advice(
        "A table is either of trees or of layers.", "Leave out the ones or the others."
    ),
    "final estimators that are not linear": Advice(
        "What a tree makes of the members' scores has no exact table yet.", "Use the default final estimator."
    ),
    "`passthrough`": Advice("It mixes raw columns with scores.", "Fit it with passthrough=False."),
    "more than two classes, but for several single trees": Advice(
        "Each class is calibrated by itself, and the results are scaled to add up to 1.",
        "Explain the model inside; or calibrate single trees with ensemble=True.",
    ),
    "several members that number categories by themselves": Advice(
        "Each member may give the same category another number.",
        "Encode the categories in a step before it; of calibrated models, ensemble=False does as well.",
    ),
    "scores that are neither linear nor of gradient boosting": Advice(
        "Where along such a score the decision turns is not known.",
        "Explain the model inside, with a goal such as `p(good) >= 0.4`.",
    ),
    "probabilities that are means, of AdaBoost, naive Bayes, of calibrations by temperature": Advice(
        "These probabilities are no known function of one score.",
        "Explain the model inside, of means and calibrations with a goal such as `p(good) >= 0.4`.",
    ),
    "probabilities of 0 and 1 (`alpha=0`)": Advice("Their logarithms are infinite.", "Fit it with alpha > 0."),
    "kernels that are not linear": Advice(
        "A score is then a sum over stored rows.", 'Use kernel="linear", LinearSVC, or trees.'
    ),
    "four classes and more": Advice(
        "The votes of pairs need more comparisons than a table has.", "Use LinearSVC, which has one score a class."
    ),
    "sparse rows": Advice("The library computes these in another way.", "Fit it on a dense matrix."),
    "transformers that are neither a StandardScaler nor a logarithm": Advice(
        "The way back to the target is not known.", "Use one of these, or transform the target yourself."
    ),
    "hidden layers that are neither relu nor identity": Advice(
        "A smooth layer has no exact pieces.", 'Fit it with activation="relu".'
    ),
    "gblinear": Advice("It has no trees.", "Use LogisticRegression, or trees."),
    "`missing` other than NaN": Advice("A number would be a missing one.", "Use NaN for what is missing."),
    "objectives with other links": _LINK,
    "losses with several outputs or other links": _LINK,
    "other families and links": _LINK,
    "other links than identity, log, logit, probit, cauchit": _LINK,
    "simplemax, cloglog": _LINK,
    "sums that are probabilities (none)": Advice(
        "Programs differ: to some the second of two classes has 1 minus the first sum, to others its own.",
        "Write it with softmax or logit.",
    ),
    "versions before 2, from 4": Advice("Their files and sums differ.", "Fit or save it with version 2 or 3."),
    "linear leaves": Advice("Leaves are then no constants.", "Fit it with linear_tree=False."),
    "zero_as_missing": Advice("A zero would be a missing value.", "Use NaN for what is missing."),
    "pred_early_stop": Advice("Not all trees count for every row.", "Leave it off."),
    "statistics of categories (CTR)": Advice(
        "They are numbers of the training rows' targets.", "Fit it with one_hot_max_size as large as the categories."
    ),
    "columns of texts and embeddings": Advice("They are no numbers or levels.", "Fit it without these columns."),
    "categories that are neither texts nor whole numbers": Advice(
        "How they are looked up depends on their type.", "Write levels as texts or whole numbers."
    ),
    "other functions of columns than `log`, `log1p` and `sqrt`, and products of two numbers, in a formula": _OWN_COLUMN,
    "fields derived by other functions than + - * /, or tests of sums of several": _OWN_COLUMN,
    "modules with a forward of their own": Advice(
        "What a forward does is Python, which is not followed.",
        "Write the module as a Sequential; or export it as ONNX, which is read where it holds a chain of dense layers.",
    ),
    "hooks": Advice("They are Python, and may change any number.", "Remove them."),
    "activations other than ReLU and LeakyReLU": Advice(
        "They are not piecewise linear.", "Train with ReLU or LeakyReLU."
    ),
    "convolutions": Advice("Only dense layers are followed so far.", "Export the module as a chain of dense layers."),
    "several scores behind a Sigmoid": _OUTPUTS,
    "training mode": Advice("Dropout and norms then differ from call to call.", "Call model.eval() first."),
    "parameters other than float32 or float64 throughout": Advice(
        "The bounds of rounding are those of these two types.", "Use model.float() or model.double()."
    ),
    "offsets": Advice("They differ from row to row, and are not in the frame.", "Make it a column."),
    "offsets, contrasts": Advice("They are not in the frame, or no dummies.", "Make them columns, or dummies."),
    "operations other than those of dense layers and tree ensembles": Advice(
        "They have no table.", "Export dense layers with ReLU, or trees."
    ),
    "several inputs": Advice("A row is one matrix.", "Export the model with one input."),
    "trees with BRANCH_MEMBER, several targets, numbers in float64, or other aggregates than sums": Advice(
        "Runtimes differ in what they make of them.", "Give the model of its library itself."
    ),
    "estimators that are not linear": Advice("Points are then no sum.", "Use a linear estimator."),
    "binning_transform_params": Advice("They change what the estimator sees.", "Leave them at their default."),
    "models inside of nodes": _NOT_WRITTEN,
    "weighted sums of rules": Advice(
        "What rules add up to is no tree yet.", "Let the first rule decide, or the heaviest: firstHit, weightedMax."
    ),
    "dates": Advice("A space has no dates.", "Make them numbers before the model."),
    "segments for some rows only in means, votes and chains, or of models that add numbers up": Advice(
        "A mean of some, or a number that counts in some rows, is no sum of trees.",
        "Explain the model of one segment; or write the first segment that takes a row, or a sum, of trees.",
    ),
    "chains through classes": Advice("What a model decides is no number of a sum.", "Write the chain as one tree."),
    "medians, the largest of several": _NOT_WRITTEN,
    "several models in one file": Advice(
        "Scorers use the first, and the other may be the one that is meant.", "Keep one."
    ),
    "functions of the file's own": _NOT_WRITTEN._replace(instead="Write what they do where they are used."),
    "lists and several intervals of valid numbers": Advice(
        "Between them lie numbers without a prediction, which a space does not leave out.",
        "Keep one interval, or let invalidValueTreatment say what becomes of the others.",
    ),
    "powers and products of predictors": _PRODUCT,
    "products with a number": _PRODUCT,
    "ordinal and Cox models": Advice("They have probabilities of their own kind.", "Use a multinomial model."),
    "partial scores that are computed": _NOT_WRITTEN,
}
MOST_OWNERS = 3  # classes or kinds of models by name
_HEAD = """# What is refused, and what to do instead

A model that is read is answered with certificates; this page says what stands in the way, and how to get there. A model
of a class that is not read, or with most of what is refused below, can still be asked: `mace.explain` searches with its
`predict`, and says that nothing is proved. There are two exceptions, whose answers are proved without a certificate:
small finite spaces, where it asks about every point, and models that it bounds over boxes of rows ({boxes};
compilers/COVERAGE.md says what of them).

The page is made by `python -m mace.compilers.refused > docs/refused.md`.

## Parts of models that are read

| refused | of | why | instead |
|---|---|---|---|
"""
_STEPS = """
## Steps of a pipeline

| not followed | why | instead |
|---|---|---|
"""
_CLASSES = """
## Classes and kinds of models

| not read | instead |
|---|---|
"""


def parts() -> dict[str, list[str]]:
    """What is refused, part by part, and of which classes or kinds of models."""
    readers = [(path.rpartition(".")[2], one) for library in libraries() for path, one in library.readers.items()]
    readers += [
        (f"{library.name} {name}", one)
        for library in libraries() for kind in library.files for name, one in kind.models.items()
    ]  # fmt: skip
    found: dict[str, list[str]] = {}
    for name, reader in readers:
        for part in filter(None, reader.refused.split("; ")):
            found.setdefault(part, []).append(name)
    return found


def page() -> str:
    """The whole document; raises KeyError for what is refused without advice."""
    rows = []
    for part, owners in sorted(parts().items()):
        named = sorted(set(owners))
        # "and 1 more" is as long as its name.
        shown = some(named, MOST_OWNERS + (len(named) == MOST_OWNERS + 1))
        rows.append(f"| {part} | {shown} | {ADVICE[part].why} | {ADVICE[part].instead} |")
    unread = [(path, what) for library in libraries() for path, what in library.unread.items()]
    unread += [(f"{library.name} {kind}", what) for library in libraries() for one in library.files
               for kind, what in one.unread.items()]  # fmt: skip
    unread += [(f"{library.name} {end}", what) for library in libraries() for end, what in library.unread_files.items()]
    classes = [f"| `{name}` | {what} |" for name, what in sorted(unread)]
    steps = [f"| `{path}` | {why} | {instead} |" for path, (why, instead) in sorted(UNREAD.items())]
    names = ", ".join(f"`{name}`" for name in (*(path.rpartition(".")[2] for path in sorted(ENCLOSED)), *MIXING))
    return (
        _HEAD.format(boxes=names)
        + "\n".join(rows)
        + "\n"
        + _STEPS
        + "\n".join(steps)
        + "\n"
        + _CLASSES
        + "\n".join(classes)
        + "\n"
    )


if __name__ == "__main__":
    sys.stdout.write(page())
