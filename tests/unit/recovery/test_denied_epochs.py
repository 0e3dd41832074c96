"""One bit of the epoch in a leader's own record: the small files beside the log deny it, and no copy is best by it."""

from __future__ import annotations

import struct
from collections.abc import Sequence

import msgspec
import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.tools.prefix.own_epochs import OwnEpochs
from metadata_log.tools.read.scan import Damage, scan
from quorum.recovery.advice.faults import fault_of
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.inspection import Inspection, inspect_copies
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.verification import verify_directories
from tests.support.repairs import know_epoch, load, load_nodes, repair, request

METADATA = "__cluster_metadata-0"
EPOCH_AT = 12
VOTERS = ("/n1", "/n2", "/n3")
BITS = [2, 4, 16, 0x1000, 1 << 30]


def end_with_leader(files: SimulatedFiles, path: str, bit: int) -> None:
    """The log ends with its last leader's record, of whose epoch one bit is changed."""
    directory = f"{path}/{METADATA}"
    log = files.open(f"{directory}/{max(name for name in files.listdir(directory) if name.endswith('.log'))}")
    batches = [found for found in scan(log) if not isinstance(found, Damage)]
    last = next(one for one in reversed(batches) if one.header.is_control)
    log.truncate(last.position + last.header.size_in_bytes)
    log.pwrite(struct.pack(">i", last.header.partition_leader_epoch ^ bit), last.position + EPOCH_AT)
    log.fdatasync()
    for name in files.listdir(directory):
        if name.endswith("index"):
            files.open(f"{directory}/{name}").truncate(0)
        if name.endswith(".checkpoint") and int(name[:20]) > last.header.base_offset:
            files.unlink(f"{directory}/{name}")


def failovers(*nodes: int, flipped: int, bit: int = 16) -> SimulatedFiles:
    files = load_nodes("failovers", *nodes)
    end_with_leader(files, f"/n{flipped}", bit)
    return files


def copy_of(found: Inspection, path: str) -> Copy:
    return next(copy for copy in found.evidence.copies if copy.place.log_dir == path)


def lines(found: Inspection) -> str:
    return "\n".join(word for step in found.plan.steps for word in (step.text, *step.commands))


@pytest.mark.parametrize("bit", BITS)
def test_of_brokers_copies_the_one_that_loses_nothing_is_gone_on_from(bit: int) -> None:
    found = inspect_copies(failovers(11, 12, flipped=11, bit=bit), ["/n11", "/n12"])
    assert found.evidence.best.place.log_dir == "/n12"
    assert copy_of(found, "/n11").rank == (8, 309)
    assert "kraft recover from-broker --broker-dir /n12 --copy /n11" in lines(found)
    assert "--broker-dir /n11" not in lines(found)
    assert "--accept-data-loss" not in lines(found)


@pytest.mark.parametrize("bit", BITS)
def test_a_sound_majority_is_one_and_nobody_else_is_blamed(bit: int) -> None:
    files = failovers(1, 2, 3, flipped=1, bit=bit)
    found = inspect_copies(files, VOTERS)
    assert found.plan.is_whole
    assert "(2 of 3: controllers 2, 3): no metadata is lost." in found.plan.situation
    assert not found.evidence.stale
    assert "Start controllers 2, 3 as they are" in lines(found)
    assert "Never start node 1 (/n1): it is damaged" in lines(found)
    fault = fault_of(copy_of(found, "/n1")) or ""
    assert f"(offset 309): epoch {9 ^ bit} begins here, and the node's own files deny it: quorum-state is of" in fault
    said = verify_directories(files, VOTERS)
    assert not said.problems
    assert [one.path for one in said.directories if one.problems] == ["/n1"]


def test_a_second_leaders_record_in_one_epoch_is_a_fault() -> None:
    found = inspect_copies(failovers(1, 2, 3, flipped=1, bit=1), VOTERS)
    assert "epoch 8 has another LeaderChange here" in (fault_of(copy_of(found, "/n1")) or "")
    assert copy_of(found, "/n1").prefix.elections[-1].offset < 309
    assert found.plan.is_whole


