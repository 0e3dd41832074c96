"""A tail that no leader went on from: that others' records were committed at its offsets does not make it so."""

from __future__ import annotations

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_batch
from metadata_log.offsets import Epoch
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.copies.read_copies import read_copies
from quorum.recovery.evidence.lost_records import cut_off, lost_records
from quorum.recovery.evidence.repair_evidence import RepairEvidence, evidence_of
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.repair_facts import LostRecords
from quorum.recovery.repairs.truncate import propose_truncate
from tests.support.repairs import forget_audits, load_nodes, repair, request

FORK = 309
"""Where epoch 8 ended, and epoch 9 began on nodes 1 and 3."""


def cut_at(files: SimulatedFiles, log_dir: str, offset: int) -> None:
    accepted = request(accept_data_loss=True)
    repair(files, lambda files: propose_truncate(files, log_dir, [], offset, accepted), log_dir)
    forget_audits(files, f"{log_dir}.recovery")


def seen() -> tuple[SimulatedFiles, RepairEvidence, dict[int, Copy]]:
    """Load a cluster: node 2 wrote alone in epoch 8 from the fork on; broker 11 stopped before the fork."""
    files = load_nodes("failovers", 1, 2, 3, 11)
    cut_at(files, "/n2", FORK)
    cut_at(files, "/n11", 300)
    copy = read_copy(files, find_place(files, "/n2"))
    batch = build_batch(
        base_offset=copy.end.offset,
        epoch=Epoch(8),
        timestamp_ms=copy.prefix.last_timestamp_ms,
        values=[b"\1\x14\0\0"] * 4,
    )
    handle = files.open(f"/n2/__cluster_metadata-0/{copy.prefix.segments[-1].name}")
    handle.pwrite(batch, handle.size())
    handle.fdatasync()
    known = evidence_of(read_copies(files, ["/n1", "/n2", "/n3", "/n11"]))
    return files, known, {copy.node_id: copy for copy in known.copies if copy.node_id is not None}


def of_node_2(found: list[LostRecords]) -> tuple[int, int, str]:
    (one,) = (one for one in found if one.node_id == 2)
    return one.start, one.end, one.committed


def test_it_was_committed_up_to_where_it_parts() -> None:
    files, known, by_node = seen()
    assert known.bounds.lower > FORK + 4
    assert of_node_2(lost_records(files, known, by_node[11])) == (300, FORK + 4, "partly")


def test_from_there_on_it_never_was() -> None:
    files, known, by_node = seen()
    assert of_node_2(lost_records(files, known, by_node[1])) == (FORK, FORK + 4, "never")
    tail = cut_off(files, known, by_node[2], FORK)
    assert tail is not None
    assert tail.committed == "never"


def test_what_all_have_was_committed() -> None:
    files, known, by_node = seen()
    part = cut_off(files, known, by_node[2], 300, FORK)
    assert part is not None
    assert part.committed == "was"
