"""`kraft recover inspect` while nodes run on what it reads: no growth looks like damage, and nothing rests on ends."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest

from metadata_log.directory import read_quorum_state, write_quorum_state
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import FileHandle
from metadata_log.format.batch import build_batch, build_control_batch
from metadata_log.ids import NodeId, TopicId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import (
    LeaderChangeMessage,
    MetadataRecord,
    NoOpRecord,
    TopicRecord,
    encode_control,
    encode_record,
)
from metadata_log.records.control import LeaderChangeVoter
from quorum.cli.main import run
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.log_directories import find_place
from tests.support.misuses import Bench, last_segment
from tests.support.other_process import held_by_another

CONCLUDED = (
    "never committed",
    "ower it off",
    "set back",
    "restored from",
    "from-broker",
    "reached 9",
    "None",
    "loses",
    "undo",
)


def grow(log_dir: Path, offset: int, *records: MetadataRecord) -> None:
    """Append a batch for each record, in the epoch that the logs end with."""
    with last_segment(log_dir).open("ab") as log:
        for at, record in enumerate(records, offset):
            values = [encode_record(record, 0)]
            log.write(build_batch(base_offset=Offset(at), epoch=Epoch(1), timestamp_ms=1, values=values))


class GrowingFiles(OsFiles):
    """Files of a node that appends a batch whenever its segment is opened."""

    def __init__(self, log_dir: Path, end: int) -> None:
        self._log_dir = log_dir
        self.end = end

    def open(self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False) -> FileHandle:
        handle = super().open(path, create=create, exclusive=exclusive, read_only=read_only)
        if path == str(last_segment(self._log_dir)):
            grow(self._log_dir, self.end, NoOpRecord())
            self.end += 1
        return handle


class ElectedFiles(OsFiles):
    """Files of a node that follows a new leader as its log's length is taken: quorum-state first, and then the log."""

    def __init__(self, log_dir: Path, end: int) -> None:
        self._log_dir = log_dir
        self._end: int | None = end

    def open(self, path: str, *, create: bool = False, exclusive: bool = False, read_only: bool = False) -> FileHandle:
        if path == str(last_segment(self._log_dir)) and self._end is not None:
            elected(self._log_dir, self._end, 2)
            self._end = None
        return super().open(path, create=create, exclusive=exclusive, read_only=read_only)


def elected(log_dir: Path, offset: int, epoch: int) -> None:
    """Begin an epoch."""
    metadata = str(log_dir / "__cluster_metadata-0")
    state = read_quorum_state(OsFiles(), metadata)
    assert state is not None
    write_quorum_state(OsFiles(), metadata, msgspec.structs.replace(state, leader_epoch=Epoch(epoch), voted_key=None))
    voter = LeaderChangeVoter(voter_id=NodeId(2))
    first = LeaderChangeMessage(leader_id=NodeId(2), voters=(voter,), granting_voters=(voter,))
    batch = build_control_batch(
        base_offset=Offset(offset), epoch=Epoch(epoch), timestamp_ms=1, records=[encode_control(first)]
    )
    with last_segment(log_dir).open("ab") as log:
        log.write(batch)


def said_of(capsys: pytest.CaptureFixture[str], *paths: Path, status: int = 0) -> str:
    assert run(["recover", "inspect", *map(str, paths)]) == status
    return capsys.readouterr().out


def test_a_log_that_grows_while_it_is_read_is_read_as_of_one_moment(bench: Bench) -> None:
    nodes = [bench.node("basic", node) for node in (1, 11, 12)]
    files = GrowingFiles(nodes[0], 95)
    copy = read_copy(files, find_place(files, str(nodes[0])))
    assert copy.end.offset < files.end
    assert (copy.proved_end, copy.stop, copy.short) == (copy.end.offset, None, None)
    found = inspect_copies(files, list(map(str, nodes)))
    assert [repair.loses for repair in found.plan.repairs if "node 1 " in repair.on] == [()]


def test_an_epoch_that_begins_while_a_log_is_read_is_no_damage(bench: Bench) -> None:
    node = bench.node("basic", 1)
    copy = read_copy(ElectedFiles(node, 95), find_place(OsFiles(), str(node)))
    assert (copy.rank, copy.stop) == ((2, 96), None)


def test_an_unfinished_write_of_a_running_node_is_no_torn_tail(bench: Bench) -> None:
    node = bench.node("basic", 1)
    with last_segment(node).open("ab") as log:
        log.write(b"\0\0\0\0\0\0\0\x5f\0\0\1")
    place = find_place(OsFiles(), str(node))
    with held_by_another(node / ".lock") as holder:
        copy = read_copy(OsFiles(), place)
        assert (copy.used_by, copy.stop, copy.end.offset) == (holder, None, 95)
    stopped = read_copy(OsFiles(), place)
    assert stopped.used_by is None
    assert stopped.stop is not None
    assert stopped.stop.is_torn


