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
from quorum.node.config.known_keys import is_known
from quorum.node.config.pem import without_pem
from quorum.node.config.providers import resolved
from quorum.node.config.shown import Shown, shown_value

_ENCODING: Final = "latin-1"
"""The encoding of `Properties.load(InputStream)`; other characters are written as `\\uXXXX`."""
_BYTE_ORDER_MARKS: Final = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
"""The marks of UTF-8 and UTF-16."""


class PropertiesError(ValueError):
    """A file cannot be read as properties."""


class Properties(msgspec.Struct, frozen=True, kw_only=True):
    """The keys of a file in its order, with their values, and the errors and warnings about them."""

    values: Mapping[str, str]
    """The values, resolved and without blanks at either end."""
    written: Mapping[str, str] = {}
    """The original text of each value in which a reference was resolved."""
    errors: Mapping[str, str] = {}
    """By key: the reason why a reference in its value was not resolved, or why its provider is not usable."""
    broken: Mapping[str, str] = {}
    """By key: the reason why the file has only the beginning of its value. Lines before all keys have the empty key."""
    warnings: tuple[str, ...] = ()

    @property
    def shown(self) -> Shown:
        """The values in the form that messages may show."""
        return Shown(self.values, self.written)


def read_properties(path: str | Path) -> Properties:
    """Read the file of a node, of this software or of Kafka.

    Raises:
        PropertiesError: it has a broken escape; the error names the file and the line.
        OSError: it cannot be read.
    """
    data = Path(path).read_bytes()
    warnings = tuple(_encoding_warnings(data))
    try:
        found = parse_properties(data.decode(_ENCODING), source=str(path))
    except PropertiesError as error:
        raise PropertiesError("\n  ".join([str(error), *map(as_warning, warnings)])) from error
    return msgspec.structs.replace(found, warnings=(*warnings, *found.warnings))


def as_warning(text: str) -> str:
    """Return the line of a warning that accompanies errors."""
    return f"warning: {text}"


def parse_properties(text: str, *, source: str = "configuration") -> Properties:
    """Return the properties of a decoded text; raises as `read_properties` does."""
    try:
        lines, broken = without_pem(properties_in(text), is_known)
    except MalformedEscapeError as error:
        raise PropertiesError(f"{source}, {error}") from error
    written = {line.key: line.value for line in lines}
    found = resolved(written)
    return Properties(
        values={key: value.strip(BLANKS) for key, value in found.values.items()},
        written={key: value.strip(BLANKS) for key, value in written.items() if value != found.values[key]},
        errors={key: f"{key}={shown_value(key, written[key])}: {why}" for key, why in found.errors.items()},
        broken=broken,
        warnings=(*_repeats(lines), *found.warnings),
    )


def _repeats(lines: Iterable[Property]) -> Iterator[str]:
    seen_at: dict[str, int] = {}
    for line in lines:
        if line.key in seen_at:
            yield f"line {line.line}: {line.key} replaces the value of line {seen_at[line.key]}: remove one of the two"
        seen_at[line.key] = line.line


def _encoding_warnings(data: bytes) -> Iterator[str]:
    if data.startswith(_BYTE_ORDER_MARKS):
        yield (
            "line 1: the file begins with a byte order mark, which Java reads as part of the first key: save the file "
            "as ASCII text"
        )
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
