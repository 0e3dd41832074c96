"""What clients asked and were told: one line of JSON an operation, written when it is over.

Decides: what is kept of an operation, and how its outcome is called. Read by `linearizable/` (Go) and by `proof.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

CREATE: Final = "create"
DELETE: Final = "delete"
READ: Final = "read"
"""A linearizable one."""
READ_AT_LEAST: Final = "read-at-least"
"""Of any controller whose image reaches as far as what this client has seen: not linearizable, but never wrong."""

OK: Final = "ok"
EXISTS: Final = "exists"
"""TOPIC_ALREADY_EXISTS."""
ABSENT: Final = "absent"
"""UNKNOWN_TOPIC_OR_PARTITION."""
UNKNOWN: Final = "unknown"
"""It may have been done, now or later."""
NOT_DONE: Final = "not-done"
"""Nobody took it: it was not done and never will be."""

Kind = Literal["create", "delete", "read", "read-at-least"]
Outcome = Literal["ok", "exists", "absent", "unknown", "not-done"]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation on the topic `name`.

    Attributes:
        called: when it was asked, and returned: when the answer was there, in ns of one monotonic clock.
        topic_id: as text, where one was told.
        offset: the end of the image that the answer was made from; -1 without an answer.
    """

    client: int
    kind: Kind
    name: str
    called: int
    returned: int
    outcome: Outcome
    topic_id: str = ""
    offset: int = -1


_LINE: Final = msgspec.json.Decoder(Operation)


def read_operations(path: Path) -> Iterator[Operation]:
    """All of a finished history, in the order in which they ended."""
    with path.open("rb") as lines:
        for line in lines:
            yield _LINE.decode(line)


class Progress:
    """How many writes were acknowledged so far, by histories that are being written."""

    def __init__(self, *paths: Path) -> None:
        self._files = [_Growing(path) for path in paths]
        self.acknowledged = 0

    def look(self) -> int:
        """The number up to now."""
        for file in self._files:
            operations = map(_LINE.decode, file.new_lines())
            self.acknowledged += sum(each.outcome == OK and each.kind in (CREATE, DELETE) for each in operations)
        return self.acknowledged


class _Growing:
    """A file that others write."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._rest = b""

    def new_lines(self) -> list[bytes]:
        """What has come since, in whole lines."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as lines:
            lines.seek(self._position)
            new = lines.read()
        self._position += len(new)
        *whole, self._rest = (self._rest + new).split(b"\n")
        return whole
