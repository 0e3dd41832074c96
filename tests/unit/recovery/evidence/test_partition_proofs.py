"""Partition directories prove commits for repairs, as they do for `kraft check`.

Controllers of these clusters lost the ends of their logs. Brokers, which have no metadata log here, have the
directories of partitions that the lost records assigned.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.tools.check.check import check_paths
from quorum.recovery.inspection import Inspection, inspect_copies
from quorum.recovery.journal.errors import RefusedError
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.truncate import propose_truncate
from tests.support.damage import Cluster, copy_cluster
from tests.support.damage_partitions import PARTITION_DAMAGE
from tests.support.repairs import request

CONTROLLERS, BROKERS = (1, 2, 3), (11, 12)
DAMAGE = {damage.name: damage for damage in PARTITION_DAMAGE}


def planted(name: str, clusters: Path, place: Path) -> Cluster:
    """Return a cluster with this damage."""
    damage = DAMAGE[name]
    cluster = copy_cluster(clusters / damage.scenario, place / damage.scenario)
    damage.plant(cluster)
    return cluster


@pytest.fixture(name="most_cut")
def _most_cut(clusters: Path, tmp_path: Path) -> Cluster:
    """Return a cluster whose controllers 1 and 2 end at offset 56, and controller 3 at 96."""
    return planted("most_controllers_cut_back", clusters, tmp_path / "most")


@pytest.fixture(name="all_cut")
def _all_cut(clusters: Path, tmp_path: Path) -> Cluster:
    """Return a cluster whose controllers all end at offset 56."""
    return planted("all_controllers_cut_back", clusters, tmp_path / "all")


def disks(cluster: Cluster, *nodes: int) -> list[str]:
    return [str(cluster.disk(node)) for node in nodes]


def inspected(cluster: Cluster) -> Inspection:
    return inspect_copies(OsFiles(), disks(cluster, *CONTROLLERS, *BROKERS))


def test_voters_that_lack_a_proven_record_do_not_start(most_cut: Cluster) -> None:
    found = inspected(most_cut)

    known = found.evidence
    assert known.bounds.lower == 62
    assert known.bounds.upper is None
    assert sorted(one.copy.node_id or 0 for one in known.stale) == [1, 2]
    assert not [step for step in found.plan.steps if "as they are: they elect" in step.text]
    [kept] = [one for one in found.plan.repairs if one.on.startswith("node 1 ")]
    assert [(one.start, one.end, one.committed) for one in kept.lost] == [(56, 96, "partly")]


def test_the_bounds_are_those_of_check(most_cut: Cluster, all_cut: Cluster) -> None:
    for cluster in (most_cut, all_cut):
        bounds = check_paths([cluster.root]).bounds
        assert inspected(cluster).evidence.bounds.lower == bounds.lower
        assert inspected(cluster).evidence.bounds.because == bounds.because


def test_a_proven_record_is_not_cut(most_cut: Cluster) -> None:
    own, others = disks(most_cut, 3)[0], disks(most_cut, 1, 2, 11)

    with pytest.raises(RefusedError, match=r"56 to 62 are committed \(all before 62: node 11 has orders-3-4 "):
        propose_truncate(OsFiles(), own, others, 56, request())


def test_a_record_that_no_log_holds_is_a_certain_loss(all_cut: Cluster) -> None:
    own, others = disks(all_cut, 1)[0], disks(all_cut, 2, 3, 12)
    inspection = inspected(all_cut)

    lost = [one.lost for one in inspection.plan.repairs]
    assert [[(each.start, each.end, each.committed) for each in one] for one in lost] == [[(56, 57, "was")]] * 3
    assert len(inspection.evidence.stale) == 3
    with pytest.raises(RefusedError, match="and no copy here holds it; committed"):
        propose_standalone(OsFiles(), own, others, request())
    assert propose_standalone(OsFiles(), own, others, request(accept_data_loss=True)).loses


def test_printed_commands_name_the_disk_that_proves_it(all_cut: Cluster) -> None:
    lines = [line for step in inspected(all_cut).plan.steps for line in step.commands if "standalone" in line]

    assert len(lines) == 2
    assert all(f"--copy {all_cut.disk(11)} " in line and "--accept-data-loss" in line for line in lines)


def test_directories_that_every_log_assigns_prove_nothing_more(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")

    for marked in cluster.root.glob("node-*/data/*-delete"):
        shutil.rmtree(marked)

    found = inspected(cluster)

    assert len(found.evidence.copies) == 5
    assert not [copy for copy in found.evidence.copies if copy.proven is not None]
    assert found.is_whole


def test_a_disk_of_another_cluster_is_refused(most_cut: Cluster) -> None:
    file = most_cut.disk(11) / "meta.properties"
    file.write_text(file.read_text().replace("cluster.id=", "cluster.id=A"))

    with pytest.raises(RefusedError, match="these directories are of several clusters"):
        propose_truncate(OsFiles(), disks(most_cut, 3)[0], disks(most_cut, 1, 2, 11), 56, request())
    assert inspected(most_cut).evidence.bounds.because.startswith("node 12 has ")


def test_a_disk_without_a_log_is_left_out_as_a_copy(most_cut: Cluster) -> None:
    left_out = {one.path: one.problem for one in inspected(most_cut).unjudged}

    assert set(left_out) == set(disks(most_cut, *BROKERS))
    assert all("Its partition directories count as proofs of commits" in problem for problem in left_out.values())
