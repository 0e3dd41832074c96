"""Formatting from 4.4-IV0 on: the files that Kafka 4.4's own formatter leaves, and what begins from them."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec
import pytest

from metadata_log.directory import read_meta_properties
from metadata_log.errors import NotFormattedError
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import ZERO_DIRECTORY_ID, DirectoryId, NodeId
from metadata_log.image import MetadataImage
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import FeatureLevelRecord, UserScramCredentialRecord
from metadata_log.storage.checkpoint import CheckpointTimes, build_checkpoint, checkpoint_name
from metadata_log.storage.formatter import LogDirectory, bootstrap_values, format_directory
from metadata_log.voters import Endpoint, VoterSet, parse_voters
from quorum.cli.main import run
from quorum.node.config.node_config import config_of
from quorum.node.storage.open_replica import open_replica
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.repairs.drop_snapshot import propose_drop_snapshot
from quorum.recovery.repairs.from_broker import NewController, propose_from_broker
from tests.support.formatted import CHECKPOINT, formatted_tree
from tests.support.repairs import request

KAFKAS = Path(__file__).parents[3] / "fixtures" / "formatted-4.4"
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
LEVEL = 33
VOTERS = "1@127.0.0.1:19093:ZGlyZWN0b3J5LWlkLTAwMQ"
LOST = "2@127.0.0.1:19093:ZGlyZWN0b3J5LWlkLTAwMg"
NOW = 1_795_715_997_885
DEFAULTS = {
    "metadata.version": 33,
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "share.version": 2,
    "streams.version": 1,
    "transaction.version": 2,
}


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a directory of the fixture. `log_in`: the number of the directory for the metadata log."""

    voters: str | None = VOTERS
    kraft_version: int | None = None
    features: dict[str, int] = {}
    log_in: int = 0


CASES = {
    "initial": Case(),
    "two-directories": Case(log_in=1),
    "features": Case(features={"share.version": 1, "streams.version": 0}),
    "joins": Case(voters=None, kraft_version=1),
    "static": Case(voters=None, kraft_version=0),
    "broker": Case(voters=None),
}


def formatted(target: Path, case: Case, kafkas: Path, *, level: int = LEVEL) -> None:
    """Format directories beside each other as the fixture's were, with its directory ids."""
    names = [path.name for path in sorted(kafkas.iterdir())]
    directories = [
        LogDirectory(
            path=str(target / name),
            directory_id=read_meta_properties(OsFiles(), str(kafkas / name)).directory_id or ZERO_DIRECTORY_ID,
        )
        for name in names
    ]
    format_directory(
        OsFiles(),
        directories,
        directories[case.log_in].path,
        cluster_id=CLUSTER,
        node_id=NodeId(1),
        level=level,
        now_ms=NOW,
        initial_voters=None if case.voters is None else tuple(parse_voters(case.voters)),
        kraft_version=case.kraft_version,
        features=case.features,
    )


@pytest.mark.parametrize("name", CASES)
def test_all_files_are_kafkas_apart_from_times(name: str, tmp_path: Path) -> None:
    formatted(tmp_path, CASES[name], KAFKAS / name)
    assert formatted_tree(tmp_path) == formatted_tree(KAFKAS / name)


