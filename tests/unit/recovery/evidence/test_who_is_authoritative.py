"""Copies that are not what their voters held last: they count for no majority and prove nothing never committed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from metadata_log.files.port import parent_of
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.format.batch import build_batch, build_control_batch
from metadata_log.ids import NodeId
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import LeaderChangeMessage, MetadataRecord, encode_control, encode_record
from metadata_log.records.control import LeaderChangeVoter
from quorum.cli.main import run
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.inspection import Inspection, inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.repairs.voters import parse_named_voter, propose_voters
from quorum.recovery.verification import verify_directories
from tests.support.clusters import SCENARIOS
from tests.support.damage_records import named_topic
from tests.support.repairs import know_epoch, load, load_nodes, repair, request, tree, written_out

STATE = "__cluster_metadata-0/quorum-state"
LOG = "__cluster_metadata-0/00000000000000000294.log"
TOPIC = "topics kept-by-the-majority"


def put(files: SimulatedFiles, path: str, contents: dict[str, bytes]) -> None:
    for name, data in contents.items():
        files.mkdirs(parent_of(f"{path}/{name}"))
        handle = files.open(f"{path}/{name}", create=True)
        handle.truncate(0)
        handle.pwrite(data, 0)
        handle.fdatasync()
        files.fsync_dir(parent_of(f"{path}/{name}"))


def lagging(files: SimulatedFiles, source: str, path: str, to: int) -> None:
    """A node that has fetched so far, and no audit file of a repair beside it."""
    other = load(source)
    accepted = request(accept_data_loss=True)
    repair(other, lambda files: propose_truncate(files, "/data", [], to, accepted), "/data")
    put(files, path, tree(other, "/data"))


def formatted(files: SimulatedFiles, source: str, path: str) -> None:
    """The node's directory as its formatting left it: identity and first voters, no log."""
    whole = tree(load(source), "/data")
    put(files, path, {name: data for name, data in whole.items() if name.endswith((".properties", ".checkpoint"))})


def elected(
    files: SimulatedFiles, path: str, epoch: int, leader: int, granting: tuple[int, ...], *records: MetadataRecord
) -> None:
    """An elected leader's first batch behind the log of `path`, and one of these records, if there are any."""
    end = read_copy(files, find_place(files, path)).end.offset
    voters, granted = (
        tuple(LeaderChangeVoter(voter_id=NodeId(one)) for one in nodes) for nodes in ((1, 2, 3), granting)
    )
    record = LeaderChangeMessage(leader_id=NodeId(leader), voters=voters, granting_voters=granted)
    data = build_control_batch(
        base_offset=Offset(end), epoch=Epoch(epoch), timestamp_ms=1_800_000_000_000, records=[encode_control(record)]
    )
    if records:
        values, after = [encode_record(one, 0) for one in records], Offset(end + 1)
        data += build_batch(base_offset=after, epoch=Epoch(epoch), timestamp_ms=1_800_000_000_000, values=values)
    handle = files.open(f"{path}/{LOG}")
    handle.pwrite(data, handle.size())
    handle.fdatasync()
    state = json.loads(files.content(f"{path}/{STATE}"))
    state |= {"leaderId": leader, "leaderEpoch": epoch, "votedId": -1, "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA"}
    put(files, path, {STATE: json.dumps(state).encode()})


def stale(found: Inspection) -> dict[str, str]:
    return {one.copy.place.log_dir: str(one) for one in found.evidence.stale}


def said(found: Inspection) -> str:
    return "\n".join(word for step in found.plan.steps for word in (step.text, *step.commands))


def set_back() -> SimulatedFiles:
    """Node 3 holds all; node 1 a little less; node 2, which held all, too, has an early copy of its disk again."""
    files = load("failovers/node-3/data", target="/n3")
    lagging(files, "failovers/node-1/data", "/n1", 300)
    return load("failovers/lagging-follower/node-2/data", files, "/n2")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_of_clusters_that_are_whole_every_voter_speaks(scenario: str) -> None:
    files = load_nodes(scenario, 1, 2, 3)
    found = inspect_copies(files, ["/n1", "/n2", "/n3"])
    assert stale(found) == {}
    assert found.plan.is_whole
    assert found.plan.situation.endswith("no metadata is lost.")


def test_a_follower_that_lags_speaks_for_itself() -> None:
    files = load("failovers/node-2/data", load("failovers/node-3/data", target="/n3"), "/n2")
    lagging(files, "failovers/node-1/data", "/n1", 300)
    for paths in (["/n1", "/n2", "/n3"], ["/n1", "/n3"]):
        found = inspect_copies(files, paths)
        assert stale(found) == {}
        assert found.is_whole
    assert found.evidence.bounds.upper == 326


