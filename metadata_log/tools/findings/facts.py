"""Facts: the values behind a finding, for programs, and the one place that words them.

Decides: which values a kind has, and its sentence. Must not know: how any is detected, and what to do about it.

A kind has a class here where a program reads more of it than the kind, or where two places word it. Any other kind is
found with a sentence.
"""

from __future__ import annotations

from typing import ClassVar

import msgspec

from metadata_log.counts import counted_are
from metadata_log.ids import DirectoryId, id_text
from metadata_log.tools.times import time_text


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """The values of one finding."""

    kind: ClassVar[str]

    def meaning(self) -> str:
        """Return the sentence. No other function words these values."""
        raise NotImplementedError

    def worded(self) -> tuple[str, str]:
        """Return the kind and the sentence."""
        return self.kind, self.meaning()


class ForeignHeader(Facts, frozen=True, kw_only=True):
    """A batch whose header has `fields` that no controller sets, in words."""

    kind: ClassVar[str] = "foreign_batch"
    fields: str

    def meaning(self) -> str:
        """Return the sentence."""
        return f"its header has {self.fields}"


class UndecodableRecord(Facts, frozen=True, kw_only=True):
    """A metadata record that does not decode."""

    kind: ClassVar[str] = "malformed_record"
    offset: int
    fault: str

    def meaning(self) -> str:
        """Return the sentence."""
        return f"the record at offset {self.offset} does not decode: {self.fault}"


class UnreadableControlRecord(Facts, frozen=True, kw_only=True):
    """A control record that cannot be read."""

    kind: ClassVar[str] = "malformed_record"
    fault: str

    def meaning(self) -> str:
        """Return the sentence."""
        return f"a control record cannot be read: {self.fault}"


class NullTopicId(Facts, frozen=True, kw_only=True):
    """A topic that is given the null id."""

    kind: ClassVar[str] = "topic_id_null"
    topic: str

    def meaning(self) -> str:
        """Return the sentence."""
        return f"topic {self.topic!r} is given the null id"


class SentinelTopicId(Facts, frozen=True, kw_only=True):
    """A topic that is given the id of the metadata topic."""

    kind: ClassVar[str] = "topic_id_sentinel"
    topic: str

    def meaning(self) -> str:
        """Return the sentence."""
        return f"topic {self.topic!r} is given the sentinel id of the metadata topic"


class InvalidTopicName(Facts, frozen=True, kw_only=True):
    """A topic whose name Kafka does not allow."""

    kind: ClassVar[str] = "topic_name_invalid"
    fault: str

    def meaning(self) -> str:
        """Return the sentence."""
        return f"the name of a topic: {self.fault}"


class ConfigsOfNoTopic(Facts, frozen=True, kw_only=True):
    """Configs of a topic that does not exist. `is_unexplained`: nor does the log remove one that had these."""

    kind: ClassVar[str] = "config_of_nothing"
    topic: str
    configs: tuple[str, ...]
    is_unexplained: bool = False

    def meaning(self) -> str:
        """Return the sentence."""
        said = f"it sets {', '.join(map(repr, self.configs))} on topic {self.topic!r}, which does not exist"
        return f"{said}, and the log before its end removes none that had this" if self.is_unexplained else said


class OtherLeader(Facts, frozen=True, kw_only=True):
    """A quorum-state that names another leader of its epoch than the LeaderChange at `offset`.

    `on`: the replica whose log has that LeaderChange; None: it is in the log beside the quorum-state.
    """

    kind: ClassVar[str] = "two_leaders"
    epoch: int
    named: int
    elected: int
    offset: int
    on: str | None = None

    def meaning(self) -> str:
        """Return the sentence."""
        at = f"offset {self.offset}" if self.on is None else f"offset {self.offset} on {self.on}"
        elected = f"the LeaderChange at {at} says node {self.elected}"
        return f"it says that node {self.named} leads epoch {self.epoch}; {elected}"


class CorruptBatch(Facts, frozen=True, kw_only=True):
    """Bytes that are no sound batch.

    Attributes:
        fault: what is wrong with them, in words.
        is_destroyed: a batch was whole once: no interrupted write leaves these bytes.
    """

    kind: ClassVar[str] = "corrupt_batch"
    size: int
    fault: str
    is_destroyed: bool = False

    def meaning(self) -> str:
        """Return the sentence."""
        return f"{counted_are(self.size, 'byte')} no sound batch: {self.fault}"


class TornTail(Facts, frozen=True, kw_only=True):
    """An unfinished write at a log's end."""

    kind: ClassVar[str] = "torn_tail"
    size: int

    def meaning(self) -> str:
        """Return the sentence."""
        return f"the last {counted_are(self.size, 'byte')} an unfinished write"


class CompressedBatch(Facts, frozen=True, kw_only=True):
    """A batch that is compressed."""

    kind: ClassVar[str] = "unsupported_batch"
    size: int

    def meaning(self) -> str:
        """Return the sentence."""
        return f"a batch of {self.size} bytes is compressed"


class LogMissing(Facts, frozen=True, kw_only=True):
    """A log without a segment, beside a file that proves that there was one: see `LogCut`."""

    kind: ClassVar[str] = "log_missing"
    reached: int
    proof: str
    others: tuple[tuple[str, int], ...] = ()

    def meaning(self) -> str:
        """Return the sentence."""
        reached = f"the log reached offset {self.reached}" if self.reached else "there was a log"
        return f"there is no segment, but {self.proof} proves that {reached}{_so_do(self.others)}"


