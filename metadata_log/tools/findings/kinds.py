"""The kinds of findings in metadata logs and the directories around them.

Decides: the cause, severity, title and advice of each kind. Must not know: how a fault is detected. The names of
kinds are stable: programs read them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from metadata_log.tools.findings import advice
from metadata_log.tools.findings.finding_kind import Cause, FindingKind, Severity
from metadata_log.tools.findings.remedy import Advice, as_advice, no_start

NEWER_RELEASE: Final = "newer_release"
"""The note that names the parts that no check judged, because a later release wrote them."""

OLDER_RELEASE_NOTE: Final = "older_release"
"""The note that a release of Kafka before 3.3 wrote a log."""

FILE_CHANGED: Final = "file_changed"
"""A file of an export differs from the manifest. The log itself may be sound."""

NO_DAMAGE: Final = frozenset({"configs_left_behind", FILE_CHANGED})
"""Kinds above a note with which a log is undamaged: it is a witness against others, and a node starts from it."""

_E, _W, _N = Severity.ERROR, Severity.WARNING, Severity.NOTE


def _kinds(cause: Cause, *rows: tuple[str, Severity, str, Advice | str]) -> list[FindingKind]:
    return [
        FindingKind(name=name, cause=cause, severity=severity, title=title, remedy=as_advice(what_to_do))
        for name, severity, title, what_to_do in rows
    ]


_ALL: Final = [
    *_kinds(
        Cause.READING,
        (
            "unreadable_file",
            _E,
            "a file that cannot be read",
            "look at its permissions, whether it is a file at all, and at the disk under it",
        ),
    ),
    *_kinds(
        Cause.BYTES,
        ("corrupt_batch", _E, "bytes that are no sound batch", advice.RESTORE),
        ("log_missing", _E, "a log that is gone", advice.KEEP_PROOF),
        ("log_cut", _E, "a log that ends before what it once reached", advice.KEEP_PROOF),
        ("torn_tail", _W, "an unfinished write at the end", advice.TORN),
        ("unsupported_batch", _E, "a compressed batch", advice.COMPRESSED),
        ("foreign_batch", _E, "a batch that no controller writes", advice.FOREIGN),
        ("malformed_record", _E, "a record that does not decode", advice.RESTORE),
    ),
    *_kinds(
        Cause.ORDER,
        ("offset_gap", _E, "a batch past the offset that is due", advice.RESTORE),
        ("offset_repeated", _E, "a batch before the offset that is due", advice.RESTORE),
        (
            "missing_segment",
            _E,
            "a segment is missing",
            Advice("copy the segment back from where it went; else ", otherwise=advice.RESTORE),
        ),
        (
            "segment_misnamed",
            _E,
            "a segment whose name is not its first offset",
            "find out who renamed it, and name it after its first offset while the node is stopped",
        ),
        ("epoch_went_back", _E, "an epoch falls", advice.RESTORE),
        ("epoch_without_leader", _E, "an epoch begins without a LeaderChange", advice.RESTORE),
        ("time_went_back", _N, "batches whose time goes back", advice.CLOCK),
    ),
    *_kinds(
        Cause.RECORDS,
        (
            "topic_id_reused",
            _E,
            "one id on two topics",
            "delete both topics and create them again: brokers may take the new one's partitions for the old one's",
        ),
        ("topic_id_null", _E, "a topic with the null id", "delete the topic by its name, and create it again"),
        (
            "topic_id_sentinel",
            _E,
            "a topic with the metadata topic's id",
            "delete the topic by its name, and create it again",
        ),
        ("topic_name_reused", _E, "one name on two topics", advice.WRITER),
        ("topic_name_invalid", _E, "a topic name that is not allowed", advice.BAD_NAME),
        ("unknown_topic", _E, "a record of a topic that was never created", advice.WRITER),
        ("change_after_removal", _E, "a record of a topic that was removed before", advice.WRITER),
        ("unknown_partition", _E, "a change of a partition that does not exist", advice.WRITER),
        ("isr_outside_replicas", _E, "an ISR with brokers that are no replicas", advice.WRITER),
        ("leader_outside_replicas", _E, "a partition leader that is no replica", advice.WRITER),
        ("leader_outside_isr", _E, "a partition leader that is not in the ISR", advice.WRITER),
        ("replica_repeated", _E, "a broker that is a replica twice", advice.WRITER),
        ("elr_repeated", _E, "an eligible leader that is listed twice", advice.WRITER),
        ("elr_outside_replicas", _E, "eligible leaders that are no replicas, or in the ISR", advice.WRITER),
        ("reassignment_outside_replicas", _E, "replicas that come or go, but are no replicas", advice.WRITER),
        ("no_replicas", _E, "a partition without replicas", advice.WRITER),
        ("unknown_replica", _E, "a partition on a broker that is not registered", advice.WRITER),
        ("partition_epoch_went_back", _E, "epochs of a partition that fall", advice.FALLING),
        ("partition_epoch_not_zero", _E, "epochs of a new partition that do not begin at 0", advice.FIRST_EPOCH),
        ("partition_repeated", _E, "a partition that is made twice", advice.WRITER),
        ("partition_gap", _E, "a topic whose partition numbers leave one out", advice.GAP),
        ("topic_without_partitions", _E, "a topic without partitions", advice.NO_PARTITIONS),
        ("unknown_directory", _E, "a replica in a log directory that its broker never had", advice.UNKNOWN_DIRECTORY),
        ("acl_id_null", _E, "an access control entry with the null id", advice.ACL),
        ("acl_id_reused", _E, "one id on two access control entries", advice.ACL),
        ("acl_repeated", _E, "one access control entry under two ids", advice.ACL),
        ("strange_value", _W, "a value that no controller writes", advice.STRANGE),
        ("topic_name_collides", _W, "a topic name that another's is taken for", advice.COLLIDES),
        ("config_of_nothing", _E, "a config of what does not exist", advice.LOOSE_CONFIG),
        ("unknown_broker", _E, "a change of a broker that is not registered so", advice.WRITER),
        ("broker_epoch_went_back", _E, "a broker epoch that falls", advice.WRITER),
        ("broker_epoch_not_offset", _N, "a broker epoch that is not its record's offset", advice.NOTHING),
        ("record_above_level", _W, "a record above the finalised metadata.version", advice.LEVEL),
        ("transaction_broken", _E, "a metadata transaction out of order", advice.WRITER),
        ("open_transaction", _W, "a metadata transaction that does not end", advice.OPEN),
        ("impossible_record", _E, "a record that cannot follow those before it", advice.WRITER),
    ),
    *_kinds(
        Cause.CHECKPOINTS,
        (
            "checkpoint_incomplete",
            _E,
            "a checkpoint without a footer",
            advice.DROP_CHECKPOINT,
        ),
        (
            "checkpoint_malformed",
            _E,
            "a checkpoint whose frame is wrong",
            advice.DROP_CHECKPOINT,
        ),
        ("checkpoint_misnamed", _E, "a checkpoint that ends elsewhere than its name says", advice.RENAME),
        ("checkpoint_disagrees", _E, "a checkpoint that is not what the log says", advice.DISAGREES),
        ("configs_left_behind", _W, "a checkpoint with configs of removed topics", advice.LEFT_CONFIGS),
        (
            "missing_checkpoint",
            _E,
            "a log that starts without a checkpoint",
            advice.NO_CHECKPOINT,
        ),
        (
            "log_behind_checkpoint",
            _W,
            "a log that ends before its checkpoint",
            advice.BEHIND_CHECKPOINT,
        ),
    ),
    *_kinds(
        Cause.FILES,
        ("corrupt_file", _E, "a small file that cannot be right", advice.RESTORE_FILE),
        ("missing_file", _W, "a file that should be there", advice.RESTORE_FILE),
        ("strange_file", _E, "a file that a start fails at, or takes for part of the log", advice.STRANGE_FILE),
        (
            "index_wrong",
            _W,
            "an index that is not the log's",
            advice.REBUILD,
        ),
        (FILE_CHANGED, _W, "a file that changed since its export", advice.EXPORT_AGAIN),
        ("manifest_missing", _E, "an export without its manifest", advice.MANIFEST),
        ("index_remnant", _N, "index entries of a tail that was truncated", advice.NOTHING),
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
            advice.REBUILD,
        ),
        (
            "quorum_state_behind",
            _E,
            "a quorum-state older than the log",
            advice.MAY_VOTE_TWICE,
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
        ("foreign_cluster", _E, "a directory of another cluster", advice.FROM_ELSEWHERE),
        ("foreign_node", _E, "a directory of another node", advice.FROM_ELSEWHERE),
        (
            "duplicate_directory_id",
            _E,
            "one directory id on two directories",
            no_start("one is a copy: start neither before it has another id"),
        ),
        (
            "foreign_metadata_topic",
            _E,
            "a metadata log with another topic's id",
            "find out how it came here; its partition.metadata must name the sentinel AAAAAAAAAAAAAAAAAAAAAQ",
        ),
        (
            "not_the_voter",
            _W,
            "a directory of a voter's node that is not the voter",
            "until that is repaired the voters can do without one node less: if the voter's disk was replaced, remove "
            "the old directory from the voters and add this one; if it was not, its meta.properties was changed: put "
            "the voter's directory.id back",
        ),
        ("no_majority_of_voters", _E, "voters' directories that a majority of have no vote", advice.NO_MAJORITY),
        (
            "same_log_twice",
            _E,
            "one metadata log in two nodes' directories",
            no_start("do not start the node so: remove the link while the node is stopped, and look for its own log"),
        ),
        ("two_metadata_logs", _E, "a metadata log on each of two disks of one node", advice.TWO_LOGS),
        (
            "missing_directory_id",
            _E,
            "a log directory without its id",
            "if the log has an id for it (a voter's, or one of its broker's), write that back into meta.properties "
            "before a start: Kafka makes a new id there, which is no voter's, and has no replicas. A voter of this "
            "software refuses to start. If the log has none, start the node: it makes one",
        ),
        (
            "directory_not_registered",
            _W,
            "a disk with another id than its broker registered",
            "if the disk was replaced, nothing: the broker registers it as it starts. If its meta.properties was "
            "changed, write the id that the log has back into it before that: the controllers take the replicas that "
            "are assigned there for ones on a lost disk otherwise",
        ),
        ("disk_absent", _N, "a disk that a broker is registered with, and is not here", advice.DISK_ABSENT),
        (
            "repair_unfinished",
            _E,
            "a repair that was interrupted",
            "kraft recover inspect names the command that finishes it, and the one that takes it back",
        ),
        ("not_formatted", _W, "a directory without meta.properties", "look where its meta.properties went"),
    ),
    *_kinds(
        Cause.VOTES,
        ("two_leaders", _E, "two leaders in one epoch", advice.ASK),
        ("two_votes", _E, "two votes of one voter in one epoch", advice.OTHER_ELECTION),
        ("vote_for_stranger", _E, "a vote for a node that is no voter", advice.STRANGE_VOTE),
        ("vote_of_stranger", _E, "a vote by a node that is no voter", advice.STRANGE_VOTE),
        ("vote_forgotten", _W, "a vote that the voter's file does not know", advice.FORGOTTEN_VOTE),
        ("voter_set_back", _W, "a voter that is behind what it did", advice.SET_BACK),
        ("leader_change_denied", _W, "a LeaderChange that one log has alone, and voters deny", advice.DENIED_LEADER),
        ("leader_without_epoch", _W, "a leader that knows nothing of its epoch", advice.LEADER_WITHOUT_EPOCH),
        ("leader_behind_followers", _N, "a leader that lacks records of the epoch that it led", advice.LEADER_BEHIND),
        ("static_voters_differ", _E, "static voters that are others elsewhere", advice.STATIC_VOTERS),
        ("leader_without_majority", _E, "a leader that no majority elected", advice.ASK),
        ("leader_not_voter", _E, "an election by or of a node that has no vote", advice.ASK),
        ("voters_changed_at_once", _E, "several voters that come or go at once", advice.VOTERS_AT_ONCE),
        (
            "voter_absent",
            Severity.NOTE,
            "a voter that is not among the nodes",
            "name its directory too, if it still has one: without it less can be said of what is committed",
        ),
        (
            "voter_without_log",
            _W,
            "a voter that has nothing of the log",
            advice.WITHOUT_LOG,
        ),
    ),
    *_kinds(
        Cause.REPLICAS,
        ("log_mismatch", _E, "other bytes at the same offset and epoch", advice.RESTORE),
        ("committed_prefix_differs", _E, "committed records that are others elsewhere", advice.ASK),
        ("committed_lost", _E, "committed records that a majority has lost", advice.ASK),
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
        ("below_high_watermark", _E, "a log shorter than its high watermark", advice.ASK),
        (
            "nothing_in_common",
            _N,
            "logs that share no offset",
            "name one more directory with these: a broker's, a backup's or an export's, whose log overlaps both. "
            "Without one, nothing shows that they are one log",
        ),
    ),
    *_kinds(
        Cause.PARTITIONS,
        (
            "partition_wrong_id",
            _E,
            "a partition directory with a wrong topic id",
            advice.SET_ASIDE,
        ),
        ("partition_missing", _E, "a partition directory that is gone", advice.GONE_DIRECTORY),
        ("partition_beyond_logs", _E, "a partition directory that no log accounts for", advice.KEEP_DIRECTORY),
        (
            "partition_without_id",
            _E,
            "a partition directory without its topic id",
            advice.WITHOUT_ID,
        ),
        (
            "strange_directory",
            _E,
            "a directory that a node does not start beside",
            advice.MOVE_OUT,
        ),
        (
            "partition_twice",
            _E,
            "one partition on two disks of a broker",
            no_start("a broker does not start with both: find out which one it wrote last, and set the other aside"),
        ),
        ("offset_past_log", _W, "an offset past the end of a replica's log", advice.PAST_LOG),
        ("replica_epoch_ahead", _W, "a replica with a leader epoch that the metadata never gave", advice.EPOCH_AHEAD),
        ("partition_on_other_disk", _W, "a partition directory on another disk than the log says", advice.OTHER_DISK),
        (
            "partitions_not_judged",
            _N,
            "partition directories that nothing can judge",
            "name more copies of the log, until a majority shows which is right",
        ),
        ("partition_stale", _N, "a partition directory of a topic that is gone", advice.AUDIT_SAYS),
        ("partition_elsewhere", _N, "a partition directory that is assigned elsewhere", advice.AUDIT_SAYS),
    ),
    *_kinds(Cause.NEWER, (NEWER_RELEASE, _N, "parts of a later release", advice.NEWER)),
    *_kinds(Cause.OLDER, (OLDER_RELEASE_NOTE, _N, "a log of Kafka before 3.3", advice.OLDER)),
]
KINDS: Final[Mapping[str, FindingKind]] = {kind.name: kind for kind in _ALL}
"""The kinds by name, in the order in which their findings are shown."""
