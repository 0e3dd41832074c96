"""A second look at the voters that seem to lack what was committed: a living quorum goes on while its logs are read.

Decides: whose log is read again, and what it is held against. Must not know: how a log is read.

What the first reading showed to be committed was so before the second one began. A voter that has it by then has not
lost it: it was only read before the others. What was committed after that is asked of nobody, so that two looks are
enough, however busy the quorum is.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet, lacking_copies


def with_second_look(view: ReplicaSet, read: Callable[[NodeSource], Replica]) -> ReplicaSet:
    """The quorum with the logs of those voters read anew; the same where none seems to lack anything.

    Raises:
        OSError: a log cannot be read any more.
    """
    behind = {id(replica.source) for replica in lacking_copies(view) or lacking_copies(_with_last_epoch(view))}
    if not behind:
        return view
    replicas = [read(one.source) if id(one.source) in behind else one for one in view.replicas]
    again = ReplicaSet(replicas, view.bare)
    bounds = msgspec.structs.replace(again.bounds, lower=view.bounds.lower, because=view.bounds.because)
    voters = msgspec.structs.replace(again.voters, keys=view.voters.keys, source=view.voters.source)
    return ReplicaSet(again.replicas, again.bare, voters=voters, bounds=bounds)


def _with_last_epoch(view: ReplicaSet) -> ReplicaSet:
    """Return the quorum as if the first record of the last epoch in any log had been committed, which it may be.

    Its leader may have been elected after the others' logs were read.
    """
    last = max(
        (one.facts.epochs[-1] for one in view.replicas if one.facts.epochs), key=lambda span: span.epoch, default=None
    )
    lower = max(view.bounds.lower, 0 if last is None else last.start_offset + 1)
    return view.with_bounds(msgspec.structs.replace(view.bounds, lower=lower))
