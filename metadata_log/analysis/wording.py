"""From the rows that break a rule to findings: what they say and how grave they are.

Decides: meaning and severity of what concerns one replica alone. Must not know: Spark's plans.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from metadata_log.analysis.findings import KINDS, Finding, Severity
from metadata_log.analysis.inputs import NO_NODE, ReplicaInput
from metadata_log.analysis.replicas import ReplicaFacts
from metadata_log.ids import ReplicaKey
from metadata_log.tools.read.manifest import MANIFEST_FILE
from metadata_log.tools.words import join_names

BREAKS_CHAIN: Final = frozenset(
    {"corrupt_batch", "unsupported_batch", "offset_gap", "offset_repeated", "epoch_went_back", "unreadable_record"}
)
"""After these, a replica's records cannot be judged as a whole."""


def rule_findings(row: Any, replica: ReplicaInput) -> Iterator[Finding]:
    """The findings of a row of `batch_checks.broken_rules`: one for each rule that it breaks."""
    is_last_segment = row["file_base"] == max((f.base for f in replica.files if not f.is_checkpoint), default=-1)
    for kind in row["kinds"]:
        severity = Severity.WARNING if kind in ("torn_tail", "checkpoint_incomplete") else Severity.ERROR
        reported = kind
        if kind == "torn_tail" and not is_last_segment:
            reported, severity = "corrupt_batch", Severity.ERROR
        yield Finding(
            kind=reported,
            severity=severity,
            node_id=replica.key.node_id,
            replica=replica.label,
            file=row["file"],
            offset=row["due"] if row["fault"] is not None or kind == "offset_gap" else row["base_offset"],
            epoch=row["epoch"],
            meaning=_rule_meaning(kind, row),
            advice=KINDS[reported].advice,
        )


_RULES: Final = {
    "corrupt_batch": "{size} bytes at position {position} are not a sound batch: {detail}{if_last}",
    "unsupported_batch": "{size} bytes at position {position} are no batch of a metadata log: {detail}",
    "torn_tail": "the file ends within a batch: {size} bytes at position {position} are left of an unfinished write",
    "unreadable_record": "a control record of the batch at offset {base_offset} cannot be read: {detail}",
    "offset_gap": "{missing} records are missing: offset {due} is due, and {base_offset} stands there",
    "offset_repeated": "offset {due} is due, and {base_offset} stands there again",
    "epoch_went_back": "epoch {epoch} comes after epoch {epoch_before}: epochs never fall",
    "epoch_without_leader": "epoch {epoch} begins without a LeaderChange, which every leader writes first",
    "checkpoint_incomplete": "the checkpoint has no footer: its writing was not finished, or its end is lost",
}


def _rule_meaning(kind: str, row: Any) -> str:
    if_last = "; it is the last batch, so that a torn write may explain it" if row["is_last"] else ""
    missing = row["base_offset"] - row["due"] if row["base_offset"] is not None else 0
    return _RULES[kind].format_map({**row.asDict(), "if_last": if_last, "missing": missing})


def topic_findings(row: Any, labels: Mapping[int, ReplicaInput], stands_for: Sequence[int]) -> Iterator[Finding]:
    """The finding of a row of `record_checks.broken_topics`; it names the replicas that hold the same, too."""
    first = row["first"]
    others = [labels[index].label for index in stands_for]
    shared = f" (the same on {join_names(others)})" if others else ""
    replica = labels[row["replica"]]
    yield Finding(
        kind=row["kind"],
        severity=Severity.ERROR,
        node_id=replica.key.node_id,
        replica=replica.label,
        file=first["file"],
        offset=first["offset"],
        epoch=first["epoch"],
        meaning=_topic_meaning(row["kind"], row, first) + shared,
        advice=KINDS[row["kind"]].advice,
    )


def _topic_meaning(kind: str, row: Any, first: Any) -> str:
    topic_id = row["topic_id"]
    if kind == "topic_id_reserved":
        return f"topic {first['name']!r} has the reserved id {topic_id}"
    if kind == "topic_id_reused":
        made = first["made"]
        where = "in the checkpoint" if made["is_checkpoint"] else f"at offset {made['offset']}"
        return f"topic {first['name']!r} is given the id {topic_id}, which {made['name']!r} was given {where}"
    more = "" if row["count"] == 1 else f", the first of {row['count']} such records"
    what = "a RemoveTopic record" if first["type"] == "RemoveTopic" else f"a {first['type']} record of partition"
    partition = "" if first["partition"] is None else f" {first['partition']}"
    return f"{what}{partition} names topic id {topic_id}, which no topic has at that point{more}"


