"""The facts of a repair, as its audit file keeps them: epochs, offsets, and the records that are lost or may be.

Decides: their form in version 2 of the file, and the sentences that are rendered from them. No program reads those.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from metadata_log.offsets import OffsetAndEpoch
from metadata_log.tools.times import time_text
from metadata_log.tools.words import offsets
from quorum.recovery.journal.next_steps import Step

OF_LATER_RELEASE: Final = "of a later release"
"""Replaces the type of records that this release does not know."""
HELD_NOWHERE: Final = "that no copy here holds"
"""Describes records that a proposed repair may lose."""
HELD_NOWHERE_THEN: Final = "that no copy held which was named then"
"""Describes the same records afterwards: other copies may be named by then."""


def kept_words(end: OffsetAndEpoch) -> str:
    """Return a phrase for the part of a log that a repair keeps, which ends at `end`."""
    if end.offset == 0:
        return "nothing: the log has no record"
    return f"everything up to offset {end.offset} of epoch {end.epoch}"


class LostRecords(msgspec.Struct, frozen=True, kw_only=True):
    """Records that a copy holds and the kept copy does not: offsets `start` to `end` (exclusive).

    Attributes:
        records: the number of each type, without NoOps and elections, whose loss does not matter. A checkpoint counts
            as one if the segments begin after `start`.
        topics: names of topics created there, the first of them.
        committed: `was` (all), `partly` (the beginning), `may` or `never`.
        proof: why this log once held records that no copy here holds; None if the copy holds them.
        epoch: of the last record; None if unknown.
        is_uncompared: nothing shows that this copy and the kept one are of one log.
    """

    label: str
    node_id: int | None
    start: int
    end: int
    records: dict[str, int]
    topics: tuple[str, ...]
    committed: str
    proof: str | None = None
    epoch: int | None = None
    is_uncompared: bool = False

    @property
    def says_something(self) -> bool:
        """Return True if more than NoOps and elections of the same log is lost."""
        return bool(self.records) or self.proof is not None or self.is_uncompared

    def __str__(self) -> str:
        said = ", ".join(f"{count} {name}" for name, count in self.records.items()) or "NoOps and elections only"
        topics = f", topics {', '.join(self.topics)}" if self.topics else ""
        topics += "; what those of a later release say is not known" if OF_LATER_RELEASE in self.records else ""
        words = {
            "was": "committed", "partly": "committed in part", "may": "which may have been committed",
            "never": "never committed",
        }  # fmt: skip
        if self.proof is not None:
            them = "them" if self.end - self.start > 1 else "it"
            held = f"this log reached {self.end} ({self.proof}), and no copy here holds {them}"
            return f"{offsets(self.start, self.end)} on {self.label}: {held}; {words[self.committed]}"
        if self.is_uncompared:
            alone = "which nothing shows to be of the log that is kept: the two cannot be compared"
            return f"{offsets(self.start, self.end)} on {self.label}: {said}{topics}, {alone}"
        return f"{offsets(self.start, self.end)} on {self.label}: {said}{topics}; {words[self.committed]}"


class MayLose(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Records that a majority may have acknowledged, and no copy here holds.

    Attributes:
        voters: the voters that are not here; empty: no copy names the voters.
        since_ms: the time of the last record that is kept; None: they may be of any time.
        past_offset: the end of the kept log, which may be too early.
        is_undecided: no copy shows which voter set is in force. Other records may be at offsets that are kept.
        in_words: the sentence of an audit file of version 1, which has no other field.
    """

    voters: tuple[int, ...] = ()
    since_ms: int | None = None
    past_offset: int | None = None
    is_undecided: bool = False
    in_words: str | None = None

    def __str__(self) -> str:
        return self._sentence(HELD_NOWHERE)

    @property
    def as_read_later(self) -> str:
        """Return the sentence for a reader of the audit file."""
        return self._sentence(HELD_NOWHERE_THEN)

    def _sentence(self, held: str) -> str:
        if self.in_words is not None:
            return self.in_words
        if not self.voters:
            return f"the voters are not known, so records {held} may have been committed"
        voters = f"voter{'s' if len(self.voters) > 1 else ''} {', '.join(map(str, self.voters))}"
        if self.is_undecided:
            return (
                f"records that a majority with {voters} acknowledged, past offset {self.past_offset} where this "
                f"log may have diverged from theirs, and {held}: how many, and since when, cannot be known"
            )
        since = "at any time" if self.since_ms is None else f"after {time_text(self.since_ms)}"
        return (
            f"records that a majority with {voters} acknowledged {since}, past offset {self.past_offset}, and "
            f"{held}: how many cannot be known"
        )


