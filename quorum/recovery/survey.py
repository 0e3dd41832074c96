"""Several copies of one cluster's metadata log seen together: which is best, what each lacks, who is missing.

Decides: what a repair that keeps one copy would keep and could lose, as exactly as the copies allow. Must not know: how
a repair is done.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import msgspec

from metadata_log.batch import batch_values
from metadata_log.directory import QUORUM_STATE_FILE
from metadata_log.errors import RecordError
from metadata_log.files import Files
from metadata_log.ids import ReplicaKey
from metadata_log.records import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    NoOpRecord,
    TopicRecord,
    VotersRecord,
    decode_record,
)
from metadata_log.segment import LocatedBatch
from metadata_log.tools.bounds import CommittedBounds, committed_bounds
from metadata_log.voters import Endpoint, VoterSet, majority_of
from quorum.recovery.batches import batches_from
from quorum.recovery.beside import NO_SUCH_FILE
from quorum.recovery.conflicts import Conflict, Uncompared, conflicts_of, joined_end, uncompared
from quorum.recovery.copies import Copy
from quorum.recovery.copy_parts import control_records, opens_repair
from quorum.recovery.electorate import is_among, is_majority, latest_voters, undecided, voters_before, weaker
from quorum.recovery.errors import RefusedError
from quorum.recovery.old_branch import bounds_of, judged_by
from quorum.recovery.once_held import bounds_once, extents, forgetful
from quorum.recovery.places import one_cluster
from quorum.recovery.related import is_comparable
from quorum.recovery.speakers import Silent, is_proved, silent_ones, votes_as
from quorum.recovery.told import Told

_MOST_TOPICS: Final = 20
_EXPORT_HAS_NONE: Final = "an export has no such file"


class Excess(msgspec.Struct, frozen=True, kw_only=True):
    """Records that a copy holds and the one that is kept does not: offsets `start` to `end` (exclusive).

    Attributes:
        records: how many of each type, NoOps and elections left out: they say nothing. A checkpoint counts as one
            where segments do not reach back to `start`.
        topics: names of topics created there, the first of them.
        committed: `was` (all of it), `partly` (the beginning), `may` or `never`.
        proof: that records once stood there which no copy here holds; None where the copy holds them.
        epoch: of the last record; None where that is not known.
        is_uncompared: nothing shows that the copy is of the log that is kept.
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
        """Whether it is more than NoOps and elections of the same log."""
        return bool(self.records) or self.proof is not None or self.is_uncompared

    def __str__(self) -> str:
        said = ", ".join(f"{count} {name}" for name, count in self.records.items()) or "NoOps and elections only"
        topics = f", topics {', '.join(self.topics)}" if self.topics else ""
        words = {
            "was": "committed", "partly": "committed in part", "may": "which may have been committed",
            "never": "never committed",
        }  # fmt: skip
        if self.proof is not None:
            held = f"this log reached {self.end} ({self.proof}), and no copy here holds them"
            return f"offsets {self.start} to {self.end} on {self.label}: {held}; {words[self.committed]}"
        if self.is_uncompared:
            alone = "which nothing shows to be of the log that is kept: the two cannot be compared"
            return f"offsets {self.start} to {self.end} on {self.label}: {said}{topics}, {alone}"
        return f"offsets {self.start} to {self.end} on {self.label}: {said}{topics}; {words[self.committed]}"


