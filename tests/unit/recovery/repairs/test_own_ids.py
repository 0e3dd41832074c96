"""Another cluster id gives the metadata topic another own id, in every file that names it, and changes nothing else."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec
import pytest

from metadata_log.directory.committed_state import CommittedState, read_committed_state, write_committed_state
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import Files
from metadata_log.format.batch import CRC_POSITION, build_batch, iter_batches
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.ids import METADATA_TOPIC_NAME, DirectoryId, NodeId, TopicId, id_text
from metadata_log.offsets import Offset
from metadata_log.own_id import own_id_in_cluster
from metadata_log.records import (
    MetadataRecord,
    PartitionChangeRecord,
    RemoveTopicRecord,
    TopicRecord,
    encode_record,
)
from metadata_log.tools.backup.backup import read_backup, save_backup
from metadata_log.tools.backup.restore import restore_backup
from metadata_log.tools.read.history import open_history
from metadata_log.voters import parse_voters
from quorum.cli.main import run
from quorum.node.core.log_fence import HoldReason, Offered, OwnLog, judge
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.changes import Content, pieces
from quorum.recovery.journal.errors import AlreadyDoneError
from quorum.recovery.journal.repair_record import work_root_of
from quorum.recovery.repairs.cluster_id import propose_cluster_id
from quorum.recovery.repairs.undo import propose_undo
from tests.support.image_logs import FIXTURES
from tests.support.repair_cases import METADATA, NEW_CLUSTER, OWN_ID, own_partition, rename_own_log, with_own_id
from tests.support.repairs import load, repair, request, tree

CLUSTER: Final = "MkU3OEVBNTcwNTJENDM2Qg"
LATER_ID: Final = TopicId(bytes(range(0x60, 0x70)))
NEW_IDS: Final = {one: own_id_in_cluster(one, NEW_CLUSTER) for one in (OWN_ID, LATER_ID)}
VOTERS = parse_voters("7@localhost:9093:AAAAAAAAAAAAAAAAAAAx6g,8@localhost:9094:AAAAAAAAAAAAAAAAAAAx6Q")


def _append(log: Path, *records: MetadataRecord) -> None:
    end = open_history(log).state_at().image.offset_and_epoch
    values = [encode_record(record, 0) for record in records]
    batch = build_batch(base_offset=Offset(end.offset), epoch=end.epoch, timestamp_ms=1_900_000_000_000, values=values)
    with sorted(log.glob("*.log"))[-1].open("ab") as segment:
        segment.write(batch)


@pytest.fixture
def nodes(tmp_path: Path) -> list[Path]:
    """Two controllers' directories: a checkpoint with the first own id, a segment in which that changes."""
    log = tmp_path / "source" / "__cluster_metadata-0"
    shutil.copytree(FIXTURES / "every-record" / "node-1" / "data" / "__cluster_metadata-0", log)
    _append(log, TopicRecord(name=METADATA_TOPIC_NAME, topic_id=OWN_ID), own_partition(OWN_ID))
    save_backup(open_history(log).state_at(), tmp_path / "backup", cluster_id=CLUSTER, now_ms=1_000)
    backup = read_backup(tmp_path / "backup")
    made = [tmp_path / "7" / "data", tmp_path / "8" / "data"]
    for node_id, target in zip((7, 8), made, strict=True):
        target.parent.mkdir()
        restore_backup(
            OsFiles(), backup, target, cluster_id=CLUSTER, node_id=NodeId(node_id),
            new_directory_id=DirectoryId(b"d" * 16), now_ms=2, voters=VOTERS,
        )  # fmt: skip
        log = target / "__cluster_metadata-0"
        end = open_history(log).state_at().image.offset_and_epoch
        _append(
            log,
            PartitionChangeRecord(partition_id=0, topic_id=OWN_ID, isr=(NodeId(11),)),
            RemoveTopicRecord(topic_id=OWN_ID),
            TopicRecord(name=METADATA_TOPIC_NAME, topic_id=LATER_ID),
            own_partition(LATER_ID),
        )
        (log / EPOCH_FILE).write_text(f"0\n1\n{end.epoch} {end.offset}\n")
        write_committed_state(OsFiles(), str(log), CommittedState(high_watermark=end.offset, topic_id=LATER_ID))
    return made


def _rename(files: Files, *paths: str, to: str = NEW_CLUSTER) -> Proposal:
    return propose_cluster_id(files, paths, to, request(ask=lambda _: ()), is_a_clone=True)


def _own_id(node: Path) -> TopicId:
    return open_history(node / "__cluster_metadata-0").state_at().image.topics.by_name[METADATA_TOPIC_NAME]


def _only_ids_and_checksums_differ(before: bytes, after: bytes, new_ids: Mapping[TopicId, TopicId]) -> None:
    expected = before
    for former, new in new_ids.items():
        expected = expected.replace(former, new)
    assert expected != before
    masked = [bytearray(expected), bytearray(after)]
    for position, _ in iter_batches(before):
        for data in masked:
            data[position + CRC_POSITION : position + CRC_POSITION + 4] = bytes(4)
    assert masked[0] == masked[1]


def test_the_ids_and_checksums_change_and_nothing_else(nodes: list[Path]) -> None:
    files, node = OsFiles(), str(nodes[0])
    before = tree(files, node)
    repair(files, lambda files: _rename(files, node), node)
    after = tree(files, node)
    changed = {name for name in before if before[name] != after[name]}
    logs = {name for name in changed if name.endswith((".log", ".checkpoint"))}
    assert len(logs) == 2
    assert changed == {*logs, "meta.properties", "__cluster_metadata-0/committed-state"}
    assert before.keys() == after.keys()
    for name in logs:
        _only_ids_and_checksums_differ(before[name], after[name], NEW_IDS)
        assert OWN_ID not in after[name]
    state = read_committed_state(files, f"{node}/__cluster_metadata-0")
    assert state is not None
    assert state.topic_id == NEW_IDS[LATER_ID]


