"""What differences between replicas mean: who is the odd one, and when a tail is merely uncommitted."""

from __future__ import annotations

from metadata_log.analysis.findings import Finding, Severity
from metadata_log.analysis.inputs import InputFile, ReplicaInput
from metadata_log.analysis.judge import Conflict, Judge, Variant, holders_of, join_names
from metadata_log.analysis.replicas import EpochFacts, ReplicaFacts, ranges_to_judge
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.tools.read.contents import EpochSpan
from metadata_log.tools.replicas.committed_bounds import committed_bounds

VOTERS = [ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(bytes([node_id] * 16))) for node_id in range(5)]


def facts(index: int, *epochs: tuple[int, int, int], snapshot: int = 0) -> ReplicaFacts:
    """The log of node `index`, in (epoch, start, end) spans."""
    segment = InputFile(name="00000000000000000000.log", path="", size=0, base=0)
    source = ReplicaInput(
        index=index, label=f"node {index}", path="", cluster_id="c", key=VOTERS[index], files=(segment,)
    )
    spans = (EpochSpan(epoch=epoch, start_offset=start, end_offset=end) for epoch, start, end in epochs)
    return ReplicaFacts(
        source=source,
        epochs=tuple(EpochFacts(span=span, leaders=(), first_ms=0, last_ms=0) for span in spans),
        batches=0,
        records=0,
        size_in_bytes=0,
        checkpoints=((snapshot, 1, "checkpoint"),) if snapshot else (),
        voters=None,
        electors=None,
    )


def conflict(offset: int, *variants: tuple[int, set[int]], count: int = 1) -> Conflict:
    return Conflict(
        offset=offset,
        count=count,
        variants=tuple(Variant(epoch=epoch, holders=frozenset(holders)) for epoch, holders in variants),
    )


def judged(replicas: list[ReplicaFacts], found: Conflict, voters: int) -> set[tuple[str, Severity, int]]:
    members = VOTERS[:voters]
    bounds = committed_bounds([replica.extent for replica in replicas], members)
    findings: list[Finding] = list(Judge(replicas, members, bounds).on_conflict(found))
    assert all(finding.offset == found.offset for finding in findings)
    return {(finding.kind, finding.severity, finding.node_id) for finding in findings}


def test_the_minority_holds_the_wrong_bytes() -> None:
    replicas = [facts(index, (1, 0, 100)) for index in range(3)]
    assert judged(replicas, conflict(50, (1, {0, 2}), (1, {1})), 3) == {("log_mismatch", Severity.ERROR, 1)}


def test_without_a_majority_both_are_named() -> None:
    replicas = [facts(index, (1, 0, 100)) for index in range(2)]
    found = judged(replicas, conflict(50, (1, {0}), (1, {1})), 3)
    assert found == {("log_mismatch", Severity.ERROR, 0), ("log_mismatch", Severity.ERROR, 1)}


def test_a_voter_outweighs_observers() -> None:
    replicas = [facts(index, (1, 0, 100)) for index in range(4)]
    found = judged(replicas, conflict(50, (1, {0}), (1, {1, 2, 3})), 1)
    assert {node_id for _, _, node_id in found} == {1, 2, 3}


def test_a_deposed_leaders_tail_is_a_note() -> None:
    replicas = [facts(0, (1, 0, 60), (2, 60, 90)), facts(1, (1, 0, 80)), facts(2, (1, 0, 60), (2, 60, 90))]
    found = judged(replicas, conflict(60, (1, {1}), (2, {0, 2})), 3)
    assert found == {("uncommitted_tail", Severity.NOTE, 1)}


def test_a_tail_that_its_replica_knew_to_be_committed_is_lost_by_the_others() -> None:
    replicas = [
        facts(0, (1, 0, 60), (2, 60, 90)),
        facts(1, (1, 0, 80), snapshot=70),
        facts(2, (1, 0, 60), (2, 60, 90)),
    ]
    found = judged(replicas, conflict(60, (1, {1}), (2, {0, 2})), 3)
    assert found == {
        ("committed_prefix_differs", Severity.ERROR, 0),
        ("committed_prefix_differs", Severity.ERROR, 2),
    }


def test_two_that_both_know_it_to_be_committed_contradict_each_other() -> None:
    replicas = [facts(0, (1, 0, 80), snapshot=75), facts(1, (1, 0, 60), (2, 60, 90), snapshot=85)]
    found = judged(replicas, conflict(60, (1, {0}), (2, {1})), 3)
    assert found == {
        ("committed_prefix_differs", Severity.ERROR, 0),
        ("committed_prefix_differs", Severity.ERROR, 1),
    }


def test_an_old_entry_that_reached_a_majority_late_may_legally_be_overwritten() -> None:
    """Figure 8 of the Raft paper: node 0 spread epoch 2's entry in epoch 4; node 4 still holds epoch 3's."""
    replicas = [
        facts(0, (1, 0, 10), (2, 10, 11), (4, 11, 12)),
        facts(1, (1, 0, 10), (2, 10, 11)),
        facts(2, (1, 0, 10), (2, 10, 11)),
        facts(3, (1, 0, 10)),
        facts(4, (1, 0, 10), (3, 10, 11)),
    ]
    found = judged(replicas, conflict(10, (2, {0, 1, 2}), (3, {4})), 5)
    assert found == {("committed_prefix_differs", Severity.WARNING, 4)}


def test_logs_that_meet_again_after_a_difference_break_log_matching() -> None:
    replicas = [facts(0, (1, 0, 50), (2, 50, 60), (4, 60, 70)), facts(1, (1, 0, 50), (3, 50, 60), (4, 60, 70))]
    found = judged(replicas, conflict(50, (2, {0}), (3, {1})), 5)
    assert {kind for kind, _, _ in found} == {"log_mismatch"}


def test_two_leaders_of_an_epoch() -> None:
    replicas = [facts(index, (1, 0, 10), (2, 10, 20)) for index in range(3)]
    bounds = committed_bounds([replica.extent for replica in replicas], VOTERS[:3])
    judge = Judge(replicas, VOTERS[:3], bounds)
    found = list(judge.on_leaders(2, {(0, 10): frozenset({0, 2}), (1, 10): frozenset({1})}))
    assert [(finding.kind, finding.node_id, finding.offset) for finding in found] == [("two_leaders", 1, 10)]
    assert "node 0 at offset 10 on node 0 and node 2" in found[0].meaning


def test_equal_logs_are_read_once_and_others_each() -> None:
    replicas = [
        facts(0, (1, 0, 90)),
        facts(1, (1, 0, 100)),
        facts(2, (1, 0, 100)),
        facts(3, (1, 0, 95)),
        facts(4, (1, 0, 80)),
    ]
    ranges, stands_for = ranges_to_judge(replicas, [(1, 3), (2, 3), (0, 3)], {4: 40})
    assert stands_for == {1: [2, 0], 3: [], 4: []}
    assert [(each.replica, each.start, each.end) for each in ranges] == [(1, 0, None), (3, 0, None), (4, 0, 40)]


def test_small_words() -> None:
    assert holders_of(0b1011) == {0, 1, 3}
    assert [join_names(names) for names in (["a"], ["a", "b"], ["a", "b", "c"])] == ["a", "a and b", "a, b and c"]