class Survey(msgspec.Struct, frozen=True, kw_only=True):
    """The copies, the best first, and what they amount to.

    Attributes:
        voters: in force by the best copy: keys; without directory ids where they are static.
        voters_before: those before, while it is not proven that the change to `voters` was committed; else empty.
        absent_voters, absent_brokers: named by the metadata, or behind damage, and no copy of theirs is here.
        bounds: of what was committed; what a log held until an accepted repair let it go counts as held.
        bounds_left: the same by what the logs hold now.
        conflicts, uncompared: pairs that contradict each other, or of which nothing shows that they are of one log.
        told: repairs that audit files tell of, and no copy here has anything of.
        silent: voters' copies that do not speak for them.
        undoable: log directories of which the last repair would be taken back, see `undo.with_undoable`.
    """

    copies: tuple[Copy, ...]
    cluster_id: str | None
    voters: tuple[ReplicaKey, ...]
    voters_before: tuple[ReplicaKey, ...] = ()
    bounds: CommittedBounds
    bounds_left: CommittedBounds
    absent_voters: tuple[int, ...]
    absent_brokers: tuple[int, ...]
    conflicts: tuple[Conflict, ...]
    told: tuple[Told, ...] = ()
    uncompared: tuple[Uncompared, ...] = ()
    silent: tuple[Silent, ...] = ()
    undoable: frozenset[str] = frozenset()

    @property
    def best(self) -> Copy:
        """The one that no other is ahead of, by (last epoch, end); a controller's before a broker's."""
        return self.copies[0]

    @property
    def told_by(self) -> Copy:
        """The best one whose metadata can be told; the best, where there is none."""
        return next((copy for copy in self.copies if copy.state is not None), self.best)

    @property
    def greatest_epoch(self) -> int:
        """Of any leader, vote, batch (a false one, too: its node may start) or checkpoint in any copy, and of any
        repair that an audit file tells of."""
        false = [copy.stop.false_epoch or -1 for copy in self.copies if copy.stop is not None]
        return max(*(copy.greatest_epoch for copy in self.copies), *(one.epoch for one in self.told), *false, -1)

    @property
    def lost_votes(self) -> tuple[tuple[str, str], ...]:
        """Files that held an epoch and a vote and do not tell them, and why."""
        unread = [(found.path, found.why) for copy in self.copies for found in copy.unread if found.is_vote]
        missing = [
            (
                f"{copy.place.metadata}/{QUORUM_STATE_FILE}",
                NO_SUCH_FILE if copy.place.manifest is None else _EXPORT_HAS_NONE,
            )
            for copy in self.copies
            if copy.quorum_state is None and copy.quorum_problem is None
        ]
        return (*unread, *missing)

    def is_voter(self, copy: Copy) -> bool:
        """Whether its replica votes, by any set that may be in force."""
        return any(is_among(copy, voters) for voters in self.voter_sets)

    def speaks(self, copy: Copy) -> bool:
        """Whether it may be counted as what a voter held last, and that voter as one who votes from there."""
        return self.is_voter(copy) and not any(one.copy is copy for one in self.silent)

    @property
    def voter_sets(self) -> tuple[tuple[ReplicaKey, ...], ...]:
        """All that may be in force; none where who votes is not known."""
        return tuple(voters for voters in (self.voters, self.voters_before) if voters)

    @property
    def voter_ids(self) -> tuple[int, ...]:
        """All who may vote."""
        return tuple(sorted({int(voter.node_id) for voters in self.voter_sets for voter in voters}))

    @property
    def undecided(self) -> str | None:
        """A sentence about a change of the voters that may or may not be in force; None where there is none."""
        return undecided(self.voters, self.voters_before)

    def has_majority(self, copies: Sequence[Copy]) -> bool:
        """Whether a majority of the voters is among them, of every set that may be in force."""
        return bool(self.voters) and all(is_majority(copies, voters) for voters in self.voter_sets)

    @property
    def unheard_voters(self) -> tuple[int, ...]:
        """Voters of which no whole log is here: what they held last is not known."""
        return tuple(sorted({node_id for voters in self.voter_sets for node_id in self._unheard(voters)}))

    def _unheard(self, voters: Sequence[ReplicaKey]) -> list[int]:
        told = [copy for copy in self.copies if not copy.held_more and self.speaks(copy)]
        return [int(one.node_id) for one in voters if not any(votes_as(copy, one) for copy in told)]

    @property
    def mute_voters(self) -> frozenset[int]:
        """Voters' nodes of which copies are here, and none that speaks for them."""
        spoken = {copy.node_id for copy in self.copies if self.speaks(copy)}
        return frozenset(
            int(one.copy.node_id)
            for one in self.silent
            if one.copy.node_id is not None and one.copy.node_id not in spoken
        )

    @property
    def majority_is_absent(self) -> bool:
        """Whether records may have been committed that no copy here holds."""
        return any(len(self._unheard(voters)) >= majority_of(len(voters)) for voters in self.voter_sets)

    @property
    def in_use(self) -> tuple[Copy, ...]:
        """Copies that nodes run on: their ends are so far."""
        return tuple(copy for copy in self.copies if copy.used_by is not None)

    def endpoints(self) -> dict[Endpoint, int]:
        """Where a controller may listen, by all copies: voters' and registered controllers' listeners."""
        found: dict[Endpoint, int] = {}
        for copy in self.copies:
            for voter in copy.voters or VoterSet():
                found.update(dict.fromkeys(voter.endpoints, int(voter.key.node_id)))
            if copy.image is not None:
                for node_id, controller in copy.image.cluster.controllers.items():
                    for at in controller.listeners:
                        found[Endpoint(name=at.name, host=at.host, port=at.port)] = int(node_id)
        return found


