"""A survivor whose only checkpoint is damaged, and another copy's that its log goes on from: nothing need be lost."""

from __future__ import annotations

import shlex

from metadata_log.files.port import read_file
from metadata_log.files.simulated_files import SimulatedFiles
from quorum.recovery.advice.lent_checkpoint import lender
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.evidence.repair_evidence import evidence_of
from quorum.recovery.inspection import Inspection, inspect_copies
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.truncate import propose_truncate
from tests.support.repairs import load, repair, request

LENT = "00000000000000000313-0000000009.checkpoint"
METADATA = "__cluster_metadata-0"


def torn_survivor(broker_end: int) -> SimulatedFiles:
    """Node 1, whose log begins at 207 and ends at 326, and broker 12 up to `broker_end`."""
    files = load("failovers/node-1/data", load("failovers/node-12/data", target="/n12"), "/n1")
    for name in files.listdir(f"/n1/{METADATA}"):
        if name.endswith(".checkpoint"):
            handle = files.open(f"/n1/{METADATA}/{name}")
            handle.truncate(400)
            handle.fdatasync()
    if broker_end < 326:
        accepted = request(accept_data_loss=True)
        repair(files, lambda files: propose_truncate(files, "/n12", [], broker_end, accepted), "/n12")
    return files


def lines_of(found: Inspection) -> list[str]:
    return [line for step in found.plan.steps for line in step.commands]


def follow(files: SimulatedFiles, lines: list[str]) -> None:
    """Run the lines' mv and cp as a shell would."""
    for line in lines:
        match shlex.split(line):
            case ["mv", *sources, _]:
                for source in sources:
                    files.unlink(source)
            case ["cp", "-p", source, target]:
                handle = files.open(f"{target}{source.rpartition('/')[2]}", create=True)
                handle.pwrite(read_file(files, source), 0)
                handle.fdatasync()
                files.fsync_dir(target.rstrip("/"))
            case _:
                pass


def test_it_is_brought_over_before_anything_is_given_up() -> None:
    files = torn_survivor(313)
    found = inspect_copies(files, ["/n1", "/n12"])
    lines = lines_of(found)
    assert f"cp -p /n12/{METADATA}/{LENT} /n1/{METADATA}/" in lines
    assert lines[-1] == "kraft recover inspect /n1 /n12"
    assert not any("--accept-data-loss" in line for line in lines)
    assert f"goes on from {LENT} of node 12" in str(found.plan.repairs[0].refused)


def test_done_so_nothing_is_lost() -> None:
    files = torn_survivor(313)
    follow(files, lines_of(inspect_copies(files, ["/n1", "/n12"])))
    again = lines_of(inspect_copies(files, ["/n1", "/n12"]))
    assert any(line.startswith("kraft recover standalone --dir /n1") for line in again)
    assert not any("--accept-data-loss" in line for line in again)
    proposal = propose_standalone(files, "/n1", ["/n12"], request())
    assert (proposal.keeps, proposal.loses) == ("everything up to offset 326 of epoch 9", ())


def test_a_checkpoint_before_the_log_begins_is_none_that_it_goes_on_from() -> None:
    files = torn_survivor(313)
    for checkpoint in read_copy(files, find_place(files, "/n12")).prefix.checkpoints:
        if checkpoint.end.offset > 207:
            files.unlink(f"/n12/{METADATA}/{checkpoint.name}")
    files.fsync_dir(f"/n12/{METADATA}")
    one, other = (read_copy(files, find_place(files, path)) for path in ("/n1", "/n12"))
    assert other.origin is not None
    assert other.origin.end.offset == 173
    assert lender(evidence_of([one, other]), one) is None


def test_of_one_that_ends_no_later_than_the_lender_none_is_borrowed() -> None:
    files = torn_survivor(326)
    found = inspect_copies(files, ["/n1", "/n12"])
    assert not any(line.startswith("cp ") for line in lines_of(found))
    assert any(line.startswith("kraft recover from-broker") for line in lines_of(found))
