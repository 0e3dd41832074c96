"""A node that fails says why, and only what was done to its disk is a reason: nothing that it read or was sent may
end it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metadata_log.errors import CorruptBatchError, CorruptFileError, StorageFailedError
from tests.simulation.checkers.broken import Broken

if TYPE_CHECKING:
    from tests.simulation.node import Node


def check_failure(node: Node, error: Exception) -> None:
    """A process has ended by `error`."""
    if node.is_rotten and isinstance(error, CorruptBatchError | CorruptFileError):
        return
    if not isinstance(error, StorageFailedError | OSError):
        raise Broken("own_errors", f"node {node.node_id} ends by {type(error).__name__}: {error}")
