"""Which tests one worker runs together, when several share the tests out.

Decides: that. A file's tests stay together, for what they share is costly; so do files that share something of the
session (a cluster that lived and was lost), and all that hurts the machine itself. Planted bugs go one by one: they
share nothing, and fill up the end.
"""

from __future__ import annotations

from typing import Final

from xdist.scheduler import LoadScopeScheduling

TOGETHER: Final = {
    "tests/chaos/": "chaos",
    "tests/interop/test_recover_": "what a cluster left that was lost",
    "tests/integration/test_kill_the_leader.py": "what the kills left",
    "tests/interop/test_kafka_reads_our_logs.py": "what the kills left",
    "tests/interop/test_toolkit_on_a_real_cluster.py": "what a living cluster left",
    "tests/interop/test_check_on_a_living_cluster.py": "what a living cluster left",
}
ONE_BY_ONE: Final = ("tests/simulation/test_simulation.py::test_every_planted_bug_is_caught[",)


def scope_of(nodeid: str) -> str:
    """What a test is run together with, by its id."""
    if nodeid.startswith(ONE_BY_ONE):
        return nodeid
    return next((scope for start, scope in TOGETHER.items() if nodeid.startswith(start)), nodeid.partition("::")[0])


class Sharing(LoadScopeScheduling):
    """A worker that is free takes the next scope, those of most tests first."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)
