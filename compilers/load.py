"""Load a model from a file.

In:  the path of a file that joblib or pickle wrote, and whether its maker is trusted.
Out: the object in it.
Promise: nothing in the file runs unless `trust_pickle` says so: reading a pickle runs whatever code it names. Each way
to fail has its own message: absent, not trusted, damaged, of another version, not a model.
"""

from __future__ import annotations

import warnings
from pathlib import Path

from mace.errors import FileError, ModelError


class PickleWarning(UserWarning):
    """A pickle was read, which runs the code that it names."""


def load_model(path: str | Path, trust_pickle: bool = False) -> object:
    """The model in a joblib or pickle file.

    trust_pickle: True if whoever wrote the file may run code here.
    Raises FileError if the file is absent, damaged, or of another version of its library;
           ModelError if it is not trusted, or holds something that is not a model.
    """
    path = Path(path)
    if not path.is_file():
        raise FileError(f"no model file {path}" if not path.exists() else f"{path} is not a file")
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
