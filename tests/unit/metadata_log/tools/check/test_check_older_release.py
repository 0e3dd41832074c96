"""Logs of Kafka before 3.3: the tools read them as 3.0-IV1, repairs work, and our controllers refuse them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.errors import OlderReleaseError
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import batch_values, build_batch, parse_header
from metadata_log.image import MetadataImage, UnwritableMetadataError, records_of
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.verify.verify_log import verify_log
from quorum.cli.main import run
from quorum.node.storage.open_replica import open_replica
from tests.support.field import controller_config, field_nodes

SEGMENT = "data/__cluster_metadata-0/00000000000000000000.log"
NOTE = "Kafka before 3.3 wrote this metadata, and it is read as 3.0-IV1 is"


@pytest.fixture
def nodes(tmp_path: Path) -> list[Path]:
    """Three controllers, and the broker whose directories all have their topic ids."""
    *controllers, _, broker = field_nodes("F20", tmp_path)
    return [*controllers, broker]


def _image(node: Path) -> MetadataImage:
    image = verify_log(find_sources([node]).nodes[0]).image
    assert image is not None
    return image


@pytest.mark.parametrize(
    "words", ["check", "log verify", "log verify --replay", "log diff", "log hash", "log timeline", "log dump"]
)
def test_no_command_finds_fault(words: str, nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words.split(), *map(str, nodes)]) == 0
    said = capsys.readouterr()
    assert "ERROR" not in said.out
    assert "WARNING" not in said.out
    assert not said.err


def test_check_says_once_of_which_release_it_is(nodes: list[Path]) -> None:
    assert [(found.kind, found.severity) for found in check_paths(nodes).findings] == [("older_release", "note")]
    assert NOTE in check_paths(nodes[:1]).findings[0].meaning


def test_a_brokers_directories_are_audited(nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["storage", "audit", str(nodes[3])]) == 0
    said = capsys.readouterr()
    assert "0 of which do not belong" in said.out
    assert "cannot be trusted" not in said.err


def test_a_config_of_no_topic_is_still_found(nodes: list[Path]) -> None:
    path = nodes[0] / SEGMENT
    data, kept, at = path.read_bytes(), bytearray(), 0
    while at < len(data):
        header = parse_header(data, at)
        if header.count == 1:
            kept += data[at : at + header.size_in_bytes]
        else:  # the topic's config, without the topic
            config = list(batch_values(data, header, at))[:1]
            epoch, time_ms = header.partition_leader_epoch, header.max_timestamp
            kept += build_batch(base_offset=header.base_offset, epoch=epoch, timestamp_ms=time_ms, values=config)
            break
        at += header.size_in_bytes
    path.write_bytes(kept)
    assert "config_of_nothing" in {found.kind for found in check_paths(nodes[:1]).findings}


def test_inspect_takes_each_copy_for_whole(nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["recover", "inspect", *map(str, nodes)]) == 0
    said = capsys.readouterr().out
    assert said.count(NOTE) == 1
    assert "A majority of the voters is here and sound (3 of 3" in said
    assert "holds no metadata" not in said
    words = " ".join(said.split())
    assert "Controllers of Apache Kafka up to 3.9 start from it, and this software's refuse it" in words
    assert "as they are: they elect a leader by themselves. Apache Kafka up to 3.9 does so; this software's" in words


def test_a_registration_without_levels_is_not_given_any(nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["features", "check", f"{nodes[0]}/data", "--target", "3.9"]) == 0
    said = capsys.readouterr().err
    assert "broker 12 is registered without any metadata.version, as nodes of Kafka before 3.3 are" in said
    assert "0 to 0" not in said


def test_a_missing_topic_id_is_told_as_each_release_takes_it(tmp_path: Path) -> None:
    found = next(one for one in check_paths(field_nodes("F20", tmp_path)).findings if one.severity == "error")
    assert found.kind == "partition_without_id"
    assert "Kafka 3.7 and later sets the directory aside then, and an older one throws" in found.advice


def test_a_surviving_controller_goes_on_alone(nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    for gone in nodes[1:3]:
        shutil.rmtree(gone)
    words = ["recover", "static-voters", "--dir", f"{nodes[0]}/data", "--set", "1@localhost:1", "--missing", "rest"]
    words += ["--bootstrap-controller", "localhost:1"]
    assert run([*words, "--accept-data-loss", "--apply"]) == 0, capsys.readouterr()
    before, after = _image(nodes[3]), _image(nodes[0])
    assert before.says_the_same_as(after)
    capsys.readouterr()
    assert run(["recover", "verify", str(nodes[0])]) == 0
    words = " ".join(capsys.readouterr().out.split())
    assert "Nothing is wrong: a controller of Apache Kafka up to 3.9 starts from what is here." in words
    assert "this software's refuse it" in words
    assert run(["check", str(nodes[0])]) == 0, capsys.readouterr().out


def test_a_brokers_copy_makes_a_controller(nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    new = nodes[0].parent / "new"
    words = ["recover", "from-broker", "--broker-dir", f"{nodes[3]}/data", "--dir", str(new), "--node-id", "1"]
    words += ["--endpoint", "CONTROLLER://localhost:1", "--missing", "1,2,3,11", "--accept-data-loss"]
    words += ["--bootstrap-controller", "localhost:1"]
    assert run([*words, "--apply"]) == 0, capsys.readouterr()
    assert not (new / "bootstrap.checkpoint").exists()
    capsys.readouterr()
    assert run(["recover", "verify", str(new)]) == 0
    assert run(["check", str(new)]) == 0, capsys.readouterr().out


def test_no_checkpoint_is_written_of_it(nodes: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UnwritableMetadataError, match=NOTE):
        list(records_of(_image(nodes[0])))
    assert run(["snapshot", "save", str(nodes[0]), str(tmp_path / "backup")]) != 0
    said = capsys.readouterr().err
    assert f"{NOTE}. No backup and no checkpoint is made of it: copy the directory of a stopped node, or start" in said


def test_the_shell_walks_through_it(nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["shell", str(nodes[0]), "ls", "/topics/by-name"]) == 0
    assert capsys.readouterr().out.split() == ["gone", "orders"]


def test_our_controllers_refuse_it(nodes: list[Path]) -> None:
    for node in nodes[:3]:
        config = controller_config(node)
        before = (node / SEGMENT).read_bytes()
        with pytest.raises(OlderReleaseError, match=r"first release that .* can follow is Kafka 3\.3 "):
            open_replica(OsFiles(), config)
        assert (node / SEGMENT).read_bytes() == before
