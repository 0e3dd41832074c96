"""Damage in a part of the log that a whole checkpoint holds: nothing is lost by it, and the beginning is dropped."""

from __future__ import annotations

import pytest

from metadata_log.files.port import read_file
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import HEADER_SIZE
from quorum.recovery.advice.faults import fault_of
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.inspection import Inspection, inspect_copies
from quorum.recovery.journal.errors import AlreadyDoneError, RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.repair_record import work_root_of
from quorum.recovery.repairs.drop_snapshot import propose_drop_snapshot
from quorum.recovery.repairs.rebuild_indexes import propose_rebuild_indexes
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.trim import propose_trim
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.repairs.undo import propose_undo
from quorum.recovery.verification import verify_directories
from tests.support.repairs import load, load_nodes, repair, request, tree

METADATA = "/n1/__cluster_metadata-0"
FIRST, SECOND = f"{METADATA}/{207:020d}.log", f"{METADATA}/{294:020d}.log"
CHECKPOINT, END = 244, 326
TRIM = "kraft recover truncate --dir /n1 --before 244 --missing rest --apply"


def cluster(*nodes: int) -> SimulatedFiles:
    """Real directories: the log of node 1 begins at offset 207, and its only checkpoint ends at 244."""
    return load_nodes("failovers", *nodes)


def damaged(*nodes: int, position: int = 70) -> SimulatedFiles:
    files = cluster(*nodes)
    files.rot(FIRST, position, 0x20)
    return files


def copy_of(files: SimulatedFiles, path: str = "/n1") -> Copy:
    return read_copy(files, find_place(files, path))


def position_of(offset: int) -> int:
    """Return the position in the first segment of the batch that begins at that offset."""
    whole = read_file(cluster(1), FIRST)
    at = 0
    while int.from_bytes(whole[at : at + 8], "big") < offset:
        at += 12 + int.from_bytes(whole[at + 8 : at + 12], "big")
    assert int.from_bytes(whole[at : at + 8], "big") == offset
    return at


def trim(files: SimulatedFiles, before: int = CHECKPOINT) -> None:
    repair(files, lambda files: propose_trim(files, "/n1", [], before, request()), "/n1")


def said(found: Inspection) -> list[str]:
    return [line for step in found.plan.steps for line in step.commands]


def test_every_byte_before_the_checkpoints_end_may_be_wrong_and_nothing_is_lost() -> None:
    whole, end = copy_of(cluster(1)), position_of(CHECKPOINT)
    for position in [*range(HEADER_SIZE + 40), *range(HEADER_SIZE + 40, end, 37), end - 1]:
        copy = copy_of(damaged(1, position=position))
        assert (copy.end, copy.state, copy.stop) == (whole.end, whole.state, None), position
        assert copy.passed_over is not None, position
        assert copy.start_offset == CHECKPOINT


@pytest.mark.parametrize("into", [0, 8, 17, HEADER_SIZE + 3])
def test_what_comes_after_it_is_damage_as_before(into: int) -> None:
    copy = copy_of(damaged(1, position=position_of(CHECKPOINT) + into))
    assert copy.is_damaged
    assert copy.passed_over is None
    assert copy.end.offset == CHECKPOINT


def test_inspect_says_what_is_damaged_and_loses_nothing() -> None:
    found = inspect_copies(damaged(1, 2, 3), ["/n1", "/n2", "/n3"])
    assert "(3 of 3: controllers 2, 3, 1): no metadata is lost" in found.plan.situation
    assert said(found)[0] == TRIM
    assert not any("--accept-data-loss" in line for line in said(found))
    fault = fault_of(next(copy for copy in found.evidence.copies if copy.node_id == 1)) or ""
    assert f"{FIRST}, position 0 (offset 207)" in fault
    assert f"{CHECKPOINT:020d}-0000000001.checkpoint holds everything before offset 244" in fault