def test_every_node_gets_the_same_id_and_the_former_cluster_holds_beside_it(nodes: list[Path]) -> None:
    files = OsFiles()
    for node in map(str, nodes):
        repair(files, lambda files, node=node: _rename(files, node), node)  # type: ignore[misc]
    assert {_own_id(node) for node in nodes} == {NEW_IDS[LATER_ID]}
    for own, other in ((OWN_ID, LATER_ID), (NEW_IDS[OWN_ID], NEW_IDS[LATER_ID])):
        assert judge(OwnLog(ids=(own,), committed_end=Offset(9)), Offered(ids=(other, own))) is None
    original = OwnLog(ids=(LATER_ID, OWN_ID), committed_end=Offset(9))
    held = judge(original, Offered(ids=(NEW_IDS[LATER_ID], NEW_IDS[OWN_ID])))
    assert held is not None
    assert held.reason is HoldReason.OTHER_TOPIC


def test_verify_and_check_find_nothing(nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    words = [["log", "verify", "--replay", *map(str, nodes)], ["check", *map(str, nodes)]]
    assert [run(each) for each in words] == [0, 0], capsys.readouterr().out
    files = OsFiles()
    for node in map(str, nodes):
        repair(files, lambda files, node=node: _rename(files, node), node)  # type: ignore[misc]
    assert [run(each) for each in words] == [0, 0], capsys.readouterr().out


def test_the_audit_names_files_and_ids_and_undo_brings_the_former_bytes_back(nodes: list[Path]) -> None:
    files, node = OsFiles(), str(nodes[0])
    before = tree(files, node)
    (record,) = repair(files, lambda files: _rename(files, node), node)
    assert {file.name for file in record.files} == {name for name in before if before[name] != tree(files, node)[name]}
    assert record.facts.metadata_topic_ids == {id_text(old): id_text(new) for old, new in NEW_IDS.items()}
    with pytest.raises(AlreadyDoneError):
        _rename(files, node)
    repair(files, lambda files: propose_undo(files, node, work_root_of(node)), node)
    assert tree(files, node) == before


def test_a_second_change_says_that_nodes_go_the_same_way(nodes: list[Path]) -> None:
    files, node = OsFiles(), str(nodes[0])
    assert not any("was changed before" in said for said in _rename(files, node).warnings)
    repair(files, lambda files: _rename(files, node), node)
    again = _rename(files, node, to="4L6g3nShT-eMCtK--X86sw")
    assert any("was changed before" in said for said in again.warnings)


def test_the_output_names_the_ids_and_a_log_of_kafka_stays_as_it_is() -> None:
    own = rename_own_log(with_own_id())
    assert f"own id {id_text(OWN_ID)} becomes {id_text(NEW_IDS[OWN_ID])}" in "".join(own.says)
    stock = rename_own_log(load("every-record/node-1/data"))
    assert [change.name for change in stock.rewrites[0].changes] == ["meta.properties"]
    assert "every byte of the logs" in str(stock.keeps)


def test_an_unfinished_write_at_the_end_hinders_nothing() -> None:
    files = with_own_id()
    segment = f"{METADATA}/{max(name for name in files.listdir(METADATA) if name.endswith('.log'))}"
    handle = files.open(segment)
    handle.pwrite(files.content(segment)[:70], handle.size())
    handle.fdatasync()
    tail = files.content(segment)[-70:]
    repair(files, rename_own_log, "/data")
    assert OWN_ID not in files.content(segment)
    assert files.content(segment).endswith(tail)


def test_a_log_that_cannot_be_read_keeps_its_own_id_and_says_so() -> None:
    files = with_own_id()
    segment = f"{METADATA}/00000000000000000000.log"
    files.rot(segment, 200, 0x10)
    before = tree(files, "/data")
    proposal = rename_own_log(files)
    assert any("is not changed" in said and "the cluster id alone fences" in said for said in proposal.warnings)
    assert not any("becomes" in said for said in proposal.says)
    repair(files, rename_own_log, "/data")
    after = tree(files, "/data")
    assert {name for name in before if before[name] != after[name]} == {"meta.properties"}


def test_an_unknown_record_that_holds_the_id_leaves_all_as_it_is() -> None:
    files = with_own_id()
    segment = f"{METADATA}/{max(name for name in files.listdir(METADATA) if name.endswith('.log'))}"
    data = files.content(segment)
    last = max(header.next_offset for _, header in iter_batches(data))
    epoch = max(header.partition_leader_epoch for _, header in iter_batches(data))
    unknown = b"\x01\x7e\x00" + OWN_ID + b"\x00"
    handle = files.open(segment)
    handle.pwrite(build_batch(base_offset=last, epoch=epoch, timestamp_ms=1, values=[unknown]), handle.size())
    handle.fdatasync()
    proposal = rename_own_log(files)
    assert any("is not changed" in said for said in proposal.warnings)
    assert [change.name for change in proposal.rewrites[0].changes] == ["meta.properties"]


def test_a_patch_across_two_chunks_is_whole() -> None:
    files = load("every-record/node-1/data")
    size = (1 << 20) + 100
    handle = files.open("/data/big", create=True)
    handle.pwrite(bytes(size), 0)
    content = Content(source="/data/big", size=size, patches=(((1 << 20) - 3, b"123456"),))
    data = b"".join(pieces(files, msgspec.structs.replace(content, data=b"end")))
    assert data == bytes((1 << 20) - 3) + b"123456" + bytes(97) + b"end"
