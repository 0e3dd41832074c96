"""A checkpoint that ends elsewhere than its name says proves nothing, and no repair goes on from it."""

from __future__ import annotations

import pytest

from metadata_log.files.simulated_files import SimulatedFiles
from quorum.recovery.copies.copy_reader import read_copy
from quorum.recovery.evidence.repair_evidence import evidence_of
from quorum.recovery.inspection import inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.journal.log_directories import find_place
from quorum.recovery.repairs.drop_snapshot import propose_drop_snapshot
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.truncate import propose_truncate
from tests.support.repairs import load_nodes, repair, request, tree

METADATA = "__cluster_metadata-0"
OWN = "00000000000000000244-0000000001.checkpoint"
OLDER = "00000000000000000255-0000000003.checkpoint"
NEWEST = "00000000000000000310-0000000009.checkpoint"
NAMES = (
    "00000000000000009000-0000000009.checkpoint",
    "00000000000000009000-0000000001.checkpoint",
    "00000000000000000300-0000000009.checkpoint",
    "00000000000000000250-0000000001.checkpoint",
)
"""Far behind the log in a later epoch and in its own, within the log in a wrong one, and within it in its own."""


def rename(files: SimulatedFiles, log_dir: str, old: str, new: str) -> None:
    directory = f"{log_dir}/{METADATA}"
    files.rename(f"{directory}/{old}", f"{directory}/{new}")
    files.fsync_dir(directory)


def voters_with(name: str) -> SimulatedFiles:
    """Three voters, of which the second calls its only checkpoint `name`."""
    files = load_nodes("failovers", 1, 2, 3)
    rename(files, "/n2", OWN, name)
    return files


@pytest.mark.parametrize("name", NAMES)
def test_it_proves_no_commit_and_the_others_are_counted(name: str) -> None:
    files = voters_with(name)
    known = evidence_of([read_copy(files, find_place(files, f"/n{node}")) for node in (1, 2, 3)])
    assert (known.bounds.lower, known.bounds.upper) == (326, 326)
    assert not known.stale
    assert not known.conflicts
    own = next(copy for copy in known.copies if copy.node_id == 2)
    assert (own.end.offset, own.origin, list(own.prefix.misnamed)) == (326, None, [name])
    plan = inspect_copies(files, ["/n1", "/n2", "/n3"]).plan
    assert plan.steps[0].text.startswith("Start nothing from node 2 (/n2) as it is")
    assert plan.steps[1].text.startswith("Start controllers 1, 3 as they are")
    assert any("Do not start node 2 (/n2): its log begins at offset 244" in step.text for step in plan.steps)
    assert any(f"{name} is misnamed: by its name it " in step.text for step in plan.steps)


@pytest.mark.parametrize("name", NAMES)
def test_no_repair_goes_on_from_it(name: str) -> None:
    files = voters_with(name)
    before = tree(files, "/n2")
    with pytest.raises(RefusedError, match=f"{name} is misnamed"):
        propose_standalone(files, "/n2", ["/n1", "/n3"], request(accept_data_loss=True))
    with pytest.raises(RefusedError, match="cannot be cut at 318"):
        propose_truncate(files, "/n2", ["/n1", "/n3"], 318, request(accept_data_loss=True))
    with pytest.raises(RefusedError, match=r"without .* its metadata"):
        propose_drop_snapshot(files, "/n2", [], request())
    assert tree(files, "/n2") == before


@pytest.mark.parametrize("name", [*NAMES, "00000000000000000309-0000000009.checkpoint"])
def test_it_is_dropped_where_an_older_one_says_the_same(name: str) -> None:
    files = load_nodes("failovers", 11)
    whole = read_copy(files, find_place(files, "/n11"))
    rename(files, "/n11", NEWEST, name)
    own = read_copy(files, find_place(files, "/n11"))
    assert own.end == whole.end
    assert own.image == whole.image
    assert own.greatest_epoch == whole.greatest_epoch
    assert (own.origin is not None and own.origin.name, list(own.prefix.misnamed)) == (OLDER, [name])
    repair(files, lambda files: propose_drop_snapshot(files, "/n11", [], request()), "/n11")
    assert not files.exists(f"/n11/{METADATA}/{name}")
    after = read_copy(files, find_place(files, "/n11"))
    assert (after.end, after.image, after.prefix.misnamed) == (whole.end, whole.image, {})


def test_a_repair_in_place_takes_it_away() -> None:
    files = load_nodes("upgrade-path", 1)
    whole = read_copy(files, find_place(files, "/n1"))
    name = NAMES[0]
    rename(files, "/n1", "00000000000000000323-0000000001.checkpoint", name)
    repair(files, lambda files: propose_standalone(files, "/n1", [], request(accept_data_loss=True)), "/n1")
    after = read_copy(files, find_place(files, "/n1"))
    assert after.repair is not None
    assert after.repair.offset == whole.end.offset
    assert not files.exists(f"/n1/{METADATA}/{name}")
    assert after.prefix.misnamed == {}


def without_log(*nodes: int) -> SimulatedFiles:
    """These nodes, of which 11 has lost its log, and calls its last checkpoint by a far later offset."""
    files = load_nodes("failovers", *nodes)
    rename(files, "/n11", NEWEST, NAMES[0])
    for name in files.listdir(f"/n11/{METADATA}"):
        if name.endswith((".log", "index", "leader-epoch-checkpoint")):
            files.unlink(f"/n11/{METADATA}/{name}")
    return files


def test_another_nodes_log_denies_the_name_of_one_that_is_left_alone() -> None:
    files = without_log(1, 11, 12)
    alone = read_copy(files, find_place(files, "/n11"))
    assert alone.end.offset == 9000

    known = inspect_copies(files, ["/n11", "/n1", "/n12"]).evidence
    own = next(copy for copy in known.copies if copy.node_id == 11)

    assert "before offset 310 in the log of node " in own.prefix.misnamed[NAMES[0]]
    assert (own.end.offset, known.bounds.lower) == (255, 313)
    assert known.copies[0].node_id != 11


@pytest.mark.parametrize("has_older", [True, False])
def test_how_far_a_lone_one_reached_is_not_read_from_a_denied_name(has_older: bool) -> None:
    files = without_log(1, 11, 12)
    if not has_older:
        files.unlink(f"/n11/{METADATA}/{OLDER}")

    found = inspect_copies(files, ["/n1", "/n11", "/n12"])

    own = next(copy for copy in found.evidence.copies if copy.node_id == 11)
    assert own.proved_end <= 255
    assert "9000" not in f"{own.short} {own.proof_of_more}"
    said = " ".join(step.text + " ".join(step.commands) for step in found.plan.steps)
    assert "reached 9000" not in said
    assert "--accept-data-loss" not in said


def test_a_right_name_is_believed_beside_other_logs() -> None:
    files = load_nodes("failovers-4.4", 1, 2, 3, 11, 12)
    paths = [f"/n{node}" for node in (1, 2, 3, 11, 12)]
    assert not any(copy.prefix.misnamed for copy in inspect_copies(files, paths).evidence.copies)
