"""A second repair of a cluster that was repaired already: two quorums would come of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest

from metadata_log.files.port import Files
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_control_batch
from metadata_log.ids import DirectoryId
from metadata_log.records import encode_control
from metadata_log.voters import Endpoint
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.guards.liveness import EndpointState, ProbeResult
from quorum.recovery.guards.request import Proposal, Request
from quorum.recovery.journal.carry_out import carry_out
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.journal.orphaned_files import remove_tree
from quorum.recovery.journal.repair_record import work_root_of
from quorum.recovery.repairs.from_broker import NewController, propose_from_broker
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.static_voters import parse_static_voter, propose_static_voters
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.repairs.undo import propose_undo
from quorum.recovery.repairs.voters import parse_named_voter, propose_voters
from tests.support.repairs import AUTHOR, load, load_nodes, repair, request

NEW = Endpoint(name="CONTROLLER", host="new", port=9093)
NEW_GRPC = Endpoint(name="GRPC", host="new", port=9094)
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"


def from_broker(files: Files, asked: Request) -> Proposal:
    new = NewController(log_dir="/new", node_id=1, endpoints=(NEW,), directory_id=DirectoryId(bytes(range(100, 116))))
    return propose_from_broker(files, ["/n11"], [], new, asked)


def standalone(files: Files, asked: Request) -> Proposal:
    return propose_standalone(files, "/n1", [], asked, endpoints=(NEW,))


def voters(files: Files, asked: Request) -> Proposal:
    return propose_voters(files, ["/n1"], [], [parse_named_voter("1@new:9093/9094")], asked)


def static_voters(files: Files, asked: Request) -> Proposal:
    return propose_static_voters(files, ["/n2"], [], [parse_static_voter("2@new:9093")], asked)


WRITING = [
    pytest.param("basic", 11, from_broker, NEW, id="from-broker"),
    pytest.param("basic", 1, standalone, NEW, id="standalone"),
    pytest.param("basic", 1, voters, NEW, id="voters"),
    pytest.param("basic", 1, voters, NEW_GRPC, id="voters, by gRPC"),
    pytest.param("static-3.9", 2, static_voters, NEW, id="static-voters"),
]


@pytest.mark.parametrize(("scenario", "node", "propose", "at"), WRITING)
@pytest.mark.parametrize(
    ("heard", "says"),
    [
        (EndpointState.LEADER, "a leader answers at new:"),
        (EndpointState.CONTROLLER, "controller 1 runs at new:.*stop it"),
        (EndpointState.UNCLEAR, "something listens at new:.*--not-a-controller new:"),
    ],
)
def test_who_answers_where_the_repair_puts_a_voter_is_not_recovered_from(
    scenario: str,
    node: int,
    propose: Callable[[Files, Request], Proposal],
    at: Endpoint,
    heard: EndpointState,
    says: str,
) -> None:
    def ask(endpoints: Sequence[Endpoint]) -> Sequence[ProbeResult]:
        there = [one for one in endpoints if one == at]
        return [
            ProbeResult(address=f"{one.host}:{one.port}", heard=heard, said="as it says", node_id=1, cluster_id=CLUSTER)
            for one in there
        ]

    files = load_nodes(scenario, node)
    with pytest.raises(RefusedError, match=says):
        propose(files, request(ask=ask))
    assert propose(files, request()).rewrites


def epoch_of(files: Files, path: str) -> int:
    return int(read_copy(files, find_place(files, path)).end.epoch)


def repaired_first() -> SimulatedFiles:
    """One survivor is the only voter already; another one has its old log."""
    files = load_nodes("basic", 1, 2)
    repair(files, lambda files: propose_standalone(files, "/n1", [], request()), "/n1")
    return files


def test_a_survivor_beside_one_that_was_repaired_is_refused_and_names_it() -> None:
    files = repaired_first()
    says = r"node 1 \(/n1\) was repaired already: epoch 1001 .*node 2 \(/n2\) has nothing of that.*kraft recover undo"
    with pytest.raises(RefusedError, match=says):
        propose_standalone(files, "/n2", ["/n1"], request())


def test_no_undo_is_named_where_it_would_be_refused() -> None:
    files = repaired_first()
    remove_tree(files, work_root_of("/n1"))
    with pytest.raises(RefusedError, match=r"Go on with node 1 \(/n1\); or, if nothing ever starts from it again"):
        propose_standalone(files, "/n2", ["/n1"], request())


def test_what_drops_the_voters_of_a_first_repair_begins_an_epoch_above_it_and_says_what_goes() -> None:
    files = repaired_first()
    accepted = request(accept_data_loss=True)
    proposal = propose_standalone(files, "/n2", ["/n1"], accepted)
    assert [lost.records for lost in proposal.loses] == [{"Voters": 1}]
    repair(files, lambda files: propose_standalone(files, "/n2", ["/n1"], accepted), "/n2")
    assert (epoch_of(files, "/n1"), epoch_of(files, "/n2")) == (1001, 2001)


def test_a_new_controller_beside_a_survivor_that_was_repaired_is_refused() -> None:
    files = load_nodes("basic", 1, 11)
    repair(files, lambda files: propose_standalone(files, "/n1", [], request()), "/n1")
    new = NewController(log_dir="/new", node_id=2, endpoints=(NEW,), directory_id=DirectoryId(bytes(range(100, 116))))
    with pytest.raises(RefusedError, match=r"voters 1 are here and sound.*start them"):
        propose_from_broker(files, ["/n11"], ["/n1"], new, request(accept_data_loss=True))


def test_a_change_of_voters_that_another_copy_holds_is_not_passed_over() -> None:
    """The VotersRecord is an elected leader's, in a separate batch, not a repair's."""
    files = load_nodes("basic", 1, 12)
    own = read_copy(files, find_place(files, "/n12"))
    assert own.voters is not None
    batch = build_control_batch(
        base_offset=own.end.offset,
        epoch=own.end.epoch,
        timestamp_ms=own.prefix.last_timestamp_ms,
        records=[encode_control(own.voters.to_record())],
    )
    log = files.open(f"/n12/__cluster_metadata-0/{own.prefix.segments[-1].name}")
    log.pwrite(batch, log.size())
    with pytest.raises(RefusedError, match=r"would lose offset 95 on node 12 .*1 Voters"):
        propose_standalone(files, "/n1", ["/n12"], request())


def test_what_only_another_copys_checkpoint_holds_is_not_passed_over() -> None:
    """Voters, say: the segments in which they stood are gone, and nothing but NoOps may follow."""
    files = load_nodes("every-record", 1, 12)
    cut = request(accept_data_loss=True)
    repair(files, lambda files: propose_truncate(files, "/n1", [], 139, cut), "/n1")
    checkpoint = "__cluster_metadata-0/00000000000000000300-0000000001.checkpoint"
    data = load("every-record/node-2/data").content(f"/data/{checkpoint}")
    for name in set(files.listdir("/n12/__cluster_metadata-0")) - {"quorum-state"}:
        files.unlink(f"/n12/__cluster_metadata-0/{name}")
    files.open(f"/n12/{checkpoint}", create=True).pwrite(data, 0)
    says = r"would lose offsets 139 to 300 on node 12 .*1 checkpoint, which holds all up to offset 300"
    with pytest.raises(RefusedError, match=says):
        propose_standalone(files, "/n1", ["/n12"], request())


def test_a_repair_that_only_its_audit_file_tells_of_has_its_epoch_and_is_warned_of() -> None:
    files = repaired_first()
    load("basic/node-1/data", files, "/old")
    for name in files.listdir("/n1/__cluster_metadata-0"):
        files.unlink(f"/n1/__cluster_metadata-0/{name}")
    load("basic/node-1/data", files, "/n1")
    proposal = propose_standalone(files, "/n1", [], request())
    assert any("epoch 2001 begins" in said for said in proposal.says)
    assert any(
        "records a repair of /n1 at " in one and "began epoch 1001, and no copy here shows" in one
        for one in proposal.warnings
    )


def test_a_controller_that_was_made_and_moved_away_has_its_epoch_kept() -> None:
    """The same old copy of a broker, into the same path: the first may live elsewhere by now."""
    files = load_nodes("basic", 11)
    repair(files, lambda files: from_broker(files, request()), "/new")
    for name in files.listdir("/new/__cluster_metadata-0"):
        files.unlink(f"/new/__cluster_metadata-0/{name}")
    files.unlink("/new/meta.properties")
    files.unlink("/new/bootstrap.checkpoint")
    proposal = from_broker(files, request())
    assert any("epoch 2001 begins" in said and "greatest known epoch is 1001" in said for said in proposal.says)
    assert any("records a repair of /new at " in one for one in proposal.warnings)


def test_a_place_for_backups_that_repairs_share_tells_of_them() -> None:
    files = load_nodes("basic", 1, 2)
    [rewrite] = propose_standalone(files, "/n1", [], request()).rewrites
    carry_out(files, rewrite, author=AUTHOR, work_root="/backups")
    proposal = propose_standalone(files, "/n2", [], request(work_root="/backups"))
    assert any("epoch 2001 begins" in said for said in proposal.says)
    assert any("/backups/" in one and "records a repair of /n1 at " in one for one in proposal.warnings)


def test_a_repair_that_was_taken_back_leaves_no_epoch() -> None:
    files = repaired_first()
    repair(files, lambda files: propose_undo(files, "/n1", work_root_of("/n1")), "/n1")
    repair(files, lambda files: propose_standalone(files, "/n1", [], request()), "/n1")
    assert epoch_of(files, "/n1") == 1001


def test_the_plan_says_that_only_one_survivor_may_be_repaired() -> None:
    files = load_nodes("basic", 1)
    [said] = [one for one in propose_standalone(files, "/n1", [], request()).warnings if "only one copy" in one]
    assert "voters 2, 3 are not here" in said
    assert "epoch 1001, too" in said
    assert "--copy" in said