def test_where_a_voter_runs_its_quorum_is_asked_first(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    voter, behind, ahead = bench.node("basic", 1), bench.node("basic", 11), bench.node("basic", 12)
    grow(ahead, 95, TopicRecord(name="late", topic_id=TopicId(bytes(range(16)))))
    stopped = said_of(capsys, voter, behind, ahead, status=1)
    assert "Power it off" in stopped
    assert "loses offsets" in stopped
    with held_by_another(voter / ".lock") as holder:
        said = said_of(capsys, voter, behind, ahead, status=1)
    assert f"node 1 ({voter}): in use: a node runs on it (pid {holder}); its log reached offset 95 so far." in said
    assert f"This quorum has running nodes: node 1 ({voter})." in said
    assert "1. Ask the running controllers first" in said
    assert "bin/kafka-metadata-quorum.sh --bootstrap-controller 127.0.0.1:29101 describe --status" in said
    assert [word for word in CONCLUDED if word in said] == []


def test_a_broker_ahead_of_voters_that_run_proves_no_loss(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    voters, broker = [bench.node("basic", node) for node in (1, 2, 3)], bench.node("basic", 12)
    last_segment(broker).write_bytes(last_segment(voters[1]).read_bytes())
    grow(broker, 96, *[NoOpRecord()] * 30)
    with held_by_another(voters[0] / ".lock"), held_by_another(broker / ".lock") as holder:
        said = said_of(capsys, *voters, broker)
    assert f"node 12 ({broker}): in use: a node runs on it (pid {holder}); its log reached offset 126 so far." in said
    assert "CONFLICT" not in said
    assert "none from offset" not in said
    assert [word for word in CONCLUDED if word in said] == []


def test_beside_a_repaired_voter_that_runs_no_old_one_is_to_start(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    repaired, old = bench.node("basic", 1), bench.node("basic", 2)
    words = ["recover", "standalone", "--dir", str(repaired), "--missing", "rest", "--timeout", "0.3", "--apply"]
    assert run(words) == 0
    with held_by_another(repaired / ".lock"):
        said = said_of(capsys, repaired, old)
    assert f"1. Do not start node 2 ({old}) from these directories: a repair on node 1 ({repaired}) has changed" in said
    with held_by_another(repaired / ".lock"), held_by_another(old / ".lock"):
        assert "Do not start" not in said_of(capsys, repaired, old)


def test_a_broker_may_run_and_is_named(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    voter, broker = bench.node("basic", 1), bench.node("basic", 12)
    with held_by_another(broker / ".lock") as holder:
        assert run(["recover", "inspect", str(voter), str(broker), "-o", "json"]) == 1
    data = json.loads(capsys.readouterr().out)
    used = {copy["node_id"]: (copy["in_use"], copy["in_use_by_pid"]) for copy in data["copies"]}
    assert used == {1: (None, None), 12: (f"in use: a node runs on it (pid {holder})", holder)}
    assert any("standalone" in command for step in data["steps"] for command in step["commands"])


def test_no_repair_beside_a_voter_that_runs(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    own, other = bench.node("basic", 1), bench.node("basic", 2)
    words = ["recover", "truncate", "--dir", str(own), "--to", "80", "--copy", str(other), "--missing", "rest"]
    with held_by_another(other / ".lock") as holder:
        assert run([*words, "--timeout", "0.3"]) != 0
    assert f"node 2 ({other}) is in use: a node runs on it (pid {holder}), and it votes" in capsys.readouterr().err


def verified(capsys: pytest.CaptureFixture[str], *paths: Path) -> str:
    assert run(["recover", "verify", *map(str, paths)]) == 0
    return capsys.readouterr().out


def test_verify_says_which_directory_is_in_use(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [bench.node("basic", node) for node in (1, 2, 3)]
    with last_segment(nodes[0]).open("ab") as log:
        log.write(b"\0\0\0\0\0\0\0\x5f\0\0\1")
    with held_by_another(nodes[0] / ".lock") as holder:
        said = verified(capsys, *nodes)
    assert (
        f"WARNING: node 1 ({nodes[0]}) is in use: a node runs on it (pid {holder}), so its log may still change" in said
    )
    assert "unfinished write" not in said


def test_an_unfinished_write_is_a_note_of_verify(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [bench.node("basic", node) for node in (1, 2, 3)]
    assert "NOTE" not in verified(capsys, *nodes)
    with last_segment(nodes[0]).open("ab") as log:
        log.write(b"\0\0\0\0\0\0\0\x5f\0\0\1")
    said = verified(capsys, *nodes)
    assert f"NOTE: node 1 ({nodes[0]}) ends in an unfinished write: the next start cuts it off" in said
    assert said.count("unfinished write") == 1
    assert "Start these controllers" in said
