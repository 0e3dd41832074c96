"""The demo's cluster, whose commands run in the test's process: to start a process costs a third of a second."""

from __future__ import annotations

from quorum.cli.demo import cluster
from quorum.cli.demo.cluster import NodeFailedError
from tests.support.voter_processes import kraft


class Cluster(cluster.Cluster):
    """Nodes are processes all the same."""

    def run(self, *words: str) -> str:
        """Return standard output of `kraft words`.

        Raises:
            NodeFailedError: the status is not 0.
        """
        status, out, err = kraft(*words)
        if status:
            raise NodeFailedError(f"kraft {' '.join(words)} ended with {status}:\n{out}{err}")
        return out
