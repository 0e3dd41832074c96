"""What every checker raises."""

from __future__ import annotations


class InvariantFailure(AssertionError):
    """Something that must hold does not. `checker` is the name of the file that says so."""

    def __init__(self, checker: str, what: str) -> None:
        super().__init__(f"{checker}: {what}")
        self.checker = checker
        self.what = what
