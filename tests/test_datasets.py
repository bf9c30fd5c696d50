"""Each table is the known one, and its space says the truth about it."""

from __future__ import annotations

import gzip
import hashlib
import tomllib
from fractions import Fraction
from pathlib import Path

import pandas as pd
import pytest

import mace
from mace.datasets import openml, source
from mace.datasets.loans import loans
from mace.errors import FileError
from mace.problem.programs import rule_of

REAL = list(source.KNOWN)
SHAPES = {"loans": (2000, 16), "adult": (45222, 13), "credit": (29623, 15), "compas": (5278, 6), "german": (1000, 22)}
FAVOURABLE = {"loans": 1171, "adult": 11208, "credit": 23076, "compas": 2795, "german": 700}
# Rows of the table that break a rule of its space; every rule that is not named here holds in all rows.
BROKEN = {
    ("adult", 'Relationship == "Husband" implies Sex == "Male"'): 1,
    ("adult", 'Relationship == "Wife" implies Sex == "Female"'): 1,
}
tables = pytest.mark.parametrize("name", ["loans", *(pytest.param(name, marks=[pytest.mark.data]) for name in REAL)])
every_name = pytest.mark.parametrize("name", mace.datasets.NAMES)


def declared(name: str) -> dict[str, object]:
    """The space's file as plain data: a referee that does not pass through mace.space.space."""
    return tomllib.loads((Path(source.__file__).parent / f"{name}.toml").read_text(encoding="utf-8"))


def holds(frame: pd.DataFrame, rule: str) -> pd.Series[bool]:
    """Evaluate a rule on every row with pandas, not with mace."""
    if " implies " in rule:
        premise, conclusion = rule.split(" implies ")
        return ~frame.eval(premise) | frame.eval(conclusion)
    return frame.eval(rule)


@tables
def test_shape_and_share_are_as_documented(name: str) -> None:
    data = mace.datasets.load(name)
    assert data.frame.shape == SHAPES[name]
    assert int((data.y == data.goal).sum()) == FAVOURABLE[name]
    assert data.frame.notna().all(axis=None)


@tables
def test_each_feature_of_each_row_obeys_its_declaration(name: str) -> None:
    data = mace.datasets.load(name)
    features = declared(name)["feature"]
    assert [feature["name"] for feature in features] == list(data.X)
    for feature in features:
        column = data.X[feature["name"]]
        if "levels" in feature:
            assert set(column) == set(feature["levels"]), feature["name"]
        else:
            assert pd.api.types.is_integer_dtype(column)
            assert feature["lower"] <= column.min() <= column.max() <= feature["upper"]
            assert (column % feature.get("step", 1) == 0).all()
            assert name == "loans" or (column.min(), column.max()) == (feature["lower"], feature["upper"])


@tables
def test_each_rule_holds_in_all_rows_but_the_known_ones(name: str) -> None:
    frame = mace.datasets.load(name).X
    for rule in declared(name)["rules"]:
        assert int((~holds(frame, rule)).sum()) == BROKEN.get((name, rule), 0), rule


@tables
def test_mace_reads_each_rule_as_pandas_does(name: str) -> None:
    data = mace.datasets.load(name)
    space = data.free_space
    some = data.X.sample(60, random_state=0)
    # Each column shuffled on its own: people who cannot be, so that rules also fail.
    mixed = pd.DataFrame({column: some[column].sample(frac=1, random_state=i).array for i, column in enumerate(some)})
    for frame in (some, mixed):
        points = [(axes := space.axes(row), tuple(axis.start for axis in axes)) for _, row in frame.iterrows()]
        for text in data.space.rules:
            rule = rule_of(text, data.space)
            assert [rule.holds(*point) for point in points] == holds(frame, text).tolist(), text


@tables
def test_the_space_encodes_the_table_and_decodes_it_again(name: str) -> None:
    data = mace.datasets.load(name)
    frame = data.X.head(500)
    back = data.space.decode(data.space.encode(frame))
    assert list(back) == list(frame)
    assert (back == frame).all(axis=None)


@every_name
def test_the_shipped_space_is_read_as_declared(name: str) -> None:
    space = mace.datasets.Dataset(name, pd.DataFrame(), "y").space
    plain = declared(name)
    assert space.name == name
    assert list(space.rules) == plain["rules"]
    for feature, table in zip(space.features, plain["feature"], strict=True):
        assert (feature.name, feature.kind, feature.change) == (
            table["name"],
            table["kind"],
            table.get("change", "any"),
        )
        if "step" in table:
            assert Fraction(feature.step) == table["step"]


@every_name
def test_the_free_space_has_no_rules_and_no_directions(name: str) -> None:
    data = mace.datasets.Dataset(name, pd.DataFrame(), "y")
    assert data.free_space.names == data.space.names
    assert {feature.change for feature in data.free_space.features} == {"any"}
    assert not data.free_space.rules


