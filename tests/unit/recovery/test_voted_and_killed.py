"""A voter that voted for the first leader and was killed before it heard of him: it had no record to lose."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from metadata_log.directory.quorum_state import QuorumState, write_quorum_state
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.offsets import Epoch
from metadata_log.tools.check.check import check_paths
from quorum.recovery.inspection import Inspection, inspect_copies
from quorum.recovery.journal.log_directories import find_place
from tests.support.repairs import load_nodes, written_out

LEADER, VOTER = 3, 1
"""Of `basic`, whose log begins with epoch 1."""
PATHS = ["/n1", "/n2", "/n3"]


def leader() -> ReplicaKey:
    key = find_place(load_nodes("basic", LEADER), f"/n{LEADER}").key
    assert key is not None
    return key


VOTED = QuorumState(leader_epoch=Epoch(1), voted_key=leader())


def emptied(state: QuorumState) -> SimulatedFiles:
    """Node 1 with that quorum-state, beside a segment of no bytes."""
    files = load_nodes("basic", 1, 2, 3)
    metadata = f"/n{VOTER}/__cluster_metadata-0"
    for name in files.listdir(metadata):
        if name.endswith((".log", "index", ".snapshot")) or name == "leader-epoch-checkpoint":
            files.unlink(f"{metadata}/{name}")
    files.open(f"{metadata}/{0:020}.log", create=True).close()
    write_quorum_state(files, metadata, state)
    files.fsync_dir(metadata)
    return files


def said(found: Inspection) -> str:
    return "\n".join(step.text for step in found.plan.steps)


def severities(files: SimulatedFiles, root: Path) -> list[str]:
    written_out(files, root)
    report = check_paths([root / path[1:] for path in PATHS])
    return [str(one.severity) for one in report.findings if one.kind == "voter_without_log"]


def test_it_starts_with_the_others(tmp_path: Path) -> None:
    files = emptied(VOTED)
    found = inspect_copies(files, PATHS)
    assert found.is_whole
    assert not found.evidence.stale
    assert "Start controllers 2, 3, 1 as they are" in said(found)
    assert "Never start" not in said(found)
    assert severities(files, tmp_path) == []


@pytest.mark.parametrize(
    "state",
    [
        msgspec.structs.replace(VOTED, leader_id=LEADER),  # it followed him, and may have fetched
        msgspec.structs.replace(VOTED, leader_id=LEADER, voted_key=None),
        msgspec.structs.replace(VOTED, leader_epoch=Epoch(2)),  # it may have fetched in epoch 1
        msgspec.structs.replace(VOTED, voted_key=None),
        msgspec.structs.replace(VOTED, voted_key=ReplicaKey(node_id=NodeId(2))),  # who did not win
        msgspec.structs.replace(VOTED, voted_key=find_place(load_nodes("basic", VOTER), f"/n{VOTER}").key),
    ],
)
def test_whoever_may_have_had_records_does_not(state: QuorumState, tmp_path: Path) -> None:
    files = emptied(state)
    found = inspect_copies(files, PATHS)
    assert not found.is_whole
    assert [one.copy.node_id for one in found.evidence.stale] == [VOTER]
    assert f"Never start node {VOTER}" in said(found)
    assert severities(files, tmp_path) == ["error"]


def test_alone_it_proves_nothing() -> None:
    found = inspect_copies(emptied(VOTED), ["/n1"])
    assert not found.is_whole
    assert "Start controller" not in said(found)


def test_what_stands_beside_it_is_believed(tmp_path: Path) -> None:
    """Kafka's producer state is named after an offset that the log reached."""
    files = emptied(VOTED)
    handle = files.open(f"/n{VOTER}/__cluster_metadata-0/{56:020}.snapshot", create=True)
    handle.pwrite(bytes.fromhex("0001 48674bc7 00000000"), 0)
    handle.fdatasync()
    found = inspect_copies(files, PATHS)
    assert not found.is_whole
    assert "Start controllers 2, 3, 1" not in said(found)
    assert severities(files, tmp_path) == []  # it follows from the lost end
    below = [
        text for one in check_paths([tmp_path / path[1:] for path in PATHS]).findings for text in one.consequences or ()
    ]
    assert any(text.startswith("voter_without_log") for text in below)
