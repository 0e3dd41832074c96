"""What the tools can find in metadata logs and the directories around them: kinds, words, and what to do about each.

Decides: which kinds there are, under which cause they are grouped, how grave each is by itself, and what to do. Must
not know: how any is detected. The kinds' names are stable: programs read them.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec


class Severity(enum.StrEnum):
    """How sure and how bad. Errors and warnings make a verdict of findings; a note does not."""

    ERROR = "error"
    """A replica, or the quorum, is not what it has to be."""
    WARNING = "warning"
    """It mends itself or may be harmless, but somebody should know."""
    NOTE = "note"
    """Nothing is wrong: for whoever wonders."""


class Cause(enum.StrEnum):
    """Under which heading findings are shown together."""

    BYTES = "the log's bytes are damaged"
    ORDER = "the log's batches are not in order"
    RECORDS = "records say what cannot be"
    CHECKPOINTS = "checkpoints are not what the log says"
    FILES = "files beside the log do not fit it"
    IDENTITY = "directories are not whose they should be"
    VOTES = "votes and leaders contradict each other"
    REPLICAS = "replicas differ"
    PARTITIONS = "partition directories do not fit the metadata"


class FindingKind(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that can be found. `severity` is what it has unless its finder knows better."""

    name: str
    cause: Cause
    severity: Severity
    title: str
    advice: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something found.

    Attributes:
        kind: the name of its `FindingKind`.
        node_id: whose directory, by its meta.properties; None where nothing says, or where it concerns several.
        file: path of the file, or of the directory, that shows it; None where none does by itself.
        position: byte position in that file.
        offset: of the record or the batch, or what was due there; in a checkpoint, the offset inside it.
        epoch: of it.
        topic_id: the topic concerned, in Kafka's text form.
        meaning: what was found, in a sentence.
        advice: what to do.
    """

    kind: str
    severity: Severity
    node_id: int | None = None
    file: str | None = None
    position: int | None = None
    offset: int | None = None
    epoch: int | None = None
    topic_id: str | None = None
    meaning: str
    advice: str

    @property
    def counts(self) -> bool:
        """Whether it makes a verdict of findings."""
        return self.severity is not Severity.NOTE

    @property
    def cause(self) -> Cause:
        """The heading that it is shown under."""
        return KINDS[self.kind].cause


def finding(
    kind: str,
    meaning: str,
    *,
    severity: Severity | None = None,
    node_id: int | None = None,
    file: str | None = None,
    position: int | None = None,
    offset: int | None = None,
    epoch: int | None = None,
    topic_id: str | None = None,
    advice: str | None = None,
) -> Finding:
    """A finding of a known kind, whose severity and advice are the kind's unless given.

    Raises:
        KeyError: there is no such kind.
    """
    known = KINDS[kind]
    return Finding(
        kind=kind,
        severity=known.severity if severity is None else severity,
        node_id=node_id,
        file=file,
        position=position,
        offset=offset,
        epoch=epoch,
        topic_id=topic_id,
        meaning=meaning,
        advice=known.advice if advice is None else advice,
    )


_RESTORE: Final = (
    "keep the directory as evidence, stop this replica, and let it fetch the log anew into an empty directory from a "
    "quorum whose other replicas are sound"
)
_ASK: Final = "restart nothing before the replicas are compared (kraft log diff); keep copies of all of them"
_KEEP_PROOF: Final = (
    "do not start this node, and remove nothing beside the log, no index either: these files are the proof. Look at "
    "the other replicas first (kraft log diff, kraft recover inspect). Where a majority of them has what is missing "
    "here, move the directory aside, whole, and let the replica fetch the log anew into an empty one"
)
_RESTORE_FILE: Final = (
    "do not start this node, and do not empty its directory: restore this one file, from a backup of this directory or "
    "by hand; if a newer version wrote it, use software of that version"
)
_WRITER: Final = (
    "find out what wrote it before restarting any controller: one that replays it will stop or go wrong there"
)
_OPEN: Final = "let the active controller end it: one that takes over aborts it; judge no topic by this log until then"
_NOTHING: Final = "nothing"

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE


def _kinds(cause: Cause, *rows: tuple[str, Severity, str, str]) -> list[FindingKind]:
    return [
        FindingKind(name=name, cause=cause, severity=severity, title=title, advice=advice)
        for name, severity, title, advice in rows
    ]


_ALL: Final = [
    *_kinds(
        Cause.BYTES,
        ("corrupt_batch", _E, "bytes that are no sound batch", _RESTORE),
        ("log_missing", _E, "a log that is gone", _KEEP_PROOF),
        ("log_cut", _E, "a log that ends before what it once reached", _KEEP_PROOF),
        ("torn_tail", _W, "an unfinished write at the end", "nothing: the next start cuts it off and fetches it again"),
        ("unsupported_batch", _E, "a compressed batch", "find out what wrote it: no controller compresses this log"),
        ("unreadable_file", _E, "a file that cannot be read", "look at its permissions, and at the disk under it"),
        ("unknown_record", _E, "a record of newer software", "use the version of this software that knows it"),
        ("malformed_record", _E, "a record that does not decode", _RESTORE),
    ),
    *_kinds(
        Cause.ORDER,
        ("offset_gap", _E, "records are missing", _RESTORE),
        ("offset_repeated", _E, "offsets stand there twice", _RESTORE),
        ("missing_segment", _E, "a segment is missing", "copy the segment back from where it went; else " + _RESTORE),
        (
            "segment_misnamed",
            _E,
            "a segment whose name is not its first offset",
            "find out who renamed it, and name it after its first offset while the node is stopped",
        ),
        ("epoch_went_back", _E, "an epoch falls", _RESTORE),
        ("epoch_without_leader", _E, "an epoch begins without a LeaderChange", _RESTORE),
    ),
    *_kinds(
        Cause.RECORDS,
        (
            "topic_id_reused",
            _E,
            "one id on two topics",
            "delete both topics and create them again: brokers may take the new one's partitions for the old one's",
        ),
        ("topic_id_null", _E, "a topic with the null id", "delete the topic and create it again"),
        ("topic_id_sentinel", _E, "a topic with the metadata topic's id", "delete the topic and create it again"),
        ("topic_name_reused", _E, "one name on two topics", _WRITER),
        ("unknown_topic", _E, "a record of a topic that was never created", _WRITER),
        ("change_after_removal", _E, "a record of a topic that was removed before", _WRITER),
        ("unknown_partition", _E, "a change of a partition that does not exist", _WRITER),
        ("isr_outside_replicas", _E, "an ISR with brokers that are no replicas", _WRITER),
        ("leader_outside_replicas", _E, "a partition leader that is no replica", _WRITER),
        ("leader_outside_isr", _E, "a partition leader that is not in the ISR", _WRITER),
        ("replica_repeated", _E, "a broker that is a replica twice", _WRITER),
        ("elr_outside_replicas", _E, "eligible leaders that are no replicas, or in the ISR", _WRITER),
        ("unknown_broker", _E, "a change of a broker that is not registered so", _WRITER),
        ("broker_epoch_not_offset", _N, "a broker epoch that is not its record's offset", _NOTHING),
        ("record_above_level", _W, "a record above the finalised metadata.version", _WRITER),
        ("transaction_broken", _E, "a metadata transaction out of order", _WRITER),
        ("open_transaction", _W, "a metadata transaction that does not end", _OPEN),
        ("impossible_record", _E, "a record that cannot follow those before it", _WRITER),
    ),
    *_kinds(
        Cause.CHECKPOINTS,
        (
            "checkpoint_incomplete",
            _E,
            "a checkpoint without a footer",
            "move the file away if an older or newer checkpoint is whole: the replica writes another",
        ),
        (
            "checkpoint_malformed",
            _E,
            "a checkpoint whose frame is wrong",
            "move the file away if an older or newer checkpoint is whole: the replica writes another",
        ),
        ("checkpoint_disagrees", _E, "a checkpoint that is not what the log says", _ASK),
        (
            "missing_checkpoint",
            _E,
            "a log that starts without a checkpoint",
            "copy the checkpoint back from where it went, or let the replica fetch the log anew",
        ),
        (
            "log_behind_checkpoint",
            _W,
            "a log that ends before its checkpoint",
            "nothing, if the replica was sent a checkpoint when it stopped: it goes on from there. Otherwise its log "
            "has lost its end: compare it with the other replicas before it starts (kraft log diff)",
        ),
    ),
    *_kinds(
        Cause.FILES,
        ("corrupt_file", _E, "a small file that cannot be right", _RESTORE_FILE),
        ("missing_file", _W, "a file that should be there", _RESTORE_FILE),
        (
            "index_wrong",
            _W,
            "an index that is not the log's",
            "compare the log with the other replicas first (kraft log diff), for an index may prove what a log lost; "
            "if it is whole, move the file aside while the node is stopped: it is rebuilt",
        ),
        ("index_remnant", _N, "index entries of a tail that was truncated", _NOTHING),
        (
            "producer_file_wrong",
            _W,
            "a producer state file that is not whole",
            "nothing: it holds nothing for this log, and Kafka passes over it; ask what else the disk has damaged",
        ),
        (
            "epoch_file_wrong",
            _E,
            "a leader-epoch-checkpoint that is not the log's",
            "compare with the other replicas; if the log is right, move the file aside while the node is stopped",
        ),
        (
            "quorum_state_behind",
            _E,
            "a quorum-state older than the log",
            "do not start this replica: it may vote twice",
        ),
        (
            "quorum_state_ahead",
            _W,
            "a quorum-state far ahead of every log",
            "if the file was not changed by hand: look for the nodes that asked for votes in vain (kraft log timeline, "
            "network, quorum configuration); when this one joins, the others move to its epoch with an election",
        ),
    ),
    *_kinds(
        Cause.IDENTITY,
        ("foreign_cluster", _E, "a directory of another cluster", "find out how it came here; do not start the node"),
        ("foreign_node", _E, "a directory of another node", "find out how it came here; do not start the node"),
        (
            "duplicate_directory_id",
            _E,
            "one directory id on two directories",
            "one is a copy: remove it, or format it anew, before the nodes see each other",
        ),
        (
            "foreign_metadata_topic",
            _E,
            "a metadata log with another topic's id",
            "find out how it came here; its partition.metadata must name the sentinel AAAAAAAAAAAAAAAAAAAAAQ",
        ),
        (
            "not_the_voter",
            _N,
            "a directory of a voter's node that is not the voter",
            "nothing, if the voter's disk was replaced: add this one as a voter, and remove the old one",
        ),
        (
            "missing_directory_id",
            _E,
            "a log directory without its id",
            "write the id that the log has for it back into meta.properties: at a start the node would make a new one, "
            "which is no voter's, and has no replicas",
        ),
        ("not_formatted", _W, "a directory without meta.properties", "look where its meta.properties went"),
    ),
    *_kinds(
        Cause.VOTES,
        ("two_leaders", _E, "two leaders in one epoch", _ASK),
        ("two_votes", _E, "two votes of one voter in one epoch", _ASK),
        ("leader_without_majority", _E, "a leader that no majority elected", _ASK),
        ("leader_not_voter", _E, "an election by or of somebody who has no vote", _ASK),
        (
            "voter_without_log",
            _W,
            "a voter that has nothing of the log",
            "if it never ran, nothing: it fetches the log when it starts. Otherwise it has lost log and votes: do not "
            "start it before the others are compared (kraft check on all of them), for it could elect a leader that "
            "lacks commits; look for its disk, and name it too if the log is on another one",
        ),
    ),
    *_kinds(
        Cause.REPLICAS,
        ("log_mismatch", _E, "other bytes at the same offset and epoch", _RESTORE),
        ("committed_prefix_differs", _E, "committed records that are others elsewhere", _ASK),
        ("committed_lost", _E, "committed records that a majority has lost", _ASK),
        (
            "metadata_differs",
            _E,
            "other metadata at the same offset",
            "the checkpoint that its log begins with is not the others': compare it with theirs (kraft shell, diff)",
        ),
        (
            "uncommitted_tail",
            _N,
            "a tail that was never committed",
            "nothing: the replica cuts it off when it next fetches from the leader",
        ),
        ("below_high_watermark", _E, "a log shorter than its high watermark", _ASK),
    ),
    *_kinds(
        Cause.PARTITIONS,
        (
            "partition_wrong_id",
            _E,
            "a partition directory with a wrong topic id",
            "do not start the broker with it: set it aside (kraft storage audit --quarantine)",
        ),
        (
            "partition_without_id",
            _E,
            "a partition directory without its topic id",
            "a broker sets it aside when it starts: restore its partition.metadata before, if the data matters",
        ),
        (
            "partition_twice",
            _E,
            "one partition on two disks of a broker",
            "a broker does not start with both: find out which one it wrote last, and set the other aside",
        ),
        (
            "partitions_not_judged",
            _N,
            "partition directories that nothing can judge",
            "name more copies of the log, until a majority tells which is right",
        ),
        ("partition_stale", _N, "a partition directory of a topic that is gone", "kraft storage audit says what to do"),
        (
            "partition_elsewhere",
            _N,
            "a partition directory that is assigned elsewhere",
            "kraft storage audit says what to do",
        ),
    ),
]
KINDS: Final[Mapping[str, FindingKind]] = {kind.name: kind for kind in _ALL}
"""By name, in the order in which they are shown."""

_SEVERITY_ORDER: Final = {severity: number for number, severity in enumerate(Severity)}
_KIND_ORDER: Final = {name: number for number, name in enumerate(KINDS)}


def sort_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """By cause, the gravest first, then by kind, node, file and place."""
    return tuple(sorted(findings, key=_sort_key))


def _sort_key(found: Finding) -> tuple[int, int, int, str, int, int]:
    return (
        _SEVERITY_ORDER[found.severity],
        _KIND_ORDER[found.kind],
        -1 if found.node_id is None else found.node_id,
        found.file or "",
        -1 if found.offset is None else found.offset,
        -1 if found.position is None else found.position,
    )


def by_cause(findings: Iterable[Finding]) -> dict[Cause, tuple[Finding, ...]]:
    """Findings under their causes, those causes first that hold the gravest."""
    grouped: dict[Cause, list[Finding]] = {}
    for found in sort_findings(findings):
        grouped.setdefault(found.cause, []).append(found)
    return {cause: tuple(found) for cause, found in grouped.items()}