def unreadable_finding(row: Any, replica: ReplicaInput) -> Finding:
    """Return the finding of a row of `record_checks.counts` that has a fault."""
    more = "" if row["count"] == 1 else f" (and {row['count'] - 1} more like it)"
    return row_finding("unreadable_record", Severity.ERROR, row, replica, f"{row['fault']}{more}")


def row_finding(kind: str, severity: Severity, row: Any, replica: ReplicaInput, meaning: str) -> Finding:
    """Return a finding at the first record of a row of `record_checks.counts`."""
    return Finding(
        kind=kind,
        severity=severity,
        node_id=replica.key.node_id,
        replica=replica.label,
        file=row["file"],
        offset=row["first"]["offset"],
        epoch=row["first"]["epoch"],
        meaning=meaning,
        advice=KINDS[kind].advice,
    )


def replica_findings(facts: ReplicaFacts) -> Iterator[Finding]:
    """What is wrong with a replica's log as a whole."""
    manifest = facts.source.manifest
    if facts.source.lacks_manifest:
        fault = facts.source.manifest_fault
        found = f"{facts.source.path} holds a metadata log and no {MANIFEST_FILE}" if fault is None else fault
        meaning = f"{found}: whose it is, what was exported and up to where that was committed are not known"
        yield _whole(facts, "manifest_missing", Severity.ERROR, facts.start_offset, meaning)
    if manifest is not None and manifest.cut_tail_bytes:
        meaning = f"the export left out {manifest.cut_tail_bytes} bytes of a write that was not finished"
        yield _whole(facts, "torn_tail", Severity.NOTE, facts.end_offset, meaning)
    reach = max(facts.end_offset, facts.snapshot_end)
    if facts.high_watermark is not None and facts.high_watermark > reach:
        meaning = f"the replica gave {facts.high_watermark} as its high watermark, but its log ends at {reach}"
        yield _whole(facts, "below_high_watermark", Severity.ERROR, reach, meaning)
    if facts.epochs and facts.start_offset > 0 and facts.snapshot_end < facts.start_offset:
        meaning = f"the log starts at offset {facts.start_offset}, and no whole checkpoint covers what was before it"
        yield _whole(facts, "missing_checkpoint", Severity.ERROR, facts.start_offset, meaning)


def _whole(facts: ReplicaFacts, kind: str, severity: Severity, offset: int, meaning: str) -> Finding:
    return Finding(
        kind=kind,
        severity=severity,
        node_id=facts.source.key.node_id,
        replica=facts.source.label,
        file=None,
        offset=offset,
        epoch=None,
        meaning=meaning,
        advice=KINDS[kind].advice,
    )


def absent_voters(replicas: Sequence[ReplicaFacts], voters: Sequence[ReplicaKey]) -> Iterator[Finding]:
    """The voters whose logs nobody named."""
    here = {facts.source.key.node_id for facts in replicas}
    is_told = "and no log here is that node's" if NO_NODE not in here else "and no log here says that it is that node's"
    for node_id in sorted({voter.node_id for voter in voters} - here):
        yield Finding(
            kind="voter_absent",
            severity=Severity.NOTE,
            node_id=node_id,
            replica=f"node {node_id}",
            file=None,
            offset=None,
            epoch=None,
            meaning=f"voter {node_id} is not here: the log names it a voter, {is_told}",
            advice=KINDS["voter_absent"].advice,
        )


def changed_file(replica: ReplicaInput, name: str, what: str) -> Finding:
    """A file of an export that is not what the manifest says."""
    return Finding(
        kind="file_changed",
        severity=Severity.WARNING,
        node_id=replica.key.node_id,
        replica=replica.label,
        file=name,
        offset=None,
        epoch=None,
        meaning=f"{name} is not what was exported: {what}",
        advice=KINDS["file_changed"].advice,
    )
