"""Facts: the values of a finding, for programs, and the only place that makes a sentence of them.

Must not know: how a fault is detected, and the advice.

A kind of finding has a class here if a program reads its values, or if two places report it. Other kinds have only a
sentence.
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
        """Return the sentence. No other function makes a sentence of these values."""
        raise NotImplementedError

    def worded(self) -> tuple[str, str]:
        """Return the kind and the sentence."""
        return self.kind, self.meaning()


class ForeignHeader(Facts, frozen=True, kw_only=True):
    """A batch whose header has `fields`, a phrase, that no controller sets."""

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
    """Configs of a topic that does not exist. `is_unexplained`: True if no removed topic of the log had them."""

    kind: ClassVar[str] = "config_of_nothing"
    topic: str
    configs: tuple[str, ...]
    is_unexplained: bool = False

    def meaning(self) -> str:
        """Return the sentence."""
        said = f"it sets {', '.join(map(repr, self.configs))} on topic {self.topic!r}, which does not exist"
        return f"{said}, and the log before its end removes none that had this" if self.is_unexplained else said


class OtherLeader(Facts, frozen=True, kw_only=True):
    """A `quorum-state` that names another leader of its epoch than the LeaderChange at `offset`.

    `on`: the replica whose log has that LeaderChange; None for the log in the same directory.
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
        fault: the reason, as a phrase.
        is_destroyed: True if a batch was whole once: no interrupted write leaves these bytes.
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
    """A log without a segment, and a file that proves that it had one. The fields are as in `LogCut`."""

    kind: ClassVar[str] = "log_missing"
    reached: int
    proof: str
    others: tuple[tuple[str, int], ...] = ()

    def meaning(self) -> str:
        """Return the sentence."""
        reached = f"the log reached offset {self.reached}" if self.reached else "there was a log"
        return f"there is no segment, but {self.proof} proves that {reached}{_so_do(self.others)}"


class LogCut(Facts, frozen=True, kw_only=True):
    """A log that ends before the offset that a sidecar file proves.

    Attributes:
        ends_at: the log end offset.
        reached: the highest offset (exclusive) that a file proves.
        proof: the name of that file.
        others: further files, each with the offset that it proves.
        is_unproven: True if nothing in the same directories proves that the missing records were committed.
        committed_before: all records before this offset are committed, as other replicas prove; None without a proof.
        because: the proof, as a clause.
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
        """Return the sentence without its claim about commits."""
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
    """A checkpoint whose quorum is not the log's at its end, `at`. A checkpoint at 0 has the log's first quorum."""

    kind: ClassVar[str] = "checkpoint_disagrees"
    at: int
    faults: tuple[str, ...]

    def meaning(self) -> str:
        """Return the sentence."""
        which = f"at its end, offset {self.at}" if self.at else "that the log begins with"
        return f"of the quorum {which}, it says otherwise: {'; '.join(self.faults)}"


class EndsWithinBatch(CheckpointFrame, frozen=True, kw_only=True):
    """A checkpoint that ends within a batch of the log."""

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
    """A checkpoint whose name has another epoch than the log, or `leader-epoch-checkpoint`, has at its end.

    Attributes:
        there: a clause that names that witness and its epoch.
    """

    kind: ClassVar[str] = "checkpoint_disagrees"
    end: int
    epoch: int
    there: str

    def meaning(self) -> str:
        """Return the sentence."""
        return f"by its name it ends at offset {self.end} in epoch {self.epoch}, but {self.there}"


class Misnamed(CheckpointFrame, frozen=True, kw_only=True):
    """A checkpoint whose name has another end than its header's time shows.

    Attributes:
        time_ms: ms of the last batch in it, by its header.
        there: a clause on the log's content at the end in the name.
        by_time: the names that fit the header's time.
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
    """A checkpoint whose name and header contradict each other, if nothing proves which of them is right."""

    kind: ClassVar[str] = "checkpoint_disagrees"


class ForgottenVote(Facts, frozen=True, kw_only=True):
    """A voter's quorum-state without the vote that elected `elected`, by the LeaderChange at `offset` on `on`."""

    kind: ClassVar[str] = "vote_forgotten"
    node_id: int
    epoch: int
    elected: int
    offset: int
    on: str

    def meaning(self) -> str:
        """Return the sentence."""
        return f"it {self.predicate()}"

    def predicate(self) -> str:
        """Return the sentence without its subject."""
        return (
            f"knows of no vote in epoch {self.epoch}, but node {self.elected} became its leader with node "
            f"{self.node_id}'s vote (LeaderChange at offset {self.offset} on {self.on})"
        )


class VoterRestored(Facts, frozen=True, kw_only=True):
    """A voter whose directory lacks an epoch in which, by another replica's log, it led or voted.

    Attributes:
        knows_epoch, acted_epoch: the latest epoch in its directory, and the later one.
        began_at, voted_for: the offset of that LeaderChange, and its leader; None if the node led.
        shown_by, is_of_one_log: the replica whose log shows that; False if nothing shows that the two are of one log.
    """

    kind: ClassVar[str] = "voter_set_back"
    knows_epoch: int
    acted_epoch: int
    began_at: int
    voted_for: int | None
    shown_by: str
    is_of_one_log: bool = True

    def meaning(self) -> str:
        """Return the sentence."""
        return f"it {self.predicate()}"

    def predicate(self) -> str:
        """Return the sentence without its subject, for a caller that names the node."""
        did = "led" if self.voted_for is None else f"voted for node {self.voted_for} in"
        return (
            f"knows of no epoch after {self.knows_epoch}, but {did} epoch {self.acted_epoch}, which began at offset "
            f"{self.began_at} (by the log of {self.shown_by}): it was restored from an older copy, or copied before "
            f"that and the others later{'' if self.is_of_one_log else '; or its log is of another cluster'}"
        )


class LongerThanElected(Facts, frozen=True, kw_only=True):
    """A voter whose log goes on, in `own_epoch`, from the offset at which the leader began that it voted for."""

    kind: ClassVar[str] = "voter_set_back"
    elected: int
    epoch: int
    offset: int
    own_epoch: int
    on: str

    def meaning(self) -> str:
        """Return the sentence."""
        return (
            f"it voted for node {self.elected} in epoch {self.epoch}, which began at offset {self.offset} (by the log "
            f"of {self.on}), but its log goes on from there in epoch {self.own_epoch}: no voter elects a shorter log "
            "than its own, so this is not the log that it voted with"
        )


class ForeignDirectory(Facts, frozen=True, kw_only=True):
    """A directory whose `meta.properties` has one node's id, and a directory id that the log has for another node."""

    kind: ClassVar[str] = "foreign_node"
    node_id: int
    directory_id: DirectoryId
    owner: int

    def meaning(self) -> str:
        """Return the sentence."""
        directory = id_text(self.directory_id)
        return f"it is of node {self.node_id}, but the log knows directory {directory} as one of node {self.owner}"


def _so_do(others: tuple[tuple[str, int], ...]) -> str:
    """Return the further proofs in brackets, each with its offset, or ""."""
    return f" (so do others: {', '.join(f'{name} to {end}' for name, end in others)})" if others else ""
