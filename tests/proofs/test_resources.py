"""No file makes the checker wait for ever or take the machine's memory: it is unusable, or refused."""

from __future__ import annotations

import copy
import gzip
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mace.certify.writer import load as load_certificate
from mace.errors import CertificateError
from mace.proofs import check as checker
from mace.proofs import reader
from mace.proofs.check import Unusable, check, load, parse
from tests.proofs.bomb import bomb
from tests.proofs.by_hand import certificate, dual, forest, grid, network, number

CHECKER = Path(checker.__file__)
TREES = forest([[-1.0], [1.0]], at=[5.0])
GOAL = [[[0, None, number(0), False]]]
SPLITS = [["split", 0, 5], ["trees"], ["split", 0, 6], ["distance"], ["distance"]]
SOUND = certificate(TREES, GOAL, "6", SPLITS)
RELU = network([[[1.0]], [[1.0]]], [[0.0], [-9.5]])
DEEP = certificate(RELU, GOAL, "9", [["bounds"], ["split", 0, 5], dual("1"), dual("1")])


def changed(base: Any, **statement: Any) -> Any:
    made = copy.deepcopy(base)
    made["statement"] |= statement
    return made


def test_the_certificates_of_these_tests_are_sound():
    assert check(SOUND).accepted, check(SOUND).reason
    assert check(DEEP).accepted, check(DEEP).reason


# ------------------------------------------------------------------------------------------------ files


@pytest.fixture
def odd(tmp_path: Path) -> Path:
    """A folder with everything that a name may stand for, and one certificate."""
    (tmp_path / "sound.json").write_text(json.dumps(SOUND))
    (tmp_path / "link.json").symlink_to("sound.json")
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "to_pipe.json").symlink_to("pipe.json")
    (tmp_path / "folder.json").mkdir()
    (tmp_path / "loop.json").symlink_to("loop.json")
    (tmp_path / "gone.json").symlink_to("nowhere")
    (tmp_path / "zero.json").symlink_to("/dev/zero")
    return tmp_path


@pytest.mark.parametrize("name", ["pipe", "to_pipe", "folder", "zero"])
def test_what_is_no_regular_file_is_unusable_and_not_waited_for(odd: Path, name: str):
    with pytest.raises(Unusable, match="no regular file"):
        load(odd / f"{name}.json")
    with pytest.raises(CertificateError, match="no regular file"):
        load_certificate(odd / f"{name}.json")


def test_a_folder_of_them_is_checked_to_its_end(odd: Path):
    command = [sys.executable, "-I", "-S", str(CHECKER), str(odd)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout.splitlines()[-1] == "2 accepted, 0 refused, 6 unusable"
    assert ran.returncode == 2
    command = [sys.executable, "-m", "mace", "check", str(odd)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.stdout.splitlines()[-1] == "2 accepted by the checker, 6 unusable by the checker"
    assert ran.returncode == 2


def test_a_shared_model_that_is_a_pipe_is_unusable(tmp_path: Path):
    digest = "0" * 64
    os.mkfifo(tmp_path / f"{digest}{reader.MODEL}")
    (tmp_path / "c.json").write_text(json.dumps(changed(SOUND, model={"sha256": digest})))
    with pytest.raises(Unusable, match="not beside it"):
        load(tmp_path / "c.json")


@pytest.mark.parametrize(
    ("raw", "why"),
    [
        (b'{"a":' + b"1" * 4001 + b"}", "more than 4000 digits"),
        (b'{"a":"' + b"1" * 5000 + b'"}', "more than 4000 digits"),
        (gzip.compress(b"[" + b"9" * 5000 + b"]"), "more than 4000 digits"),
        (b"[" * 100_000 + b"]" * 100_000, "nested too deeply"),
        (bomb(), "bytes of text"),
    ],
    ids=["number", "text", "packed", "deep", "bomb"],
)
def test_a_text_that_is_too_much_is_unusable(raw: bytes, why: str):
    with pytest.raises(Unusable, match=why):
        parse(raw)


def test_a_list_without_end_is_unusable_before_it_is_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "MAX_VALUES", 1000)
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("it was read"))
    for one in (b"1", b"[]", b"{}", b"null"):
        with pytest.raises(Unusable, match="more than 1000 values"):
            parse(b"[" + b",".join([one] * 1001) + b"]")


def test_an_integer_stays_bounded_where_python_has_no_limit(monkeypatch: pytest.MonkeyPatch):
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        with pytest.raises(Unusable, match="more than 4000 digits"):
            parse(b"[" + b"1" * 1_000_000 + b"]")
    finally:
        sys.set_int_max_str_digits(before)


