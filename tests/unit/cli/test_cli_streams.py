"""Standard output as it may be: closed, of a poor encoding; and names that are no UTF-8, or that a terminal obeys."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.fixture_files import FIXTURES

NODE = FIXTURES / "basic" / "node-1"
STRANGE = b"n\xff\x1b[31m\n1"
KRAFT = [sys.executable, "-m", "quorum.cli.main"]


def called(*words: str | bytes, directory: Path, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*KRAFT, *words], cwd=directory, env=os.environ | environment, capture_output=True, check=False
    )


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    shutil.copytree(NODE, os.fsdecode(os.fsencode(tmp_path) + b"/" + STRANGE))
    return tmp_path


@pytest.mark.parametrize("form", ["text", "csv"])
def test_a_name_that_is_no_utf_8_is_dumped_with_its_bytes(directory: Path, form: str) -> None:
    done = called("log", "dump", STRANGE, "--to", "1", "-o", form, directory=directory)

    assert (done.returncode, done.stderr) == (0, b"")
    assert STRANGE in done.stdout


@pytest.mark.parametrize(
    "words", ["log dump NAME --to 1 -o json", "log dump NAME --to 1 -o jsonl", "log hash NAME -o json"]
)
def test_in_json_it_is_escaped(directory: Path, words: str) -> None:
    done = called(*[STRANGE if word == "NAME" else word for word in words.split()], directory=directory)

    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode("ascii" if "dump" in words else "utf-8")
    value = json.loads(text.splitlines()[0] if "jsonl" in words else text)
    row = value if "jsonl" in words else value["records" if "dump" in words else "hashes"][0]
    assert os.fsencode(row.get("file") or row["path"]).startswith(STRANGE)


def test_in_a_table_of_columns_it_is_escaped(directory: Path) -> None:
    import pyarrow.parquet  # noqa: PLC0415  (of the extra `analysis`)

    with (directory / "rows.parquet").open("wb") as file:
        words = [*KRAFT, "log", "dump", STRANGE, "-o", "parquet"]
        done = subprocess.run(words, cwd=directory, stdout=file, stderr=subprocess.PIPE, check=False)

    assert (done.returncode, done.stderr) == (0, b"")
    files = pyarrow.parquet.read_table(directory / "rows.parquet").column("file").to_pylist()
    assert files[0].startswith("n\\xff\x1b[31m\n1/")


def test_a_picture_of_it_is_utf_8(directory: Path) -> None:
    done = called("log", "timeline", STRANGE, "--picture", "a.svg", directory=directory)

    assert (done.returncode, done.stderr) == (0, b"")
    assert "<svg" in (directory / "a.svg").read_text("utf-8")


def test_a_terminal_obeys_no_name(directory: Path) -> None:
    (log,) = next(directory.iterdir()).glob("data/__cluster_metadata-0/*.log")
    os.truncate(log, 5000)

    done = called("check", STRANGE, directory=directory)

    assert done.returncode == 1
    assert b"\x1b" not in done.stdout
    assert done.stdout.count(b"n\xff\\x1b[31m\\x0a1") >= 2, "in the table and in the findings"


def test_an_encoding_without_the_arrow_gets_another(directory: Path) -> None:
    (log,) = next(directory.iterdir()).glob("data/__cluster_metadata-0/*.log")
    os.truncate(log, 5000)

    done = called("check", STRANGE, directory=directory, PYTHONIOENCODING="latin-1")

    assert (done.returncode, done.stderr) == (1, b"")
    assert b"-> keep the directory" in done.stdout


@pytest.mark.parametrize(
    "words", ["log dump NODE", "check NODE", "log hash NODE -o json", "storage random-uuid", "--help"]
)
def test_closed_output_is_told(words: str) -> None:
    command = [*KRAFT, *words.replace("NODE", str(NODE)).split()]

    done = subprocess.run(["sh", "-c", 'exec "$@" >&-', "sh", *command], stderr=subprocess.PIPE, text=True, check=False)

    assert (done.returncode, done.stderr) == (1, "kraft: standard output: Bad file descriptor\n")


def test_closed_error_keeps_the_messages_out_of_the_data() -> None:
    command = [*KRAFT, "log", "verify", "/nonexistent"]

    done = subprocess.run(
        ["sh", "-c", 'exec "$@" 2>&-', "sh", *command], stdout=subprocess.PIPE, text=True, check=False
    )

    assert (done.returncode, done.stdout) == (2, "")