def with_told(known: Survey, told: Iterable[Told]) -> Survey:
    """The same, with the repairs among `told` that no log here has come to."""
    return msgspec.structs.replace(known, told=tuple(one for one in told if one.epoch > known.best.end.epoch))


def survey(copies: Sequence[Copy]) -> Survey:
    """What these copies are together.

    Raises:
        RefusedError: they are of several clusters, or there is none.
    """
    if not copies:
        raise RefusedError("no copy of a metadata log is named")
    cluster_id = one_cluster([copy.place.identity for copy in copies], [copy.place.log_dir for copy in copies])
    ranked = sorted(copies, key=lambda copy: copy.rank, reverse=True)
    voters = latest_voters(ranked)
    ranked.sort(key=lambda copy: (copy.rank, is_among(copy, voters)), reverse=True)
    nodes = {copy.node_id for copy in ranked}
    images = [copy.image for copy in ranked if copy.image is not None]
    brokers = {int(node_id) for node_id in images[0].cluster.brokers} if images else set()
    brokers = brokers.union(*(copy.behind.brokers for copy in ranked))
    conflicts = tuple(conflicts_of(ranked))
    of_one_log = [copy for copy in ranked if is_comparable(ranked[0], copy)]
    silent = silent_ones(of_one_log, voters)
    left, bounds = _bounds(of_one_log, silent, voters)
    before = voters_before(ranked, bounds.lower)
    if before:
        silent = silent_ones(of_one_log, voters, before)
        both = [_bounds(of_one_log, silent, one) for one in (voters, before)]
        left, bounds = (weaker(*each) for each in zip(*both, strict=True))
    voting = {int(voter.node_id) for voter in (*voters, *before)}.union(*(copy.behind.voters for copy in ranked))
    running = [copy for copy in ranked if copy.used_by is not None]
    if any(is_among(copy, (*voters, *before)) for copy in running):  # by now a majority may hold more
        left, bounds = (msgspec.structs.replace(each, upper=None) for each in (left, bounds))
    return Survey(
        copies=tuple(ranked),
        cluster_id=cluster_id,
        voters=voters,
        voters_before=before,
        bounds=bounds,
        bounds_left=left,
        absent_voters=tuple(sorted(voting - nodes)),
        absent_brokers=tuple(sorted(brokers - nodes - voting)),
        conflicts=conflicts,
        uncompared=tuple(uncompared(ranked, conflicts)),
        silent=silent,
    )


def _bounds(
    copies: Sequence[Copy], silent: Sequence[Silent], voters: Sequence[ReplicaKey]
) -> tuple[CommittedBounds, CommittedBounds]:
    mute = [one.copy for one in silent]
    left = committed_bounds(extents(copies, mute), voters)
    return left, bounds_once(copies, mute, voters, left)


def excess(files: Files, known: Survey, kept: Copy) -> list[Excess]:
    """What the other copies hold and `kept` does not, one entry a copy."""
    found = []
    for copy in known.copies:
        joined = joined_end(known.copies, kept, copy)
        is_uncompared = not is_comparable(kept, copy) or joined is None
        start = 0 if joined is None else joined
        if copy is kept or copy.end.offset <= start:
            continue
        more = _excess(files, bounds_of(known.copies, known.bounds, copy), copy, start)
        if more.committed == "never" and forgetful(known.copies, copy, start):
            more = msgspec.structs.replace(more, committed="may")
        judged = superseded(files, known, kept, copy, start)
        if is_uncompared:
            more = msgspec.structs.replace(more, committed="may", is_uncompared=True)
        elif judged is not None:
            more = msgspec.structs.replace(more, committed=judged)
        found.append(more)
    return found


