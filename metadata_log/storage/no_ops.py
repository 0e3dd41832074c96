"""Batches of one NoOp, which an idle leader appends twice a second (KIP-835), recognized by their bytes."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from metadata_log.format.batch import HEADER_SIZE, BatchHeader

NO_OP_RECORD: Final = b"\x14\x00\x00\x00\x01\x08\x01\x14\x00\x00\x00"
"""Length, attributes, deltas, no key, a value of 4 bytes (frame 1, type 20, version 0, no tags), no headers."""
NO_OP_BYTES: Final = HEADER_SIZE + len(NO_OP_RECORD)
"""The size of a batch of one NoOp."""


def is_no_op(buffer: bytes, at: int, header: BatchHeader) -> bool:
    """Return True if the batch at `at` has one NoOp and no other record."""
    if header.size_in_bytes != NO_OP_BYTES or header.is_control:
        return False
    return buffer[at + HEADER_SIZE : at + NO_OP_BYTES] == NO_OP_RECORD


def count_no_ops(buffer: bytes, headers: Iterable[BatchHeader]) -> int:
    """Return the number of batches of one NoOp among consecutive batches from the buffer's start."""
    count = at = 0
    for header in headers:
        count += is_no_op(buffer, at, header)
        at += header.size_in_bytes
    return count
