"""A quorum that was repaired, and the disks of its old majority who held more: that was committed, or may have been."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.tools.read.contents import EpochSpan
from quorum.cli.recover.show import show_inspection
from quorum.recovery.advice.discarded_records import left_behind_here
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.conflicts import common_end, joined_end
from quorum.recovery.evidence.lost_records import lost_records
from quorum.recovery.inspection import Inspection, inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.static_voters import parse_static_voter, propose_static_voters
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.verification import verify_directories
from tests.support.repairs import forget_audits, load_nodes, repair, request
from tests.unit.recovery.evidence.test_who_is_authoritative import lagging


def repaired(scenario: str, node: int, to: int) -> SimulatedFiles:
    """Load voters 1, 2 and 3. `node` has fetched up to `to` and is the only voter now; no audit file records either."""
    files = load_nodes(scenario, 1, 2, 3)
    own, accepted = f"/n{node}", request(accept_data_loss=True)
    repair(files, lambda files: propose_truncate(files, own, [], to, accepted), own)
    if scenario == "static-3.9":
        alone = [parse_static_voter(f"{node}@new:9093")]
        repair(files, lambda files: propose_static_voters(files, [own], [], alone, accepted), own)
    else:
        repair(files, lambda files: propose_standalone(files, own, [], accepted), own)
    forget_audits(files, f"{own}.recovery")
    return files


def losses(found: Inspection, node_id: int) -> dict[str, tuple[int, str]]:
    """Return the losses of a repair of this node's copy by label: the first offset, and how much was committed."""
    (way,) = (way for way in found.plan.repairs if way.on.startswith(f"node {node_id} "))
    return {one.label.split(" (")[0]: (one.start, one.committed) for one in way.lost}


@pytest.mark.parametrize(("scenario", "node", "to"), [("basic", 1, 56), ("static-3.9", 1, 30)])
def test_what_the_old_majority_held_was_committed(scenario: str, node: int, to: int) -> None:
    files = repaired(scenario, node, to)
    found = inspect_copies(files, ["/n1", "/n2", "/n3"])
    for start, committed in losses(found, node).values():
        assert start == to
        assert committed in ("was", "partly")


@pytest.mark.parametrize(("scenario", "to", "cut"), [("basic", 56, 59), ("static-3.9", 30, 35)])
@pytest.mark.parametrize("others", [("/n1", "/n3"), ("/n1",)])
def test_it_is_not_cut_as_if_it_had_never_been(scenario: str, to: int, cut: int, others: tuple[str, ...]) -> None:
    files = repaired(scenario, 1, to)
    with pytest.raises(RefusedError, match=r"this would lose .*(committed|may have been)"):
        propose_truncate(files, "/n2", list(others), cut, request())
    accepted = propose_truncate(files, "/n2", list(others), cut, request(accept_data_loss=True))
    assert {part.committed for part in accepted.loses} <= {"was", "may"}


def test_without_the_rest_of_the_old_voters_it_may_have_been() -> None:
    found = inspect_copies(repaired("basic", 1, 56), ["/n1", "/n2"])
    assert set(losses(found, 1).values()) == {(56, "may")}


def test_metadata_is_not_said_to_be_all_there(capsys: pytest.CaptureFixture[str]) -> None:
    files = repaired("basic", 1, 56)
    found = inspect_copies(files, ["/n1", "/n2", "/n3"])
    assert "no metadata is lost" not in found.plan.situation
    assert "But metadata is lost, or may be: a repair left behind offsets 56 to 96 on node" in found.plan.situation
    show_inspection(found)
    assert "of the repaired log" in capsys.readouterr().out
    assert verify_directories(files, ["/n1", "/n2", "/n3"]).problems


def test_a_repair_that_left_nothing_behind_loses_nothing() -> None:
    files = load_nodes("basic", 1, 2)
    repair(files, lambda files: propose_standalone(files, "/n2", [], request()), "/n2")
    forget_audits(files, "/n2.recovery")
    assert "no metadata is lost" in inspect_copies(files, ["/n1", "/n2"]).plan.situation


