"""Files beside a log prove that it reached further: no repair takes such a log as whole, or its end as the end."""

from __future__ import annotations

import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.ids import DirectoryId
from metadata_log.voters import Endpoint
from quorum.recovery.advice.faults import fault_of
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.repairs.from_broker import NewController, propose_from_broker
from quorum.recovery.repairs.rebuild_indexes import propose_rebuild_indexes
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.repairs.voters import parse_named_voter, propose_voters
from quorum.recovery.verification import verify_directories
from tests.support.repairs import load, load_nodes, repair, request

FIRST = "__cluster_metadata-0/00000000000000000000.log"


def shorten(files: SimulatedFiles, path: str, size: int) -> None:
    """Leave `size` bytes of a file; a negative size takes so many from its end."""
    handle = files.open(path)
    handle.truncate(size if size >= 0 else handle.size() + size)
    handle.fdatasync()


def drop_last_segment(files: SimulatedFiles, log_dir: str) -> None:
    metadata = f"{log_dir}/__cluster_metadata-0"
    for name in files.listdir(metadata):
        if name.startswith("00000000000000000294."):
            files.unlink(f"{metadata}/{name}")
    files.fsync_dir(metadata)


def new_controller() -> NewController:
    at = (Endpoint(name="CONTROLLER", host="here", port=9093),)
    return NewController(log_dir="/new", node_id=1, endpoints=at, directory_id=DirectoryId(bytes(range(100, 116))))


def emptied() -> SimulatedFiles:
    files = load_nodes("basic", 1, 2, 12)
    for node in (1, 2):
        shorten(files, f"/n{node}/{FIRST}", 0)
    return files


def test_emptied_logs_are_no_majority_and_the_brokers_copy_is_taken() -> None:
    files = emptied()
    found = inspect_copies(files, ["/n1", "/n2", "/n12"])
    faults = {copy.node_id: fault_of(copy) for copy in found.evidence.copies}
    assert faults[12] is None
    for node in (1, 2):
        assert "ends at offset 0, but 00000000000000000000.timeindex proves that it reached" in str(faults[node])
    assert not found.plan.is_whole
    said = [command for step in found.plan.steps for command in step.commands]
    assert any(word.startswith("kraft recover from-broker --broker-dir /n12") for word in said)
    with pytest.raises(RefusedError, match=r"offset 95 on node 2 .*reached 96.*--accept-data-loss"):
        propose_from_broker(files, ["/n12"], ["/n1", "/n2"], new_controller(), request())
    accepted = request(accept_data_loss=True)
    assert propose_from_broker(files, ["/n12"], ["/n1", "/n2"], new_controller(), accepted).rewrites


def test_logs_without_their_newest_segment_are_no_majority() -> None:
    files = load_nodes("failovers", 1, 3)
    for path in ("/n1", "/n3"):
        drop_last_segment(files, path)
    found = inspect_copies(files, ["/n1", "/n3"])
    assert not found.plan.is_whole
    for copy in found.evidence.copies:
        assert "the log ends at offset 294, but leader-epoch-checkpoint proves that it reached" in str(fault_of(copy))
    with pytest.raises(RefusedError, match=r"this log reached \d+ .*leader-epoch-checkpoint.*--accept-data-loss"):
        propose_standalone(files, "/n1", ["/n3"], request())


def test_what_cut_voters_held_once_is_not_called_never_committed() -> None:
    files = load_nodes("basic", 1, 2, 12)
    for node in (1, 2):
        shorten(files, f"/n{node}/{FIRST}", 7600)
    named = [parse_named_voter(f"{node}@host{node}:9{node}") for node in (1, 2)]
    with pytest.raises(RefusedError):
        propose_voters(files, ["/n1", "/n2"], ["/n12"], named, request())
    found = inspect_copies(files, ["/n1", "/n2", "/n12"])
    assert all("never" not in lost for one in found.plan.repairs for lost in one.loses)


def test_a_survivor_without_its_last_segment_says_what_it_lost() -> None:
    files = load_nodes("failovers", 3)
    drop_last_segment(files, "/n3")
    with pytest.raises(RefusedError, match=r"offsets 294 to 3\d\d on node 3.*this log reached 3.*no copy here holds"):
        propose_standalone(files, "/n3", [], request())
    accepted = request(accept_data_loss=True)
    assert propose_standalone(files, "/n3", [], accepted).loses
    repair(files, lambda files: propose_standalone(files, "/n3", [], accepted), "/n3")
    assert verify_directories(files, ["/n3"]).is_sound


