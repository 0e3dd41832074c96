"""A quorum that goes on while its logs are read one after another: what is committed meanwhile is not lost."""

from __future__ import annotations

from pathlib import Path

import pytest

from metadata_log.directory import QuorumState, read_meta_properties, write_quorum_state
from metadata_log.files.os_files import OsFiles
from metadata_log.format.batch import build_batch, build_control_batch, parse_header
from metadata_log.format.epoch_file import EPOCH_FILE
from metadata_log.ids import ZERO_DIRECTORY_ID, DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset
from metadata_log.records import LeaderChangeMessage, LeaderChangeVoter, NoOpRecord, encode_control, encode_record
from metadata_log.tools.check.check import check_paths
from quorum.cli.main import run
from tests.support.damage import Cluster, copy_cluster, split, write
from tests.support.opened import on_opening

_VOTERS = (1, 2, 3)
_LAST = 3
"""The voter whose log is read after the others'."""


class _Quorum:
    """Elects and writes without a rest: `go_on` is what happens between two readings."""

    def __init__(self, cluster: Cluster) -> None:
        self.paths = {node_id: max(cluster.metadata(node_id).glob("*.log")) for node_id in _VOTERS}
        identity = read_meta_properties(OsFiles(), str(cluster.disk(_LAST)))
        directory_id = DirectoryId(identity.directory_id or ZERO_DIRECTORY_ID)
        self._candidate = ReplicaKey(node_id=NodeId(_LAST), directory_id=directory_id)
        self._header = parse_header(split(self.paths[_LAST])[-1])
        self._end, self._epoch = int(self._header.next_offset), int(self._header.partition_leader_epoch)

    def go_on(self) -> None:
        """All vote for a leader of a new epoch, and hold that it leads; the last has what it then wrote, too."""
        self._epoch += 1
        voters = tuple(LeaderChangeVoter(voter_id=NodeId(voter)) for voter in _VOTERS)
        change = LeaderChangeMessage(leader_id=NodeId(_LAST), voters=voters, granting_voters=voters)
        elected = build_control_batch(
            base_offset=Offset(self._end),
            epoch=Epoch(self._epoch),
            timestamp_ms=self._header.max_timestamp,
            records=[encode_control(change)],
        )
        wrote = build_batch(
            base_offset=Offset(self._end + 1),
            epoch=Epoch(self._epoch),
            timestamp_ms=self._header.max_timestamp,
            values=[encode_record(NoOpRecord(), 0)],
        )
        for node_id, path in self.paths.items():
            state = QuorumState(leader_epoch=Epoch(self._epoch), voted_key=self._candidate)
            write_quorum_state(OsFiles(), str(path.parent), state)
            self._add_epoch(path.parent / EPOCH_FILE)
            missing = b"".join(split(self.paths[_LAST])[len(split(path)) :]) if node_id != _LAST else b""
            with path.open("ab") as log:
                log.write(missing + elected)
        with self.paths[_LAST].open("ab") as log:
            log.write(wrote)
        self._end += 2

    def _add_epoch(self, path: Path) -> None:
        version, count, *lines = path.read_text().splitlines()
        lines.append(f"{self._epoch} {self._end}")
        path.write_text("\n".join([version, str(int(count) + 1), *lines]) + "\n")


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    cluster = copy_cluster(clusters / "failovers", tmp_path / "failovers")
    # Each log has one segment, so that only their ends distinguish them.
    first = cluster.metadata(1)
    for node_id in (2, 3):
        for old in cluster.metadata(node_id).iterdir():
            old.unlink()
        for path in first.iterdir():
            (cluster.metadata(node_id) / path.name).write_bytes(path.read_bytes())
    for node_id in (11, 12):
        cluster.node(node_id).rename(tmp_path / f"node-{node_id}")
    return cluster


def test_a_quorum_that_never_rests_has_lost_nothing(cluster: Cluster) -> None:
    quorum = _Quorum(cluster)

    with on_opening(quorum.paths[_LAST], quorum.go_on):
        report = check_paths([cluster.root])

    assert report.findings == ()
    ends = [node.end_offset or 0 for node in report.nodes]
    assert min(ends) >= report.bounds.lower > 0


def test_nor_has_it_by_a_diff(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    quorum = _Quorum(cluster)

    with on_opening(quorum.paths[_LAST], quorum.go_on):
        status = run(["log", "diff", str(cluster.root)])

    assert (status, capsys.readouterr().err) == (0, "")


def test_a_voter_that_is_written_anew_meanwhile_still_lacks_what_was_committed(cluster: Cluster) -> None:
    quorum = _Quorum(cluster)
    quorum.go_on()
    batches = split(quorum.paths[_LAST])
    ends = iter((len(batches) - 4, len(batches) - 3))

    def rewrite() -> None:
        """Both followers are another log than before, and shorter than what is committed."""
        count = next(ends, len(batches) - 3)
        for node_id in (1, 2):
            write(quorum.paths[node_id], batches[:count])

    rewrite()
    with on_opening(quorum.paths[_LAST], rewrite):
        report = check_paths([cluster.root])

    lost = [found for found in report.findings if found.kind == "committed_lost"]
    assert [found.node_id for found in lost] == [1, 2]
    assert {found.offset for found in lost} == {parse_header(batches[-3]).base_offset}
