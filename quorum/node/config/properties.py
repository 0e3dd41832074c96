"""Reads Kafka's `.properties` files as Kafka does: `java.util.Properties`, then the references of `config.providers`.

Decides: the text of each key. Must not know: which keys a node uses (`node_config`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.java_properties import MalformedEscapeError, Property, properties_in
from metadata_log.java_text import BLANKS
from quorum.node.config.providers import resolved

_ENCODING: Final = "latin-1"
"""Of `Properties.load(InputStream)`; other characters are written as `\\uXXXX`."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class PropertiesError(ValueError):
    """A file cannot be read as properties."""


class Properties(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a file in its order, with their values, and what to say about them."""

    values: Mapping[str, str]
    """Resolved, without blanks at either end."""
    errors: Mapping[str, str] = {}
    """By key: why a reference in its value could not be resolved, or its provider not be configured."""
    warnings: tuple[str, ...] = ()


def read_properties(path: str | Path) -> Properties:
    """Read a file of a node, of this software or of Kafka.

    Raises:
        PropertiesError: it has a broken escape; it names the file and the line.
        OSError: it cannot be read.
    """
    data = Path(path).read_bytes()
    found = parse_properties(data.decode(_ENCODING), source=str(path))
    return msgspec.structs.replace(found, warnings=(*_encoding_warnings(data), *found.warnings))


def parse_properties(text: str, *, source: str = "configuration") -> Properties:
    """Return the properties of a text whose characters are decoded already; raises as `read_properties` does."""
    try:
        lines = list(properties_in(text))
    except MalformedEscapeError as error:
        raise PropertiesError(f"{source}, {error}") from error
    found = resolved({line.key: line.value for line in lines})
    return Properties(
        values={key: value.strip(BLANKS) for key, value in found.values.items()},
        errors=found.errors,
        warnings=(*_repeats(lines), *found.warnings),
    )


def _repeats(lines: Iterable[Property]) -> Iterator[str]:
    seen_at: dict[str, int] = {}
    for line in lines:
        if line.key in seen_at:
            yield f"line {line.line}: {line.key} replaces the value of line {seen_at[line.key]}: remove one of the two"
        seen_at[line.key] = line.line


def _encoding_warnings(data: bytes) -> Iterator[str]:
    if data.startswith(_BYTE_ORDER_MARK):
        yield "line 1: the file begins with a byte order mark, which Java takes for letters of a key: remove it"
        return
    if data.isascii():
        return
    try:
        data.decode()
    except UnicodeDecodeError:
        return
    number = next(at for at, line in enumerate(data.splitlines(), start=1) if not line.isascii())
    yield (
        f"line {number}: it has characters in UTF-8, but Java reads each byte as a character of ISO-8859-1: write "
        "\\uXXXX for them"
    )
