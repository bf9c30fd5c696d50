"""Load a model from a file.

In:  the path of a model file, and whether its maker is trusted.
Out: the object in it: of .skops a model of scikit-learn, of .json, .ubj (XGBoost), .txt (LightGBM) and .onnx a
     `ModelFile`, of anything else what joblib or pickle wrote.
Promise: nothing in a file runs unless `trust_pickle` says so: reading a pickle runs whatever code it names. Of a skops
file only models and steps that mace reads are made, of values that were checked before skops or anything else used
them. Each way to fail has its own message: absent, not trusted, damaged, of another version, not a model.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from mace.base.files import read_bytes
from mace.compilers.model_file import FORMATS, open_file
from mace.compilers.sklearn import skops_file
from mace.compilers.xgboost.dump import Dump, stated
from mace.errors import FileError, ModelError

# Types that skops does not vouch for. They are made from arrays alone, which `formats/skops_file.py` has checked.
CHECKED = (
    "numpy.dtype",
    "sklearn.utils._bunch.Bunch",
    "sklearn.tree._tree.Tree",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor",
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
# What models and steps are made of, beside the classes that are read (READERS) or followed (STEPS).
PARTS_OF_MODELS = (
    "sklearn._loss.link", "sklearn._loss.loss", "sklearn.calibration._CalibratedClassifier",
    "sklearn.calibration._SigmoidCalibration", "sklearn.calibration._TemperatureScaling",
    "sklearn.compose._column_transformer._RemainderColsList", "sklearn.dummy.DummyClassifier",
    "sklearn.dummy.DummyRegressor", "sklearn.ensemble._hist_gradient_boosting.binning._BinMapper",
    "sklearn.ensemble._hist_gradient_boosting.predictor.TreePredictor", "sklearn.frozen.FrozenEstimator",
    "sklearn.isotonic.IsotonicRegression", "sklearn.neural_network._stochastic_optimizers",
    "sklearn.preprocessing.LabelBinarizer", "sklearn.preprocessing.LabelEncoder",
)  # fmt: skip


class PickleWarning(UserWarning):
    """A pickle was read, which runs the code that it names."""


def load_model(path: str | Path, trust_pickle: bool = False, dump: Dump | str | None = None) -> object:
    """The model in a file.

    dump: what a .json of XGBoost's `dump_model` lacks: a `Dump`, or its text, for instance
          `objective=binary:logistic base_score=0.5 columns=a,b,c`.
    trust_pickle: True if whoever wrote a joblib or pickle file may run code here; the other formats need no trust.
    Raises FileError if the file is absent, damaged, or of another version of its library;
           ModelError if it is not trusted, or holds something that is not a model.
    """
    path = Path(path)
    if not path.is_file():
        raise FileError(f"no model file {path}" if not path.exists() else f"{path} is not a file")
    dump = stated(dump) if isinstance(dump, str) else dump
    if dump is not None and path.suffix != ".json":
        raise ModelError(f"{path} is no .json of XGBoost's `dump_model`", hint="Leave out what is said of a dump.")
    if path.suffix == ".skops":
        return _skops(path)
    if path.suffix in FORMATS:
        return open_file(path, dump)
    if not trust_pickle:
        raise ModelError(
            f"{path} may be a pickle, and reading a pickle runs any code that its author put in",
            hint="If you trust its author, say so: `--trust-pickle`, or trust_pickle=True.",
        )
    warnings.warn(
        f"reading {path} as a pickle, which runs the code that it names; do this only with files you trust",
        PickleWarning,
        stacklevel=2,
    )
    model = _unpickle(path)
    if not callable(getattr(model, "predict", None)) or isinstance(model, type):
        kind = type(model)
        raise ModelError(f"{path} holds a {kind.__module__}.{kind.__qualname__}, which is not a model: no `predict`")
    return model


def _skops(path: Path) -> object:
    """The model in a skops file, if it holds plain types only, and trees that can be checked."""
    try:
        import skops.io
    except ImportError:
        raise ModelError(f"reading {path} needs the package skops", hint="pip install 'mace-smt[skops]'") from None
    data = skops_file.checked(read_bytes(path, skops_file.LARGEST_FILE), str(path), _known)
    try:
        unknown = list(skops.io.get_untrusted_types(data=data))
        if refused := [name for name in unknown if name not in CHECKED]:
            raise ModelError(
                f"{path} holds types that are not trusted: {', '.join(refused)}",
                hint="Save XGBoost and LightGBM models in their own format; a file you trust may also be a pickle.",
            )
        model: object = skops.io.loads(data, trusted=unknown)
    except ModelError:
        raise
    except Exception as error:  # What is made of arrays that do not fit raises anything at all.
        raise FileError(
            f"{path} cannot be read as skops ({type(error).__name__}: {error})",
            hint="It is damaged, or written by a version that this one cannot read.",
        ) from error
    from mace.compilers import read_coded

    read_coded(_last(model, path))  # Refuses what native code would be led astray by, before anything predicts.
    return model


def _known(module: str, name: str) -> bool:
    """Whether objects of a class may be made of a skops file: models, steps and parts of them; a class may live
    anywhere inside the named package."""
    from mace.compilers import READERS
    from mace.compilers.pipeline.steps import PARTS, STEPS

    return module.startswith("sklearn.") and any(
        f"{module}.{name}".startswith(path) if path == f"{module}.{name}" or path == module else
        path.rpartition(".")[2] == name and f"{module}.".startswith(f"{path.rpartition('.')[0]}.")
        for path in (*READERS, *STEPS, *PARTS, *PARTS_OF_MODELS)
    )  # fmt: skip


def _last(model: Any, path: Path) -> object:
    """The model itself, or the last step of a pipeline."""
    for _ in range(skops_file.DEEPEST):
        steps = getattr(model, "steps", None)
        if steps is None:
            return model
        try:
            model = steps[-1][1]
        except (TypeError, IndexError, KeyError):
            break
    raise ModelError(f"{path} holds a pipeline whose steps are damaged")


def _unpickle(path: Path) -> object:
    """What the file holds."""
    import joblib  # late: a second or so, with what it imports
    from sklearn.exceptions import InconsistentVersionWarning

    with warnings.catch_warnings():
        # The library itself says of such a model that its results may be invalid.
        warnings.simplefilter("error", InconsistentVersionWarning)
        try:
            loaded: object = joblib.load(path)
        except InconsistentVersionWarning as error:
            raise FileError(
                f"{path} was written by scikit-learn {error.original_sklearn_version}, "
                f"and this is {error.current_sklearn_version}: its model may decide otherwise here",
                hint=f"Install scikit-learn=={error.original_sklearn_version}, or fit and save the model again.",
            ) from error
        except ImportError as error:
            raise FileError(
                f"{path} needs a module that is not here: {error}",
                hint="Install what the model was trained with, in the same version.",
            ) from error
        except MemoryError:
            raise
        except Exception as error:  # a damaged pickle raises anything at all
            raise FileError(
                f"{path} cannot be read as a pickle ({type(error).__name__}: {error})",
                hint="It is damaged, or not a pickle, or written by a version that this one cannot read.",
            ) from error
    return loaded
