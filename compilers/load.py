"""Load a model from a file.

In:  the path of a model file, and whether its maker is trusted.
Out: the object in it: of .skops a model of scikit-learn, of the other types that a library names (`Library.files`) a
     `ModelFile`, of anything else what joblib or pickle wrote.
Promise: nothing in a file runs unless `trust_pickle` says so: reading a pickle runs whatever code it names. Of a skops
file only models and steps that mace reads or bounds are made, of values that were checked before skops or anything else
used them. Each way to fail has its own message: absent, text, not trusted, damaged, of another version, not a model.
"""

from __future__ import annotations

import codecs
import pickle
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from mace.base.arguments import spelled
from mace.compilers.libraries import PICKLED, endings, libraries, readers_near
from mace.compilers.library import FileType, Opening, is_path, public_name
from mace.compilers.model_file import ModelFile
from mace.compilers.pipeline.steps import PARTS, STEPS
from mace.compilers.reading import read_chain
from mace.compilers.registry import chain_of, file_type
from mace.compilers.sklearn.projections import PATH as PROJECTION
from mace.errors import ASKED, FileError, ModelError, UnreadableError

if TYPE_CHECKING:
    from mace.compilers.xgboost.dump import Dump

MATRICES = (PROJECTION, "sklearn.decomposition.TruncatedSVD")
"""Steps that are one product with a matrix."""

_LOADED = "Load it with its own library: `mace.explain` asks the model that comes of it."  # a file cannot be asked
BEGIN = 2**16  # bytes of a file that tell text from a pickle


class PickleWarning(UserWarning):
    """A pickle was read, which runs the code that it names."""


@spelled
def load_model(path: str | Path, trust_pickle: bool = False, dump: Dump | str | None = None) -> object:
    """The model in a file.

    path: its ending says what it holds: .json (XGBoost, CatBoost), .ubj (XGBoost), .txt (LightGBM), .onnx, .pmml,
          .skops; any other file is joblib's or a pickle.
    dump: what a .json of XGBoost's `dump_model` lacks: a `Dump`, or its text, for instance
          `objective=binary:logistic base_score=0.5 columns=a,b,c`.
    trust_pickle: True if whoever wrote a joblib or pickle file may run code here; the other formats need no trust.
    Raises FileError if the file is absent, damaged, or of another version of its library;
           ModelError if it is not trusted, or holds something that is not a model.
    """
    path = Path(path)
    if not path.is_file():
        if path.exists():
            raise FileError(f"{path} is not a file", hint="Name the file that the model was saved to.")
        raise FileError(f"no model file {path}", hint="Check its name, and the folder that it is relative to.")
    of_file = file_type(path)
    if dump is not None and (of_file is None or path.suffix not in of_file.lacking):
        raise ModelError(f"{path} is no .json of XGBoost's `dump_model`", hint="Leave out what is said of a dump.")
    if of_file is not None:
        return _open(of_file, path, dump)
    for library in libraries() if path.suffix not in PICKLED else ():
        if path.suffix in library.unread_files:
            raise ModelError(
                f"{path} is a file of {library.name} that is not read", hint=library.unread_files[path.suffix]
            )
    if _is_text(path):  # no trust in its author would help
        raise ModelError(
            f"{path} holds text, no model",
            hint=f"Models are read from {', '.join(endings())}, and from what joblib or pickle wrote; a program is a "
            ".mace file.",
        )
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
        raise ModelError(f"{path} holds a {public_name(type(model))}, which is not a model: no `predict`")
    return model


def _is_text(path: Path) -> bool:
    """Whether a file is certainly no pickle, by its beginning and its end: those that are text end with a stop."""
    try:
        with path.open("rb") as file:
            begin = file.read(BEGIN)
            file.seek(max(0, path.stat().st_size - 1))
            end = file.read(1)
        text = codecs.getincrementaldecoder("utf-8")().decode(begin)  # the last character may be cut
    except (OSError, UnicodeDecodeError):
        return False
    return bool(begin) and end != pickle.STOP and all(sign >= "\t" for sign in text)


def _open(kind: FileType, path: Path, dump: Dump | str | None) -> object:
    """The model in a file that runs nothing."""
    try:
        model = kind.open(path, Opening(dump, _known))
        if not isinstance(model, ModelFile):
            _look_through(model)
    except MemoryError:
        raise FileError(f"{path} needs more memory than there is") from None
    except UnreadableError as error:
        raise UnreadableError(error.message, shown=error.shown, hint=error.hint.replace(ASKED, _LOADED)) from None
    return model


def _look_through(model: object) -> None:
    """Read a model, or bound it: this refuses what native code would be led astray by, before anything predicts."""
    try:
        read_chain(chain_of(model))
    except UnreadableError as error:
        from mace.compilers.enclosures.reader import unwrapped
        from mace.compilers.enclosures.registry import enclosed

        try:
            enclosed(unwrapped(model)[1])
        except UnreadableError:
            raise error from None


def _known(module: str, name: str) -> bool:
    """Whether a class is one of models that are read or bounded, or of steps that are followed."""
    from mace.compilers.enclosures.registry import ENCLOSED  # late: few models are bounded

    # Neighbours are looked up in trees of native code, which trusts their arrays.
    bounded = (path for path in ENCLOSED if not path.startswith("sklearn.neighbors."))
    return any(is_path(module, name, path) for path in (*readers_near(module), *bounded, *STEPS, *PARTS, *MATRICES))


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
        except MemoryError as error:  # a damaged length asks for any amount
            raise FileError(
                f"{path} cannot be read as a pickle: it asks for more memory than there is",
                hint="It is damaged, or needs a larger machine.",
            ) from error
        except Exception as error:  # a damaged pickle raises anything at all
            raise FileError(
                f"{path} cannot be read as a pickle ({': '.join(filter(None, [type(error).__name__, str(error)]))})",
                hint="It is damaged, or not a pickle, or written by a version that this one cannot read.",
            ) from error
    return loaded
