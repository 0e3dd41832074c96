"""A cut says of each part whether it was committed and who proves it; a voter that forgets is not simply started."""

from __future__ import annotations

import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from quorum.recovery.guards.request import Proposal
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.repairs.cluster_id import propose_cluster_id
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.truncate import propose_truncate
from tests.support.misuses import OTHER_CLUSTER
from tests.support.repairs import load, repair, request

ACCEPTED = request(accept_data_loss=True)
NODES = (1, 2, 3, 11, 12)


def cluster(*nodes: int, divergent: bool = False) -> SimulatedFiles:
    """Load nodes of `failovers`; if `divergent`, node 2 has a tail of epoch 8, 309 to 317, that epoch 9 never had."""
    files = SimulatedFiles()
    for node in nodes:
        source = "failovers/divergent-before" if divergent and node == 2 else "failovers"
        load(f"{source}/node-{node}/data", files, f"/n{node}")
    return files


def refused(files: SimulatedFiles, to: int, *copies: str) -> str:
    with pytest.raises(RefusedError) as found:
        propose_truncate(files, "/n2", copies, to, request())
    return str(found.value)


def test_what_is_proven_committed_needs_no_more_copies() -> None:
    said = refused(cluster(*NODES), 320, "/n1", "/n3", "/n11", "/n12")
    assert "offsets 320 to 326 on node 2 (/n2): 1 RegisterController; committed." in said
    assert "voters 1, 2, 3 hold them" in said
    assert "a majority of the 3 voters holds records of epoch 9" in said
    assert "no copy can change that" in said
    assert "Name more copies" not in said
    assert "nothing proves" not in said


def test_committed_and_never_committed_parts_are_told_apart() -> None:
    files = cluster(1, 2, 3, divergent=True)
    said = refused(files, 308, "/n1", "/n3")
    assert "offset 308 on node 2 (/n2): NoOps and elections only; committed" in said
    assert "offsets 309 to 317 on node 2 (/n2): 4 Partition, 2 Topic, topics lost-1, lost-2; never committed" in said
    assert "--to 309 cuts only what was never committed" in said
    lost = propose_truncate(files, "/n2", ["/n1", "/n3"], 308, ACCEPTED).loses
    assert [(one.start, one.end, one.committed, one.epoch) for one in lost] == [
        (308, 309, "was", 8),
        (309, 317, "never", 8),
    ]


@pytest.mark.parametrize(
    ("copies", "words"),
    [
        ((), "Name more copies (--copy): a majority proves it"),
        ((11, 12), "Name more copies (--copy): a majority proves it"),
    ],
)
def test_what_nothing_proves_asks_for_more_copies(copies: tuple[int, ...], words: str) -> None:
    said = refused(cluster(2, *copies), 320, *(f"/n{node}" for node in copies))
    assert "nothing proves that it was never committed" in said
    assert words in said


def steps(proposal: Proposal) -> list[tuple[str, tuple[str, ...]]]:
    return [(step.text, step.commands) for step in proposal.steps]


def test_a_repair_that_loses_records_says_which_nodes_hold_afterwards() -> None:
    cut = propose_truncate(cluster(2), "/n2", [], 309, ACCEPTED)
    assert any("agents hold (kraft_held) if they know records from offset 309 on" in each for each in cut.warnings)
    alone = propose_standalone(cluster(2), "/n2", [], ACCEPTED)
    assert alone.may_lose is not None
    assert any("kraft agent release" in each for each in alone.warnings)


def test_a_voter_that_forgets_is_not_simply_started() -> None:
    proposal = propose_truncate(cluster(2), "/n2", [], 309, ACCEPTED)
    assert any("votes, and forgets offsets 309 to 326" in warning for warning in proposal.warnings)
    [check, fetch, alone, back] = steps(proposal)
    assert "must not elect a leader with a voter that lacks what it forgot" in check[0]
    assert check[1] == ("kraft recover verify /n2",)
    assert "only once one of them leads" in fetch[0]
    assert alone[1] == ("kraft recover standalone --dir /n2 --missing 1,3,11,12",)
    assert back[1] == ("kraft recover undo --dir /n2 --apply",)


def test_the_steps_name_the_copies_and_the_place_of_the_backup() -> None:
    accepted = request(accept_data_loss=True, work_root="/backups")
    [check, fetch, back] = steps(propose_truncate(cluster(1, 2, 3), "/n2", ["/n1", "/n3"], 309, accepted))
    assert check[1] == ("kraft recover verify /n2 /n1 /n3",)
    assert "it fetches what it lacks from the leader" in fetch[0]
    assert back[1] == ("kraft recover undo --dir /n2 --work /backups --apply",)


def test_a_clone_is_told_to_give_itself_an_address() -> None:
    files = cluster(2)
    clone = request(all_missing=False)
    repair(files, lambda files: propose_cluster_id(files, ["/n2"], OTHER_CLUSTER, clone, is_a_clone=True), "/n2")
    commands = [line for _, lines in steps(propose_truncate(files, "/n2", [], 309, ACCEPTED)) for line in lines]
    (alone,) = (line for line in commands if line.startswith("kraft recover standalone "))
    assert alone.endswith("--dir /n2 --endpoint CONTROLLER://HOST:PORT --missing 1,3,11,12")


def test_static_voters_are_told_their_own_command() -> None:
    files = load("static-3.9/node-2/data", target="/n2")
    commands = [line for _, lines in steps(propose_truncate(files, "/n2", [], 73, ACCEPTED)) for line in lines]
    assert any(line.startswith("kraft recover static-voters --dir /n2 --set 2@HOST:PORT") for line in commands)


@pytest.mark.parametrize("node", [2, 12])
def test_who_forgets_nothing_that_counts_is_started(node: int) -> None:
    """The node is a voter whose tail was never committed, or an observer, which has no vote."""
    files = cluster(1, 2, 3, 12, divergent=True)
    voters = [f"/n{one}" for one in (1, 2, 3) if one != node]
    check, start, *_ = steps(propose_truncate(files, f"/n{node}", voters, 309, ACCEPTED))
    assert check[1] == (f"kraft check /n{node}",)
    assert start == (
        "Start the node: it fetches what it lacks from the leader",
        ("bin/kafka-server-start.sh server.properties",),
    )
