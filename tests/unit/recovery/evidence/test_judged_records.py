"""A log with a record that no controller writes accuses no other log, and no repair keeps the record."""

from __future__ import annotations

import shlex
from collections.abc import Sequence
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Cause, Severity
from quorum.cli.main import run
from quorum.recovery.inspection import Inspection, inspect_copies
from quorum.recovery.verification import verify_directories
from tests.support.all_damage import ALL_DAMAGE
from tests.support.damage import Cluster, copy_cluster
from tests.support.damage_records import above_level
from tests.support.damage_values import transaction_abandoned
from tests.support.misuses import NO_WAIT

NODES = (1, 2, 3, 11, 12)


def inspected(cluster: Cluster, nodes: Sequence[int] = NODES) -> Inspection:
    return inspect_copies(OsFiles(), [str(cluster.disk(node)) for node in nodes])


def play(lines: Sequence[str]) -> None:
    for line in lines:
        assert run([*shlex.split(line)[1:], *NO_WAIT]) == 0, line


def play_repairs(found: Inspection) -> None:
    lines = (line for step in found.plan.steps for line in step.commands)
    repairs = (line for line in lines if line.startswith("kraft recover ") and line.endswith(" --apply"))
    play([line.replace("HOST:PORT", "127.0.0.1:29101") for line in repairs])


def test_an_abandoned_transaction_accuses_no_voter(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    planted = transaction_abandoned(cluster)
    (one,) = check_paths([cluster.root]).findings
    assert (one.kind, one.node_id, one.offset) == ("transaction_broken", 3, planted.offset)
    found = inspected(cluster)
    assert found.evidence.stale == ()
    assert [each.copy.node_id for each in found.evidence.barred] == [3]
    assert found.plan.situation.startswith("A majority of the voters is here and sound (2 of 3: controllers 2, 1)")
    assert found.plan.steps[0].text.startswith("Start controllers 2, 1 as they are")
    refused = {repair.on: repair.refused for repair in found.plan.repairs if repair.refused is not None}
    ((on, why),) = refused.items()
    assert on.startswith("node 3 ")
    assert why.startswith("no controller writes what it holds: the transaction that begins at offset 96 in epoch 1")


def test_the_only_copy_is_cut_before_the_record_and_then_verify_accepts_the_repair(
    clusters: Path, tmp_path: Path
) -> None:
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    transaction_abandoned(cluster)
    first = inspected(cluster, [3]).plan
    cuts = [line for step in first.steps for line in step.commands if " truncate " in line]
    assert [" --to 99 " in line for line in cuts] == [True, True]
    assert "standalone" not in str(first.steps)
    play(cuts)
    then = inspected(cluster, [3]).plan
    play([line for step in then.steps for line in step.commands if " standalone " in line])
    assert verify_directories(OsFiles(), [str(cluster.disk(3))]).is_sound
    assert run(["recover", "verify", str(cluster.disk(3))]) == 0


def test_a_record_above_the_level_proves_no_commit(clusters: Path, tmp_path: Path) -> None:
    cluster = copy_cluster(clusters / "static-3.9", tmp_path / "static-3.9")
    above_level(cluster)
    report = check_paths([cluster.root])
    assert [(one.kind, one.node_id) for one in report.findings] == [("record_above_level", 3)]
    found = inspected(cluster)
    assert (found.evidence.stale, found.evidence.barred) == ((), ())
    assert found.evidence.bounds.lower == report.bounds.lower == 114


def test_verify_only_warns_of_a_record_that_a_node_starts_with(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = copy_cluster(clusters / "static-3.9", tmp_path / "static-3.9")
    above_level(cluster)
    assert run(["recover", "verify", *(str(cluster.disk(node)) for node in (1, 2, 3))]) == 0
    said = capsys.readouterr().out
    assert "WRONG" not in said
    assert "WARNING: " in said
    assert "at offset 2). Compare the finalised level" in said


def _impossible(cluster: Cluster, node: int) -> bool:
    return any(
        one.node_id == node and one.severity is Severity.ERROR and one.cause is Cause.RECORDS
        for one in check_paths([cluster.root]).findings
    )


def test_a_record_that_a_node_may_start_with_is_kept(clusters: Path, tmp_path: Path) -> None:
    """A cut before it would lose all records after it, and every broker runs with it."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    next(one for one in ALL_DAMAGE if one.name == "acl_twice").plant(cluster)
    disk = str(cluster.disk(3))

    found = inspected(cluster, [3])

    assert found.evidence.barred == ()
    assert " truncate " not in str(found.plan.steps)
    play_repairs(found)
    assert run(["recover", "verify", disk]) == 0


@pytest.mark.campaign
def test_verify_accepts_what_the_recommended_repair_leaves(clusters: Path, tmp_path: Path) -> None:
    """Each voter of the damage table with an impossible record by `kraft check` is inspected and repaired alone."""
    cut, kept = [], []
    for number, damage in enumerate(ALL_DAMAGE):
        cluster = copy_cluster(clusters / damage.scenario, tmp_path / str(number))
        damage.plant(cluster)
        for node in (1, 2, 3):
            if not _impossible(cluster, node):
                continue
            (disk,) = (path.parent for path in cluster.node(node).glob("*/__cluster_metadata-0"))
            lines = str([step.commands for step in inspect_copies(OsFiles(), [str(disk)]).plan.steps])
            if not any(f" {name} " in lines for name in ("standalone", "static-voters", "from-broker")):
                cut.append(damage.name)
                continue
            kept.append(damage.name)
            play_repairs(inspect_copies(OsFiles(), [str(disk)]))
            assert run(["recover", "verify", str(disk)]) == 0, damage.name
    assert len(cut) > 20
    assert len(kept) > 20


def test_a_record_that_a_majority_holds_keeps_no_node_from_its_start(clusters: Path, tmp_path: Path) -> None:
    """All copies hold it, so a cut would not bring another log back: the cluster ran with it."""
    damage = next(one for one in ALL_DAMAGE if one.name == "voters_at_kraft_version_0")
    cluster = copy_cluster(clusters / damage.scenario, tmp_path / damage.scenario)
    damage.plant(cluster)
    found = inspected(cluster)
    assert {one.found.kind for one in found.evidence.barred} == {"checkpoint_disagrees"}, "and not by the record"
    assert found.plan.situation.startswith("The logs of a majority of the voters are here and whole")
