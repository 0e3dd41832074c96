"""A repaired log that has been trimmed since: its repair's batch is gone, and so is the place where old logs part."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_batch, build_control_batch
from metadata_log.format.epoch_file import EPOCH_FILE, format_epochs
from metadata_log.ids import NodeId
from metadata_log.image.checkpoint import records_of
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import LeaderChangeMessage, NoOpRecord, encode_control, encode_record
from metadata_log.records.control import LeaderChangeVoter
from metadata_log.storage.checkpoint import CheckpointTimes, build_checkpoint, checkpoint_name
from metadata_log.storage.segment import segment_file
from metadata_log.tools.prefix.prefix_parts import CheckpointFile
from quorum.cli.recover.show import show_inspection
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.conflicts import joined_end
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.accepted_loss import Accepted, Audited
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.repairs.new_log import epochs_of
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.verification import verify_directories
from tests.support.repairs import batch_ends, forget_audits, know_epoch, load_nodes, repair, request, tree
from tests.unit.recovery.evidence.test_old_branch import grown

ALL = ("/n1", "/n2", "/n3")
METADATA = "__cluster_metadata-0"
Case = tuple[str, int, int, int]
SHORTER, LONGER, BEYOND = ("basic", 35, 37, 40), ("basic", 35, 37, 120), ("basic", 56, 100, 120)
"""Of node 1: where its log was cut before the repair, where the repaired one begins now, and how far it has come. The
others end at 96."""
LED = ("failovers", 294, 296, 320)
"""The others end at 326, and a leader among them has proven committed what node 1 did not get."""


def of(files: SimulatedFiles, path: str) -> Copy:
    return read_copy(files, find_place(files, path))


def with_checkpoints(copy: Copy, origin: CheckpointFile, *older: CheckpointFile) -> Copy:
    return msgspec.structs.replace(
        copy, prefix=msgspec.structs.replace(copy.prefix, origin=origin, checkpoints=(origin, *older))
    )


def write(files: SimulatedFiles, path: str, data: bytes) -> None:
    handle = files.open(path, create=True)
    handle.pwrite(data, 0)
    handle.fdatasync()


def noops(own: Copy, epoch: int, start: int, end: int) -> bytes:
    return b"".join(
        build_batch(
            base_offset=Offset(offset),
            epoch=Epoch(epoch),
            timestamp_ms=own.prefix.last_timestamp_ms,
            values=[encode_record(NoOpRecord(), 0)],
        )
        for offset in range(start, end)
    )


def led(own: Copy, end: int) -> bytes:
    """From its end up to `end`, in the next epoch: the record of its leader, whom node 1 elected, and NoOps."""
    start, epoch, voter = own.end.offset, own.end.epoch + 1, LeaderChangeVoter(voter_id=NodeId(1))
    if start >= end:
        return b""
    record = LeaderChangeMessage(leader_id=NodeId(1), voters=(voter,), granting_voters=(voter,))
    first = build_control_batch(
        base_offset=start,
        epoch=Epoch(epoch),
        timestamp_ms=own.prefix.last_timestamp_ms,
        records=[encode_control(record)],
    )
    return first + noops(own, epoch, start + 1, end)


def go_on(files: SimulatedFiles, path: str, end: int) -> None:
    """Up to `end`, with a leader elected in the next epoch."""
    own = of(files, path)
    log = files.open(f"{path}/{METADATA}/{own.prefix.segments[-1].name}")
    log.pwrite(led(own, end), log.size())
    know_epoch(files, path, own.end.epoch + 1)


def trim(files: SimulatedFiles, path: str, end: int) -> None:
    """Trim the log to a checkpoint at its end; an elected leader then continues up to `end`."""
    own, directory = of(files, path), f"{path}/{METADATA}"
    assert own.image is not None
    assert own.state is not None
    times = CheckpointTimes.at(own.prefix.last_timestamp_ms, last_contained_ms=own.prefix.last_timestamp_ms)
    checkpoint = build_checkpoint(
        [encode_record(record, version) for record, version in records_of(own.image)],
        epoch=own.end.epoch,
        times=times,
        kraft_version=own.kraft_version,
        voters=own.state.quorum.voters,
    )
    for name in set(files.listdir(directory)) - {"quorum-state", "partition.metadata"}:
        files.unlink(f"{directory}/{name}")
    write(files, f"{directory}/{checkpoint_name(own.end)}", b"".join(checkpoint))
    write(files, f"{directory}/{segment_file(own.end.offset)}", led(own, end))
    know_epoch(files, path, own.end.epoch + 1)
    write(files, f"{directory}/{EPOCH_FILE}", format_epochs(epochs_of(of(files, path))))
    files.fsync_dir(directory)


def repaired_long_ago(scenario: str, cut: int, begin: int, end: int, *, keeps_whole: bool = False) -> SimulatedFiles:
    """Node 1, which lagged, is the only voter, and its log was trimmed since. `keeps_whole`: /whole was not."""
    files = load_nodes(scenario, 1, 2, 3)
    accepted = request(accept_data_loss=True)
    repair(files, lambda files: propose_truncate(files, "/n1", [], cut, accepted), "/n1")
    repair(files, lambda files: propose_standalone(files, "/n1", [], accepted), "/n1")
    forget_audits(files, "/n1.recovery")
    go_on(files, "/n1", begin)
    if keeps_whole:
        files.mkdirs(f"/whole/{METADATA}")
        for name, data in tree(files, "/n1").items():
            write(files, f"/whole/{name}", data)
    trim(files, "/n1", end)
    assert of(files, "/n1").start_offset == begin
    if keeps_whole:
        go_on(files, "/whole", end)
    assert of(files, "/n1").repair is None
    return files


def cut_anywhere(files: SimulatedFiles, log_dir: str, others: Sequence[str]) -> None:
    """Cut its last batch but one."""
    propose_truncate(files, log_dir, others, batch_ends(files, of(files, log_dir))[-3], request())


@pytest.mark.parametrize("case", [SHORTER, LONGER, BEYOND, LED])
def test_metadata_is_not_said_to_be_all_there(case: Case, capsys: pytest.CaptureFixture[str]) -> None:
    files = repaired_long_ago(*case)
    found = inspect_copies(files, ALL)
    assert "But metadata is lost, or may be: offsets 0 to " in found.plan.situation
    assert not found.is_whole
    show_inspection(found)
    assert "NOT COMPARED: " in capsys.readouterr().out
    assert any("start none of them" in said for said in verify_directories(files, ALL).problems)


@pytest.mark.parametrize("case", [SHORTER, LONGER, BEYOND, LED])
def test_no_way_is_said_to_lose_nothing(case: Case) -> None:
    ways = inspect_copies(repaired_long_ago(*case), ALL).plan.repairs
    assert len(ways) == 3
    assert all(any(one.is_uncompared for one in way.lost) for way in ways)


@pytest.mark.parametrize("case", [SHORTER, LONGER, BEYOND, LED])
def test_the_nodes_of_before_are_not_started(case: Case) -> None:
    steps = inspect_copies(repaired_long_ago(*case), ALL).plan.steps
    (aside,) = (step.text for step in steps if step.text.startswith("Stop "))
    assert "node 2 (/n2)" in aside
    assert "node 3 (/n3)" in aside


@pytest.mark.parametrize("case", [SHORTER, LONGER, BEYOND, LED])
@pytest.mark.parametrize("others", [("/n1", "/n3"), ("/n1",)])
def test_what_the_old_majority_held_is_not_cut_unasked(case: Case, others: tuple[str, ...]) -> None:
    files = repaired_long_ago(*case)
    with pytest.raises(RefusedError, match=r"this would lose .*(committed|may have been)"):
        cut_anywhere(files, "/n2", others)


def test_a_torn_write_of_before_is_not_fetched_from_the_voters_of_now() -> None:
    files = repaired_long_ago(*BEYOND)
    own = of(files, "/n2")
    handle = files.open(f"/n2/{METADATA}/{own.prefix.segments[-1].name}")
    handle.pwrite(noops(own, own.end.epoch, own.end.offset, own.end.offset + 1)[:-7], handle.size())
    said = propose_truncate(files, "/n2", ["/n1"], own.end.offset, request()).says
    assert any("If the file lost its end" in one for one in said)
    assert not any("was committed" in one for one in said)


def test_the_repaired_voter_was_not_set_back() -> None:
    """The repair is why it lacks the records that the old majority's leader committed."""
    found = inspect_copies(repaired_long_ago(*LED), ALL)
    assert not found.evidence.stale
    assert found.plan.is_whole


