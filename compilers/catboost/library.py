"""All that is known of CatBoost."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from mace.compilers.catboost.categories import step_of
from mace.compilers.catboost.model import Content, is_model, load, written
from mace.compilers.catboost.reader import read_content, read_model
from mace.compilers.deployed import Deployed, Given
from mace.compilers.library import Categories, FileType, Intake, Library, Reader, is_a
from mace.compilers.model_file import Format, ModelFile
from mace.tables.table import Ensemble, Table


def _names(model: Any) -> tuple[str, ...] | None:
    """Columns of an array are called by their places."""
    names = tuple(map(str, getattr(model, "feature_names_", None) or ()))
    return None if names == tuple(map(str, range(len(names)))) or not all(names) else names


def _deployed(model: Any, given: Given, table: Table | None = None) -> Deployed:
    """Classes as CatBoostClassifier gives them, in one dimension; of a model without classes its number.

    table: of a file, whose loss the library is not told.
    """
    known_table = read_model(model) if table is None else table
    assert isinstance(known_table, Ensemble)
    classes = bool(known_table.classes)
    kind = "Class" if classes else "RawFormulaVal" if known_table.link is None else "Exponent"
    two = len(np.asarray(model.classes_)) == 2 if classes else False
    ranks = is_a(model, "catboost.CatBoostRanker")  # its `predict` knows raw values alone

    def predict(frame: Any) -> Any:
        said = model.predict(given(frame), thread_count=1, **({} if ranks else {"prediction_type": kind}))
        return np.asarray(said).reshape(len(frame))

    def probabilities(frame: Any) -> Any:
        return np.asarray(model.predict(given(frame), prediction_type="Probability", thread_count=1))

    return Deployed(predict, _names(model), "", probabilities if two else None)


def _made(content: Content) -> Any:
    import catboost

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        path.write_text(written(content), encoding="utf-8")
        return catboost.CatBoost().load_model(str(path), format="json")


def _small(frame: Any, labels: Any) -> Any:
    import catboost

    options: dict[str, Any] = {"verbose": 0, "allow_writing_files": False, "thread_count": 1}
    return catboost.CatBoostClassifier(iterations=2, depth=2, **options).fit(frame, labels)


_REFUSED = "statistics of categories (CTR); columns of texts and embeddings; losses with several outputs or other links"
FORMAT = Format("catboost", read_content, _made, _deployed)
LIBRARY = Library(
    name="CatBoost",
    package="catboost",
    distributions={"catboost": ("catboost",)},
    extra="catboost",
    deployed=_deployed,
    readers={
        "catboost.CatBoostClassifier": Reader(read_model, "exact sums, margin for probabilities", _REFUSED),
        "catboost.CatBoostRegressor": Reader(read_model, "exact; margin for log links", _REFUSED),
        "catboost.CatBoostRanker": Reader(read_model, "exact", _REFUSED),
        "catboost.CatBoost": Reader(read_model, "exact sums, margin for probabilities", _REFUSED),
    },
    files=(FileType((".json",), lambda path, _: ModelFile(path, FORMAT, load(path)), holds=is_model),),
    unread_files={".cbm": 'Save it as JSON: model.save_model("model.json", format="json").'},
    categories=Categories(step_of),
    intake=Intake(by_column=True),
    names=_names,
    small=_small,
)