def test_among_four_controllers_it_is_the_one_whose_files_deny_it() -> None:
    files = load_nodes("dynamic-voters", 1, 2, 3, 4)
    end_with_leader(files, "/n4", 4)
    found = inspect_copies(files, ["/n1", *VOTERS[1:], "/n4"])
    assert not found.evidence.stale
    assert "Never start node 4 (/n4): it is damaged" in lines(found)
    assert "Start controllers 2, 3 as they are" in lines(found)
    assert not verify_directories(files, ["/n1", *VOTERS[1:], "/n4"]).problems


def test_a_copy_that_loses_nothing_goes_before_one_of_a_later_epoch() -> None:
    """Nothing denies it: its quorum-state took part in later elections."""
    files = failovers(11, 12, flipped=11)
    know_epoch(files, "/n11", 30)
    found = inspect_copies(files, ["/n11", "/n12"])
    assert found.evidence.best.place.log_dir == "/n11"
    assert "kraft recover from-broker --broker-dir /n12 --copy /n11" in lines(found)
    assert "--accept-data-loss" not in lines(found)


def test_what_another_nodes_log_has_was_no_bit_of_this_one() -> None:
    """Copied from a running node: its small files before the election, its log after it."""
    files = load_nodes("failovers", 1, 2, 3)
    before = f"/n1/{METADATA}/{EPOCH_FILE}"
    know_epoch(files, "/n1", 8)
    _without_last(files, before)
    found = inspect_copies(files, VOTERS)
    assert copy_of(found, "/n1").rank == (9, 326)
    assert copy_of(inspect_copies(files, ["/n1"]), "/n1").rank == (8, 309)
    cut = request(accept_data_loss=True, all_missing=True)
    repair(files, lambda files: propose_truncate(files, "/n1", ["/n2", "/n3"], 320, cut), "/n1")
    assert copy_of(inspect_copies(files, VOTERS), "/n1").rank == (9, 320)


def test_a_copy_of_the_same_node_confirms_nothing() -> None:
    files = failovers(1, 2, 3, flipped=1)
    load("failovers/node-1/data", files, "/copy")
    end_with_leader(files, "/copy", 16)
    found = inspect_copies(files, [*VOTERS, "/copy"])
    assert {copy_of(found, path).rank for path in ("/n1", "/copy")} == {(8, 309)}


def _without_last(files: SimulatedFiles, path: str) -> None:
    *kept, _ = files.content(path).decode().splitlines()[2:]
    _write(files, path, ["0", str(len(kept)), *kept])


def _write(files: SimulatedFiles, path: str, text: Sequence[str]) -> None:
    handle = files.open(path)
    handle.truncate(0)
    handle.pwrite("".join(f"{line}\n" for line in text).encode(), 0)


@pytest.mark.parametrize(
    ("latest", "starts", "epoch", "is_denied"),
    [
        (9, {294: 8, 309: 9}, 9, False),
        (9, {294: 8}, 9, False),  # killed after its log was written, and before the history of epochs was
        (12, {294: 8}, 9, False),
        (9, {294: 8}, 25, True),
        (9, {294: 8, 309: 9}, 25, True),
        (9, {}, 25, True),
        (8, {294: 8, 309: 9}, 9, False),  # quorum-state was restored from a backup
        (9, {294: 8, 309: 7}, 9, False),  # two against one
        (9, {294: 8, 309: 9}, 10, True),
        (None, {294: 8, 309: 9}, 25, True),
        (None, {294: 8}, 25, False),
        (30, {294: 8, 309: 9}, 25, False),  # cut back to there, and killed in between
    ],
)
def test_which_file_is_believed(latest: int | None, starts: dict[int, int], epoch: int, is_denied: bool) -> None:
    own = OwnEpochs(latest=latest, starts=starts)
    assert (own.denial(epoch, 309) is not None) == is_denied


def test_a_checkpoint_of_the_epoch_is_believed_against_an_older_quorum_state() -> None:
    """The quorum-state may come from a backup. The checkpoint is whole, so no flipped bit made up its epoch."""
    own = OwnEpochs(latest=3, starts={})
    assert own.denial(5, 309) is not None
    assert msgspec.structs.replace(own, reached=frozenset({5})).denial(5, 309) is None
    assert msgspec.structs.replace(own, reached=frozenset({4})).denial(5, 309) is not None
