"""A KRaft quorum: Raft with pull, the controller on top of it, the processes that run them and their clients."""

from typing import Final

__version__: Final = "0.2.0"
"""Of the whole project."""