def test_what_was_committed_reaches_past_the_election_of_who_committed_it() -> None:
    found = inspect_copies(load("failovers/node-3/data"), ["/data"])
    assert found.evidence.bounds.lower == 310


def test_formatted_voters_are_no_majority_and_the_log_that_is_left_is_gone_on_from() -> None:
    files = load("basic/node-3/data", target="/n3")
    formatted(files, "basic/node-1/data", "/n1")
    formatted(files, "basic/node-2/data", "/n2")
    found = inspect_copies(files, ["/n1", "/n2", "/n3"])
    assert not found.is_whole
    assert found.evidence.bounds.upper is None
    assert sorted(stale(found)) == ["/n1", "/n2"]
    assert "holds no record, and node 3 (/n3) holds" in stale(found)["/n1"]
    assert "no metadata is lost" not in found.plan.situation
    assert "Start controllers" not in said(found)
    assert "kraft recover standalone --dir /n3 --copy /n" in said(found)
    assert propose_standalone(files, "/n3", ["/n1", "/n2"], request()).may_lose is not None
    assert not verify_directories(files, ["/n1", "/n2", "/n3"]).is_sound


def test_of_voters_that_hold_nothing_an_absent_one_may_hold_all() -> None:
    files = SimulatedFiles()
    for node in (1, 2):
        formatted(files, f"basic/node-{node}/data", f"/n{node}")
    found = inspect_copies(files, ["/n1", "/n2"])
    assert not found.is_whole
    assert "not all voters are here" in stale(found)["/n2"]
    assert "Start controller" not in said(found)


def test_a_cluster_that_was_only_formatted_is_started_and_not_called_whole_metadata() -> None:
    files = SimulatedFiles()
    for node in (1, 2, 3):
        formatted(files, f"basic/node-{node}/data", f"/n{node}")
    found = inspect_copies(files, ["/n1", "/n2", "/n3"])
    assert found.is_whole
    assert stale(found) == {}
    assert "no metadata is lost" not in found.plan.situation
    assert "If this cluster has run before, do not start them" in found.plan.situation


def test_a_voter_that_was_set_back_proves_nothing_never_committed() -> None:
    files = set_back()
    with pytest.raises(RefusedError, match=rf"{TOPIC}; which may have been committed.*Not counted: node 2"):
        propose_truncate(files, "/n3", ["/n1", "/n2"], 310, request())
    with pytest.raises(RefusedError, match=r"offset 309 on node 3.*; committed"):
        propose_truncate(files, "/n3", ["/n1", "/n2"], 309, request())
    named = [parse_named_voter("1@host:9093")]
    with pytest.raises(RefusedError, match=rf"{TOPIC}; committed in part"):
        propose_voters(files, ["/n1"], ["/n2", "/n3"], named, request())


def test_a_voter_that_was_set_back_is_not_started() -> None:
    files = set_back()
    found = inspect_copies(files, ["/n1", "/n2", "/n3"])
    assert not found.is_whole
    assert (
        "knows of no epoch after 1, but led epoch 8, which began at offset 294 (by the log of node 1)"
        in (stale(found)["/n2"])
    )
    assert "Start controllers 3, 1 as they are" in said(found)
    assert "node 2 (/n2): if the copies were taken at different times, nothing" in said(found)
    assert "node 2 (/n2) knows of no epoch after 1" in str(verify_directories(files, ["/n1", "/n2", "/n3"]).problems)


def test_with_a_voter_that_was_set_back_there_is_no_majority_and_a_repair_is_not_refused() -> None:
    files = load("failovers/lagging-follower/node-2/data", load("failovers/node-3/data", target="/n3"), "/n2")
    found = inspect_copies(files, ["/n2", "/n3"])
    assert not found.plan.is_whole
    assert found.evidence.bounds.upper is None
    assert "kraft recover standalone --dir /n3" in said(found)
    assert "voters 1, 2 acknowledged" in str(propose_standalone(files, "/n3", ["/n2"], request()).may_lose)


def test_where_most_voters_lack_what_was_committed_none_of_them_speaks() -> None:
    files = load("failovers/node-3/data", target="/n3")
    for node in (1, 2):
        lagging(files, f"failovers/node-{node}/data", f"/n{node}", 300)
    found = inspect_copies(files, ["/n1", "/n2", "/n3"])
    assert sorted(stale(found)) == ["/n1", "/n2"]
    assert not found.plan.is_whole
    assert found.evidence.bounds.upper is None
    assert "kraft recover standalone --dir /n3" in said(found)


