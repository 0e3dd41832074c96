"""An answer to a Fetch or a FetchSnapshot: whether it is awaited, and what it tells of epoch and leader.

Decides: exactly that, alike for both. Must not know: what is in it.
"""

from __future__ import annotations

from quorum.raft.core import Core
from quorum.raft.fetching import fetch_loop_of
from quorum.raft.messages import FetchResponse, FetchSnapshotResponse
from quorum.raft.peers import News, learn
from quorum.raft.states import FetchLoop


def awaited(
    core: Core, node_id: int, correlation: int, response: FetchResponse | FetchSnapshotResponse
) -> tuple[FetchLoop, News] | None:
    """The loop whose request is answered with this, and what is new in it; None if there is nothing more to do."""
    loop = fetch_loop_of(core)
    if loop is None or loop.correlation != correlation:
        return None
    loop.correlation = None
    news = learn(core, node_id, response)
    return None if news is News.CHANGED else (loop, news)