class ProvenCut(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The proof that the records which a repair cut are no loss.

    Attributes:
        reason: `held` by a majority without this node; an `unfinished` write; a `minority` alone held it; `superseded`
            by an elected leader without it.
        start, end: the offsets that were cut (exclusive). `held`: `end` is this log's historical extent.
        epoch: `held`: of the last record. Otherwise the latest epoch that the proof covers. None: unknown.
        voters: `held`: the majority.
        log: `superseded`: the copy whose log went on with `later_epoch` at offset `fork`.
    """

    reason: Literal["held", "unfinished", "minority", "superseded"]
    start: int
    end: int
    epoch: int | None = None
    voters: tuple[int, ...] = ()
    log: str | None = None
    fork: int | None = None
    later_epoch: int | None = None

    @property
    def never_committed(self) -> bool:
        """Return True if nothing that was cut had been committed."""
        return self.reason in ("minority", "superseded")

    def __str__(self) -> str:
        if self.reason == "held":
            names = ", ".join(map(str, self.voters))
            return (
                f"what is cut was committed: voters {names}, a majority, hold all up to offset {self.end}, and this "
                "node can fetch it from them again"
            )
        if self.reason == "unfinished":
            return (
                "what is cut is an unfinished write, which this node never acknowledged. If the file lost its end "
                "instead, others may hold the whole batch"
            )
        if self.reason == "minority":
            return f"no majority of the voters holds anything from offset {self.fork} on, so it was never committed"
        return (
            f"{self.log} goes on from offset {self.fork} with epoch {self.later_epoch}. Its elected leader did not "
            f"have the records that this log holds from there on in epoch {self.epoch}, so they were never committed"
        )


class KeptCopy(msgspec.Struct, frozen=True, kw_only=True):
    """The copy whose log goes on."""

    path: str
    node_id: int | None
    directory_id: str | None


class CopyThen(msgspec.Struct, frozen=True, kw_only=True):
    """A copy that the repair read, as it was then. `greatest_epoch`: in its log and its quorum-state."""

    path: str
    node_id: int | None
    end_offset: int
    epoch: int
    greatest_epoch: int


class LostVote(msgspec.Struct, frozen=True, kw_only=True):
    """A file that held an epoch and a vote and can no longer be read."""

    path: str
    why: str


class RepairFacts(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The facts of one repair of one log directory. Each action has some of them; the file leaves out the others.

    Attributes:
        node_id, directory_id: of the directory that is changed. `kept_copy` may be another one.
        kept_end_offset: the end of the kept log.
        kept_epoch: of its last record.
        greatest_known_epoch: in any log or quorum-state that was here.
        new_epoch: the epoch that the repair began in the log. None: it appended nothing.
        voters_before, voters_after: as text. None: the log has no voters.
        absent_nodes: voters and brokers without a copy here.
        offsets_lost: records that a copy here held.
        may_lose: records that no copy here held. None: there can be none.
        asked: the addresses that were probed for a live leader, each with its result.
        not_checked: a sentence about records and files of a later release.
        proof: of `truncate --to`: why the part that was cut was no loss, as a sentence.
        proven: the same as data. None: a loss was accepted, or the file is older than this field.
        before: of `truncate --before`: the new start of the log.
        held_by: the checkpoint that ends there.
        dropped: of `drop-snapshot`: names of checkpoints.
        epoch_before, epoch_after: of quorum-state.
        last_epoch: of the log's last record when the cluster id was changed.
        metadata_topic_ids: the new own ids of the metadata topic, by the former ones.
        undone_action, undone_at: of the repair that was undone.
        log_dirs: all directories that the command repaired, if there are several.
        steps: what the operator does after the repair, also on other nodes.
    """

    cluster_id: str | None = None
    node_id: int | None = None
    directory_id: str | None = None
    kept_copy: KeptCopy | None = None
    kept_end_offset: int | None = None
    kept_epoch: int = -1
    greatest_known_epoch: int = -1
    new_epoch: int | None = None
    lost_votes: tuple[LostVote, ...] = ()
    voters_before: tuple[str, ...] | None = None
    voters_after: tuple[str, ...] | None = None
    copies: tuple[CopyThen, ...] = ()
    absent_nodes: tuple[int, ...] = ()
    offsets_lost: tuple[LostRecords, ...] = ()
    may_lose: MayLose | None = None
    asked: tuple[str, ...] = ()
    not_checked: str | None = None
    proof: str | None = None
    proven: ProvenCut | None = None
    before: int | None = None
    held_by: str | None = None
    dropped: tuple[str, ...] = ()
    epoch_before: int | None = None
    epoch_after: int | None = None
    static_voters_before: tuple[int, ...] = ()
    static_voters_after: tuple[int, ...] = ()
    cluster_id_before: str | None = None
    cluster_id_after: str | None = None
    last_epoch: int | None = None
    metadata_topic_ids: dict[str, str] = {}
    undone_action: str | None = None
    undone_at: str | None = None
    log_dirs: tuple[str, ...] = ()
    steps: tuple[Step, ...] = ()
