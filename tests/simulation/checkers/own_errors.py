"""A node that fails reports the reason, which must be a fault of its disk.

No bytes that it reads or receives may end it.
"""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from metadata_log.errors import CorruptBatchError, CorruptFileError, StorageFailedError
from tests.simulation.checkers.invariant_failure import InvariantFailure

if TYPE_CHECKING:
    from tests.simulation.node import Node


def check_failure(node: Node, error: Exception) -> None:
    """Check a process that has ended by `error`."""
    if node.is_rotten and isinstance(error, CorruptBatchError | CorruptFileError):
        node.world.note("corruption is refused by a reader")
        return
    is_full = errno.ENOSPC in (getattr(error, "errno", None), getattr(error.__cause__, "errno", None))
    node.world.note("a disk is full" if is_full else "a sync or another call fails")
    if not isinstance(error, StorageFailedError | OSError):
        raise InvariantFailure("own_errors", f"node {node.node_id} ends by {type(error).__name__}: {error}")
