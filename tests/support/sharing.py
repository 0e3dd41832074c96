"""Decides which tests one worker runs together, when several workers share the tests.

The tests of a file stay together, because their fixtures are costly. So do files that share a session fixture (a lost
cluster), and all tests that stress the machine itself. The longest scopes begin first, so that no worker is alone at
the end. Planted bugs run one by one: they share nothing, and fill the end.
"""

from __future__ import annotations

from typing import Any, Final

from xdist.scheduler import LoadScopeScheduling

TOGETHER: Final = {
    "tests/chaos/": "chaos",
    "tests/interop/test_recover_": "what a cluster left that was lost",
    "tests/integration/test_kill_the_leader.py": "what the kills left",
    "tests/interop/test_kafka_reads_our_logs.py": "what the kills left",
    "tests/interop/test_toolkit_on_a_real_cluster.py": "what a living cluster left",
    "tests/interop/test_check_on_a_living_cluster.py": "what a living cluster left",
}
LONGEST: Final = (
    "what a cluster left that was lost",
    "tests/simulation/test_simulation.py",
    "chaos",
    "tests/packaging/test_installed.py",
    "tests/integration/test_demo.py",
    "tests/interop/test_other_clients_on_our_quorum.py",
    "tests/integration/test_roll_of_releases.py",
    "tests/interop/test_every_release.py",
    "tests/fuzz/test_fuzz_directories.py",
    "tests/integration/test_onefile.py",
    "tests/interop/test_brokers_of_two_versions.py",
    "what the kills left",
    "tests/spark/test_full_disk.py",
    "tests/fuzz/test_fuzz_log_files.py",
    "tests/packaging/test_interpreters.py",
)
"""Scopes that take over a minute, in the order in which they begin."""
ONE_BY_ONE: Final = ("tests/simulation/test_simulation.py::test_every_planted_bug_is_caught[",)


def scope_of(nodeid: str) -> str:
    """Return the scope of a test, by its id."""
    if nodeid.startswith(ONE_BY_ONE):
        return nodeid
    return next((scope for start, scope in TOGETHER.items() if nodeid.startswith(start)), nodeid.partition("::")[0])


def place_of(scope: str) -> int:
    """Return where a scope begins: the longest, then all others, then planted bugs."""
    if scope in LONGEST:
        return LONGEST.index(scope)
    return len(LONGEST) + scope.startswith(ONE_BY_ONE)


class Sharing(LoadScopeScheduling):
    """A free worker takes the next scope by its place; within one place, the scope with the most tests first."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid)

    def _assign_work_unit(self, node: Any) -> None:
        self.workqueue.move_to_end(min(self.workqueue, key=place_of), last=False)
        super()._assign_work_unit(node)
