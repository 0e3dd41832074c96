"""A backup restored under another cluster id is another log: its metadata topic has another own id, on every node."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import build_batch
from metadata_log.ids import METADATA_TOPIC_NAME, DirectoryId, NodeId, TopicId, is_reserved_topic_id
from metadata_log.records import TopicRecord, encode_record
from metadata_log.tools.backup.backup import Backup, read_backup, save_backup
from metadata_log.tools.backup.restore import Restored, restore_backup
from metadata_log.tools.read.history import open_history
from metadata_log.voters import parse_voters
from quorum.cli.main import run
from tests.support.image_logs import FIXTURES

CLUSTER, OTHER_CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg", "4L6g3nShT-eMCtK--X86sw"
OWN_ID = TopicId(b"\x11" * 16)
VOTERS = parse_voters("7@localhost:9093:AAAAAAAAAAAAAAAAAAAx6g,8@localhost:9094:AAAAAAAAAAAAAAAAAAAx6Q")


@pytest.fixture
def backup(tmp_path: Path) -> Backup:
    """A backup with an own id of the metadata topic, as a controller of this project writes it."""
    log = tmp_path / "source" / "__cluster_metadata-0"
    shutil.copytree(FIXTURES / "every-record" / "node-1" / "data" / "__cluster_metadata-0", log)
    end = open_history(log).state_at().image.offset_and_epoch
    value = encode_record(TopicRecord(name=METADATA_TOPIC_NAME, topic_id=OWN_ID), 0)
    batch = build_batch(base_offset=end.offset, epoch=end.epoch, timestamp_ms=1, values=[value])
    with sorted(log.glob("*.log"))[-1].open("ab") as segment:
        segment.write(batch)
    save_backup(open_history(log).state_at(), tmp_path / "backup", cluster_id=CLUSTER, now_ms=1_000)
    return read_backup(tmp_path / "backup")


def _restored(backup: Backup, target: Path, node_id: int, cluster_id: str) -> Restored:
    return restore_backup(
        OsFiles(), backup, target, cluster_id=cluster_id, node_id=NodeId(node_id),
        new_directory_id=DirectoryId(b"d" * 16), now_ms=2, voters=VOTERS,
    )  # fmt: skip


def _own_id(target: Path) -> TopicId:
    return open_history(target / "__cluster_metadata-0").state_at().image.topics.by_name[METADATA_TOPIC_NAME]


def test_every_node_of_another_cluster_gets_the_same_new_id(backup: Backup, tmp_path: Path) -> None:
    done = [_restored(backup, tmp_path / str(node), node, OTHER_CLUSTER) for node in (7, 8)]
    ids = {_own_id(tmp_path / str(node)) for node in (7, 8)}
    assert ids == {each.metadata_topic_id for each in done}
    (own_id,) = ids
    assert own_id != OWN_ID
    assert not is_reserved_topic_id(own_id)
    assert all(each.is_new_log for each in done)
    names = open_history(tmp_path / "7" / "__cluster_metadata-0").state_at().image.topics.by_name
    assert {**dict(names.items()), METADATA_TOPIC_NAME: OWN_ID} == dict(backup.image.topics.by_name.items())


def test_the_same_cluster_keeps_its_id(backup: Backup, tmp_path: Path) -> None:
    done = _restored(backup, tmp_path / "7", 7, CLUSTER)
    assert (_own_id(tmp_path / "7"), done.metadata_topic_id, done.is_new_log) == (OWN_ID, OWN_ID, False)


@pytest.mark.parametrize(("words", "said"), [([], "from offset"), (["-t", OTHER_CLUSTER], "has a new own id")])
def test_the_command_says_which_nodes_will_hold(
    backup: Backup, tmp_path: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    node = str(backup.checkpoint.voters.voters[0].voter_id) if backup.checkpoint.voters else "1"
    assert run(["snapshot", "restore", str(tmp_path / "backup"), str(tmp_path / "new"), "--node-id", node, *words]) == 0
    told = capsys.readouterr()
    assert said in told.err
    assert "kraft_held" in told.err
    assert "MetadataTopicId" in told.out
