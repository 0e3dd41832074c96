"""The parsing of configuration values.

Every function raises `ConfigError` (a ValueError) with the fault of the text and the right form; the caller adds the
key. Must not know: keys.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from typing import Final

from metadata_log.ids import NodeId, ReplicaKey
from metadata_log.java_text import BLANKS, java_int
from metadata_log.voters import LARGEST_PORT, Endpoint, InvalidVoterError, Voter, VoterSet

_LISTENER: Final = re.compile(
    r"(?P<name>[A-Za-z][A-Za-z0-9_.-]*)://(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:/\[\]\s]*):(?P<port>\d{1,10})", re.ASCII
)
_HOST_PORT: Final = re.compile(r"(?P<host>\[[0-9A-Fa-f:.%]+\]|[^:/\[\]\s]+):(?P<port>\d{1,10})", re.ASCII)
SUPPORTED_PROTOCOL: Final = "PLAINTEXT"
PROTOCOLS: Final = (SUPPORTED_PROTOCOL, "SSL", "SASL_PLAINTEXT", "SASL_SSL")
STANDARD_AUTHORIZER: Final = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


_IS_WRONG: Final = "its value is wrong"


class ConfigError(ValueError):
    """A configuration is wrong; the message names the key, the value and the remedy.

    Attributes:
        hidden: the message without any part of the value, for a value that messages hide.
    """

    def __init__(self, message: str, *, hidden: str = _IS_WRONG) -> None:
        super().__init__(message)
        self.hidden = hidden


def hidden_text(error: ValueError) -> str:
    """Return the text of an error without any part of the value."""
    return error.hidden if isinstance(error, ConfigError) else _IS_WRONG


def _wrong(why: str, *, part: str = "") -> ConfigError:
    """Return the error of a value, or of `part` of it."""
    return ConfigError(f"{part} {why}", hidden=f"a part of it {why}") if part else ConfigError(why, hidden=why)


def optional_integer(least: int, most: int) -> Callable[[str], int | None]:
    """Return a parser of a whole number within bounds, both inclusive, or of an empty text."""
    parse = integer(least, most)
    return lambda value: parse(value) if value.strip() else None


def text(value: str) -> str:
    """Return the text without the white space around it."""
    return value.strip()


def path(value: str) -> str:
    """Return a directory, or an empty text."""
    found = value.strip()
    try:
        os.fsencode(found)
    except UnicodeEncodeError as error:
        raise _wrong("is no path: half a surrogate pair is no character", part=repr(found)) from error
    if "\0" in found:
        raise _wrong("is no path: remove the character NUL", part=repr(found))
    return found


def integer(least: int, most: int) -> Callable[[str], int]:
    """Return a parser of a whole number within bounds, both inclusive."""

    def parse(value: str) -> int:
        number = java_int(value.strip(BLANKS), 64)
        if number is None:
            raise _wrong(f"it is not a whole number: write one from {least} to {most}")
        if not least <= number <= most:
            raise _wrong(f"it is out of bounds: write a number from {least} to {most}")
        return number

    return parse


def boolean(value: str) -> bool:
    """Return the value of `true` or `false`."""
    known = {"true": True, "false": False}
    if value.strip().lower() not in known:
        raise _wrong("write true or false")
    return known[value.strip().lower()]


def name_list(value: str) -> tuple[str, ...]:
    """Return the names between commas; a repeated name is an error."""
    return _without_repeats(tuple(part.strip() for part in value.split(",") if part.strip()))


def path_list(value: str) -> tuple[str, ...]:
    """Return the directories between commas. A repeated one is an error, with or without a closing slash."""
    paths = tuple(path(part).rstrip("/") or "/" for part in value.split(",") if part.strip())
    if not paths:
        raise _wrong("name at least one directory")
    return _without_repeats(paths)


def optional_paths(value: str) -> tuple[str, ...]:
    """Return the directories between commas, or nothing for an empty text; a repeated one is an error."""
    return path_list(value) if value else ()


def listener_list(value: str) -> tuple[Endpoint, ...]:
    """Return each `NAME://host:port` between commas. An empty host binds every interface; a repeated name or port is
    an error."""
    found = tuple(_listener(part.strip()) for part in value.split(",") if part.strip())
    _without_repeats(tuple(endpoint.name for endpoint in found))
    ports = [endpoint.port for endpoint in found if endpoint.port]
    for port in ports:
        if ports.count(port) > 1 and len({e.host for e in found if e.port == port}) == 1:
            raise ConfigError(
                f"two listeners have port {port}: give each its own",
                hidden="two listeners have one port",
            )
    return found


def one_listener(value: str) -> Endpoint | None:
    """Return one `HTTP://host:port`, or None."""
    found = listener_list(value)
    if len(found) > 1:
        raise _wrong("name one address, HTTP://host:port")
    return found[0] if found else None


def host_port_list(value: str) -> tuple[Endpoint, ...]:
    """Return each `host:port` between commas, an IPv6 host in brackets. The endpoints have no name."""
    found = []
    for part in (part.strip() for part in value.split(",")):
        if not part:
            continue
        match = _HOST_PORT.fullmatch(part)
        if match is None:
            raise _wrong("is not an address: write host:port (an IPv6 host in brackets)", part=repr(part))
        found.append(Endpoint(name="", host=match["host"].strip("[]"), port=_port(match["port"], least=1)))
    return tuple(found)


def voter_list(value: str) -> VoterSet:
    """Return each `id@host:port` between commas: static voters, without directory ids and names of endpoints."""
    found = []
    for part in (part.strip() for part in value.split(",")):
        if not part:
            continue
        number, separator, where = part.partition("@")
        if not separator or not number.isascii() or not number.isdigit() or not _HOST_PORT.fullmatch(where):
            raise _wrong("is no voter: write id@host:port (an IPv6 host in brackets)", part=repr(part))
        found.append(Voter(key=ReplicaKey(node_id=NodeId(int(number))), endpoints=host_port_list(where)))
    try:
        return VoterSet.of(found)
    except InvalidVoterError as error:
        raise ConfigError(str(error), hidden="the voters contradict each other") from error


def protocol_map(value: str) -> dict[str, str]:
    """Return each `LISTENER:PROTOCOL` between commas, of Kafka's four protocols. Listeners of other nodes are
    allowed."""
    found: dict[str, str] = {}
    for part in (part.strip() for part in value.split(",")):
        if not part:
            continue
        name, separator, protocol = part.partition(":")
        if not separator or not name:
            raise _wrong("is not LISTENER:PROTOCOL", part=repr(part))
        if protocol not in PROTOCOLS:
            raise _wrong(f"is not a protocol: known are {', '.join(PROTOCOLS)}", part=f"{protocol!r} for {name}")
        if name in found:
            raise _wrong("stands twice", part=name)
        found[name] = protocol
    return found


def _listener(part: str) -> Endpoint:
    match = _LISTENER.fullmatch(part)
    if match is None:
        raise _wrong("is not a listener: write NAME://host:port (an IPv6 host in brackets)", part=repr(part))
    return Endpoint(name=match["name"], host=match["host"].strip("[]"), port=_port(match["port"], least=0))


def _port(digits: str, *, least: int) -> int:
    port = int(digits)
    if not least <= port <= LARGEST_PORT:
        raise _wrong(f"is not a port: write a number from {least} to {LARGEST_PORT}", part=digits)
    return port


def _without_repeats(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise _wrong("stands twice", part=name)
    return names


def principal_set(value: str) -> frozenset[str]:
    """Return the principals, each `User:name`, between semicolons (`super.users`)."""
    principals = frozenset(part.strip() for part in value.split(";") if part.strip())
    for principal in sorted(principals):
        kind, colon, name = principal.partition(":")
        if not (kind and colon and name):
            raise _wrong("is no principal: write Type:name, as User:alice, and ; between several", part=repr(principal))
    return principals


def authorizer_class(value: str) -> str:
    """Return the authorizer's class, of which one is supported, or an empty text for no authorizer."""
    if value not in ("", STANDARD_AUTHORIZER):
        raise _wrong(f"only {STANDARD_AUTHORIZER} is supported, or none")
    return value
