"""Model files that others published: each is read or refused, and what is read is held to a program that scores it.

    python -m tests.published FOLDER                 every .pmml, .xml, .cbm and .json below a folder, one line each
    python -m tests.published --sources              where files come from that were tried
    python -m tests.published FOLDER --only scorecard --rows 1000 --judges pypmml

Of each file that is read: rows, half of them on, just below and just above its thresholds; how many of them are left to
rounding or to a tie; what each judge (`tests/published_judges.py`) says: rows it scores the same, and otherwise; and
one question with its certificate, checked. Files are not part of this project: fetch what you like to try.
Ends with 1 where a table says what no judge says, a certificate is refused, or anything but a message comes of a file.
"""

from __future__ import annotations

import argparse
import importlib
import math
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import mace
from mace.compilers import load_model
from mace.compilers.catboost.reader import read_content, read_model
from mace.compilers.pipeline.reader import compile_raw
from mace.compilers.pmml.content import fields_of, terms_of
from mace.compilers.pmml.expressions import Norm
from mace.compilers.pmml.fields import OTHER, Atoms
from mace.compilers.pmml.reader import NO_PREDICTION, read_both
from mace.errors import MaceError
from mace.space.columns import Column
from mace.space.feature import Feature
from mace.space.space import Space
from mace.tables.decide import class_of
from mace.tables.table import predicted
from tests.compilers.pipelines import adversarial_rows, random_rows
from tests.published_judges import JUDGES, NOTHING, Judge, JudgeError, installed

SOURCES = (
    # repository, folder, what wrote the files by their own headers, licence of the repository
    ("jpmml/jpmml", "pmml-*/src/test/resources/pmml", "R (Rattle), KNIME, RapidMiner", "BSD 3"),
    ("jpmml/jpmml-evaluator", "pmml-evaluator/src/test/resources/pmml", "R, SPSS, by hand", "AGPL 3"),
    ("autodeployai/pmml4s", "src/test/resources/models", "the standard's own examples, SAS", "Apache 2"),
    ("iamDecode/sklearn-pmml-model", "models", "R (r2pmml, Rattle), SoftwareAG, sklearn2pmml", "BSD 2"),
    ("AmadeusITGroup/cPMML", "benchmark/data/model", "sklearn2pmml, R (Rattle), KNIME", "MIT"),
    ("kiegroup/drools", "kie-pmml-trusty, kie-dmn", "by hand, KNIME, sklearn2pmml, SPSS, Nyoka", "Apache 2"),
    ("rstonkus/pmml4net", "src/pmml4net.tests", "SPSS, KNIME, SIPINA, by hand", "LGPL 2"),
    ("robne1982/R_gbm_pmml_to_dotnet", "", "R (r2pmml)", "none said"),
    ("hpccsystems-solutions-lab/pmml-ecl-ml", "src/main/java/test", "KNIME, R (Rattle), by hand", "none said"),
    ("selvinsource/spark-pmml-exporter-validator", "src/main/resources/exported_pmml_models", "Spark", "AGPL 3"),
    ("Big-Life-Lab/pmml", "", "R (pmml), of transformations alone", "none said"),
    ("FlinkML/flink-jpmml", "src/test/resources", "KNIME, R, Spark: clusters", "AGPL 3"),
    ("mathworks/pmml", "", "a scorecard by hand", "MathWorks"),
    ("alexmir1/catboost-cpu-evaluation-optimization", "catboost: a copy of catboost/catboost", "CatBoost", "Apache 2"),
    ("BectorVoom/catboost_rs", "crates/cb-oracle/fixtures", "CatBoost, by loss and shape of trees", "none said"),
    ("kiwicom/catboost-cxx", "perftest, unittest/testdata", "CatBoost of 2019", "MIT"),
    ("mirecl/catboost-cgo", "example", "CatBoost", "MIT"),
    ("ridewithgps/catboost-inference", "test/fixtures", "CatBoost", "none said"),
    ("zhaochenxiao90/catboost-go", "", "CatBoost", "none said"),
    ("leosmerling/catboost_inference", "", "CatBoost", "none said"),
)
WIDE = (-100.0, 100.0)
"""The range of a number that no test of its model bounds."""
MOST_FEATURES, LARGEST = 400, 700_000  # columns; bytes of a file of CatBoost
UNLIKE = "unlike the other judge, which says the same"
UNITS = 2.0**-48
"""How far programs round a norm from each other, relative to the number that enters it."""


