"""The clients' operations: one line of JSON each, written when the operation is over.

Decides: the fields of an operation, and the names of outcomes. `linearizable/` (Go) and `proof.py` read it.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final, Literal

import msgspec

CREATE: Final = "create"
DELETE: Final = "delete"
READ: Final = "read"
"""A linearizable read."""
READ_AT_LEAST: Final = "read-at-least"
"""A read at any controller whose image includes all that this client has seen: not linearizable, but never wrong."""

OK: Final = "ok"
EXISTS: Final = "exists"
"""TOPIC_ALREADY_EXISTS."""
ABSENT: Final = "absent"
"""UNKNOWN_TOPIC_OR_PARTITION."""
UNKNOWN: Final = "unknown"
"""The operation may have been done, or may yet be."""
NOT_DONE: Final = "not-done"
"""No controller took it: it was not done and never will be."""

Kind = Literal["create", "delete", "read", "read-at-least"]
Outcome = Literal["ok", "exists", "absent", "unknown", "not-done"]


class Operation(msgspec.Struct, frozen=True, kw_only=True):
    """One operation on the topic `name`.

    Attributes:
        called: the time of the request; returned: the time of the response; in ns of one monotonic clock.
        topic_id: as text, if the response has one.
        offset: the end of the image behind the response; -1 without a response.
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
    """Yield the operations of a finished history, in the order in which they ended."""
    with path.open("rb") as lines:
        for line in lines:
            yield _LINE.decode(line)


class Progress:
    """The number of acknowledged writes so far, from histories that are being written."""

    def __init__(self, *paths: Path) -> None:
        self._files = [_Growing(path) for path in paths]
        self.acknowledged = 0

    def look(self) -> int:
        """Return the present number."""
        for file in self._files:
            operations = map(_LINE.decode, file.new_lines())
            self.acknowledged += sum(each.outcome == OK and each.kind in (CREATE, DELETE) for each in operations)
        return self.acknowledged


class _Growing:
    """A file that other processes write."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._position = 0
        self._rest = b""

    def new_lines(self) -> list[bytes]:
        """Return the new complete lines."""
        if not self._path.exists():
            return []
        with self._path.open("rb") as lines:
            lines.seek(self._position)
            new = lines.read()
        self._position += len(new)
        *whole, self._rest = (self._rest + new).split(b"\n")
        return whole
