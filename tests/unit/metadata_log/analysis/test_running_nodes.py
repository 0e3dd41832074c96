"""A note that holds only for logs at rest is given by neither command where a log changed while it was read."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from metadata_log.analysis import job
from metadata_log.analysis.report.verdict import Verdict
from metadata_log.analysis.tasks import LogTask, Refused, judge_logs, read_log
from metadata_log.records import NoOpRecord
from metadata_log.tools.check import check
from metadata_log.tools.check.plan import Plan, until_settled
from metadata_log.tools.replicas.replica import Replica, read_replica
from tests.support.damage import Cluster, append, copy_cluster

_NOTE = "leader_behind_followers"
_RECORD = NoOpRecord()


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    """Node 2 has a record more than its leader."""
    cluster = copy_cluster(clusters / "basic", tmp_path / "basic")
    append(cluster.segment(2), [_RECORD])
    return cluster


def plan_of(cluster: Cluster) -> Plan:
    found: list[Plan] = []
    until_settled([cluster.root], found.append, lambda _: True)
    return found[0]


@pytest.mark.parametrize("is_running", [False, True])
def test_an_analysis_has_the_note_only_of_logs_at_rest(
    is_running: bool, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_spark(spark: object, plan: Plan, tasks: Sequence[LogTask]) -> Verdict | Refused:
        verdict = judge_logs(plan, [read_log(task) for task in tasks])
        if is_running:
            append(cluster.segment(1), [_RECORD])
        return verdict

    monkeypatch.setattr(job, "_run", without_spark)
    monkeypatch.setattr(job.session, "spark_context", lambda *, large: None)

    verdict = job._judged(plan_of(cluster), lambda step: None)

    assert (_NOTE in {found.kind for found in verdict.findings}) is not is_running


@pytest.mark.parametrize("is_running", [False, True])
def test_a_check_has_the_note_only_of_logs_at_rest(
    is_running: bool, cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(*args: object, **probes: object) -> Replica:
        replica = read_replica(*args, **probes)  # type: ignore[arg-type]
        if is_running:
            append(cluster.segment(1), [_RECORD])
        return replica

    monkeypatch.setattr(check, "read_replica", read)

    report = check._check(plan_of(cluster))

    assert (_NOTE in {found.kind for found in report.findings}) is not is_running
