"""A table on the command line is read as it is written, or refused with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from mace.cli.options import Given
from mace.cli.table import read_csv
from mace.errors import FileError, RowError


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (b"", "no.csv: it is empty\nExpected are"),
        (b"Age;Sex\n1;2\n", "no.csv: it has semicolons between its values, not commas\nExpected are"),
        (b"Age\tSex\n1\t2\n", "no.csv: it has tabs between its values, not commas\nExpected are"),
        (b"Age,Sex\n1,2\n1,2,3\n", "cannot be read as CSV (Expected 2 fields in line 3, saw 3)\nExpected are"),
        (b"Age,Sex\n0,2,7\n1,4,8\n", "its rows have more values than its first line has names\nExpected are"),
        (b"Age,Sex,Age\n1,2,3\n", "two columns are called 'Age'\nRename one of them"),
        ("Age,Sex\n1,2".encode("utf-16"), "no.csv: it is in UTF-16, and must be in UTF-8\nExpected are"),
        ("Age,Sex\n1,2".encode("utf-32"), "no.csv: it is in UTF-32, and must be in UTF-8\nExpected are"),
        ("Age,Sex\n1,2\n".encode("utf-16-le"), "no.csv: it is no text in UTF-8: it holds the byte 0x00\nExpected are"),
        (b"Age,Sex\n1,2\n1\0,3\n", "no.csv: it is no text in UTF-8: it holds the byte 0x00\nExpected are"),
    ],
)
def test_a_table_that_is_read_only_by_guessing_is_refused(text: bytes, said: str, tmp_path: Path):
    file = tmp_path / "no.csv"
    file.write_bytes(text)
    with pytest.raises(FileError) as error:
        read_csv(str(file))
    assert said in str(error.value) and str(error.value).count("\n") == 1


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="the system has no such device")
def test_a_device_that_never_ends_is_no_table():
    with pytest.raises(FileError, match="/dev/zero: this is a device, not a file\nGive a file"):
        read_csv("/dev/zero", "Give a file.")


def test_a_table_is_read_where_nothing_has_to_be_guessed(tmp_path: Path):
    file = tmp_path / "some.csv"
    for text in (
        b"\xef\xbb\xbfAge,Sex\n1,2\n",
        b"Age,Sex\r\n1,2\r\n",
        b'"Age",Sex\n1,2',
        b"Age,Sex\n",
        b"Age,Sex\n1,2,\n",
    ):
        file.write_bytes(text)
        frame = read_csv(str(file))
        assert list(frame.columns) == ["Age", "Sex"] and frame.to_numpy().tolist() in ([[1, 2]], [])
    file.write_bytes(b"Age,Age.1\n1,2\n")
    assert list(read_csv(str(file)).columns) == ["Age", "Age.1"]


def test_a_column_to_leave_out_must_be_there(tmp_path: Path):
    (tmp_path / "some.csv").write_bytes(b"Age,Ident\n1,2\n")
    with pytest.raises(RowError, match="--drop Idnt: the data has no such column\nDid you mean 'Ident'"):
        Given(data=str(tmp_path / "some.csv"), drop="Idnt").read_table()