# ------------------------------------------------------------------------------------------------ statements


def test_a_chain_of_operations_ends():
    add = ["add", number(1)]
    long = changed(SOUND, columns=[[0, None, [add] * 101]])
    assert "more than 100 operations of a column" in check(long).reason
    growing = changed(SOUND, columns=[[0, None, [["mul", number(1e-300)], ["mul", number(3e300)]] * 50]])
    assert not check(growing).accepted


def test_a_network_of_ten_thousand_layers_is_unusable():
    endless = network([[[1.0]]] * 10_000, [[0.0]] * 10_000)
    assert check(certificate(endless, GOAL, "9", [])).reason == "more than 256 layers"


def test_the_numbers_of_distances_and_rules_are_bounded():
    long = changed(SOUND, features=[grid(0, 9, 0, scale=f"{10**3000 + 2 * k + 1}/3") for k in range(20)])
    assert "bits of the distance's common denominator" in check(long).reason
    rule = ["<", ["x", 0], ["c", "1"]]
    for _ in range(50):
        rule[1] = ["*", "9" * 3000, rule[1]]
    assert "digits of a rule" in check(changed(SOUND, rules=[rule])).reason
    assert "parts of a rule" in check(changed(SOUND, rules=[["and", *[["true"]] * 200_000]])).reason


@pytest.mark.parametrize(
    ("base", "limit", "value", "why"),
    [
        (DEEP, "MAX_COLUMNS", 0, "columns"),
        (DEEP, "MAX_LAYERS", 0, "layers"),
        (DEEP, "MAX_FEATURES", 0, "features"),
        (DEEP, "MAX_NODES", 3, "nodes of the proof"),
        (SOUND, "MAX_NODES", 2, "nodes of trees"),
        (SOUND, "MAX_SPANS", 1, "sides of leaves"),
        (SOUND, "MAX_HELD", 2, "comparisons of leaves"),
    ],
)
def test_each_limit_is_one_that_is_looked_at(
    base: Any, limit: str, value: int, why: str, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reader, limit, value)
    verdict = check(base)
    assert verdict.unusable and f"more than {value} {why}" in verdict.reason


# ------------------------------------------------------------------------------------------------ proofs


def comb(depth: int) -> list[Any]:
    """Splits of an empty box, each below the last, so that all of them stay open."""
    return [["split", 0, -1]] * depth


@pytest.mark.parametrize("base", [SOUND, DEEP], ids=["trees", "network"])
def test_a_proof_whose_boxes_all_stay_open_is_unusable(base: Any, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "MAX_HELD", 5000)
    wide = changed(base, features=[grid(0, 10, 0) for _ in range(100)])
    verdict = check({**wide, "proof": comb(1000)})
    assert verdict.unusable and "entries that the proof keeps open" in verdict.reason
    assert "proof keeps open" not in check({**wide, "proof": comb(40)}).reason


def test_units_and_trees_count_among_what_is_kept_open(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "MAX_HELD", 2000)
    wide = network([[[1.0] * 100], [[1.0]] * 100], [[0.0] * 100, [-9.5]])
    assert "proof keeps open" in check(certificate(wide, GOAL, "9", [["phase", 0, 0]] * 10)).reason
    trees = forest(*[[[-1.0], [1.0]]] * 50, at=[5.0] * 50)
    assert "proof keeps open" in check(certificate(trees, GOAL, "9", comb(40))).reason
    assert "proof keeps open" not in check(certificate(trees, GOAL, "9", [["near"]] * 500)).reason
    tightened = [["tighten"], ["phase", 0, 0]] * 10
    assert "proof keeps open" in check(certificate(wide, GOAL, "9", tightened)).reason


def test_parts_of_the_goal_count_among_what_is_kept_open_where_a_node_divides_them(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(reader, "MAX_HELD", 1000)
    many = GOAL * 100
    assert "proof keeps open" not in check(certificate(TREES, many, "9", comb(40))).reason
    assert "proof keeps open" in check(certificate(TREES, many, "9", [["part", k] for k in range(40)])).reason
    assert "proof keeps open" in check(certificate(TREES, many, "9", [*comb(40), ["part", 0]])).reason


def test_memory_that_is_not_there_is_a_refusal(monkeypatch: pytest.MonkeyPatch):
    def starve(*_: object, **__: object) -> None:
        raise MemoryError

    monkeypatch.setattr(checker, "verify", starve)
    assert str(check(SOUND)) == "unusable: it needs more memory than there is"
    monkeypatch.setattr(json, "loads", starve)
    with pytest.raises(Unusable, match="more memory than there is"):
        parse(b"{}")