def test_two_of_three_damaged_so_are_mended_and_make_the_majority() -> None:
    files = damaged(1, 3)
    files.rot(f"/n3/__cluster_metadata-0/{207:020d}.log", 70, 0x20)
    found = inspect_copies(files, ["/n1", "/n3"])
    assert "A majority of the voters is here and sound (2 of 3" in found.plan.situation
    assert said(found)[:2] == [TRIM, TRIM.replace("/n1", "/n3")]
    assert not found.is_whole
    with pytest.raises(RefusedError, match=r"repair what keeps them from starting .*--before 244.*start them"):
        propose_standalone(files, "/n1", ["/n3"], request())
    trim(files)
    repair(files, lambda files: propose_trim(files, "/n3", [], CHECKPOINT, request()), "/n3")
    assert inspect_copies(files, ["/n1", "/n3"]).is_whole
    assert verify_directories(files, ["/n1", "/n3"]).is_sound


def test_the_beginning_goes_and_every_record_behind_it_stays_byte_for_byte() -> None:
    files, whole = damaged(1), cluster(1)
    state, before = copy_of(files).state, tree(files, "/n1")
    trim(files)
    kept = read_file(files, f"{METADATA}/{CHECKPOINT:020d}.log")
    assert kept == read_file(whole, FIRST)[position_of(CHECKPOINT) :]
    assert read_file(files, SECOND) == read_file(whole, SECOND)
    assert not [name for name in files.listdir(METADATA) if name.startswith(f"{207:020d}")]
    after = copy_of(files)
    assert (after.state, after.passed_over, fault_of(after)) == (state, None, None)
    with pytest.raises(AlreadyDoneError, match=r"beginning of the log of node 1 .* is sound"):
        trim(files)
    repair(files, lambda files: propose_undo(files, "/n1", work_root_of("/n1")), "/n1")
    assert tree(files, "/n1") == before


def test_a_log_that_ends_where_its_checkpoint_does() -> None:
    files = damaged(1)
    files.open(FIRST).truncate(position_of(CHECKPOINT))
    for name in files.listdir(METADATA):
        if name.startswith(f"{294:020d}") or name.endswith("index") or name == "leader-epoch-checkpoint":
            files.unlink(f"{METADATA}/{name}")
    copy = copy_of(files)
    assert (copy.end.offset, copy.stop, copy.start_offset) == (CHECKPOINT, None, CHECKPOINT)
    trim(files)
    assert read_file(files, f"{METADATA}/{CHECKPOINT:020d}.log") == b""
    assert fault_of(copy_of(files)) is None


def test_a_sole_survivor_goes_on_alone_with_all_of_it() -> None:
    files = damaged(1)
    found = inspect_copies(files, ["/n1"])
    assert not any("--accept-data-loss" in line for line in said(found))
    proposal = propose_standalone(files, "/n1", [], request())
    assert any("the log before offset 244 is dropped" in line for line in proposal.says)
    repair(files, lambda files: propose_standalone(files, "/n1", [], request()), "/n1")
    after = copy_of(files)
    assert (after.start_offset, after.end.offset) == (CHECKPOINT, END + 2)
    before = copy_of(cluster(1)).image
    assert after.image is not None
    assert before is not None
    assert (after.image.topics, after.image.configs) == (before.topics, before.configs)
    assert verify_directories(files, ["/n1"]).is_sound


UNFINISHED = b"\x00\x00\x00\x00\x00\x00\x01\x46\x00\x00\x01\x00torn"


def ends_torn() -> SimulatedFiles:
    """Return node 1 with a damaged beginning, and an unfinished write at the end."""
    files = damaged(1)
    handle = files.open(SECOND)
    handle.pwrite(UNFINISHED, handle.size())
    return files


def test_an_unfinished_write_at_the_end_is_left_to_the_start() -> None:
    files = ends_torn()
    proposal = propose_trim(files, "/n1", [], CHECKPOINT, request())
    assert any("the unfinished write at the end stays; the start cuts it" in line for line in proposal.says)
    trim(files)
    copy = copy_of(files)
    assert (copy.start_offset, copy.end.offset, fault_of(copy)) == (CHECKPOINT, END, None)
    assert read_file(files, f"{METADATA}/{copy.prefix.segments[-1].name}").endswith(UNFINISHED)


