"""Whether a text can be the value of a config of some type: numbers, words, lists.

Decides by the text alone, as Kafka parses it: blanks around it do not count. Must not know: which configs there are.
"""

from __future__ import annotations

from collections.abc import Callable

Check = Callable[[str], bool]


def as_number(value: str) -> int | None:
    """The whole number that the text is; None when it is none."""
    text = value.strip()
    digits = text[1:] if text[:1] in {"-", "+"} else text
    return int(text) if digits.isascii() and digits.isdecimal() and len(digits) <= 20 else None


def number(lowest: int | None, bits: int, highest: int | None = None) -> Check:
    """A signed whole number of so many bits, between the two, both included."""
    floor = -(1 << (bits - 1)) if lowest is None else lowest
    ceiling = (1 << (bits - 1)) - 1 if highest is None else highest

    def is_in_range(value: str) -> bool:
        found = as_number(value)
        return found is not None and floor <= found <= ceiling

    return is_in_range


def boolean(value: str) -> bool:
    """`true` or `false`, however they are spelt."""
    return value.strip().lower() in {"true", "false"}


def one_of(*allowed: str) -> Check:
    """One of these words."""
    return lambda value: value.strip() in allowed


def parts_of(value: str) -> list[str]:
    """The entries of a list."""
    return [item.strip() for item in value.split(",")] if value.strip() else []


def has_distinct(parts: list[str]) -> bool:
    """Whether no entry of a list is empty or stands there twice."""
    return "" not in parts and len(set(parts)) == len(parts)


def list_of(*allowed: str) -> Check:
    """A list without doubles, also an empty one, of these words; of any when none is named."""

    def is_list(value: str) -> bool:
        parts = parts_of(value)
        return has_distinct(parts) and (not allowed or all(part in allowed for part in parts))

    return is_list
