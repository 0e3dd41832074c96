"""Leaders whose logs end before others' records of their epoch: they prove nothing never committed."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.tools.check.check import check_paths
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.repairs.truncate import propose_truncate
from tests.support.damage import copy_cluster
from tests.support.damage_values import kraft_version_fallen
from tests.support.repairs import load, load_nodes, request
from tests.unit.recovery.evidence.test_who_is_authoritative import lagging, said, stale

PATHS = ["/n1", "/n2", "/n3"]
OUTRUN = (
    "node 3 (/n3): it led epoch 9, and its log ends at offset 315 of it; node 1 (up to 326) has more records of that "
    "epoch, and a leader has each first"
)


def outrun() -> SimulatedFiles:
    """Node 1 holds all; node 3, who led, and node 2 have lost their ends."""
    files = load("failovers/node-1/data", target="/n1")
    lagging(files, "failovers/node-2/data", "/n2", 315)
    lagging(files, "failovers/node-3/data", "/n3", 315)
    return files


def test_an_outrun_leader_does_not_prove_what_others_hold_never_committed() -> None:
    found = inspect_copies(outrun(), PATHS)
    assert stale(found) == {"/n3": OUTRUN}
    assert (found.evidence.bounds.lower, found.evidence.bounds.upper) == (315, 326)
    assert {lost.committed for one in found.plan.repairs for lost in one.lost} <= {"may"}


def test_nodes_that_lack_what_an_outrun_leader_held_do_not_start_without_the_one_that_has_it() -> None:
    found = inspect_copies(outrun(), PATHS)
    assert found.plan.situation == (
        "A majority of the voters is here and sound (2 of 3: controllers 1, 2): they hold all that a copy here holds, "
        "but node 3 (/n3) may have held more. Not counted: node 3 (/n3)."
    )
    assert "Start controllers 1, 2 as they are" in said(found)
    assert "Start node 3 (/n3) only once the others lead, and it fetches the rest" in said(found)


def test_what_an_outrun_leader_lacks_is_not_cut_elsewhere_without_acceptance() -> None:
    files = outrun()
    with pytest.raises(RefusedError, match=r"offsets 315 to 326 on node 1 .* which may have been committed"):
        propose_truncate(files, "/n1", PATHS[1:], 315, request())
    accepted = propose_truncate(files, "/n1", PATHS[1:], 315, request(accept_data_loss=True))
    assert [(lost.start, lost.end, lost.committed) for lost in accepted.loses] == [(315, 326, "may")]


def test_a_leader_that_holds_all_of_its_epoch_is_counted() -> None:
    files = load_nodes("failovers", 1, 3)
    lagging(files, "failovers/node-2/data", "/n2", 315)
    found = inspect_copies(files, PATHS)
    assert stale(found) == {}
    assert found.evidence.bounds.upper == 326


@pytest.mark.parametrize(("nodes", "upper"), [((1, 2, 3), 96), ((2, 3), 97)])
def test_an_impossible_record_of_a_follower_outruns_no_leader(
    nodes: tuple[int, ...], upper: int, clusters: Path, tmp_path: Path
) -> None:
    """Node 3 led the epoch. Node 2 alone has a control record past node 3's end."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    kraft_version_fallen(cluster)

    found = inspect_copies(OsFiles(), [str(cluster.disk(node)) for node in nodes])
    report = check_paths([cluster.node(node) for node in nodes])

    assert [(one.kind, one.node_id) for one in report.findings] == [("impossible_record", 2)]
    assert (report.bounds.lower, report.bounds.upper) == (96, upper)
    assert (found.evidence.bounds.lower, found.evidence.bounds.upper) == (96, upper)
    assert [one.copy.node_id for one in found.evidence.stale] == []
    assert [one.copy.node_id for one in found.evidence.barred] == [2]
