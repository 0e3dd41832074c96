"""Linearizable client history: for each topic one order of all requests fits every response and its time.

The checker never looks at the log.

A topic is a register: absent, or present with an id. A request of unknown outcome may take effect at any later time, or
never. Rejections and describes show the state, too: the controller has proven that it leads before it responds. Reads
that ask only for an offset may lag behind; `reads` judges them.

The search is Wing's and Gong's with Lowe's memory of positions already tried.
"""

from __future__ import annotations

from typing import Final

from tests.simulation.checkers.invariant_failure import InvariantFailure
from tests.simulation.clients import UNKNOWN, Operation

_NEVER: Final = 1 << 62
ABSENT: Final = "absent"
_SOME: Final = "?"
"""Present, with an id that no response gave."""
_LIMIT: Final = 200_000


class History:
    """All requests of a scenario."""

    def __init__(self) -> None:
        self.operations: list[Operation] = []

    def check(self) -> None:
        """Check the history at the end of a scenario, when no request is open."""
        by_topic: dict[str, list[Operation]] = {}
        for operation in self.operations:
            if _matters(operation):
                by_topic.setdefault(operation.topic, []).append(operation)
        for topic, operations in sorted(by_topic.items()):
            stuck = find_disorder(operations)
            if stuck is not None:
                raise InvariantFailure("history", f"no order of the requests for {topic} fits; stuck at {_text(stuck)}")


def _matters(operation: Operation) -> bool:
    is_write = operation.kind in ("create", "delete")
    if operation.returned_us is None or operation.outcome == UNKNOWN:
        return is_write
    if operation.kind == "read":
        return False
    return operation.outcome in ("NONE", "TOPIC_ALREADY_EXISTS", "UNKNOWN_TOPIC_OR_PARTITION")


def _step(operation: Operation, state: str) -> str | None:
    """Return the state after the operation, or None if its response was impossible in this state."""
    is_create, is_absent = operation.kind in ("create", "probe"), state == ABSENT
    if operation.outcome in (UNKNOWN, ""):
        after = _SOME if is_absent else state
        return after if is_create else ABSENT
    told = operation.topic_id.hex() if operation.topic_id is not None else ""
    if operation.outcome != "NONE":
        return state if is_absent is not is_create else None
    if operation.kind == "probe":
        return state if is_absent else None
    if is_create:
        return told if is_absent else None
    after = ABSENT if operation.kind == "delete" else told
    return after if state in (told, _SOME) else None


def find_disorder(operations: list[Operation]) -> Operation | None:
    """Return None if there is an order; otherwise an operation at which the longest try ended.

    Raises:
        InvariantFailure: the search takes too long to decide.
    """
    ordered = sorted(operations, key=lambda operation: operation.invoked_us)
    ends = [_NEVER if _is_open(operation) else operation.returned_us or 0 for operation in ordered]
    must = sum(1 << at for at, operation in enumerate(ordered) if not _is_open(operation))
    seen: set[tuple[int, str]] = set()
    todo = [(0, ABSENT)]
    best, stuck = -1, ordered[0]
    while todo:
        done, state = todo.pop()
        if done & must == must:
            return None
        if (done, state) in seen:
            continue
        seen.add((done, state))
        if len(seen) > _LIMIT:
            raise InvariantFailure(
                "history", f"too many orders of {len(ordered)} requests for {ordered[0].topic} to try"
            )
        tried: set[str] = set()
        for at in _next(ordered, ends, done):
            operation = ordered[at]
            after = _step(operation, state)
            if ends[at] == _NEVER:
                # It may never be done, so it is placed only where it does something; of equal ones the first is enough.
                if after == state or operation.kind in tried:
                    continue
                tried.add(operation.kind)
            if after is not None:
                todo.append((done | 1 << at, after))
            elif (count := done.bit_count()) > best:
                best, stuck = count, operation
    return stuck


def _next(ordered: list[Operation], ends: list[int], done: int) -> list[int]:
    """Return the operations that may come next: begun before any other remaining one has ended."""
    found: list[int] = []
    first_end = _NEVER
    for at in range((~done & (done + 1)).bit_length() - 1, len(ordered)):
        if ordered[at].invoked_us > first_end:
            break
        if not done >> at & 1:
            found.append(at)
            first_end = min(first_end, ends[at])
    return [at for at in found if ordered[at].invoked_us <= first_end]


def _is_open(operation: Operation) -> bool:
    return operation.returned_us is None or operation.outcome == UNKNOWN


def _text(operation: Operation) -> str:
    return (
        f"client {operation.client}'s {operation.kind} from {operation.invoked_us} to {operation.returned_us} us, told "
        f"{operation.outcome or 'nothing'}"
    )
