"""One bit of a batch's epoch, which no checksum covers: such a batch makes no copy the best, and proves nothing."""

from __future__ import annotations

import struct

import pytest

from metadata_log.files.port import read_file
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.tools.read.scan import Damage, scan
from quorum.recovery.advice.faults import fault_of
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.guards.epoch_gap import new_epoch
from quorum.recovery.inspection import Inspection, inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.repairs.rebuild_indexes import propose_rebuild_indexes
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.verification import verify_directories
from tests.support.repairs import load, load_nodes, repair, request
from tests.unit.recovery.evidence.test_who_is_authoritative import lagging

LOG = "__cluster_metadata-0/00000000000000000000.log"
EPOCH_AT = 12
EVERY_BIT = [1 << number for number in range(1, 31)]


def flip(files: SimulatedFiles, path: str, offset: int, bit: int) -> None:
    """One bit of the epoch of the batch that holds this offset; negative: of the last batch."""
    handle = files.open(f"{path}/{LOG}")
    batches = [found for found in scan(handle) if not isinstance(found, Damage)]
    chosen = batches[-1] if offset < 0 else next(one for one in batches if one.header.next_offset > offset)
    epoch = chosen.header.partition_leader_epoch ^ bit
    handle.pwrite(struct.pack(">i", epoch), chosen.position + EPOCH_AT)
    handle.fdatasync()
    assert isinstance(next(found for found in scan(handle, chosen.position)), type(chosen))  # its checksum is right


def of(files: SimulatedFiles, path: str) -> Copy:
    return read_copy(files, find_place(files, path))


def basic(*nodes: int) -> SimulatedFiles:
    return load_nodes("basic", *nodes)


def lines(found: Inspection) -> str:
    return "\n".join(word for step in found.plan.steps for word in (step.text, *step.commands))


@pytest.mark.parametrize("bit", EVERY_BIT)
def test_a_copy_ends_before_the_batch_whose_epoch_has_no_leader(bit: int) -> None:
    files = basic(11)
    flip(files, "/n11", -1, bit)
    copy = of(files, "/n11")
    assert copy.rank == (1, 82)
    assert copy.repair is None
    assert copy.prefix.committed_before <= 82
    assert f"offset 82): epoch {1 ^ bit} begins here without a LeaderChange" in (fault_of(copy) or "")


@pytest.mark.parametrize("bit", EVERY_BIT)
def test_it_is_not_the_best_and_sound_voters_start_as_they_are(bit: int) -> None:
    files = basic(1, 2, 3, 11, 12)
    flip(files, "/n11", -1, bit)
    found = inspect_copies(files, ["/n1", "/n2", "/n3", "/n11", "/n12"])
    assert found.is_whole
    assert found.evidence.best.label == "node 2 (/n2)"
    assert found.evidence.copies[-1].label == "node 11 (/n11)"
    assert not found.evidence.stale
    assert (found.evidence.bounds.lower, found.evidence.bounds.upper) == (96, 96)
    assert "Start controllers 2, 3, 1 as they are" in lines(found)


@pytest.mark.parametrize("bit", [4, 0x1000])
def test_a_voter_that_lagged_is_not_sound_and_elects_nobody(bit: int) -> None:
    files = basic(2)
    lagging(files, "basic/node-1/data", "/n1", 62)
    flip(files, "/n1", -1, bit)
    found = inspect_copies(files, ["/n1", "/n2"])
    assert not found.is_whole
    assert found.evidence.best.label == "node 2 (/n2)"
    assert "as they are" not in lines(found)
    assert "kraft recover standalone --dir /n2 --copy /n1" in lines(found)
    assert "half done" not in found.plan.situation


def test_where_the_majority_is_lost_the_sound_voter_is_recommended_and_loses_nothing() -> None:
    files = basic(1, 11, 12)
    flip(files, "/n11", -1, 0x1000)
    found = inspect_copies(files, ["/n1", "/n11", "/n12"])
    assert "kraft recover standalone --dir /n1" in lines(found)
    assert "--accept-data-loss" not in lines(found)