class NotTriedError(MaceError):
    """Nothing of the file's format stands in the way, but this program does not try it."""


@dataclass(frozen=True, eq=False)
class Opened:
    """A file that is read: its model, a space made of its own thresholds, and who else scores it.

    reads: rows -> what the table sees, one array a row.
    refusing: judges that do not take the file, and why.
    single: whether it has numbers of the type `float`, which some programs round to it, and others do not.
    norms: whether it compares what a NormContinuous makes of a number, which programs round in several ways.
    """

    model: Any
    space: Space
    table: Any
    columns: Sequence[Any]
    reads: Callable[[list[dict[str, Any]]], Any]
    judges: dict[str, Judge]
    refusing: dict[str, str]
    single: bool = False
    norms: bool = False


@dataclass
class Line:
    """What is told of a file."""

    rows: int = 0
    doubt: int = 0
    judged: dict[str, str] | None = None
    answer: str = ""
    wrong: int = 0
    same: int = 0


# ------------------------------------------------------------------------------------------------- PMML


def of_pmml(path: Path, judges: Sequence[str]) -> Opened:
    """A file of PMML; raises MaceError."""
    with tempfile.TemporaryDirectory() as folder:
        given = path
        if path.suffix != ".pmml":
            given = Path(folder) / f"{path.stem}.pmml"
            given.write_bytes(path.read_bytes())
        model: Any = load_model(given)
    read = read_both(model.content)
    columns = read.columns
    features = [feature_of(one, one.place in columns.lacking, one.place in columns.odd) for one in columns.atoms]
    space = Space(features)
    compiled = compile_raw(model, space)
    assert compiled is not None
    asked, refusing = dict[str, Judge](), dict[str, str]()
    for name in judges:
        try:
            asked[name] = JUDGES[name](path)
        except JudgeError as error:
            refusing[name] = str(error)
    reads = lambda rows: [compiled.row(row) for row in rows]  # noqa: E731
    single = any(one.source.kind == "float" for one in columns.atoms)
    norms = any(isinstance(step, Norm) for term in terms_of(model.content.model) for field, _ in fields_of(term)
                for step in field.steps)  # fmt: skip
    return Opened(model, space, compiled.table, compiled.columns, reads, asked, refusing, single, norms)


def feature_of(atoms: Atoms, needed: bool, named: bool) -> Feature:
    """What a column may hold: numbers on both sides of its thresholds, or the categories that have a prediction."""
    source = atoms.source
    missing = bool(atoms.usable & atoms.missing) and not needed and source.fill is None
    if not source.numeric:
        usable = [name for part, name in enumerate(atoms.names) if atoms.usable >> part & 1]
        levels = [name for name in usable if name not in source.absent and name not in source.odd]
        if atoms.usable >> len(atoms.names) & 1 and not named and source.kind == "string":
            levels.append("some other value")
        return Feature(source.name, "categorical", levels=levels or [OTHER[1:]], missing=missing)
    low, high = range_of([end for end in atoms.ends if abs(end) < 1e15])
    if source.valid and source.invalid == "returnInvalid":
        low, high = max(low, source.valid[0].low), min(high, source.valid[-1].high)
    if source.kind == "integer":
        return Feature(source.name, "integer", math.ceil(low), max(math.floor(high), math.ceil(low)), missing=missing)
    return Feature(source.name, "real", low, high, missing=missing)


def range_of(ends: Sequence[float]) -> tuple[float, float]:
    """A range with room on both sides of some numbers."""
    if not ends:
        return WIDE
    room = max((max(ends) - min(ends)) / 8, abs(max(ends)) / 8, 1e-3)
    return min(ends) - room, max(ends) + room


# ------------------------------------------------------------------------------------------------- CatBoost