@every_name
def test_what_no_one_chooses_is_fixed(name: str) -> None:
    space = mace.datasets.Dataset(name, pd.DataFrame(), "y").space
    born = {"Sex", "IsMale", "Race", "NativeCountry", "ForeignWorker"}
    assert {feature.change for feature in space.features if feature.name in born} <= {"fixed"}
    assert {feature.change for feature in space.features if feature.name in {"Age", "AgeGroup"}} <= {"increase"}


def test_loans_are_the_same_on_every_machine() -> None:
    text = loans().to_csv(index=False, lineterminator="\n")
    assert (
        hashlib.sha256(text.encode()).hexdigest() == "ca2bea8dbc234067de0ba0bc96a078c036e7ec8fb6a3314eae9ed7c85091236f"
    )


def test_a_longer_table_of_loans_begins_with_the_shorter_one() -> None:
    assert loans(300).equals(loans(1000).head(300))


def test_another_seed_gives_other_loans() -> None:
    assert not loans(50, random_state=1).equals(loans(50))


def test_a_model_learns_from_the_loans_at_once() -> None:
    from sklearn.tree import DecisionTreeClassifier

    data = mace.datasets.load("loans")
    matrix = data.space.encode(data.X)
    model = DecisionTreeClassifier(max_depth=6, random_state=0).fit(matrix[:1500], data.y[:1500])
    assert model.score(matrix[1500:], data.y[1500:]) > 0.8 > data.y.mean() + 0.1


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_every_loan_of_a_large_table_obeys_the_space(seed: int) -> None:
    frame = loans(20_000, random_state=seed)
    space = mace.datasets.load("loans").space
    space.encode(frame)  # raises for a value out of range or an unknown level
    for feature in space.features:
        assert feature.step is None or (frame[feature.name] % feature.step == 0).all()
    for rule in space.rules:
        assert holds(frame, rule).all()


@pytest.mark.data
@pytest.mark.parametrize("name", REAL)
def test_the_rows_are_known_in_any_order(name: str) -> None:
    frame = mace.datasets.load(name).frame
    assert source.lines_sha256(frame.iloc[::-1]) == source.KNOWN[name].lines_sha256


@pytest.mark.data
@pytest.mark.parametrize("name", ["adult", "german", "compas", "credit"])
def test_openml_rows_come_out_in_the_known_shape(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """OpenML's first rows, as they stand there, against the same rows of the known table."""
    raw = pd.DataFrame(OPENML[name])

    class Bunch:
        frame = raw

    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: Bunch)
    known = mace.datasets.load(name).frame
    monkeypatch.delenv("MACE_DATA")
    found = mace.datasets.load(name, verify=False).frame
    assert list(found) == list(known)
    assert found.astype(str).values.tolist() == known.head(len(found)).astype(str).values.tolist()
    with pytest.raises(FileError, match="cannot be brought into the known shape"):
        mace.datasets.load(name)


def test_openml_level_names_are_those_of_the_space() -> None:
    features = {feature["name"]: feature for feature in declared("german")["feature"]}
    shared = [column for column in openml.GERMAN_LEVELS if column in features]
    assert len(shared) >= 10
    for column in shared:
        assert set(openml.GERMAN_LEVELS[column].values()) == set(features[column]["levels"])


def test_an_openml_table_of_another_shape_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = pd.DataFrame(OPENML["german"]).replace("skilled", "wizard")
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: type("Bunch", (), {"frame": raw}))
    monkeypatch.delenv("MACE_DATA", raising=False)
    with pytest.raises(FileError, match="column 'Job' holds 'wizard', expected"):
        mace.datasets.load("german")
    raw = raw.drop(columns="housing")
    with pytest.raises(FileError, match="another shape than expected"):
        mace.datasets.load("german")


def test_without_a_network_the_message_says_where_to_put_the_file(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(**_: object) -> None:
        raise OSError("Name or service not known")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", refuse)
    monkeypatch.delenv("MACE_DATA", raising=False)
    with pytest.raises(FileError, match="not downloaded from OpenML") as caught:
        mace.datasets.load("adult")
    assert "Put adult.csv.gz into a folder" in str(caught.value)
    assert "the variable MACE_DATA names no folder" in str(caught.value)
    monkeypatch.setenv("MACE_DATA", "/nowhere")
    with pytest.raises(FileError, match="MACE_DATA names /nowhere, which is no folder, and not downloaded"):
        mace.datasets.load("adult")


def test_an_unknown_name_lists_the_known_ones() -> None:
    with pytest.raises(FileError, match="no data set 'iris'\nData sets: loans, adult, credit, compas, german"):
        mace.datasets.load("iris")


def test_a_given_folder_without_the_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"adult\.csv\.gz: no such file"):
        mace.datasets.load("adult", tmp_path)