def test_a_leader_that_such_voters_elected_proves_nothing_never_committed() -> None:
    files = load("failovers/node-3/data", target="/n3")
    lagging(files, "failovers/node-1/data", "/n1", 300)
    elected(files, "/n1", 10, 1, (1, 2))
    found = inspect_copies(files, ["/n1", "/n3"])
    assert not found.plan.is_whole
    assert "took part in electing node 1, whose epoch 10 began at offset 300" in stale(found)["/n1"]
    assert "never committed" not in str(found.plan.repairs)
    assert "kraft recover standalone --dir /n3" in said(found)
    for to in (300, 310):
        with pytest.raises(RefusedError, match=TOPIC):
            propose_truncate(files, "/n3", ["/n1"], to, request())
    load("failovers/lagging-follower/node-2/data", files, "/n2")  # which voted since, and fetched nothing yet
    state = json.loads(files.content(f"/n2/{STATE}")) | {"leaderEpoch": 10, "leaderId": 1}
    put(files, "/n2", {STATE: json.dumps(state).encode()})
    assert sorted(stale(inspect_copies(files, ["/n1", "/n2", "/n3"]))) == ["/n1", "/n2"]


def test_a_copy_that_speaks_is_recommended_before_one_that_is_ahead_by_such_a_leader() -> None:
    files = load("failovers/node-3/data", target="/n3")
    lagging(files, "failovers/node-1/data", "/n1", 300)
    elected(files, "/n1", 10, 1, (1, 2), *named_topic("later"))
    found = inspect_copies(files, ["/n1", "/n3"])
    assert found.evidence.best.place.log_dir == "/n1"
    assert "topics later" in str(found.plan.repairs)
    assert "kraft recover standalone --dir /n3 --copy /n1 --missing 2,11,12 --accept-data-loss" in said(found)
    assert "standalone --dir /n1" not in said(found)


def elected_short(*electors: int) -> SimulatedFiles:
    """Node 3 was cut, and then elected by these; node 1 goes on past where its epoch began."""
    files = load_nodes("failovers", 1, 2)
    lagging(files, "failovers/node-3/data", "/n3", 310)
    elected(files, "/n3", 10, 3, electors)
    for path in ("/n1", "/n2"):
        know_epoch(files, path, 10)
    return files


def test_whoever_was_elected_by_a_longer_log_than_its_own_is_not_sound() -> None:
    files = elected_short(1, 3)
    found = inspect_copies(files, ["/n1", "/n2", "/n3"])
    assert not found.is_whole
    assert sorted(stale(found)) == ["/n1", "/n3"]
    assert "but its log goes on from there in epoch 9: no voter elects a shorter log" in stale(found)["/n1"]
    assert "and the log of node 1 (/n1), which did so, too, goes on past" in stale(found)["/n3"]
    assert "no metadata is lost" not in found.plan.situation
    assert "kraft recover standalone --dir /n2" in said(found)
    assert "--accept-data-loss" not in said(found)


def test_who_did_not_elect_may_hold_more() -> None:
    found = inspect_copies(elected_short(2, 3), ["/n1", "/n3"])
    assert stale(found) == {}
    assert "no metadata is lost." in found.plan.situation


def test_check_calls_what_such_a_leader_passes_over_no_uncommitted_tail(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    files = load("failovers/node-3/data", target="/n3")
    lagging(files, "failovers/node-1/data", "/n1", 300)
    elected(files, "/n1", 10, 1, (1, 2))
    written_out(files, tmp_path)
    assert run(["check", str(tmp_path / "n1"), str(tmp_path / "n3")]) == 1
    shown = capsys.readouterr().out
    assert "committed_prefix_differs: node 1" in shown
    assert "uncommitted_tail" not in shown


def test_an_election_after_a_tail_that_nobody_committed_is_believed() -> None:
    files = load("failovers/divergent-before/node-2/data", load("failovers/node-3/data", target="/n3"), "/n2")
    found = inspect_copies(files, ["/n2", "/n3"])
    assert stale(found) == {}
    assert "never committed" in str(found.plan.repairs)


def test_of_two_copies_of_a_voter_the_older_is_neither_counted_nor_named_nor_started() -> None:
    files = load("failovers/node-2/data", load("failovers/lagging-follower/node-2/data", target="/old"), "/n2")
    lagging(files, "failovers/node-1/data", "/n1", 300)
    found = inspect_copies(files, ["/n1", "/n2", "/old"])
    assert list(stale(found)) == ["/old"]
    assert "(2 of 3: controllers 2, 1)" in found.plan.situation
    assert "Start controllers 2, 1 as they are" in said(found)
    assert "start nothing from it: of node 2, /n2 goes on" in said(found)
    assert "--dir /old" not in said(found)
    assert not inspect_copies(files, ["/old", "/n2"]).plan.is_whole
    problems = verify_directories(files, ["/n1", "/n2", "/old"]).problems
    assert [problem for problem in problems if "/old" in problem] == list(problems)
    assert len(problems) == 1