def of_catboost(path: Path) -> Opened:
    """A model of CatBoost, from its own file or its JSON; raises MaceError."""
    if path.stat().st_size > LARGEST:
        raise NotTriedError(f"{path.stat().st_size} bytes are more than are tried here")
    library: Any = importlib.import_module("catboost")
    own = library.CatBoost()
    try:
        own.load_model(str(path), format="json" if path.suffix == ".json" else "cbm")
    except library.CatBoostError as error:
        raise MaceError(f"CatBoost itself does not open it: {str(error).splitlines()[0][-150:]}") from None
    model = load_model(path) if path.suffix == ".json" else own
    table: Any = read_model(own) if model is own else read_content(model.content)
    if own.get_cat_feature_indices():
        raise NotTriedError("columns of categories are not tried here: their levels are not in a file")
    names = [str(name) for name in own.feature_names_]
    if len(names) > MOST_FEATURES:
        raise NotTriedError(f"{len(names)} columns are more than are tried here")
    cuts: list[list[float]] = [[] for _ in names]
    for tree in table.trees:
        for column, threshold in zip(tree.column.tolist(), tree.threshold.tolist(), strict=True):
            if column >= 0:
                cuts[column].append(threshold)
    features = [Feature(name, "real", *range_of(some)) for name, some in zip(names, cuts, strict=True)]
    space = Space(features)

    def judge(frame: pd.DataFrame) -> list[Any]:
        kind = "Class" if table.classes else "RawFormulaVal" if table.link is None else "Exponent"
        said = own.predict(frame.to_numpy(dtype=np.float64), prediction_type=kind, thread_count=1)
        return list(np.asarray(said).reshape(len(frame)).tolist())

    columns = [Column(name, place, None) for place, name in enumerate(names)]
    reads = lambda rows: [np.array(list(row.values()), dtype=np.float64) for row in rows]  # noqa: E731
    return Opened(model, space, table, columns, reads, {"catboost": judge}, {})


# ------------------------------------------------------------------------------------------------- one file