def test_a_changed_file_is_refused_unless_told(tmp_path: Path) -> None:
    text = "AgeGroup,Race,Sex,PriorsCount,ChargeDegree,TwoYearRecid\n<25,Caucasian,Male,1,felony,0\n"
    (tmp_path / "compas.csv.gz").write_bytes(gzip.compress(text.encode()))
    with pytest.raises(FileError, match="not the known compas table"):
        mace.datasets.load("compas", tmp_path)
    data = mace.datasets.load("compas", tmp_path / "compas.csv.gz", verify=False)
    assert data.X.iloc[0].tolist() == ["<25", "Caucasian", "Male", 1, "felony"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"not compressed", "must be a CSV compressed with gzip"),
        (gzip.compress(b"a,b\n1,2\n" * 99)[:-12], "cannot be read"),
        (gzip.compress(b'a,b\n1,"2\n'), "not a CSV table"),
        (gzip.compress(b"\xff\xfe\n"), "not a CSV table"),
        (gzip.compress(b"a,b\n1,2\n"), "there is no column `AgeGroup`"),
    ],
    ids=["plain", "truncated", "quote", "encoding", "columns"],
)
def test_a_damaged_file_is_an_error_not_a_traceback(tmp_path: Path, content: bytes, message: str) -> None:
    (tmp_path / "compas.csv.gz").write_bytes(content)
    with pytest.raises(FileError, match=message):
        mace.datasets.load("compas", tmp_path, verify=False)


# The first rows of the tables, in OpenML's own columns and codes.
AMOUNTS = (
    (2682, 1725, 2682, 3272, 3455, 3261, 0, 1000, 1000, 1000, 0, 2000),
    (29239, 14027, 13559, 14331, 14948, 15549, 1518, 1500, 1000, 1000, 1000, 5000),
)
OPENML: dict[str, dict[str, list[object]]] = {
    "adult": {
        "age": [39.0, 50.0, 54.0],
        "workclass": ["State-gov", "Self-emp-not-inc", None],
        "fnlwgt": [77516.0, 83311.0, 180211.0],
        "education": ["Bachelors", "Bachelors", "Some-college"],
        "education-num": [13.0, 13.0, 10.0],
        "marital-status": ["Never-married", "Married-civ-spouse", "Married-civ-spouse"],
        "occupation": ["Adm-clerical", "Exec-managerial", None],
        "relationship": ["Not-in-family", "Husband", "Husband"],
        "race": ["White", "White", "Asian-Pac-Islander"],
        "sex": ["Male", "Male", "Male"],
        "capital-gain": [2174.0, 0.0, 0.0],
        "capital-loss": [0.0, 0.0, 0.0],
        "hours-per-week": [40.0, 13.0, 60.0],
        "native-country": ["United-States", "United-States", "South"],
        "class": ["<=50K", "<=50K", ">50K"],
    },
    "credit": {
        name: list(values)
        for name, *values in zip(
            [*(f"x{number}" for number in range(1, 24)), "y"],
            [20000, 2, 2, 1, 24, 2, 2, -1, -1, -2, -2, 3913, 3102, 689, 0, 0, 0, 0, 689, 0, 0, 0, 0, 1],
            [120000, 2, 2, 2, 26, -1, 2, 0, 0, 0, 2, *AMOUNTS[0], 1],
            [90000, 2, 2, 2, 34, 0, 0, 0, 0, 0, 0, *AMOUNTS[1], 0],
            strict=True,
        )
    },
    "compas": {
        "sex": [1, 1, 1],
        "age": [34, 24, 41],
        "juv_fel_count": [0, 0, 0],
        "priors_count": [0, 4, 14],
        "age_cat_25-45": [1, 0, 1],
        "age_cat_Greaterthan45": [0, 0, 0],
        "age_cat_Lessthan25": [0, 1, 0],
        "race_African-American": [1, 1, 0],
        "race_Caucasian": [0, 0, 1],
        "c_charge_degree_F": [1, 1, 1],
        "c_charge_degree_M": [0, 0, 0],
        "twoyearrecid": ["1", "1", "1"],
    },
    "german": {
        "checking_status": ["<0", "0<=X<200"],
        "duration": [6.0, 48.0],
        "credit_history": ["critical/other existing credit", "existing paid"],
        "purpose": ["radio/tv", "radio/tv"],
        "credit_amount": [1169.0, 5951.0],
        "savings_status": ["no known savings", "<100"],
        "employment": [">=7", "1<=X<4"],
        "installment_commitment": [4.0, 2.0],
        "personal_status": ["male single", "female div/dep/mar"],
        "other_parties": ["none", "none"],
        "residence_since": [4.0, 2.0],
        "property_magnitude": ["real estate", "real estate"],
        "age": [67.0, 22.0],
        "other_payment_plans": ["none", "none"],
        "housing": ["own", "own"],
        "existing_credits": [2.0, 1.0],
        "job": ["skilled", "skilled"],
        "num_dependents": [1.0, 1.0],
        "own_telephone": ["yes", "none"],
        "foreign_worker": ["yes", "yes"],
        "class": ["good", "bad"],
    },
}
