"""The exception of every checker."""

from __future__ import annotations


class InvariantFailure(AssertionError):
    """An invariant does not hold. `checker` is the name of the checker's file."""

    def __init__(self, checker: str, what: str) -> None:
        super().__init__(f"{checker}: {what}")
        self.checker = checker
        self.what = what
