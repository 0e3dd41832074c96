"""The headline: one sentence that says which replica, what, and where, for every kind of finding."""

from __future__ import annotations

import msgspec
import pytest

from metadata_log.analysis import Verdict
from metadata_log.analysis.report.groups import names_of
from metadata_log.analysis.report.headline import headline
from metadata_log.analysis.report.verdict import Difference, ReplicaSummary, Side
from metadata_log.tools.findings.finding import KINDS, Finding, Severity


def _replica(node_id: int, start: int = 0, end: int = 100) -> ReplicaSummary:
    return ReplicaSummary(
        label=f"node {node_id}", node_id=node_id, directory_id="", path=f"/x/{node_id}", is_voter=True,
        start_offset=start, end_offset=end, last_epoch=3, snapshot_end=0, high_watermark=None, batches=end - start,
        records=end - start, size_in_bytes=end, epochs=(), progress=(),
    )  # fmt: skip


def _verdict(
    *replicas: ReplicaSummary, findings: tuple[Finding, ...] = (), differences: tuple[Difference, ...] = ()
) -> Verdict:
    return Verdict(
        cluster_id="c", paths=(), replicas=replicas, voters=(1, 2, 3), lower=0, upper=None, because="", epochs=(),
        records_by_type=(), findings=findings, not_judged=(), elapsed_s=1.0, java="", differences=differences,
    )  # fmt: skip


def _finding(kind: str, node_id: int, offset: int | None = 23, severity: Severity = Severity.ERROR) -> Finding:
    return Finding(
        kind=kind, severity=severity, node_id=node_id, offset=offset, epoch=3,
        meaning="m", advice="a",
    )  # fmt: skip


def _difference(*sides: tuple[tuple[int, ...], bool], offset: int = 23) -> Difference:
    held = (
        Side(replicas=tuple(f"node {node_id}" for node_id in ids), epoch=3, is_majority=is_majority)
        for ids, is_majority in sides
    )
    return Difference(offset=offset, batches=1, at_ms=-1, sides=tuple(held))


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_news_with_its_replica_or_its_offset(kind: str) -> None:
    news = headline(_verdict(_replica(1), _replica(2), findings=(_finding(kind, 2),)))
    assert news[0].isupper()
    assert "at offset 23" in news
    assert "{" not in news
    assert "None" not in news
    assert KINDS[kind].title in news
    assert "at offset" not in headline(_verdict(_replica(2), findings=(_finding(kind, 2, None),)))


def test_one_of_five_differs() -> None:
    verdict = _verdict(
        *map(_replica, range(1, 6)),
        findings=(_finding("log_mismatch", 1),),
        differences=(_difference(((1,), False), ((2, 3, 4, 5), True)),),
    )
    assert headline(verdict) == "Node 1 differs from the other four at offset 23"


def test_a_replica_that_does_not_reach_the_offset_is_not_compared() -> None:
    verdict = _verdict(
        *map(_replica, range(1, 5)),
        findings=(_finding("log_mismatch", 1),),
        differences=(_difference(((1,), False), ((2, 3), True)),),
    )
    assert headline(verdict) == "Node 1 differs from nodes 2 and 3 at offset 23"


def test_in_a_tie_nobody_is_accused() -> None:
    verdict = _verdict(
        _replica(1),
        _replica(2),
        findings=(_finding("log_mismatch", 1), _finding("log_mismatch", 2)),
        differences=(_difference(((1,), False), ((2,), False)),),
    )
    assert headline(verdict) == "Node 1 and node 2 differ at offset 23, and nothing says which is right"


def test_a_difference_goes_before_other_errors_and_the_rest_is_counted() -> None:
    verdict = _verdict(
        *map(_replica, (1, 2, 3)),
        findings=(
            _finding("corrupt_batch", 1, 5),
            _finding("log_mismatch", 2),
            _finding("torn_tail", 3, 90, Severity.WARNING),
            _finding("voter_absent", 4, None, Severity.NOTE),
        ),
        differences=(_difference(((2,), False), ((1, 3), True)),),
    )
    assert headline(verdict) == "Node 2 differs from the other two at offset 23, and 2 more findings"


def test_one_kind_at_one_offset_of_several_replicas_is_one_news() -> None:
    findings = (_finding("corrupt_batch", 1, 5), _finding("corrupt_batch", 2, 5))
    assert headline(_verdict(_replica(1), _replica(2), findings=findings)) == (
        "Nodes 1 and 2: bytes that are no sound batch, at offset 5"
    )


@pytest.mark.parametrize(
    ("replicas", "news"),
    [
        ((_replica(1),), "No errors in the log of node 1, up to offset 100"),
        ((_replica(1), _replica(2, end=90), _replica(3)), "Three replicas agree up to offset 90"),
        ((_replica(1, end=50), _replica(2, start=50)), "No errors in two logs, which share no offset"),
        ((_replica(1, end=0), _replica(2, end=0)), "The logs are empty"),
    ],
)
def test_without_findings_the_news_is_up_to_where_replicas_agree(
    replicas: tuple[ReplicaSummary, ...], news: str
) -> None:
    assert headline(_verdict(*replicas)) == news


def test_notes_are_part_of_good_news() -> None:
    findings = (
        _finding("uncommitted_tail", 2, 309, Severity.NOTE),
        _finding("voter_absent", 4, None, Severity.NOTE),
        _finding("voter_absent", 5, None, Severity.NOTE),
    )
    assert headline(_verdict(*map(_replica, (1, 2, 3)), findings=findings)).split("; ") == [
        "Two replicas agree up to offset 100",
        "node 2 has an uncommitted tail from offset 309",
        "nodes 4 and 5 are not here",
    ]


@pytest.mark.parametrize(
    ("labels", "named"),
    [
        (["node 1"], "node 1"),
        (["node 3", "node 1"], "nodes 1 and 3"),
        (["node 1", "node 2", "node 3"], "nodes 1, 2 and 3"),
        (["node 4", "node 5", "node 6", "node 7"], "nodes 4 to 7"),
        (["node 1 (a)", "node 1 (b)"], "node 1 (a) and node 1 (b)"),
        (["a/b", "node 2"], "a/b and node 2"),
    ],
)
def test_replicas_are_named_in_short(labels: list[str], named: str) -> None:
    assert names_of(labels) == named


def test_a_verdict_keeps_its_news_through_json() -> None:
    verdict = _verdict(_replica(1), findings=(_finding("offset_gap", 1),))
    again = msgspec.json.decode(msgspec.json.encode(verdict), type=Verdict)
    assert headline(again) == "Node 1: a batch past the offset that is due, at offset 23"
