"""Whether a text can be the value of a config of some type: numbers, words, lists.

Decides by the text alone, as Kafka parses it: blanks around it do not count. Must not know: which configs there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from metadata_log.java_text import BLANKS, java_int

Check = Callable[[str], bool]
_BLANKS_IN_LISTS: Final = " \t\n\v\f\r"
"""Around commas, where Kafka looks for `\\s`."""


def as_number(value: str, bits: int = 64) -> int | None:
    """The whole number of so many bits that the text is; None when it is none."""
    return java_int(value.strip(BLANKS), bits)


def number(lowest: int | None, bits: int, highest: int | None = None) -> Check:
    """A signed whole number of so many bits, between the two, both included."""
    floor = -(1 << (bits - 1)) if lowest is None else lowest
    ceiling = (1 << (bits - 1)) - 1 if highest is None else highest

    def is_in_range(value: str) -> bool:
        found = as_number(value, bits)
        return found is not None and floor <= found <= ceiling

    return is_in_range


def boolean(value: str) -> bool:
    """`true` or `false`, however they are spelt."""
    return value.strip(BLANKS).lower() in {"true", "false"}


def one_of(*allowed: str) -> Check:
    """One of these words."""
    return lambda value: value.strip(BLANKS) in allowed


def parts_of(value: str) -> list[str]:
    """The entries of a list."""
    text = value.strip(BLANKS)
    return [item.strip(_BLANKS_IN_LISTS) for item in text.split(",")] if text else []


def list_of(*allowed: str) -> Check:
    """A list, also an empty one, of these words; of any when none is named. One may stand there twice, as Kafka has
    it."""

    def is_list(value: str) -> bool:
        parts = parts_of(value)
        return "" not in parts and (not allowed or all(part in allowed for part in parts))

    return is_list
