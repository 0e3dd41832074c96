"""`kraft log dump` as a person uses it: paths, forms, filters, mistakes, pipes."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from metadata_log.format.batch import build_batch
from metadata_log.ids import id_text
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import TopicRecord, encode_record
from metadata_log.tools.dump.dump import dump_rows, dump_text
from metadata_log.tools.dump.turns import WORTH_IT
from quorum.cli.main import run
from tests.support.fixture_files import FIXTURES

NODE = FIXTURES / "every-record" / "node-2"
DIRECTORY = NODE / "data" / "__cluster_metadata-0"
FILES = sorted(file for file in DIRECTORY.iterdir() if file.suffix in (".log", ".checkpoint"))


def shown(capfd: pytest.CaptureFixture[str], *words: str | Path) -> str:
    status = run(["log", "dump", *map(str, words)])
    out, err = capfd.readouterr()
    assert (status, err) == (0, "")
    return out


def refused(capfd: pytest.CaptureFixture[str], *words: str | Path, status: int = 2) -> str:
    assert run(["log", "dump", *map(str, words)]) == status
    _, err = capfd.readouterr()
    assert err.startswith("kraft: ")
    assert "Traceback" not in err
    return err


@pytest.mark.parametrize("path", [NODE, NODE / "data", DIRECTORY])
def test_a_node_a_log_directory_and_the_log_itself_are_the_same(path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    expected = "".join(f"{line}\n" for file in FILES for line in dump_text(str(file), file.read_bytes()))
    assert shown(capfd, path) == expected


def test_the_quick_way_says_what_the_long_way_says(capfd: pytest.CaptureFixture[str]) -> None:
    assert shown(capfd, *FILES) == shown(capfd, *FILES, "--as", "4.3")


def test_the_process_ends_with_all_that_it_had_to_say(tmp_path: Path) -> None:
    whole, damaged = FILES[0], tmp_path / "00000000000000000000.log"
    damaged.write_bytes(whole.read_bytes()[:8] + b"\xff" * 100)
    script = "from quorum.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script, "log", "dump", str(damaged), str(whole)], capture_output=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout.endswith("".join(f"{line}\n" for line in dump_text(str(whole), whole.read_bytes())).encode())
    assert done.stderr.startswith(b"kraft: ")


def test_json_is_an_object_and_jsonl_is_lines(capfd: pytest.CaptureFixture[str]) -> None:
    whole = json.loads(shown(capfd, DIRECTORY, "-o", "json"))
    version, rows = whole["schema_version"], whole["records"]
    lines = [json.loads(line) for line in shown(capfd, DIRECTORY, "-o", "jsonl").splitlines()]
    assert lines == [{"schema_version": version, **row} for row in rows]
    expected = [row.data for file in FILES for row in dump_rows(file.read_bytes())]
    assert [row["data"] for row in rows] == expected
    assert json.loads(shown(capfd, DIRECTORY, "-o", "json", "--epoch", "999"))["records"] == []


def test_csv_and_table_have_a_row_a_record(capfd: pytest.CaptureFixture[str]) -> None:
    count = sum(1 for file in FILES for _ in dump_rows(file.read_bytes()))
    assert len(list(csv.DictReader(io.StringIO(shown(capfd, DIRECTORY, "-o", "csv"))))) == count
    assert len(shown(capfd, DIRECTORY, "-o", "table").splitlines()) == count + 2 * len(FILES)


@pytest.mark.parametrize("form", ["parquet", "arrow"])
def test_parquet_and_arrow_are_for_a_pipe(form: str, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    import pyarrow as pa  # type: ignore[import-untyped]  # noqa: PLC0415
    import pyarrow.parquet as pq  # type: ignore[import-untyped]  # noqa: PLC0415

    assert run(["log", "dump", str(DIRECTORY), "-o", form, "--type", "topic"]) == 0
    content = io.BytesIO(capfdbinary.readouterr().out)
    table = pq.read_table(content) if form == "parquet" else pa.ipc.open_stream(content).read_all()
    expected = [row for file in FILES for row in dump_rows(file.read_bytes()) if row.type == "TOPIC_RECORD"]
    assert [json.loads(data) for data in table.column("data").to_pylist()] == [row.data for row in expected]


def test_filters_are_combined(capfd: pytest.CaptureFixture[str]) -> None:
    rows = [row for file in FILES for row in dump_rows(file.read_bytes())]
    topic = next(row for row in rows if row.type == "TOPIC_RECORD")
    assert topic.data is not None
    by_name = shown(capfd, DIRECTORY, "-o", "jsonl", "--topic", str(topic.data["name"]), "--type", "TopicRecord")
    by_id = shown(capfd, DIRECTORY, "-o", "jsonl", "--topic", str(topic.data["topicId"]), "--type", "topic")
    assert str(topic.data["topicId"]) in by_id
    assert set(by_id.splitlines()) <= set(by_name.splitlines())
    at = shown(
        capfd, DIRECTORY, "-o", "jsonl", "--from", "10", "--to", "11", "--since", "2020-01-01", "--until", "2100-01-01"
    )
    assert {json.loads(line)["offset"] for line in at.splitlines()} == {10}


@pytest.mark.parametrize(
    ("words", "complaint"),
    [
        (["--type", "nonsense"], "there is no such record type; there are ABORT_TRANSACTION_RECORD"),
        (["--topic", "never-there"], "no topic of this name was ever created"),
        (["--since", "yesterday"], "--since 'yesterday' is not a UTC time"),
        (["--from", "50", "--to", "10"], "--to (10) is before --from (50): nothing can be between them"),
        (["--since", "2026-02-01", "--until", "2026-01-01"], "--until (1767225600000) is before --since"),
        (["--from", "50", "--to", "10", "-o", "parquet"], "--to (10) is before --from (50)"),
        (["--from", "50", "--to", "10", "--follow"], "--to (10) is before --from (50)"),
        (["--follow", "-o", "json"], "--follow has no end"),
        (["--follow", "-o", "parquet"], "--follow has no end"),
    ],
)
def test_a_mistake_is_named(words: list[str], complaint: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert complaint in refused(capfd, DIRECTORY, *words)


def test_what_is_no_log_is_named(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert "does not exist" in refused(capfd, tmp_path / "nowhere")
    assert "holds neither segments" in refused(capfd, tmp_path)
    (tmp_path / "server.log").write_text("[2026-01-01] INFO rubbish\n" * 9)
    assert "holds neither segments" in refused(capfd, tmp_path)
    assert "holds no batch" in refused(capfd, tmp_path / "server.log")


def test_what_follows_damage_in_one_file_does_not_hide_the_others(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    good = build_batch(base_offset=Offset(0), epoch=Epoch(1), timestamp_ms=1, values=[b"\x01\x14\x00\x00"])
    (tmp_path / "00000000000000000000.log").write_bytes(good + good[:16] + b"\x09" + good[17:])
    (tmp_path / "00000000000000000009.log").write_bytes(good + good[:30])
    assert run(["log", "dump", str(tmp_path)]) == 1
    out, err = capfd.readouterr()
    assert "magic is 9" in err
    assert "00000000000000000000.log" in err
    assert out.count("NO_OP_RECORD") == 2
    assert out.endswith("Found 30 invalid bytes at the end of 00000000000000000009.log\n")


def test_a_large_file_by_several_processes_is_the_same_text(tmp_path: Path) -> None:
    topic_id = bytes(range(16))
    values = [encode_record(TopicRecord(name=f"{'long' * 50}-{index}", topic_id=topic_id), 0) for index in range(500)]
    batches = [
        build_batch(base_offset=Offset(at * 500), epoch=Epoch(1), timestamp_ms=1, values=values) for at in range(80)
    ]
    path = tmp_path / "00000000000000000000.log"
    path.write_bytes(b"".join(batches) + batches[0][:99])
    assert path.stat().st_size > WORTH_IT
    done = subprocess.run(_command(path), capture_output=True, check=False)
    assert done.returncode == 1
    expected = "".join(f"{line}\n" for line in dump_text(str(path), path.read_bytes()))
    assert done.stdout.decode() == expected
    assert id_text(topic_id) in expected


def test_a_reader_that_has_seen_enough_is_no_error(tmp_path: Path) -> None:
    with subprocess.Popen(_command(DIRECTORY), stdout=subprocess.PIPE, stderr=subprocess.PIPE) as dumping:
        assert dumping.stdout is not None
        assert dumping.stderr is not None
        assert dumping.stdout.readline().startswith(b"Dumping ")
        dumping.stdout.close()
        assert dumping.stderr.read() == b""
    assert dumping.returncode in (0, 1, 141)


@pytest.mark.parametrize("words", [["log", "dump", "-o", "jsonl"], ["log", "timeline"], ["shell"]])
def test_any_command_whose_reader_leaves_ends_alike(words: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    command = [
        sys.executable,
        "-u",
        "-m",
        "quorum.cli.main",
        *words,
        str(NODE),
        *(["tree", "/"] * (words == ["shell"])),
    ]
    done = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
    os.close(writing)
    assert (done.returncode, done.stderr) == (141, b"")


def _command(path: Path) -> list[str]:
    return [sys.executable, "-m", "quorum.cli.main", "log", "dump", str(path)]
