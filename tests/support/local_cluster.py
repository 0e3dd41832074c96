"""The demo's cluster without the imports of its many processes, each of which costs 300 ms or more."""

from __future__ import annotations

from quorum.cli.demo import cluster
from quorum.cli.demo.cluster import NodeFailedError
from tests.support.voter_processes import kraft
from tests.support.warm_nodes import WarmNode


class Cluster(cluster.Cluster):
    """A cluster whose commands run in the test's process; its nodes are still processes."""

    kind_of_node = WarmNode

    def run(self, *words: str) -> str:
        """Return standard output of `kraft words`.

        Raises:
            NodeFailedError: the status is not 0.
        """
        status, out, err = kraft(*words)
        if status:
            raise NodeFailedError(f"kraft {' '.join(words)} ended with {status}:\n{out}{err}")
        return out