@pytest.mark.parametrize("bit", EVERY_BIT[1:])
def test_what_follows_a_leaders_own_record_shows_that_its_epoch_is_false(bit: int) -> None:
    files = load_nodes("dynamic-voters", 1, 2, 3)
    before = of(files, "/n1").prefix.elections
    flip(files, "/n1", 55, bit)
    found = inspect_copies(files, ["/n1", "/n2", "/n3"])
    copy = next(one for one in found.evidence.copies if one.label == "node 1 (/n1)")
    assert copy is found.evidence.copies[-1]
    assert copy.rank == (1, 55)
    assert copy.prefix.elections == before[:-1]
    assert f"epoch {2 ^ bit} begins here, and the next batch is of an earlier one" in (fault_of(copy) or "")
    assert found.evidence.greatest_epoch == max(2 ^ bit, 3)
    assert not found.evidence.stale


@pytest.mark.parametrize("bit", EVERY_BIT)
def test_so_it_is_with_the_first_record_of_all(bit: int) -> None:
    files = basic(2, 3, 11)
    flip(files, "/n11", 0, bit)
    found = inspect_copies(files, ["/n2", "/n3", "/n11"])
    assert found.is_whole
    assert found.evidence.copies[-1].rank == (-1, 0)
    assert not found.evidence.stale


@pytest.mark.parametrize("bit", [2, 4, 0x1000])
def test_in_the_middle_of_a_log_it_is_that_batch_and_not_the_next(bit: int) -> None:
    files = basic(2)
    flip(files, "/n2", 40, bit)
    stop = of(files, "/n2").stop
    assert stop is not None
    assert stop.what == f"epoch {1 ^ bit} begins here without a LeaderChange"
    assert stop.offset <= 40 < stop.offset + 16
    assert stop.false_epoch == 1 ^ bit


def test_an_old_copy_is_not_newer_than_the_voters_own_for_such_a_bit() -> None:
    files = basic(1, 2, 3)
    lagging(files, "basic/node-1/data", "/old", 62)
    flip(files, "/old", -1, 0x1000)
    found = inspect_copies(files, ["/n1", "/n2", "/n3", "/old"])
    assert [one.copy.label for one in found.evidence.stale] == ["node 1 (/old)"]
    assert found.plan.is_whole


def test_a_repair_writes_above_it_all_the_same() -> None:
    files = basic(2, 11)
    flip(files, "/n11", -1, 0x1000)
    known = inspect_copies(files, ["/n2", "/n11"]).evidence
    assert known.greatest_epoch == 0x1001
    assert new_epoch(known, 1000) == 0x1001 + 1000
    assert of(files, "/n11").greatest_epoch == 1


def test_no_epochs_are_made_from_it_and_the_cut_is_named_and_works() -> None:
    files = basic(11)
    flip(files, "/n11", -1, 4)
    path = f"/n11/__cluster_metadata-0/{EPOCH_FILE}"
    before = read_file(files, path)
    with pytest.raises(RefusedError, match=r"offset 82.*without a LeaderChange.*truncate --dir /n11 --to 82 "):
        propose_rebuild_indexes(files, "/n11")
    assert read_file(files, path) == before
    accepted = request(accept_data_loss=True)
    repair(files, lambda files: propose_truncate(files, "/n11", [], 82, accepted), "/n11")
    assert read_file(files, path) == before
    after = of(files, "/n11")
    assert after.stop is None
    assert after.rank == (1, 82)


def test_verify_says_so() -> None:
    files = basic(1, 2, 3)
    flip(files, "/n3", -1, 4)
    found = verify_directories(files, ["/n1", "/n2", "/n3"])
    assert not found.is_sound
    assert any("without a LeaderChange" in said for one in found.directories for said in one.problems)


@pytest.mark.parametrize(
    "source",
    [
        "static-3.9/node-1/data",
        "dynamic-voters/node-4/data",
        "dynamic-voters/replaced-disk/node-3/data",
        "upgrade-path/node-1/data",
        "failovers/node-1/data",
        "failovers/node-11/data",
        "failovers/divergent-after/node-2/data",
        "failovers/lagging-follower/node-2/data",
        "stray/node-13/data",
        "every-record/node-1/data",
        "basic-4.4/node-3/data",
        "every-record-4.4/node-2/data",
        "every-record-4.4/node-13/data",
        "failovers-4.4/node-3/data",
        "failovers-4.4/node-12/data",
        "failovers-4.4/divergent-before/node-1/data",
        "failovers-4.4/divergent-after/node-1/data",
        "failovers-4.4/lagging-follower/node-3/data",
    ],
)
def test_nothing_sound_is_called_damaged(source: str) -> None:
    files = load(source)
    assert of(files, "/data").stop is None