@pytest.mark.parametrize("level", [30, 31])
def test_only_from_4_4_on_the_checkpoint_holds_the_records(level: int, tmp_path: Path) -> None:
    for name, case in CASES.items():
        formatted(tmp_path / name, case, KAFKAS / name, level=level)
    kept = {path.parent.parent.name for path in tmp_path.rglob("bootstrap.checkpoint")}
    first = {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*-0000000000.checkpoint")}
    assert kept == (set(CASES) if level == 30 else set())
    assert first == ({"initial", "two-directories", "features"} if level == 30 else set(CASES) - {"broker"})


@pytest.mark.parametrize(
    ("name", "levels"), [("initial", DEFAULTS), ("joins", DEFAULTS), ("static", DEFAULTS), ("scram", DEFAULTS)]
)
def test_a_controller_begins_with_the_records_in_kafkas_checkpoint(
    name: str, levels: dict[str, int], tmp_path: Path
) -> None:
    shutil.copytree(KAFKAS / name, tmp_path / name)
    static = {"controller.quorum.voters": "1@127.0.0.1:19093"} if name == "static" else {}
    opened = open_replica(OsFiles(), config_of(controller(tmp_path / name / "data0") | static))
    records = opened.bootstrap_records
    found = {record.name: record.feature_level for record in records if isinstance(record, FeatureLevelRecord)}
    opened.abandon()
    assert found == levels
    assert [record.name for record in records if isinstance(record, UserScramCredentialRecord)] == (
        ["alice"] if name == "scram" else []
    )
    assert opened.replayer.image.says_the_same_as(MetadataImage.empty())
    assert len(opened.storage.voters.latest) == (0 if name == "joins" else 1)


def test_the_checkpoint_comes_before_an_older_file(tmp_path: Path) -> None:
    shutil.copytree(KAFKAS / "initial", tmp_path / "new")
    formatted(tmp_path / "old", CASES["initial"], KAFKAS / "initial", level=30)
    shutil.copy(tmp_path / "old/data0/bootstrap.checkpoint", tmp_path / "new/data0")
    for name, level in (("new", 33), ("old", 30)):
        opened = open_replica(OsFiles(), config_of(controller(tmp_path / name / "data0")))
        opened.abandon()
        assert opened.bootstrap_records[0] == FeatureLevelRecord(name="metadata.version", feature_level=level)


def test_without_the_checkpoint_a_controller_has_nothing_to_begin_with(tmp_path: Path) -> None:
    """One that knows no voters cannot be elected, and fetches the log."""
    shutil.copytree(KAFKAS / "initial", tmp_path / "node")
    (tmp_path / "node/data0" / CHECKPOINT).unlink()
    own = controller(tmp_path / "node/data0")
    open_replica(OsFiles(), config_of(own)).abandon()
    with pytest.raises(NotFormattedError, match="holds no bootstrap records"):
        open_replica(OsFiles(), config_of(own | {"controller.quorum.voters": "1@127.0.0.1:19093"}))


def test_a_restored_backup_has_the_old_file_only_below_4_4(tmp_path: Path) -> None:
    for level in (30, 33):
        backup, restored = logged(tmp_path / str(level), level), tmp_path / f"{level}-restored"
        assert run(["snapshot", "save", str(backup), f"{backup}.backup"]) == 0
        assert run(["snapshot", "restore", f"{backup}.backup", str(restored), "--node-id", "1"]) == 0
        assert (restored / "bootstrap.checkpoint").exists() == (level == 30)
        opened = open_replica(OsFiles(), config_of(controller(restored)))
        opened.abandon()
        assert opened.replayer.image.features.metadata_version == level


def test_a_controller_from_a_brokers_copy_has_the_old_file_only_below_4_4(tmp_path: Path) -> None:
    new = NewController(
        log_dir="/new",
        node_id=2,
        endpoints=(Endpoint(name="CONTROLLER", host="127.0.0.1", port=19093),),
        directory_id=DirectoryId(bytes(15) + b"1"),
    )
    for level in (30, 33):
        copy = str(logged(tmp_path / str(level), level, LOST))
        proposal = propose_from_broker(OsFiles(), [copy], [], new, request())
        written = {change.name for rewrite in proposal.rewrites for change in rewrite.changes}
        assert "meta.properties" in written
        assert ("bootstrap.checkpoint" in written) == (level == 30)


def test_the_first_checkpoint_is_not_dropped_while_the_log_is_empty(tmp_path: Path) -> None:
    shutil.copytree(KAFKAS / "initial", tmp_path / "node")
    first = tmp_path / "node/data0" / CHECKPOINT
    (first.parent / "00000000000000000000.log").touch()
    content = bytearray(first.read_bytes())
    content[200] ^= 1
    first.write_bytes(content)
    with pytest.raises(RefusedError, match=f"its first leader takes voters and bootstrap records from {first.name}"):
        propose_drop_snapshot(OsFiles(), str(tmp_path / "node/data0"), [], request())


def logged(log_dir: Path, level: int, voters: str = VOTERS) -> Path:
    """Make node 1's log directory with a checkpoint at offset 100 of a level and voters, and return it."""
    formatted(log_dir, CASES["initial"], KAFKAS / "initial", level=level)
    end = OffsetAndEpoch(offset=Offset(100), epoch=Epoch(1))
    batches = build_checkpoint(
        bootstrap_values(level, {}),
        epoch=end.epoch,
        times=CheckpointTimes.at(NOW, last_contained_ms=NOW),
        kraft_version=1,
        voters=VoterSet.of(parse_voters(voters)).to_record(),
    )
    metadata = log_dir / "data0/__cluster_metadata-0"
    (metadata / checkpoint_name(end)).write_bytes(b"".join(batches))
    (metadata / "00000000000000000100.log").touch()
    return log_dir / "data0"


def controller(log_dir: Path) -> dict[str, str]:
    """Return the properties of node 1 on this log directory."""
    return {
        "process.roles": "controller",
        "node.id": "1",
        "listeners": "CONTROLLER://127.0.0.1:19093,GRPC://127.0.0.1:19094",
        "controller.quorum.bootstrap.servers": "127.0.0.1:19094",
        "log.dirs": str(log_dir),
    }
