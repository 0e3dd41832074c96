"""Checks of a config's text by type, as Kafka parses numbers, words and lists. Blanks around it are ignored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from metadata_log.java_text import BLANKS, java_int

Check = Callable[[str], bool]
_BLANKS_IN_LISTS: Final = " \t\n\v\f\r"
"""The blanks around commas, for which Kafka uses `\\s`."""


def as_number(value: str, bits: int = 64) -> int | None:
    """Return the whole number of so many bits in the text, or None."""
    return java_int(value.strip(BLANKS), bits)


def number(lowest: int | None, bits: int, highest: int | None = None) -> Check:
    """Return a check for a signed whole number of so many bits, within both bounds (inclusive)."""
    floor = -(1 << (bits - 1)) if lowest is None else lowest
    ceiling = (1 << (bits - 1)) - 1 if highest is None else highest

    def is_in_range(value: str) -> bool:
        found = as_number(value, bits)
        return found is not None and floor <= found <= ceiling

    return is_in_range


def boolean(value: str) -> bool:
    """Return True for `true` or `false` in any case."""
    return value.strip(BLANKS).lower() in {"true", "false"}


def one_of(*allowed: str) -> Check:
    """Return a check for one of these words."""
    return lambda value: value.strip(BLANKS) in allowed


def parts_of(value: str) -> list[str]:
    """Return the entries of a list."""
    text = value.strip(BLANKS)
    return [item.strip(_BLANKS_IN_LISTS) for item in text.split(",")] if text else []


def list_of(*allowed: str) -> Check:
    """Return a check for a list of these words, or of any words if none is given.

    The list may be empty, and as in Kafka it may repeat a word.
    """

    def is_list(value: str) -> bool:
        parts = parts_of(value)
        return "" not in parts and (not allowed or all(part in allowed for part in parts))

    return is_list
