"""Reads Kafka's `.properties` files.

Decides: that no key repeats. Must not know: which keys there are (`node_config`).

A line means the same as to `java.util.Properties`. A key that stands twice is refused here: one of the two lines is not
what its writer believes.
"""

from __future__ import annotations

from collections.abc import Iterable

from metadata_log.java_properties import PROPERTY_BLANKS, MalformedEscapeError, Property, properties_in


class PropertiesError(ValueError):
    """A line is not what a properties file may hold."""


def parse_properties(text: str, *, source: str = "configuration") -> dict[str, str]:
    """The keys and values of a properties file, in its order.

    Raises:
        PropertiesError: a key stands twice, or a line has no key or a broken escape; it names the source and the line.
    """
    try:
        return _values(properties_in(text))
    except (MalformedEscapeError, PropertiesError) as error:
        raise PropertiesError(f"{source}, {error}") from error


def _values(properties: Iterable[Property]) -> dict[str, str]:
    found: dict[str, str] = {}
    seen_at: dict[str, int] = {}
    for line, text, key, value in properties:
        if not key:
            raise PropertiesError(f"line {line}: {text!r} has no key: write key=value")
        if key in found:
            raise PropertiesError(f"line {line}: {key} stands in line {seen_at[key]} already: keep one of the two")
        found[key] = value.rstrip(PROPERTY_BLANKS)
        seen_at[key] = line
    return found
