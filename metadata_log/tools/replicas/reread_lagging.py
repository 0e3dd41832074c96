"""Reads the logs of voters again that seem to lack committed records: a running quorum writes while its logs are read.

Decides: which logs are read again, and the committed bound for them. Must not know: how a log is read.

Records that the first read shows to be committed were committed before the second read began. If a voter has them by
then, it lost nothing: its log was only read before the others. The second read is compared with the bound of the
first, not with a newer one. So two reads are enough, however busy the quorum is.
"""

from __future__ import annotations

from collections.abc import Callable

import msgspec

from metadata_log.tools.read.sources import NodeSource
from metadata_log.tools.replicas.replica import Replica
from metadata_log.tools.replicas.replica_set import ReplicaSet, lacking_copies


def with_lagging_reread(view: ReplicaSet, read: Callable[[NodeSource], Replica]) -> ReplicaSet:
    """Return the set with the logs of these voters read again; the same set if no voter seems to lack records.

    Raises:
        OSError: a log can no longer be read.
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
    """Return the set as if the first record of the last epoch in any log were committed, which is possible.

    The leader may have been elected after the logs of the others were read.
    """
    last = max(
        (one.facts.epochs[-1] for one in view.replicas if one.facts.epochs), key=lambda span: span.epoch, default=None
    )
    lower = max(view.bounds.lower, 0 if last is None else last.start_offset + 1)
    return view.with_bounds(msgspec.structs.replace(view.bounds, lower=lower))
