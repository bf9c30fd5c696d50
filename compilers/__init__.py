"""From a trained model to a program of the core language, exactly.

In:  a library's own model object.    Out: `read(model)`, a table of plain numbers (`mace.tables.table`), checked.
Promise: a class that is not in `READERS`, a model that is not fitted, and a table whose indices, shapes or numbers
do not fit together are a ModelError that says which; no library is imported to find out which class a model has.
The second half, table to program, is in `tree.py`, `forest.py`, `linear.py` and `mlp.py`, behind `program.to_program`.
"""

# The folder installs as `mace.compilers`. Under a second name every class in it would exist twice.
if __name__ != "mace.compilers":
    raise ImportError(f"import `mace.compilers`, not `{__name__}`", name=__name__)

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mace.compilers.crosscheck import cross_check_matrix
from mace.compilers.deployed import Deployed, deployed
from mace.compilers.lightgbm import reader as read_lightgbm
from mace.compilers.load import PickleWarning, load_model
from mace.compilers.model_file import ModelFile
from mace.compilers.native import step_of
from mace.compilers.onnx import reader as read_onnx
from mace.compilers.optbinning.reader import read_scorecard
from mace.compilers.programs.program import Reading, to_program
from mace.compilers.sklearn.boosting import read_boosting, read_hist_boosting
from mace.compilers.sklearn.calibrated import read_calibrated
from mace.compilers.sklearn.common import DAMAGE
from mace.compilers.sklearn.ensembles import read_adaboost, read_bagging, read_isolation, read_voting
from mace.compilers.sklearn.linear import read_line, read_linear
from mace.compilers.sklearn.mlp import read_mlp
from mace.compilers.sklearn.trees import read_forest, read_tree
from mace.compilers.xgboost import reader as read_xgboost
from mace.errors import ModelError
from mace.tables.table import Table
from mace.tables.validity import validate

__all__ = [
    "READERS",
    "Deployed",
    "ModelFile",
    "PickleWarning",
    "Reader",
    "Reading",
    "deployed",
    "load_model",
    "read",
    "read_coded",
    "to_program",
]


@dataclass(frozen=True, slots=True)
class Reader:
    """One row of the registry: how a class is read, and what its table keeps of the deployed model.

    precision: "exact" if the table repeats the library bit by bit, "margin" if only within a rigorous margin.
    refused:   what the library allows and the reader does not.
    """

    read: Callable[[Any], Table]
    precision: str
    refused: str = ""


_TREES = "several outputs"
_LINEAR = "several labels a row"
_INIT = "an `init` that is a model"
_LINK = "losses with a logarithmic link"
_MEMBERS = "members other than trees"
_XGBOOST = (
    "dart, gblinear; several targets; `missing` other than NaN; objectives with other links; versions before 2, from 4"
)
_LIGHTGBM = "rf, linear leaves; zero_as_missing; pred_early_stop; objectives with other links"
_HIDDEN = "hidden layers that are neither relu nor identity; several labels a row"

# Public class path -> reader. A class matches by its own path or that of a base class, wherever inside the named
# package the library keeps it (scikit-learn moves its private modules between versions).
READERS: dict[str, Reader] = {
    "sklearn.tree.DecisionTreeClassifier": Reader(read_tree, "exact", _TREES),
    "sklearn.tree.DecisionTreeRegressor": Reader(read_tree, "exact", _TREES),
    "sklearn.tree.ExtraTreeClassifier": Reader(read_tree, "exact", _TREES),
    "sklearn.tree.ExtraTreeRegressor": Reader(read_tree, "exact", _TREES),
    "sklearn.ensemble.RandomForestClassifier": Reader(read_forest, "exact", _TREES),
    "sklearn.ensemble.RandomForestRegressor": Reader(read_forest, "exact", _TREES),
    "sklearn.ensemble.ExtraTreesClassifier": Reader(read_forest, "exact", _TREES),
    "sklearn.ensemble.ExtraTreesRegressor": Reader(read_forest, "exact", _TREES),
    "sklearn.ensemble.GradientBoostingClassifier": Reader(read_boosting, "exact", _INIT),
    "sklearn.ensemble.GradientBoostingRegressor": Reader(read_boosting, "exact", _INIT),
    "sklearn.ensemble.HistGradientBoostingClassifier": Reader(read_hist_boosting, "exact", _LINK),
    "sklearn.ensemble.HistGradientBoostingRegressor": Reader(read_hist_boosting, "exact", _LINK),
    "sklearn.ensemble.AdaBoostClassifier": Reader(read_adaboost, "exact for two classes, else margin", _MEMBERS),
    "sklearn.ensemble.BaggingClassifier": Reader(read_bagging, "exact", _MEMBERS),
    "sklearn.ensemble.BaggingRegressor": Reader(read_bagging, "exact", _MEMBERS),
    "sklearn.ensemble.VotingClassifier": Reader(
        read_voting, "exact for hard votes, else margin", "members other than trees; for soft votes, than forests"
    ),
    "sklearn.ensemble.IsolationForest": Reader(read_isolation, "margin"),
    "sklearn.calibration.CalibratedClassifierCV": Reader(
        lambda model: read_calibrated(_read_matrix, model),
        "as the model inside; margin where a libm has a say",
        "means of several calibrated models (`ensemble=True`); more than two classes; pipelines inside",
    ),
    "sklearn.linear_model.LogisticRegression": Reader(read_linear, "margin"),
    "sklearn.linear_model.LogisticRegressionCV": Reader(read_linear, "margin"),
    "sklearn.linear_model.RidgeClassifier": Reader(read_linear, "margin", _LINEAR),
    "sklearn.linear_model.RidgeClassifierCV": Reader(read_linear, "margin", _LINEAR),
    "sklearn.linear_model.SGDClassifier": Reader(read_linear, "margin"),
    "sklearn.linear_model.Perceptron": Reader(read_linear, "margin"),
    "sklearn.svm.LinearSVC": Reader(read_linear, "margin"),
    "sklearn.linear_model.LinearRegression": Reader(read_line, "margin", _TREES),
    "sklearn.linear_model.Ridge": Reader(read_line, "margin", _TREES),
    "sklearn.linear_model.RidgeCV": Reader(read_line, "margin", _TREES),
    "sklearn.linear_model.Lasso": Reader(read_line, "margin", _TREES),
    "sklearn.linear_model.LassoCV": Reader(read_line, "margin"),
    "sklearn.linear_model.ElasticNet": Reader(read_line, "margin", _TREES),
    "sklearn.linear_model.ElasticNetCV": Reader(read_line, "margin"),
    "sklearn.linear_model.HuberRegressor": Reader(read_line, "margin"),
    "sklearn.linear_model.SGDRegressor": Reader(read_line, "margin"),
    "sklearn.svm.LinearSVR": Reader(read_line, "margin"),
    "sklearn.neural_network.MLPClassifier": Reader(read_mlp, "margin", _HIDDEN),
    "sklearn.neural_network.MLPRegressor": Reader(read_mlp, "margin", _HIDDEN),
    "xgboost.XGBClassifier": Reader(read_xgboost.read_wrapper, "exact sums, margin for probabilities", _XGBOOST),
    "xgboost.XGBRegressor": Reader(read_xgboost.read_wrapper, "exact", _XGBOOST),
    "xgboost.Booster": Reader(read_xgboost.read_booster, "exact sums, margin for probabilities", _XGBOOST),
    "lightgbm.LGBMClassifier": Reader(read_lightgbm.read_wrapper, "exact sums, margin for probabilities", _LIGHTGBM),
    "lightgbm.LGBMRegressor": Reader(read_lightgbm.read_wrapper, "exact", _LIGHTGBM),
    "onnx.ModelProto": Reader(
        read_onnx.read_proto, "margin", "operations other than those of dense layers and tree ensembles; several inputs"
    ),
    "optbinning.Scorecard": Reader(
        read_scorecard, "margin", "estimators that are not linear; binning_transform_params"
    ),
    "mace.compilers.model_file.ModelFile": Reader(ModelFile.table, "as the library of the file"),
    "lightgbm.Booster": Reader(read_lightgbm.read_booster, "exact sums, margin for probabilities", _LIGHTGBM),
}

