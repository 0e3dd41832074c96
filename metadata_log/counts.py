"""A count with its noun, and a range of offsets, in the singular or the plural.

Decides: how a noun's plural is written. Must not know: what is counted.
"""

from __future__ import annotations


def counted(number: int, noun: str) -> str:
    """Return `1 record`, `2 records`, `2 batches`, `2 directories`."""
    if number == 1:
        return f"1 {noun}"
    if noun.endswith("ch"):
        return f"{number} {noun}es"
    return f"{number} {noun[:-1]}ies" if noun.endswith("y") else f"{number} {noun}s"


def counted_are(number: int, noun: str) -> str:
    """Return `1 byte is`, `2 bytes are`."""
    return f"{counted(number, noun)} {'is' if number == 1 else 'are'}"


def counted_do(number: int, noun: str) -> str:
    """Return `1 record does`, `2 records do`."""
    return f"{counted(number, noun)} {'does' if number == 1 else 'do'}"


def offsets_are(first: int, last: int) -> str:
    """Return `offset 5 is`, `offsets 5 to 9 are`."""
    return f"offset {first} is" if first == last else f"offsets {first} to {last} are"


def lines_follow(number: int) -> str:
    """Return `1 line follows`, `2 lines follow`."""
    return "1 line follows" if number == 1 else f"{number} lines follow"
