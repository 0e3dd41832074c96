"""Copies that a repair has not reached, once nodes run with it: what verify says of them."""

from __future__ import annotations

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.ids import DirectoryId
from metadata_log.voters import Endpoint
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.repair_record import work_root_of
from quorum.recovery.repairs.from_broker import NewController, propose_from_broker
from quorum.recovery.repairs.undo import propose_undo
from quorum.recovery.repairs.voters import parse_named_voter, propose_voters
from quorum.recovery.verification import verify_directories
from tests.support.repairs import load, load_nodes, repair, request
from tests.unit.recovery.evidence.test_hidden_repair import go_on

NEW = NewController(
    log_dir="/data",
    node_id=1,
    endpoints=(Endpoint(name="CONTROLLER", host="host1", port=9093),),
    directory_id=DirectoryId(bytes(range(100, 116))),
)
SETS = ("1@new1:9093", "2@new2:9093")


def end_of(files: SimulatedFiles, path: str) -> int:
    return int(read_copy(files, find_place(files, path)).end.offset)


def test_an_older_copy_of_a_node_that_goes_on_elsewhere_is_left_alone() -> None:
    """The runbook majority-lost.md formats a controller again beside a survivor that was moved away."""
    files = SimulatedFiles()
    load("basic/node-1/data", files, "/data.survivor")
    load("basic/node-11/data", files, "/n11")
    accepted = request(accept_data_loss=True)
    repair(files, lambda files: propose_from_broker(files, ["/n11"], ["/data.survivor"], NEW, accepted), "/data")
    assert verify_directories(files, ["/data"]).is_sound
    for _ in ("before a node has run", "after"):
        found = verify_directories(files, ["/data", "/data.survivor"])
        assert found.problems == (
            "/data.survivor is an older copy of node 1, which goes on from /data: leave it alone, never start from it, "
            "and verify the others without it",
        )
        go_on(files, "/data", end_of(files, "/data") + 3)


def test_no_undo_is_advised_that_would_be_refused() -> None:
    files = load_nodes("basic", 1, 2)
    named = [parse_named_voter(text) for text in SETS]
    repair(files, lambda files: propose_voters(files, ["/n1", "/n2"], [], named, request()), "/n1", "/n2")
    repair(files, lambda files: propose_undo(files, "/n2", work_root_of("/n2")), "/n2")
    (said,) = (one for one in verify_directories(files, ["/n1", "/n2"]).problems if "has not reached" in one)
    assert said.endswith("This undoes it: kraft recover undo --dir /n1 --apply")
    go_on(files, "/n1", end_of(files, "/n1") + 3)
    (said,) = (one for one in verify_directories(files, ["/n1", "/n2"]).problems if "has not reached" in one)
    assert "has not reached node 2 (/n2), or was undone there. It cannot be undone: a node has run there" in said
    assert "undo --dir" not in said