def test_cutting_the_end_drops_the_damaged_beginning_too() -> None:
    files = ends_torn()
    proposal = propose_truncate(files, "/n1", [], END, request())
    assert any("so is the log before offset 244" in line for line in proposal.says)
    repair(files, lambda files: propose_truncate(files, "/n1", [], END, request()), "/n1")
    assert fault_of(copy_of(files)) is None
    assert copy_of(files).start_offset == CHECKPOINT


def test_other_repairs_name_the_command() -> None:
    files = damaged(1)
    with pytest.raises(RefusedError, match="First: kraft recover truncate --dir /n1 --before 244 --missing rest"):
        propose_rebuild_indexes(files, "/n1")
    with pytest.raises(RefusedError, match="its end is sound: kraft recover truncate --dir /n1 --before 244"):
        propose_truncate(files, "/n1", [], END, request())
    with pytest.raises(RefusedError, match="give --before 244, not 207"):
        trim(files, 207)
    with pytest.raises(AlreadyDoneError, match="is sound: nothing is dropped"):
        trim(cluster(1))


def test_with_the_checkpoint_damaged_too_it_is_a_loss() -> None:
    files = damaged(1)
    files.rot(f"{METADATA}/{CHECKPOINT:020d}-0000000001.checkpoint", 100, 0x20)
    copy = copy_of(files)
    assert copy.state is None
    assert copy.passed_over is None


def test_a_segment_that_is_gone_behind_the_checkpoint_is_a_gap_and_not_the_beginning() -> None:
    files = cluster(1)
    for name in [one for one in files.listdir(METADATA) if one.startswith(f"{207:020d}")]:
        files.unlink(f"{METADATA}/{name}")
    copy = copy_of(files)
    assert "this segment begins at 294, where 244 is due" in (fault_of(copy) or "")
    assert copy.end.offset == CHECKPOINT
    found = inspect_copies(files, ["/n1"])
    assert len(found.evidence.voters) == 3
    assert any("loses offsets 244 to 326" in f"loses {line}" for one in found.plan.repairs for line in one.loses)
    repair(files, lambda files: propose_truncate(files, "/n1", [], CHECKPOINT, request(accept_data_loss=True)), "/n1")
    assert fault_of(copy_of(files)) is None
    repair(files, lambda files: propose_standalone(files, "/n1", [], request()), "/n1")
    assert verify_directories(files, ["/n1"]).is_sound


def test_a_voter_whose_newest_checkpoint_is_damaged_counts_once_that_is_gone() -> None:
    files = load_nodes("upgrade-path", 1, 2)
    for node in (1, 2):
        files.rot(f"/n{node}/__cluster_metadata-0/{323:020d}-0000000001.checkpoint", 100, 0x21)
    found = inspect_copies(files, ["/n1", "/n2"])
    assert "A majority of the voters is here and sound (2 of 3" in found.plan.situation
    lines = [f"kraft recover drop-snapshot --dir /n{node} --missing rest --apply" for node in (1, 2)]
    assert sorted(said(found)[:2]) == lines
    for node in (1, 2):
        repair(files, lambda files, node=node: propose_drop_snapshot(files, f"/n{node}", [], request()), f"/n{node}")
    assert inspect_copies(files, ["/n1", "/n2"]).is_whole


def test_an_old_directory_of_a_replaced_disk_has_no_vote() -> None:
    files = load_nodes("dynamic-voters", 2, 4)
    load("dynamic-voters/replaced-disk/node-3/data", files, "/old")
    found = {one.path: one.problems for one in verify_directories(files, ["/n2", "/n4", "/old"]).directories}
    says = "node 3 (/old) is not the directory of voter 3, and has no vote: that votes with iPA_tZN9R7ubefdSXZ-bFQ, and"
    assert any(says in one for one in found["/old"])
    assert (found["/n2"], found["/n4"]) == ((), ())
