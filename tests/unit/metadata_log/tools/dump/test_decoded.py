"""The decoded tables of an export say what the dump says, and hold the batches' own bytes."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from metadata_log.format.batch import computed_checksum, parse_header
from metadata_log.tools.backup.export import export_replica
from metadata_log.tools.dump.decoded import BATCH_FIELDS, DECODED, write_beside, write_json_lines
from metadata_log.tools.dump.dump import dump_rows
from quorum.cli.main import run
from tests.support.fixture_files import FIXTURES

NODE = FIXTURES / "every-record" / "node-2" / "data"


@pytest.fixture(scope="module")
def export(tmp_path_factory: pytest.TempPathFactory) -> Path:
    target = tmp_path_factory.mktemp("exports") / "copy"
    export_replica(NODE, target)
    return target


def test_json_lines_hold_every_record_and_batch(export: Path, tmp_path: Path) -> None:
    done = write_json_lines(export, tmp_path)
    rows = [(path, row) for path in sorted(export.glob("*[gt]")) for row in dump_rows(path.read_bytes())]
    assert done.records == len(rows)
    found = {
        (row["file"], row["offset"]): (path.parent.name, row["epoch"], row["data"])
        for path in tmp_path.rglob("records.jsonl")
        for row in map(json.loads, path.read_text().splitlines())
    }
    assert found == {(path.name, row.offset): (f"type={row.type}", row.epoch, row.data) for path, row in rows}
    batches = [json.loads(line) for line in (tmp_path / "batches.jsonl").read_text().splitlines()]
    for batch in batches:
        raw = base64.b64decode(batch["raw"])
        header = parse_header(raw)
        assert batch["crc"] == computed_checksum(raw, header)
        assert {name: getattr(header, name) for name in BATCH_FIELDS} == {name: batch[name] for name in BATCH_FIELDS}
        content = (export / batch["file"]).read_bytes()
        assert content[batch["position"] :].startswith(raw)
    assert sum(parse_header(base64.b64decode(batch["raw"])).count for batch in batches) == len(rows)


def test_parquet_has_typed_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    import pyarrow.parquet as pq  # noqa: PLC0415

    assert run(["log", "export", str(NODE), str(tmp_path / "copy"), "-o", "parquet"]) == 0
    assert "Decoded: " in capsys.readouterr().out
    decoded = tmp_path / "copy" / DECODED
    rows = {
        (path.name, row.offset): row
        for path in (tmp_path / "copy").glob("*[gt]")
        for row in dump_rows(path.read_bytes())
    }
    tables = {path.parent.name: pq.read_table(path, partitioning=None) for path in decoded.rglob("records.parquet")}
    assert sum(table.num_rows for table in tables.values()) == len(rows)
    partitions = tables["type=PARTITION_RECORD"].to_pylist()
    for row in partitions:
        data = rows[row["file"], row["offset"]].data
        assert data is not None
        assert (row["topic_id"], row["replicas"], row["leader"]) == (data["topicId"], data["replicas"], data["leader"])
    (first, *_) = tables["type=REGISTER_BROKER_RECORD"].to_pylist()
    assert first["end_points"][0]["name"] == "PLAINTEXT"
    batches = pq.read_table(decoded / "batches.parquet").to_pylist()
    assert all(parse_header(batch["raw"]).crc == batch["crc"] for batch in batches)


def test_what_fails_leaves_nothing_behind(export: Path) -> None:
    def fail(source: Path, target: Path) -> None:
        (target / "half").write_text("x")
        raise OSError("no space left")

    with pytest.raises(OSError, match="no space left"):
        write_beside(export, fail)  # type: ignore[arg-type]
    assert not list(export.glob("*decoded*")) + list(export.glob(".*decoded*"))
