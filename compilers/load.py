"""Load a model from a file.

In:  the path of a model file, and whether its maker is trusted.
Out: the object in it: of .skops a model of scikit-learn, of .json, .ubj (XGBoost), .txt (LightGBM) and .onnx a
     `ModelFile`, of anything else what joblib or pickle wrote.
Promise: nothing in a file runs unless `trust_pickle` says so: reading a pickle runs whatever code it names. Of a skops
file only plain types are made, and the arrays inside trees, which skops does not vouch for, are checked here before
anything uses them. Each way to fail has its own message: absent, not trusted, damaged, of another version, not a model.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from mace.compilers.model_file import FORMATS, open_file
from mace.errors import FileError, ModelError

# Types that skops does not vouch for, because their native code trusts the arrays in them. They are made from arrays
# alone, and `read` checks these (indices in range, acyclic, shapes) before the model may predict.
CHECKED = (
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


class PickleWarning(UserWarning):
    """A pickle was read, which runs the code that it names."""


def load_model(path: str | Path, trust_pickle: bool = False) -> object:
    """The model in a file.

    trust_pickle: True if whoever wrote a joblib or pickle file may run code here; the other formats need no trust.
    Raises FileError if the file is absent, damaged, or of another version of its library;
           ModelError if it is not trusted, or holds something that is not a model.
    """
    path = Path(path)
    if not path.is_file():
        raise FileError(f"no model file {path}" if not path.exists() else f"{path} is not a file")
    if path.suffix == ".skops":
        return _skops(path)
    if path.suffix in FORMATS:
        return open_file(path)
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
    try:
        unknown = list(skops.io.get_untrusted_types(file=path))
    except Exception as error:  # a damaged archive raises anything at all
        raise _damaged(path, "skops", error) from error
    if refused := [name for name in unknown if name not in CHECKED]:
        raise ModelError(
            f"{path} holds types that are not trusted: {', '.join(refused)}",
            hint="Save XGBoost and LightGBM models in their own format; a file you trust may also be a pickle.",
        )
    try:
        model: object = skops.io.load(path, trusted=unknown)
    except Exception as error:
        raise _damaged(path, "skops", error) from error
    if unknown:
        from mace.compilers import read_coded

        steps = getattr(model, "steps", None)
        read_coded(steps[-1][1] if steps else model)  # Refuses trees whose arrays would lead native code astray.
    return model


def _damaged(path: Path, what: str, error: Exception) -> FileError:
    return FileError(
        f"{path} cannot be read as {what} ({type(error).__name__}: {error})",
        hint="It is damaged, or written by a version that this one cannot read.",
    )


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
