"""Spark's tasks, without Spark: findings are those of `kraft check`, and pictures have what the logs hold."""

from __future__ import annotations

import pickle
from collections import Counter
from pathlib import Path

import pytest

from metadata_log.analysis.log_course import CourseReading, LogCourse
from metadata_log.analysis.report.verdict import Verdict
from metadata_log.analysis.tasks import LogRead, Refused, judge_logs, read_log, tasks_of
from metadata_log.files.os_files import OsFiles
from metadata_log.files.port import FileHandle
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.check.plan import until_settled
from metadata_log.tools.read.log_reader import LogReader
from tests.support.fixture_files import FIXTURES


def judged(*paths: Path) -> Verdict:
    """Return the verdict, of what came out of each task as Spark brings it to the next."""

    def run(plan: object) -> Verdict | Refused:
        read = [pickle.loads(pickle.dumps(read_log(task))) for task in tasks_of(plan)]  # type: ignore[arg-type]
        return judge_logs(pickle.loads(pickle.dumps(plan)), read)

    verdict = until_settled(paths, run, lambda _: True)
    assert isinstance(verdict, Verdict)
    return verdict


def test_findings_are_those_of_check(clusters: Path, tmp_path: Path) -> None:
    for name in ("basic", "every-record", "static-3.9"):
        verdict, checked = judged(clusters / name), check_paths([clusters / name])
        assert (verdict.findings, verdict.lower, verdict.upper) == (
            checked.findings, checked.bounds.lower, checked.bounds.upper,
        )  # fmt: skip


def test_the_verdict_says_what_the_logs_hold() -> None:
    verdict = judged(FIXTURES / "basic")

    assert [(one.label, one.node_id, one.end_offset) for one in verdict.replicas] == [
        ("node 1", 1, 95), ("node 2", 2, 96), ("node 3", 3, 96),
    ]  # fmt: skip
    assert [(epoch.epoch, epoch.leader_id) for epoch in verdict.epochs] == [(1, 3)]
    assert dict(verdict.records_by_type)["Topic"] == 7
    assert verdict.replicas[1].progress[-1].end_offset == 96
    assert [event.text for event in verdict.events if event.offset == 24] == ["topic search-91 is created"]
    assert "offsets 0 to 96, committed up to 96" in verdict.sentence
    assert [one.reason for one in verdict.not_judged] == ["there is no broker's log directory"]


def test_what_a_picture_keeps_does_not_grow_with_the_log() -> None:
    segment = FIXTURES / "every-record" / "node-1" / "data" / "__cluster_metadata-0" / "00000000000000000000.log"
    reading = CourseReading()
    LogReader(OsFiles(), [str(segment)]).read(reading)
    course = reading.course()

    assert course != LogCourse()
    assert len(course.progress) <= 320
    assert sum(count for _, count in course.records_by_type) > 100
    assert not [name for name, _ in course.records_by_type if name.startswith("type ")]


def test_a_log_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its verification and what is drawn of it share the pass."""
    opened: Counter[str] = Counter()
    real = OsFiles.open

    def counted(self: OsFiles, path: str, *, read_only: bool = False) -> FileHandle:
        opened[path] += path.endswith(".log")
        return real(self, path, read_only=read_only)

    monkeypatch.setattr(OsFiles, "open", counted)
    plan = until_settled([FIXTURES / "basic"], lambda plan: plan, lambda _: True)
    opened.clear()
    read = [read_log(task) for task in tasks_of(plan)]

    assert all(isinstance(one, LogRead) and one.course.progress for one in read)
    assert [count for count in opened.values() if count] == [1] * len(read)


def test_of_logs_that_reach_as_far_the_longest_is_drawn(clusters: Path) -> None:
    # Those of the brokers 11 and 12 begin at offset 98, that of node 1 at 207.
    verdict = judged(clusters / "failovers")

    assert {one.start_offset for one in verdict.replicas} == {98, 207, 244}
    assert verdict.epochs[0].start_offset == 98
