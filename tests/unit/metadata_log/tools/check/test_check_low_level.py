"""Logs of a metadata.version below 3.3-IV3: Kafka 3.3 to 3.9 runs at it, tools read it, and our nodes refuse it."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

from metadata_log.errors import OlderReleaseError
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import build_batch, iter_batches, parse_header
from metadata_log.format.crc import crc32c
from metadata_log.image import MetadataImage, UnwritableMetadataError, records_of
from metadata_log.records import FeatureLevelRecord, encode_record
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.verify.verify_log import verify_log
from quorum.cli.main import run
from quorum.node.config.node_config import config_of
from quorum.node.storage.open_replica import open_replica
from tests.support.field import field_nodes

SEGMENT = "data/__cluster_metadata-0/00000000000000000000.log"
_NAME = b"metadata.version"


def _set_level(path: Path, level: int) -> None:
    """Write another level into the first batch of a segment, as a formatter of Kafka 3.9 would have."""
    data = bytearray(path.read_bytes())
    at = data.index(_NAME) + len(_NAME)
    (base,) = [where for where, header in iter_batches(bytes(data)) if where < at < where + header.size_in_bytes]
    end = base + parse_header(bytes(data), base).size_in_bytes
    struct.pack_into(">h", data, at, level)
    struct.pack_into(">I", data, base + 17, crc32c(bytes(data[base + 21 : end])))
    path.write_bytes(data)


def _nodes(root: Path, level: int) -> list[Path]:
    nodes = field_nodes("F01", root)
    for node in nodes:
        _set_level(node / SEGMENT, level)
        for checkpoint in (node / SEGMENT).parent.glob("*.checkpoint"):
            checkpoint.unlink()
    return nodes


def _append(path: Path, level: int) -> None:
    """Append a record that finalises a level."""
    data = path.read_bytes()
    last = list(iter_batches(data))[-1][1]
    value = encode_record(FeatureLevelRecord(name=_NAME.decode(), feature_level=level), 0)
    epoch, time_ms = last.partition_leader_epoch, last.max_timestamp
    batch = build_batch(base_offset=last.next_offset, epoch=epoch, timestamp_ms=time_ms, values=[value])
    path.write_bytes(data + batch)


def _refused(node: Path, roles: str = "controller") -> None:
    """Open a node as it starts; see it refused with its files as they were."""
    keys = {
        "process.roles": roles,
        "node.id": node.name.removeprefix("node-"),
        "listeners": "CONTROLLER://127.0.0.1:1,GRPC://127.0.0.1:2" if roles == "controller" else "GRPC://127.0.0.1:2",
        "log.dirs": f"{node}/data",
    }
    voters = {"controller.quorum.voters": "1@127.0.0.1:1,2@127.0.0.1:3,3@127.0.0.1:4"}
    servers = {"controller.quorum.bootstrap.servers": "127.0.0.1:1"}
    config = config_of(keys | (voters if roles == "controller" else servers))
    before = {path: path.read_bytes() for path in sorted(node.rglob("*")) if path.is_file()}
    with pytest.raises(OlderReleaseError, match=r"can follow is Kafka 3\.3 \(3\.3-IV3\).* 3\.3 to 3\.9"):
        open_replica(OsFiles(), config)
    after = {path: path.read_bytes() for path in sorted(node.rglob("*")) if path.is_file() and path in before}
    assert after == before


def _image(node: Path) -> MetadataImage:
    image = verify_log(find_sources([node]).nodes[0]).image
    assert image is not None
    return image


@pytest.mark.parametrize(("level", "name"), [(1, "3.0-IV1"), (4, "3.3-IV0"), (6, "3.3-IV2")])
def test_check_says_once_that_the_level_is_low(level: int, name: str, tmp_path: Path) -> None:
    (found,) = check_paths(_nodes(tmp_path, level)).findings
    assert (found.kind, found.severity) == ("older_release", "note")
    assert found.meaning.startswith(f"metadata.version is {name} ({level}): Kafka 3.3 to 3.9 can run at it")
    assert "3.3-IV3 (7)" in found.meaning


@pytest.mark.parametrize(
    "words", ["check", "log verify", "log verify --replay", "log diff", "log hash", "log timeline", "log dump"]
)
def test_no_command_finds_fault(words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words.split(), *map(str, _nodes(tmp_path, 4))]) == 0
    said = capsys.readouterr()
    assert "ERROR" not in said.out
    assert "WARNING" not in said.out
    assert not said.err


def test_inspect_takes_each_copy_for_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recover", "inspect", *map(str, _nodes(tmp_path, 4))]) == 0
    said = capsys.readouterr().out
    assert said.count("NOTE: metadata.version is 3.3-IV0 (4)") == 1
    assert "A majority of the voters is here and sound (3 of 3" in said


def test_the_shell_names_the_level(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["shell", str(_nodes(tmp_path, 4)[0]), "cat", "/image/features/metadataVersion"]) == 0
    assert capsys.readouterr().out.strip() == "Optional[3.3-IV0]"


def test_no_checkpoint_is_written_of_it(tmp_path: Path) -> None:
    with pytest.raises(UnwritableMetadataError, match=r"metadata\.version is 3\.3-IV0"):
        list(records_of(_image(_nodes(tmp_path, 4)[0])))


@pytest.mark.parametrize("level", [1, 4, 6])
def test_our_nodes_refuse_it_before_they_write(level: int, tmp_path: Path) -> None:
    *controllers, _, broker = _nodes(tmp_path, level)
    for node in controllers:
        _refused(node)
    _refused(broker, "broker")


def test_a_low_level_behind_a_checkpoint_is_refused(tmp_path: Path) -> None:
    node = field_nodes("F01", tmp_path)[0]
    assert list((node / SEGMENT).parent.glob("*.checkpoint"))
    _append(node / SEGMENT, 6)
    _refused(node)


def test_a_level_that_was_raised_is_followed(tmp_path: Path) -> None:
    node = _nodes(tmp_path, 4)[0]
    _append(node / SEGMENT, 7)
    assert check_paths([node]).findings == ()
    assert _image(node).features.metadata_version == 7