def tried(opened: Opened, rows: int, seconds: float) -> Line:
    """Rows beside every judge, and one question."""
    line = Line(judged={})
    given = [*random_rows(opened.space, rows - rows // 2), *adversarial_rows(opened, rows // 2)]  # type: ignore[arg-type]
    seen = opened.reads(given)
    said = [said_of(opened.table, one) for one in seen]
    line.rows, line.doubt = len(given), sum(one is None for one in said)
    frame = pd.DataFrame(given, columns=list(opened.space.names))
    told = {name: judge(frame) for name, judge in opened.judges.items()}
    alike = [any(agrees(own, found[k]) for found in told.values()) for k, own in enumerate(said)]
    for name, judge in opened.judges.items():
        counts, shown = Counter[str](), ""
        near = [judge(other) for other in nearly(frame, opened)]
        for row, own, others, shared, *some in zip(given, said, told[name], alike, *near, strict=True):
            if others is NOTHING and own == NO_PREDICTION:
                counts["the same"] += 1
            elif others is NOTHING:
                counts["without a score"] += 1
            elif own is None:
                continue
            elif agrees(own, others):
                counts["the same"] += 1
            elif any(one is not NOTHING and agrees(own, one) for one in some):
                counts["the same but for rounding"] += 1
            elif shared:
                counts[UNLIKE] += 1
            else:
                counts["OTHERWISE"] += 1
                shown = shown or f", as of {row}: {own!r}, {others!r}"
        line.wrong += counts["OTHERWISE"]
        line.same += counts["the same"] > 0 and not counts["OTHERWISE"] and not counts[UNLIKE]
        line.judged[name] = ", ".join(f"{count} {what}" for what, count in counts.items()) + shown
    line.judged |= {name: f"does not take it ({why})" for name, why in opened.refusing.items()}
    line.answer = asked(opened, given, said, seconds)
    line.wrong += "REFUSED" in line.answer
    return line


def nearly(frame: pd.DataFrame, opened: Opened) -> list[pd.DataFrame]:
    """The same rows where programs round otherwise: numbers in single precision, or those next to them."""

    def moved(how: Callable[[Any], Any]) -> pd.DataFrame:
        return frame.apply(lambda column: how(column) if column.dtype == float else column)

    found = [moved(lambda column: column.astype(np.float32).astype(float))] if opened.single else []
    nudges = (-UNITS, UNITS) if opened.norms else ()
    return found + [moved(lambda column, by=by: column + by * column.abs()) for by in nudges]


def said_of(table: Any, seen: Any) -> Any:
    """The table's label or number; None where it is in doubt."""
    if table.classes:
        place = class_of(table, seen)
        return None if place is None else table.classes[place]
    return float(predicted(table, table.scores(seen)[None, :])[0])


def agrees(own: Any, others: Any) -> bool:
    """Whether two programs say the same: a label as text or number; a number but for the last digits."""
    if isinstance(own, float) or not isinstance(own, (str, bool)) and not isinstance(others, str):
        try:
            return math.isclose(float(own), float(others), rel_tol=2e-6, abs_tol=1e-9)
        except (TypeError, ValueError):
            return False
    texts = {str(one).lower().removesuffix(".0") for one in (own, others)}
    return len(texts) == 1 or texts in ({"true", "1"}, {"false", "0"})


def asked(opened: Opened, given: list[dict[str, Any]], said: list[Any], seconds: float) -> str:
    """One row, explained: to another class, or to the upper fifth of the numbers that were seen."""
    goal: Any = None
    place = next((k for k, one in enumerate(said) if one is not None), None)
    if place is None:
        return "every row is in doubt"
    if not opened.table.classes:
        low = float(np.quantile([one for one in said if one is not None], 0.8))
        goal = f"y >= {low!r}"
        place = next((k for k, one in enumerate(said) if one is not None and one < low), None)
        if place is None:
            return "it says the same number of every row"
    began = time.process_time()
    found: Any = mace.explain(opened.model, opened.space, given[place], goal=goal, timeout=seconds)
    took = time.process_time() - began
    if found.certificate is None:
        return f"{found.status} without a certificate, {took:.1f} s"
    verdict = found.certificate.check()
    return f"{found.status}, certificate {'accepted' if verdict.accepted else 'REFUSED'}, {took:.1f} s"


def kind_of(path: Path) -> str | None:
    """Whose file it is, by its beginning."""
    with path.open("rb") as file:
        start = file.read(4096)
    if path.suffix == ".cbm":
        return "CatBoost"
    if path.suffix == ".json":
        return "CatBoost" if b"trees" in start or b"features_info" in start else None
    return "PMML" if b"<PMML" in start or path.suffix == ".pmml" else None


def files_below(folder: Path, only: str) -> Iterator[tuple[str, Path]]:
    """The kind and the path of every file that is tried, by name."""
    for path in sorted(folder.rglob("*")):
        known = path.is_file() and path.suffix in (".pmml", ".xml", ".cbm", ".json") and only in str(path)
        if known and (kind := kind_of(path)) is not None:
            yield kind, path


def main() -> int:
    """Print a line for each file, and what came of all; 1 where something is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.published", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)  # fmt: skip
    parser.add_argument("folder", nargs="?", type=Path, metavar="FOLDER")
    parser.add_argument("--sources", action="store_true", help="print where files come from, and end")
    parser.add_argument("--only", default="", metavar="TEXT", help="files whose path has this text in it")
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=20.0, help="for the one question")
    parser.add_argument("--judges", default=None, metavar="NAMES", help=f"of PMML: {', '.join(JUDGES)}")
    given = parser.parse_args()
    if given.sources or given.folder is None:
        for source in SOURCES:
            print("| " + " | ".join(source) + " |")
        return 0
    judges = installed() if given.judges is None else [name for name in given.judges.split(",") if name]
    print(f"judges of PMML: {', '.join(judges) or 'none is installed'}; of CatBoost: itself", flush=True)
    counts, why, wrong = Counter[str](), Counter[str](), 0
    for kind, path in files_below(given.folder, given.only):
        shown = path.relative_to(given.folder)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                opened = of_pmml(path, judges) if kind == "PMML" else of_catboost(path)
                line = tried(opened, given.rows, given.seconds)
        except MaceError as error:
            text = str(error).splitlines()[0]
            how = "not tried" if isinstance(error, NotTriedError) else "refused"
            counts[f"{kind}: {how}"] += 1
            why[f"{kind}: {text.partition('(')[0].partition(' in line')[0][:70]}"] += 1
            print(f"| {shown} | {how}: {text[:200]} |", flush=True)
            continue
        except Exception as error:  # noqa: BLE001  That is what is looked for.
            wrong += 1
            counts[f"{kind}: CRASHED"] += 1
            print(f"| {shown} | CRASHED: {type(error).__name__}: {str(error)[:150]} |", flush=True)
            traceback.print_exc(limit=-6)
            continue
        counts[f"{kind}: read"] += 1
        counts[f"{kind}: {line.answer.rpartition(',')[0] or line.answer}"] += 1
        counts[f"{kind}: the same as {line.same} judges"] += 1
        wrong += line.wrong > 0
        told = "; ".join(f"{name}: {what}" for name, what in (line.judged or {}).items())
        print(f"| {shown} | {line.rows} rows, {line.doubt} in doubt | {told} | {line.answer} |", flush=True)
    print("\n".join(f"{count:5} {what}" for what, count in sorted(counts.items())))
    print("refused or not tried, by message:\n" + "\n".join(f"{count:5} {what}" for what, count in why.most_common()))
    print(f"{wrong} files where something is wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