class LogCut(Facts, frozen=True, kw_only=True):
    """A log that ends before what a file beside it proves.

    Attributes:
        proof: the name of the file that proves most.
        others: more of them, each with the end that it proves.
        is_unproven: nothing in the same directories proves that the missing records were committed.
        committed_before: other replicas prove that all before this offset was committed.
        because: how they prove it.
    """

    kind: ClassVar[str] = "log_cut"
    ends_at: int
    reached: int
    proof: str
    others: tuple[tuple[str, int], ...] = ()
    is_unproven: bool = False
    committed_before: int | None = None
    because: str = ""

    def proof_of_more(self) -> str:
        """Return the sentence without what is known of commits."""
        proved = f"{self.proof} proves that it reached {self.reached}{_so_do(self.others)}"
        return f"the log ends at offset {self.ends_at}, but {proved}"

    def meaning(self) -> str:
        """Return the sentence."""
        said = self.proof_of_more()
        if self.is_unproven:
            said += "; nothing here proves that the missing records were committed"
        if self.committed_before is not None:
            said += f"; all before offset {self.committed_before} was committed ({self.because})"
        return said


class CheckpointFrame(Facts, frozen=True, kw_only=True):
    """A checkpoint whose quorum, name or end is wrong. No metadata record changes these."""


class QuorumDiffers(CheckpointFrame, frozen=True, kw_only=True):
    """A quorum at the end of a checkpoint that is not the log's. `at` is that end; 0 is where the log begins."""

    kind: ClassVar[str] = "checkpoint_disagrees"
    at: int
    faults: tuple[str, ...]

    def meaning(self) -> str:
        """Return the sentence."""
        which = f"at its end, offset {self.at}" if self.at else "that the log begins with"
        return f"of the quorum {which}, it says otherwise: {'; '.join(self.faults)}"


class EndsWithinBatch(CheckpointFrame, frozen=True, kw_only=True):
    """A checkpoint that ends where no batch of the log does."""

    kind: ClassVar[str] = "checkpoint_disagrees"
    end: int

    def meaning(self) -> str:
        """Return the sentence."""
        return f"it ends at offset {self.end}, within a batch of the log"


class EpochDiffers(CheckpointFrame, frozen=True, kw_only=True):
    """A checkpoint whose name has another epoch than the log has before its end."""

    kind: ClassVar[str] = "checkpoint_disagrees"
    named: int
    in_log: int

    def meaning(self) -> str:
        """Return the sentence."""
        return f"its name says epoch {self.named}, but the log has epoch {self.in_log} before it"


class EpochDenied(CheckpointFrame, frozen=True, kw_only=True):
    """A checkpoint whose name has another epoch than a witness beside it has at its end.

    Attributes:
        there: what the witness has, in words.
    """

    kind: ClassVar[str] = "checkpoint_disagrees"
    end: int
    epoch: int
    there: str

    def meaning(self) -> str:
        """Return the sentence."""
        return f"by its name it ends at offset {self.end} in epoch {self.epoch}, but {self.there}"


class Misnamed(CheckpointFrame, frozen=True, kw_only=True):
    """A checkpoint whose name and header speak of two ends.

    Attributes:
        time_ms: when the last record in it was written, by its header.
        there: what a log has at the end in its name, in words.
        by_time: the names that fit its time.
    """

    kind: ClassVar[str] = "checkpoint_misnamed"
    end: int
    epoch: int
    time_ms: int
    there: str
    by_time: tuple[str, ...] = ()

    def meaning(self) -> str:
        """Return the sentence."""
        named = f"by its name it ends at offset {self.end} in epoch {self.epoch}"
        said = f"{named}, and by its header with what was written at {time_text(self.time_ms)}; {self.there}"
        return f"{said}: by its time it is {' or '.join(self.by_time)}" if self.by_time else said


class MisnamedOrNot(Misnamed, frozen=True, kw_only=True):
    """A checkpoint whose name and header speak of two ends, if nothing proves which of them is right."""

    kind: ClassVar[str] = "checkpoint_disagrees"


class VoterRestored(Facts, frozen=True, kw_only=True):
    """A voter that knows of no epoch as late as one in which, by another's log, it led or voted.

    Attributes:
        knows_epoch: the latest in its directory.
        acted_epoch, began_at: the later one, and the offset of its LeaderChange.
        voted_for: the leader whom it elected; None: it led.
        shown_by: the replica whose log shows that.
    """

    kind: ClassVar[str] = "voter_set_back"
    knows_epoch: int
    acted_epoch: int
    began_at: int
    voted_for: int | None
    shown_by: str

    def meaning(self) -> str:
        """Return the sentence."""
        return f"it {self.predicate()}"

    def predicate(self) -> str:
        """Return the sentence without its subject."""
        did = "led" if self.voted_for is None else f"voted for node {self.voted_for} in"
        return (
            f"knows of no epoch after {self.knows_epoch}, but {did} epoch {self.acted_epoch}, which began at offset "
            f"{self.began_at} (by the log of {self.shown_by}): it was set back to an older copy, or copied before that "
            "and the others later"
        )


class ForeignDirectory(Facts, frozen=True, kw_only=True):
    """A directory whose meta.properties has one node's id, and a directory id that the log knows as another's."""

    kind: ClassVar[str] = "foreign_node"
    node_id: int
    directory_id: DirectoryId
    owner: int

    def meaning(self) -> str:
        """Return the sentence."""
        directory = id_text(self.directory_id)
        return f"it is of node {self.node_id}, but the log knows directory {directory} as one of node {self.owner}"


def _so_do(others: tuple[tuple[str, int], ...]) -> str:
    """Return the files that prove it as well, each with the end that it proves, in brackets."""
    return f" (so do others: {', '.join(f'{name} to {end}' for name, end in others)})" if others else ""