def grown(copy: Copy, start: int, *epochs: tuple[int, int]) -> Copy:
    """The same as it would go on: from `start` on, each epoch up to its end."""
    begins = [start, *(end for _, end in epochs)]
    spans = tuple(
        EpochSpan(epoch=epoch, start_offset=begin, end_offset=end)
        for begin, (epoch, end) in zip(begins, epochs, strict=False)
    )
    last = OffsetAndEpoch(offset=Offset(epochs[-1][1]), epoch=Epoch(epochs[-1][0]))
    prefix = msgspec.structs.replace(copy.prefix, start=Offset(start), spans=spans, end=last)
    return msgspec.structs.replace(copy, prefix=prefix)


def test_logs_that_do_not_overlap_join_where_a_third_shows_it() -> None:
    files = repaired("basic", 1, 56)
    old, new = (read_copy(files, find_place(files, path)) for path in ("/n2", "/n1"))
    whole = grown(new, 0, (1, 56), (1001, 300))
    late = grown(new, 200, (1001, 300))
    assert common_end(late, old) == old.end.offset
    assert joined_end([whole, late, old], late, old) == 56
    assert joined_end([late, old], late, old) is None
    assert joined_end([late, old], old, late) is None


def test_logs_that_do_not_overlap_are_one_where_nothing_says_otherwise() -> None:
    """A follower that was away while the others' logs were trimmed."""
    files = repaired("basic", 1, 56)
    old, new = (read_copy(files, find_place(files, path)) for path in ("/n2", "/n1"))
    late = grown(new, 200, (7, 300))
    assert joined_end([late, old], late, old) == old.end.offset
    ours = grown(new, 0, (1, 150), (7, 300))
    assert joined_end([ours, late, old], late, old) == old.end.offset


def test_what_nothing_joins_may_be_lost() -> None:
    files = repaired("basic", 1, 56)
    known = inspect_copies(files, ["/n1", "/n2"]).evidence
    old, new = (next(copy for copy in known.copies if copy.node_id == node) for node in (2, 1))
    late = grown(new, 200, (1001, 300))
    apart = msgspec.structs.replace(known, copies=(late, old))
    (lost,) = lost_records(files, apart, late)
    assert (lost.start, lost.end, lost.committed, lost.is_uncompared) == (0, int(old.end.offset), "may", True)
    assert left_behind_here(apart, [lost]) == [str(lost)]


def passed_over(*, named: bool = False) -> Inspection:
    """Node 1, which lagged, became the only voter, of what broker 12 holds if that was named; then 2 and 3 turn up."""
    files = load_nodes("basic", 12)
    for node, end in ((1, 56), (2, 95), (3, 95)):
        lagging(files, f"basic/node-{node}/data", f"/n{node}", end)
    others, accepted = (["/n12"] if named else []), request(accept_data_loss=True)
    repair(files, lambda files: propose_standalone(files, "/n1", others, accepted), "/n1")
    return inspect_copies(files, ["/n1", "/n2", "/n3"])


def test_a_repair_that_passed_over_what_was_committed_is_taken_back_first() -> None:
    found = passed_over()
    assert not found.is_whole
    assert "dropped committed records that copies here still hold: offsets 56 to 95" in found.plan.situation
    assert found.plan.steps[0].commands == ("kraft recover undo --dir /n1 --apply",)
    assert found.plan.steps[1].commands == ("kraft recover inspect /n1 /n2 /n3",)
    assert "mv " not in str(found.plan.steps)


def test_what_was_named_and_accepted_is_no_reason_to_take_it_back() -> None:
    assert "passed over" not in passed_over(named=True).plan.situation


def test_what_others_hold_now_is_not_said_to_be_nowhere() -> None:
    files = load_nodes("basic", 2)
    lagging(files, "basic/node-1/data", "/n1", 56)
    repair(files, lambda files: propose_standalone(files, "/n1", [], request()), "/n1")
    situation = inspect_copies(files, ["/n1", "/n2"]).plan.situation
    assert "past offset 56, and that no copy held which was named then" in situation
    assert "no copy here holds" not in situation
