"""`kraft log dump` shows the intact batches of damaged files, and says what is damaged or missing."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path

import pytest

from metadata_log.counts import counted_are
from metadata_log.format.batch import build_batch
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import TopicRecord, encode_record
from metadata_log.tools.dump.dump import dump_text
from metadata_log.tools.dump.turns import WORTH_IT
from quorum.cli.main import run

LOG = "00000000000000000000.log"
TOPICS = 9


def topic(offset: int, *, count: int = 1, name: str = "topic") -> bytes:
    values = [
        encode_record(TopicRecord(name=f"{name}-{offset + index}", topic_id=bytes(range(16))), 0)
        for index in range(count)
    ]
    return build_batch(base_offset=Offset(offset), epoch=Epoch(3), timestamp_ms=1000, values=values)


BATCHES = [topic(offset) for offset in range(TOPICS)]
STARTS = [sum(map(len, BATCHES[:index])) for index in range(TOPICS + 1)]


def changed(at: int, new: bytes, *, content: bytes = b"".join(BATCHES)) -> bytes:
    return content[:at] + new + content[at + len(new) :]


def dumped(path: Path, capfd: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = run(["log", "dump", str(path), *words])
    out, err = capfd.readouterr()
    assert "Traceback" not in err
    return status, out, err


def names(out: str) -> list[int]:
    return [int(line.partition('"name":"topic-')[2].partition('"')[0]) for line in out.splitlines() if '"name"' in line]


@pytest.mark.parametrize(
    ("damage", "at", "new", "what"),
    [
        ("a length past the end", 8, (2**20).to_bytes(4, "big"), "skipped"),
        ("a length past any batch", 8, (2**31 - 1).to_bytes(4, "big"), "skipped"),
        ("a length too small", 8, (3).to_bytes(4, "big"), "length is 3"),
        ("a negative length", 8, b"\xff\xff\xff\xff", "skipped"),
        ("a length into the next batch", 8, (len(BATCHES[4]) + 30).to_bytes(4, "big"), "its checksum is"),
        ("another magic", 16, b"\x09", "magic is 9"),
        ("an old format", 16, b"\x01", "skipped"),
        ("rubbish", 0, b"rubbish" * 9, "skipped"),
        ("zeros", 0, bytes(len(BATCHES[4])), "skipped"),
    ],
    ids=lambda value: value if isinstance(value, str) and " " in value else None,
)
@pytest.mark.parametrize("form", ["text", "table", "jsonl", "csv"])
def test_the_dump_goes_on_behind_damage(
    damage: str, at: int, new: bytes, what: str, form: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / LOG
    path.write_bytes(changed(STARTS[4] + at, new))
    status, out, err = dumped(path, capfd, "-o", form)
    assert status == 1, damage
    for number in range(TOPICS):
        assert (f"topic-{number}" in out) == (number != 4)
    assert err.startswith(f"kraft: {path}: position {STARTS[4]}: {len(BATCHES[4])} bytes skipped: ")
    assert what in err
    assert err.endswith("; offset 4 is missing\n")
    if form == "text":
        kept = b"".join(BATCHES[:4])
        assert out.startswith("".join(f"{line}\n" for line in dump_text(str(path), kept)))
        assert "invalid bytes" not in out


def test_the_first_and_the_last_batch_may_be_the_damaged_ones(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / LOG
    path.write_bytes(changed(16, b"\x09"))
    status, out, err = dumped(path, capfd)
    assert (status, names(out)) == (1, list(range(1, TOPICS)))
    assert err.endswith("offset 0 is missing\n")
    path.write_bytes(changed(STARTS[-2], b"\x07" * 17))
    status, out, err = dumped(path, capfd)
    assert (status, names(out)) == (1, list(range(TOPICS - 1)))
    assert err.endswith(f"no sound batch follows: all from offset {TOPICS - 1} on is missing\n")
    assert out.endswith(f"Found {len(BATCHES[-1])} invalid bytes at the end of {LOG}\n")


def test_a_wrong_checksum_is_shown_as_kafka_shows_it_and_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / LOG
    content = changed(STARTS[3] + 17, b"\x01")
    path.write_bytes(changed(STARTS[6] + 17, b"\x01", content=content))
    status, out, err = dumped(path, capfd)
    assert status == 1
    assert out == "".join(f"{line}\n" for line in dump_text(str(path), path.read_bytes()))
    assert out.count("isvalid: false") == 2
    assert [f"position {STARTS[index]}: its checksum is" in err for index in (3, 6)] == [True, True]
    assert err.count("are shown all the same") == 2
    status, out, err = dumped(path, capfd, "-o", "jsonl")
    assert status == 1
    assert [json.loads(line)["offset"] for line in out.splitlines() if json.loads(line)["error"]] == [3, 6]


def test_a_wrong_checksum_outside_of_what_is_asked_for_is_told(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / LOG
    path.write_bytes(changed(STARTS[3] + 17, b"\x01"))
    for form in ("text", "jsonl"):
        status, out, err = dumped(path, capfd, "--from", "6", "-o", form)
        assert status == 1
        assert [f"topic-{number}" in out for number in range(TOPICS)] == [number >= 6 for number in range(TOPICS)]
        assert f"position {STARTS[3]}" in err


@pytest.mark.parametrize("size", [8, 16, 17, 61, len(BATCHES[-1]) - 1])
def test_an_unfinished_write_is_told(size: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / LOG
    path.write_bytes(b"".join(BATCHES[:-1]) + BATCHES[-1][:size])
    status, out, err = dumped(path, capfd)
    assert status == 1
    assert out == "".join(f"{line}\n" for line in dump_text(str(path), path.read_bytes()))
    assert f"position {STARTS[-2]}: the last {size} bytes are an unfinished write" in err


@pytest.mark.parametrize("form", ["text", "jsonl", "csv", "table"])
@pytest.mark.parametrize(("count", "size"), [(TOPICS, 4096), (TOPICS, 1), (0, 100_000)])
def test_zeros_at_the_end_are_an_unfinished_write(
    count: int, size: int, form: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """A power cut can leave such an end of a write. `verify` calls it a torn tail, too."""
    path = tmp_path / LOG
    path.write_bytes(b"".join(BATCHES[:count]) + bytes(size))
    status, out, err = dumped(path, capfd, "-o", form)
    assert status == 1
    assert err.startswith(
        f"kraft: {path}: position {STARTS[count]}: the last {counted_are(size, 'byte')} an unfinished write ("
    )
    assert err.count("\n") == 1
    assert [f"topic-{number}" in out for number in range(TOPICS)] == [number < count for number in range(TOPICS)]
    if form == "text":
        assert out.endswith(f"Found {size} invalid bytes at the end of {LOG}\n")


def test_more_zeros_than_one_write_makes_are_lost_records(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / LOG
    path.write_bytes(b"".join(BATCHES) + bytes((8 << 20) + 1))
    status, _, err = dumped(path, capfd)
    assert status == 1
    assert f"bytes skipped: zeros; no sound batch follows: all from offset {TOPICS} on is missing" in err


def test_tables_tell_of_zeros_at_the_end(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    path = tmp_path / LOG
    path.write_bytes(b"".join(BATCHES) + bytes(4096))
    assert run(["log", "dump", str(path), "-o", "parquet"]) == 1
    assert b"the last 4096 bytes are an unfinished write (zeros)" in capfdbinary.readouterr().err


def test_tables_go_on_behind_damage_too(tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # noqa: PLC0415

    path = tmp_path / LOG
    path.write_bytes(changed(STARTS[6] + 17, b"\x01", content=changed(STARTS[4] + 16, b"\x09")))
    assert run(["log", "dump", str(path), "-o", "parquet"]) == 1
    out, err = capfdbinary.readouterr()
    rows = pq.read_table(io.BytesIO(out)).to_pylist()
    assert [row["offset"] for row in rows] == [0, 1, 2, 3, 5, 6, 7, 8]
    assert [row["offset"] for row in rows if row["error"]] == [6]
    assert b"offset 4 is missing" in err


def test_a_large_file_by_several_processes_goes_on_behind_damage(tmp_path: Path) -> None:
    batches = [topic(at * 500, count=500, name="long" * 50) for at in range(180)]
    starts = [sum(map(len, batches[:index])) for index in range(len(batches))]
    content = bytearray(b"".join(batches))
    for index in (80, 85, 150):
        content[starts[index] + 8 : starts[index] + 12] = b"\x7f\x00\x00\x00"
    path = tmp_path / LOG
    path.write_bytes(content)
    assert starts[80] > WORTH_IT < len(content) - starts[85]
    command = [sys.executable, "-m", "quorum.cli.main", "log", "dump", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    found = [int(line.split()[1]) for line in done.stdout.splitlines() if line.startswith("baseOffset: ")]
    assert found == [index * 500 for index in range(180) if index not in (80, 85, 150)]
    assert [line.rpartition("; ")[2] for line in done.stderr.splitlines()] == [
        f"offsets {index * 500} to {index * 500 + 499} are missing" for index in (80, 85, 150)
    ]
