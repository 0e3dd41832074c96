"""Three controllers and two brokers of Kafka 3.9.2, stopped cleanly, of which two then lost the ends of their logs.

`tests/fixtures/lost-end.tar.xz`: the last committed batches of nodes 1 and 2 were cut, with the indexes that no longer
fit. `NNN.snapshot` names an offset past the log's end.
"""

from __future__ import annotations

import tarfile
from pathlib import Path

END, NODE_1, NODE_2 = 104, 107, 108
"""Where the logs of nodes 1 and 2 end now, and where they ended at the clean stop."""


def lost_end_nodes(into: Path) -> Path:
    """Unpack the nodes; return the directory that holds them."""
    with tarfile.open(Path(__file__).parents[1] / "fixtures" / "lost-end.tar.xz") as archive:
        archive.extractall(into, filter="data")
    return into / "lost-end"


def metadata_of(node: Path) -> Path:
    """Return the directory of a node's metadata log."""
    return node / "data" / "__cluster_metadata-0"
