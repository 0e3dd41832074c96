"""What can be found in a set of logs, what it means and what to do about it.

Decides: the kinds, their words and their severity. Must not know: how each is detected.
"""

from __future__ import annotations

import enum
from typing import Final

import msgspec

from metadata_log.tools.findings.advice import NEWER
from metadata_log.tools.findings.kinds import KINDS as CHECK_KINDS
from metadata_log.tools.findings.kinds import NEWER_RELEASE


class Severity(enum.StrEnum):
    """How sure and how bad. Errors and warnings make a verdict of findings; a note does not."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One check: `name` for programs, `title` for people, and what to do where it finds something."""

    name: str
    title: str
    advice: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """Something found in one replica's log.

    Attributes:
        kind: the check's name.
        node_id, replica: whose log; -1 where no meta.properties says. `replica` tells two copies of one node apart.
        file: the segment or checkpoint; None where the log as a whole is meant.
        offset: of the record or the batch; in a checkpoint, the offset inside it; None where there is none.
        epoch: of it; None where it cannot be read.
        meaning: what was found, in one sentence.
        advice: what to do.
    """

    kind: str
    severity: Severity
    node_id: int
    replica: str
    file: str | None
    offset: int | None
    epoch: int | None
    meaning: str
    advice: str

    @property
    def counts(self) -> bool:
        """Whether it makes a verdict of findings."""
        return self.severity is not Severity.NOTE

    @property
    def title(self) -> str:
        return KINDS[self.kind].title


_RESTORE: Final = (
    "keep the directory as evidence, stop this replica, and let it fetch the log anew into an empty directory from a "
    "quorum whose other replicas are sound"
)
_ASK: Final = "stop and compare with the other replicas before anything is restarted; keep copies of all of them"

_ALL: Final = (
    Kind(name="corrupt_batch", title="Checksums and framing", advice=_RESTORE),
    Kind(
        name="torn_tail",
        title="Torn tails",
        advice="nothing, if the node crashed: on its next start it cuts the tail off and fetches it again",
    ),
    Kind(
        name="unsupported_batch",
        title="Compressed batches",
        advice="find out what wrote it: no controller compresses the metadata log",
    ),
    Kind(name="offset_gap", title="Offset gaps", advice=_RESTORE),
    Kind(name="offset_repeated", title="Offsets repeated", advice=_RESTORE),
    Kind(name="epoch_went_back", title="Epochs going back", advice=_RESTORE),
    Kind(name="epoch_without_leader", title="Epochs without a LeaderChange", advice=_RESTORE),
    Kind(name="two_leaders", title="Two leaders in one epoch", advice=_ASK),
    Kind(name="log_mismatch", title="Log matching", advice=_RESTORE),
    Kind(name="committed_prefix_differs", title="Committed prefix", advice=_ASK),
    Kind(
        name="uncommitted_tail",
        title="Uncommitted tails",
        advice="nothing: the replica cuts it off when it next fetches from the leader",
    ),
    Kind(name="below_high_watermark", title="Logs shorter than their high watermark", advice=_ASK),
    Kind(
        name="checkpoint_incomplete",
        title="Checkpoints without an end",
        advice="remove the file if an older or newer checkpoint is whole; the replica writes another",
    ),
    Kind(
        name="missing_checkpoint",
        title="Logs that start without a checkpoint",
        advice="copy the checkpoint back from where it went, or let the replica fetch the log anew",
    ),
    Kind(
        name="unreadable_record",
        title="Unreadable records",
        advice="if newer software wrote it, analyse with that version; otherwise treat the batch as corrupt",
    ),
    Kind(
        name="topic_id_reused",
        title="Topic ids used twice",
        advice="brokers may take the new topic's partitions for the old one's: delete the topic and create it again",
    ),
    Kind(
        name="topic_id_reserved",
        title="Reserved topic ids",
        advice="delete the topic and create it again: no broker can tell it from the metadata topic or from none",
    ),
    Kind(
        name="unknown_topic",
        title="Partitions of unknown topics",
        advice="no controller can replay past this record: find out how it was written before restarting any",
    ),
    Kind(
        name="file_changed",
        title="Files changed since their export",
        advice="export the replica again; if you changed the copy yourself, this is what you see",
    ),
    Kind(
        name="manifest_missing",
        title="Exports without a manifest",
        advice="copy the file back from where it went, or export the replica again",
    ),
    Kind(
        name="voter_absent",
        title="Voters that are not here",
        advice="name an export of its log, too: without it less can be said of what is committed",
    ),
)
CHECKS: Final = len(_ALL)
"""The number of checks; the note of a later release is not one."""

KINDS: Final[dict[str, Kind]] = {
    kind.name: kind for kind in (*_ALL, Kind(name=NEWER_RELEASE, title="Parts of a later release", advice=NEWER))
}
"""By name, in the order in which a report shows them."""

_OTHER_NAMES: Final = {
    "malformed_record": "unreadable_record",
    "change_after_removal": "unknown_topic",
    "topic_id_null": "topic_id_reserved",
    "topic_id_sentinel": "topic_id_reserved",
}
"""What `kraft check` calls a kind that is found here under another name."""

NOT_JUDGED: Final = tuple(name for name in CHECK_KINDS if _OTHER_NAMES.get(name, name) not in KINDS)
"""The kinds that `kraft check` finds and no check here does, in its order."""

_ORDER: Final = {severity: number for number, severity in enumerate(Severity)}
_KIND_ORDER: Final = {name: number for number, name in enumerate(KINDS)}


def sort_findings(findings: list[Finding]) -> tuple[Finding, ...]:
    """The gravest first, then by replica and offset."""
    return tuple(
        sorted(
            findings,
            key=lambda found: (
                _ORDER[found.severity],
                found.node_id,
                found.replica,
                -1 if found.offset is None else found.offset,
                _KIND_ORDER[found.kind],
            ),
        )
    )