def test_a_copy_of_before_the_trimming_shows_where_they_part() -> None:
    files = repaired_long_ago(*SHORTER, keeps_whole=True)
    found = inspect_copies(files, [*ALL, "/whole"])
    (way,) = (way for way in found.plan.repairs if "/n1" in way.on)
    assert {(one.start, one.committed, one.is_uncompared) for one in way.lost} == {(35, "was", False)}
    with pytest.raises(RefusedError, match=r"this would lose .*committed"):
        cut_anywhere(files, "/n2", ["/n1", "/n3", "/whole"])


@pytest.mark.parametrize("beside", ["late", "another copy"])
def test_an_audit_file_tells_a_repair_from_elections(beside: str) -> None:
    """The isolated voter went through so many elections that its last epoch is near the repair's."""
    files = repaired_long_ago(*BEYOND)
    late, old, third = grown(of(files, "/n1"), 60, (1003, 120)), grown(of(files, "/n2"), 0, (500, 96)), of(files, "/n3")
    done = Accepted(action="standalone", at="", new_epoch=1001, kept_epoch=1, greatest_epoch=1, lost=(), may_lose=None)
    told = msgspec.structs.replace(late if beside == "late" else third, audited=Audited(accepted=(done,)))
    assert joined_end([late, old], late, old) == 60
    copies = [told, old] if beside == "late" else [late, old, told]
    assert joined_end(copies, copies[0], old) is None
    began_before = msgspec.structs.replace(done, new_epoch=400)
    told = msgspec.structs.replace(told, audited=Audited(accepted=(began_before,)))
    copies = [told, old] if beside == "late" else [late, old, told]
    assert joined_end(copies, copies[0], old) == 60


def test_a_repair_that_can_be_seen_hides_nothing() -> None:
    """The log begins before it, in the epoch with which the other ends."""
    files = repaired_long_ago(*BEYOND)
    newest, first = (
        CheckpointFile(end=OffsetAndEpoch(offset=Offset(offset), epoch=Epoch(epoch)))
        for offset, epoch in ((250, 1001), (40, 1))
    )
    late = grown(of(files, "/n1"), 40, (1, 56), (1001, 300))
    late = with_checkpoints(late, newest, first)
    old = grown(of(files, "/n2"), 0, (1, 38))
    assert joined_end([late, old], late, old) == 38


def test_logs_that_were_trimmed_at_one_offset_part_before_it() -> None:
    files = repaired_long_ago(*BEYOND)
    mine, theirs = of(files, "/n1"), of(files, "/n2")
    late, old = grown(mine, 60, (1002, 100)), grown(theirs, 60, (1, 96))
    begin = CheckpointFile(end=OffsetAndEpoch(offset=Offset(60), epoch=Epoch(1)))
    old = with_checkpoints(old, begin)
    assert joined_end([late, old], late, old) is None
    assert joined_end([late, old], old, late) is None
