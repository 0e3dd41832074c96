"""Checkpoints whose voters most other copies deny: one forged file must not take the vote of sound directories.

Decides: which copies can be compared, and which checkpoints they deny. Must not know: the voters in force.

The voters in a checkpoint are committed at its end. Two copies that begin with checkpoints can be compared if neither
log has a later set of voters. Then both name the set in force at the end of the later checkpoint. In a tie, the set
with more of the directories that are here is right.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from metadata_log.offsets import OffsetAndEpoch
from metadata_log.tools.words import join_names
from quorum.recovery.copies.log_copy import Copy


def without_outvoted(copies: Sequence[Copy]) -> list[Copy]:
    """Return the copies; the metadata of one that begins with an outvoted checkpoint is not known."""
    return [_judged(copy, list(_comparable(copy, copies))) for copy in copies]


def _judged(copy: Copy, others: Sequence[Copy]) -> Copy:
    origin, voters = copy.origin, copy.voters
    if origin is None or voters is None:
        return copy
    denying = [other for other in others if other.voters is not None and set(other.voters.keys) != set(voters.keys)]
    nodes = {other.node_id for other in denying}
    agreeing = 1 + len({other.node_id for other in others} - nodes)
    if len(nodes) < agreeing or (len(nodes) == agreeing and not _has_fewest(copy, others, denying)):
        return copy
    named = join_names([str(key) for key in sorted(voters.keys)])
    by = join_names(sorted(other.label for other in denying))
    problem = f"{origin.name} names {named} as the voters, and the checkpoints of {by} name others"
    unknown = msgspec.structs.replace(copy.prefix, state=None, problem=problem, unplayed=None, before=None, quorum=None)
    return msgspec.structs.replace(copy, prefix=unknown)


def _has_fewest(copy: Copy, others: Sequence[Copy], denying: Sequence[Copy]) -> bool:
    """Return True if the voters of the copy have fewer of the directories here than the voters of each denying one."""
    here = [one.place.key for one in (copy, *others)]
    own, *theirs = (
        sum(key is not None and key in one.voters.keys for key in here)
        for one in (copy, *denying)
        if one.voters is not None
    )
    return all(own < other for other in theirs)


def _comparable(copy: Copy, copies: Sequence[Copy]) -> Iterator[Copy]:
    """Yield the other nodes' copies that name the voters at the same time as this one's checkpoint."""
    end = _begins_at(copy)
    for other in copies:
        its_end = _begins_at(other)
        if end is None or its_end is None or other.node_id == copy.node_id or other.is_damaged:
            continue
        if _reaches(other, end) if end.offset >= its_end.offset else _reaches(copy, its_end):
            yield other


def _begins_at(copy: Copy) -> OffsetAndEpoch | None:
    """Return the end of the checkpoint that names its latest voters, or None if the log or no file names them."""
    if copy.origin is None or copy.state is None or copy.voters is None or copy.state.quorum.voters_at >= 0:
        return None
    return copy.origin.end


def _reaches(copy: Copy, end: OffsetAndEpoch) -> bool:
    """Return True if the log has a record of that epoch before that offset: it is of the same branch."""
    return _begins_at(copy) == end or copy.epoch_at(int(end.offset) - 1) == end.epoch
