"""Formatting: the same files as Apache Kafka's own formatter leaves, apart from times; and what is refused."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import pytest

from metadata_log.directory import MetaProperties, read_meta_properties
from metadata_log.errors import AlreadyFormattedError, DirectoryError, ForeignDirectoryError
from metadata_log.files.simulated_files import SimulatedCrash, SimulatedFiles
from metadata_log.ids import DirectoryId, NodeId, parse_directory_id
from metadata_log.records import UnknownLevelError, decode_record
from metadata_log.records.feature_levels import default_features
from metadata_log.storage.checkpoint import read_checkpoint
from metadata_log.storage.formatter import FormatResult, LogDirectory, format_directory
from metadata_log.voters import Voter, VoterSet, parse_voters
from tests.support.formatted import without_times

FIXTURES = Path(__file__).parents[3] / "fixtures"
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
NOW = 1_795_216_087_655
DIRECTORIES = [parse_directory_id(f"ZGlyZWN0b3J5LWlkLTAw{suffix}") for suffix in ("MQ", "Mg", "Mw")]
VOTERS = tuple(
    parse_voters(
        "1@127.0.0.1:29101:ZGlyZWN0b3J5LWlkLTAwMQ,2@127.0.0.1:29102:ZGlyZWN0b3J5LWlkLTAwMg,"
        "3@127.0.0.1:29103:ZGlyZWN0b3J5LWlkLTAwMw"
    )
)


def formatted(
    files: SimulatedFiles,
    *,
    paths: Iterable[str] = ("/data",),
    node_id: int = 1,
    cluster_id: str = CLUSTER,
    level: int = 30,
    voters: tuple[Voter, ...] | None = VOTERS,
    ignore_formatted: bool = False,
) -> FormatResult:
    directories = [LogDirectory(path=path, directory_id=DIRECTORIES[index]) for index, path in enumerate(paths)]
    return format_directory(
        files,
        directories,
        directories[0].path,
        cluster_id=cluster_id,
        node_id=NodeId(node_id),
        level=level,
        now_ms=NOW,
        initial_voters=voters,
        ignore_formatted=ignore_formatted,
    )


@pytest.mark.parametrize(
    "name", ["bootstrap.checkpoint", "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"]
)
def test_checkpoints_are_kafkas_apart_from_times(name: str) -> None:
    files = SimulatedFiles()
    formatted(files)
    kafkas = (FIXTURES / "basic/node-1/data" / name).read_bytes()
    assert without_times(files.content(f"/data/{name}")) == without_times(kafkas)


def test_meta_properties_are_kafkas() -> None:
    files = SimulatedFiles()
    formatted(files)
    assert files.content("/data/meta.properties") == (FIXTURES / "basic/node-1/data/meta.properties").read_bytes()


def test_a_controller_has_these_files_and_a_broker_these() -> None:
    files = SimulatedFiles()
    formatted(files, paths=["/a", "/b"])
    formatted(files, paths=["/c"], node_id=11, voters=None)
    assert files.listdir("/a") == ["__cluster_metadata-0", "bootstrap.checkpoint", "meta.properties"]
    assert files.listdir("/a/__cluster_metadata-0") == ["00000000000000000000-0000000000.checkpoint"]
    assert files.listdir("/b") == files.listdir("/c") == ["bootstrap.checkpoint", "meta.properties"]
    assert read_meta_properties(files, "/b") == MetaProperties(
        cluster_id=CLUSTER, node_id=NodeId(1), directory_id=DIRECTORIES[1]
    )


@pytest.mark.parametrize(("scenario", "level"), [("basic", 30), ("upgrade-path", 7)], ids=["4.3-IV0", "3.3-IV3"])
def test_the_bootstrap_records_of_a_level_are_kafkas(scenario: str, level: int) -> None:
    files = SimulatedFiles()
    formatted(files, level=level)
    kafkas = (FIXTURES / scenario / "node-1/data/bootstrap.checkpoint").read_bytes()
    assert without_times(files.content("/data/bootstrap.checkpoint")) == without_times(kafkas)


def test_features_follow_the_level_and_may_be_turned_off() -> None:
    assert default_features(21) == {}
    assert default_features(25) == {"group.version": 1, "transaction.version": 2}
    assert {level: default_features(level).get("share.version") for level in (27, 28, 30, 31)} == {
        27: None,
        28: 1,
        30: 1,
        31: 2,
    }
    files = SimulatedFiles()
    format_directory(
        files,
        [LogDirectory(path="/data", directory_id=DIRECTORIES[0])],
        "/data",
        cluster_id=CLUSTER,
        node_id=NodeId(1),
        level=25,
        now_ms=NOW,
        features={"group.version": 0, "transaction.version": 1},
    )
    values = read_checkpoint(files, "/data/bootstrap.checkpoint").values()
    assert [(record.name, record.feature_level) for record in map(decode_record, values)] == [  # type: ignore[union-attr]
        ("metadata.version", 25),
        ("transaction.version", 1),
    ]


def test_the_voters_come_back() -> None:
    files = SimulatedFiles()
    formatted(files)
    path = "/data/__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"
    checkpoint = read_checkpoint(files, path)
    assert checkpoint.kraft_version == 1
    assert checkpoint.voters is not None
    assert VoterSet.from_record(checkpoint.voters) == VoterSet.of(VOTERS)
    assert checkpoint.header.last_contained_log_timestamp == NOW


def test_a_formatted_directory_is_not_formatted_again() -> None:
    files = SimulatedFiles()
    formatted(files)
    before = files.changes
    with pytest.raises(AlreadyFormattedError, match="/data is already formatted: use another"):
        formatted(files, paths=["/new", "/data"])
    assert files.changes == before


def test_formatted_directories_may_be_left_alone() -> None:
    files = SimulatedFiles()
    formatted(files)
    result = formatted(files, paths=["/data", "/more"], ignore_formatted=True)
    assert result == FormatResult(formatted=("/more",), already_formatted=("/data",))
    before = files.changes
    with pytest.raises(ForeignDirectoryError, match="belongs to cluster"):
        formatted(files, cluster_id="other", ignore_formatted=True)
    with pytest.raises(ForeignDirectoryError, match="belongs to node 1"):
        formatted(files, node_id=2, voters=None, ignore_formatted=True)
    assert files.changes == before


def test_a_log_without_meta_properties_is_not_formatted_over() -> None:
    files = SimulatedFiles()
    files.mkdirs("/data/__cluster_metadata-0")
    files.open("/data/__cluster_metadata-0/00000000000000000000.log", create=True)
    with pytest.raises(DirectoryError, match="holds a metadata log, though /data has no meta"):
        formatted(files)


def test_voters_must_name_this_node_and_its_directory() -> None:
    with pytest.raises(DirectoryError, match="node 7 is not among the initial voters"):
        formatted(SimulatedFiles(), node_id=7)
    with pytest.raises(DirectoryError, match="they must be the same"):
        formatted(SimulatedFiles(), node_id=2)
    with pytest.raises(DirectoryError, match="/elsewhere is not among the log directories"):
        format_directory(
            SimulatedFiles(), [], "/elsewhere", cluster_id=CLUSTER, node_id=NodeId(1), level=30, now_ms=NOW
        )


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(UnknownLevelError, match="no level 6"):
        formatted(SimulatedFiles(), level=6)


def test_a_disk_that_cannot_be_written_is_named() -> None:
    files = SimulatedFiles()
    files.free_bytes = 100
    with pytest.raises(DirectoryError, match=r"formatting failed: /data/bootstrap\.checkpoint\.part: no space left"):
        formatted(files)
    assert files.listdir("/data") == []
    files.read_only = True
    with pytest.raises(DirectoryError, match="formatting failed: /other: read-only file system"):
        formatted(files, paths=["/other"])


def test_a_crash_leaves_a_directory_formatted_or_not() -> None:
    counted = SimulatedFiles()
    formatted(counted)
    for change in range(1, counted.changes + 1):
        files = SimulatedFiles()
        files.crash_at = change
        with pytest.raises(SimulatedCrash):
            formatted(files)
        files.crash(change)
        result = formatted(files, ignore_formatted=True)
        assert len(result.formatted) + len(result.already_formatted) == 1
        for name in ("bootstrap.checkpoint", "__cluster_metadata-0/00000000000000000000-0000000000.checkpoint"):
            assert read_checkpoint(files, f"/data/{name}").header is not None


def test_directory_ids_are_given_not_made() -> None:
    files = SimulatedFiles()
    formatted(files, voters=None)
    assert read_meta_properties(files, "/data").directory_id == DirectoryId(DIRECTORIES[0])