# What a subclass may not redefine: its decision would no longer be that of the class whose reader is used.
_DECIDING = (
    "predict", "predict_proba", "decision_function", "score_samples", "_predict", "_raw_predict", "_forward_pass_fast",
)  # fmt: skip


def read(model: object, known: Sequence[Sequence[float]] | None = None) -> Table:
    """The table of a fitted model: plain numbers, validated, and compared with the model's own `predict`.

    model: an object of one of the classes in READERS, or of a subclass that decides in the same way.
    known: for every column of the model, numbers that it holds in use, which are tried too.
    Raises ModelError for any other class, an unfitted model, or a damaged one, for one whose library says otherwise
    than its table, and for a model that codes the categories of a frame by itself: it is compiled over a space of its
    raw columns (`pipeline.compile_raw`).
    """
    table = _read_matrix(model)
    cross_check_matrix(table, deployed(model), known)
    return table


def _read_matrix(model: object) -> Table:
    """The table of a model that sees a matrix of numbers."""
    table = read_coded(model)
    if step_of(model) is not None:
        raise ModelError(
            f"{table.name} was fitted on a frame with categories, which it numbers by itself",
            hint="It is read over the frame's own columns: give a space of these.",
        )
    return table


def read_coded(model: object) -> Table:
    """As `read`, for any supported model: the table of one that codes categories by itself sees these codes."""
    for base in type(model).__mro__:
        path = _registered(base)
        if path is not None:
            _refuse_other_decision(model, base)
            return validate(_table(path, model))
    kind = type(model)
    hint = "Supported are " + ", ".join(sorted(READERS)) + "."
    if isinstance(model, type):
        raise ModelError(f"{model.__qualname__} is a class, not a trained model", hint=hint)
    raise ModelError(f"models of class {kind.__module__}.{kind.__qualname__} are not supported", hint=hint)


def _table(path: str, model: object) -> Table:
    """What a reader makes of a model; raises ModelError for one that `fit` cannot have left so."""
    try:
        return READERS[path].read(model)
    except DAMAGE as error:
        # A reader looks at dozens of attributes, and each may be missing or of another type in a damaged model.
        name = path.rpartition(".")[2]
        raise ModelError(
            f"this {name} cannot be read ({type(error).__name__}: {error})", hint="Fit it again."
        ) from error


def _registered(kind: type) -> str | None:
    """The path in READERS that names this class, if there is one."""
    for path in READERS:
        package, _, name = path.rpartition(".")
        if kind.__qualname__ == name and f"{kind.__module__}.".startswith(f"{package}."):
            return path
    return None


def _refuse_other_decision(model: object, base: type) -> None:
    """Raise unless `model` decides by the methods of `base` itself."""
    kind = type(model)
    for name in _DECIDING:
        if name in getattr(model, "__dict__", {}) or _definition(kind, name) is not _definition(base, name):
            raise ModelError(
                f"{kind.__module__}.{kind.__qualname__} has its own `{name}`, so it may decide otherwise "
                f"than {base.__qualname__}, whose numbers would be read"
            )


def _definition(kind: type, name: str) -> object:
    """What a class says about a name itself or through its bases, before any descriptor acts."""
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), None)