@pytest.mark.parametrize(("scenario", "size"), [("basic", 4000), ("every-record", 9000)])
def test_a_cut_log_is_no_torn_one(scenario: str, size: int) -> None:
    files = load_nodes(scenario, 1)
    shorten(files, f"/n1/{FIRST}", size)
    own = read_copy(files, find_place(files, "/n1"))
    to = int(own.end.offset)
    with pytest.raises(RefusedError, match=r"proof that more was there.*timeindex.*--accept-data-loss"):
        propose_truncate(files, "/n1", [], to, request())
    with pytest.raises(RefusedError, match=r"damaged|proves"):
        propose_rebuild_indexes(files, "/n1")
    accepted = request(accept_data_loss=True)
    repair(files, lambda files: propose_truncate(files, "/n1", [], to, accepted), "/n1")
    assert read_copy(files, find_place(files, "/n1")).short is None


def test_a_log_cut_between_batches_keeps_its_proof() -> None:
    files = load_nodes("basic", 1)
    whole = read_copy(files, find_place(files, "/n1"))
    cut = read_copy(files, find_place(files, "/n1"), until=83)
    shorten(files, f"/n1/{FIRST}", cut.prefix.segments[0].valid_size)
    with pytest.raises(
        RefusedError, match=rf"ends at offset 83, but .* reached {whole.end.offset}.*would no longer show that"
    ):
        propose_rebuild_indexes(files, "/n1")
    with pytest.raises(RefusedError, match=rf"offsets 83 to {whole.end.offset} on node 1.*--accept-data-loss"):
        propose_standalone(files, "/n1", [], request())


def test_a_cut_record_that_a_majority_holds_was_committed_and_is_fetched_again() -> None:
    files = load_nodes("basic", 1, 2, 3)
    shorten(files, f"/n1/{FIRST}", -7)
    to = int(read_copy(files, find_place(files, "/n1")).end.offset)
    said = propose_truncate(files, "/n1", ["/n2", "/n3"], to, request()).says
    assert any("was committed: voters 2, 3, a majority, hold all" in one for one in said)
    assert not any("unfinished write" in one for one in said)
    with pytest.raises(RefusedError, match=r"node 2 .*went on from there"):
        propose_truncate(files, "/n1", ["/n2"], to, request())


def test_a_divergent_tail_is_cut_without_a_word_about_committed_records() -> None:
    files = load_nodes("failovers", 1, 3)
    load("failovers/divergent-before/node-2/data", files, "/n2")
    proposal = propose_truncate(files, "/n2", ["/n1", "/n3"], 309, request())
    assert [lost.committed for lost in proposal.loses] == ["never"]
    assert any("were never committed" in said for said in proposal.says)


def test_damage_in_the_middle_of_the_only_copy_is_cut_first_and_what_followed_is_said_to_go() -> None:
    files = load("basic/node-1/data")
    log = "/data/__cluster_metadata-0/00000000000000000000.log"
    files.rot(log, 5800, 1)
    plan = inspect_copies(files, ["/data"]).plan
    [cut] = [step for step in plan.steps if step.commands and " truncate " in step.commands[0]]
    assert cut.commands[0] == "kraft recover truncate --dir /data --to 62 --missing 2,3,11,12 --accept-data-loss"
    assert cut.commands[1] == f"{cut.commands[0]} --apply"
    assert plan.steps.index(cut) < [" standalone " in "".join(step.commands) for step in plan.steps].index(True)
    proposal = propose_truncate(files, "/data", [], 62, request(accept_data_loss=True))
    [lost] = proposal.loses
    assert (lost.start, lost.end) == (62, 95)
    assert "sound batches follow the damage" in str(lost)
    repair(files, lambda _: proposal, "/data")
    repair(files, lambda files: propose_standalone(files, "/data", [], request()), "/data")
    assert verify_directories(files, ["/data"]).is_sound


def with_empty_segment(*nodes: int) -> SimulatedFiles:
    """Node 1's log ends at 326, and it has a segment that begins at 330."""
    files = load_nodes("failovers", *nodes)
    files.open("/n1/__cluster_metadata-0/00000000000000000330.log", create=True).fdatasync()
    files.fsync_dir("/n1/__cluster_metadata-0")
    return files


def test_an_empty_segment_behind_a_gap_is_no_unfinished_write() -> None:
    """Kafka names a segment by the log's end: what was before it is lost, and no node starts from there."""
    files = with_empty_segment(1, 2)
    plan = inspect_copies(files, ["/n1", "/n2"]).plan
    assert not plan.is_whole
    assert "No majority of the voters is here and sound" in plan.situation
    (lost,) = {text for repair in plan.repairs for text in repair.loses}
    assert "offsets 326 to 330 on node 1 (/n1): this log reached 330 (an empty segment follows the damage at" in lost
    with pytest.raises(RefusedError, match="nothing proves that it was never committed"):
        propose_truncate(files, "/n1", [], 326, request())
    whole = propose_truncate(with_empty_segment(1, 2, 3), "/n1", ["/n2", "/n3"], 326, request())
    assert any("no majority of the voters holds anything from offset 326 on" in said for said in whole.says)
