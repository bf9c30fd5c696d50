"""Open a skops file: a model of scikit-learn, or a pipeline that ends in one.

In:  the path of a .skops file, and which classes are models and steps that mace reads.
Out: the model.
Promise: only models and steps that mace reads are made, of values that `skops_file.py` checked before skops or anything
else used them.
"""

from __future__ import annotations

from pathlib import Path

from mace.base.files import read_bytes
from mace.compilers.library import Opening, is_path
from mace.compilers.sklearn import skops_file
from mace.errors import FileError, ModelError

# Types that skops does not vouch for. They are made from arrays alone, which `skops_file.py` has checked.
CHECKED = (
    "numpy.dtype",
    "sklearn.utils._bunch.Bunch",
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn._loss.loss.HalfTweedieLoss",
    "sklearn._loss.loss.HalfTweedieLossIdentity",
    "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration",
    "sklearn.calibration._TemperatureScaling",
    "sklearn.neural_network._stochastic_optimizers.AdamOptimizer",
    "sklearn.neural_network._stochastic_optimizers.SGDOptimizer",
    # What a histogram booster puts before numbers: a check of types. A partial calls nothing that is not named here, or
    # that skops itself vouches for.
    "functools.partial",
    "sklearn.utils.validation.check_array",
)
# What models and steps are made of, beside the classes that are read or followed: classes, and whole modules.
PARTS_OF_MODELS = (
    "sklearn._loss.link", "sklearn._loss.loss", "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration", "sklearn.calibration._TemperatureScaling",
    "sklearn.compose._column_transformer._RemainderColsList", "sklearn.dummy.DummyClassifier",
    "sklearn.dummy.DummyRegressor", "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "sklearn.isotonic.IsotonicRegression", "sklearn.neural_network._stochastic_optimizers",
    "sklearn.preprocessing.LabelBinarizer", "sklearn.preprocessing.LabelEncoder",
)  # fmt: skip


def open_skops(path: Path, opening: Opening) -> object:
    """The model in a skops file; raises ModelError, FileError."""
    try:
        import skops.io
    except ImportError:
        raise ModelError(f"reading {path} needs the package skops", hint="pip install 'mace-smt[skops]'") from None

    def known(module: str, name: str) -> bool:
        return module.startswith("sklearn.") and (opening.known(module, name) or _is_part(module, name))

    data = skops_file.checked(read_bytes(path, skops_file.LARGEST_FILE), str(path), known)
    try:
        unknown = list(skops.io.get_untrusted_types(data=data))
        if refused := [name for name in unknown if name not in CHECKED]:
            raise ModelError(
                f"{path} holds types that are not trusted: {', '.join(refused)}",
                hint=skops_file.NOT_TRUSTED,
            )
        model: object = skops.io.loads(data, trusted=unknown)
    except ModelError:
        raise
    except Exception as error:  # What is made of arrays that do not fit raises anything at all.
        raise FileError(
            f"{path} cannot be read as skops ({type(error).__name__}: {error})",
            hint="It is damaged, or written by a version that this one cannot read.",
        ) from error
    return model


def _is_part(module: str, name: str) -> bool:
    """Whether a class is one of those that models and steps are made of."""
    return any(path in (module, f"{module}.{name}") or is_path(module, name, path) for path in PARTS_OF_MODELS)