def superseded(files: Files, known: Survey, kept: Copy, copy: Copy, start: int) -> str | None:
    """`never` where `kept` goes on from `start` under a leader elected later than all that `copy` has from there on.

    Then nothing of that was committed: an elected leader has all that was committed in older epochs (Raft, 5.4.3), and
    this one began its own at `start`. An epoch that a repair began proves nothing: nobody was elected. Nor does one
    whose electors had been made to forget it, or whose copies do not speak for them: `may`. None where no such leader
    is, or where what he lacked was committed: then he was elected by voters who had been set back.
    """
    is_fork = is_comparable(kept, copy) and joined_end(known.copies, kept, copy) == start
    if copy.end.epoch >= kept.epoch_at(start) or not is_fork:
        return None
    if any(is_proved(one, copy, start) for one in known.copies):
        return None
    if copy.origin is not None and copy.origin.end.offset > start:
        return None
    first = next(batches_from(files, kept, start), None)
    if first is None or first.header.base_offset != start or not first.header.is_control:
        return None
    elected = control_records(first)[0]
    if not isinstance(elected, LeaderChangeMessage) or opens_repair(first):
        return None
    electors = {int(voter.voter_id) for voter in elected.granting_voters}
    return "may" if electors & (forgetful(known.copies, copy, start) | known.mute_voters) else "never"


def shortfalls(known: Survey) -> list[Excess]:
    """What logs here once held, by what stands beside or behind what is left of them, and no copy here holds."""
    found = []
    for copy in known.copies:
        follows = [other for other in known.copies if joined_end(known.copies, copy, other) == copy.end.offset]
        start = max(int(other.end.offset) for other in (copy, *follows))
        if copy.proved_end > start and copy.held_more:
            has_bytes = any(part.size > part.safe_size for part in copy.segments)
            follows_it = "sound batches follow" if has_bytes else "an empty segment follows"
            found.append(
                Excess(
                    label=copy.label,
                    node_id=copy.node_id,
                    start=start,
                    end=copy.proved_end,
                    records={},
                    topics=(),
                    committed=judged_by(bounds_of(known.copies, known.bounds, copy), start, copy.proved_end),
                    proof=copy.short or f"{follows_it} the damage at {copy.stop}",
                )
            )
    return found


def cut_off(files: Files, known: Survey, whole: Copy, start: int, end: int | None = None) -> Excess | None:
    """What cutting a copy at `start` takes from it, up to `end`; by default up to its end."""
    if start >= whole.end.offset:
        return None
    return _excess(files, bounds_of(known.copies, known.bounds, whole), whole, start, end)


def _excess(files: Files, bounds: CommittedBounds, copy: Copy, start: int, until: int | None = None) -> Excess:
    end = int(copy.end.offset) if until is None else until
    counts: Counter[str] = Counter()
    topics: list[str] = []
    if copy.origin is not None and copy.start_offset > start:
        counts[f"checkpoint, which holds all up to offset {copy.start_offset}"] = 1
    for batch in batches_from(files, copy, start):
        if batch.header.base_offset >= end:
            break
        if batch.header.is_control:
            counts.update(_members(batch))
            continue
        for value in batch_values(batch.buffer, batch.header, batch.at):
            try:
                record = decode_record(value)
            except RecordError:
                counts["unknown record"] += 1
                continue
            if not isinstance(record, NoOpRecord):
                counts[type(record).__name__.removesuffix("Record")] += 1
            if isinstance(record, TopicRecord):
                topics.append(record.name)
    return Excess(
        label=copy.label,
        node_id=copy.node_id,
        start=start,
        end=end,
        records=dict(sorted(counts.items())),
        topics=tuple(topics[:_MOST_TOPICS]),
        committed=judged_by(bounds, start, end),
        epoch=int(copy.end.epoch) if end == copy.end.offset else copy.epoch_at(end - 1),
    )


def _members(batch: LocatedBatch) -> Iterator[str]:
    """Records of a control batch that say who votes; those of elections and checkpoints say nothing."""
    try:
        records = control_records(batch)
    except RecordError:
        yield "unknown record"
        return
    for record in records:
        if isinstance(record, VotersRecord | KRaftVersionRecord):
            yield type(record).__name__.removesuffix("Record")
