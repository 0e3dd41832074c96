"""How the value of a configuration key is read from its text.

Decides: the forms. Every function raises `ConfigError` (a ValueError) saying what is wrong with the text and how it is
written; the caller names the key. Must not know: keys.
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


class ConfigError(ValueError):
    """A configuration is wrong; the message names the key, the value and what to do."""


def optional_integer(least: int, most: int) -> Callable[[str], int | None]:
    """A whole number within bounds, both inclusive, or nothing."""
    parse = integer(least, most)
    return lambda value: parse(value) if value.strip() else None


def text(value: str) -> str:
    """Any text, without the white space around it."""
    return value.strip()


def path(value: str) -> str:
    """A directory, or nothing."""
    found = value.strip()
    try:
        os.fsencode(found)
    except UnicodeEncodeError as error:
        raise ConfigError(f"{found!r} is no path: half a surrogate pair is no character") from error
    if "\0" in found:
        raise ConfigError(f"{found!r} is no path: remove the character NUL")
    return found


def integer(least: int, most: int) -> Callable[[str], int]:
    """A whole number within bounds, both inclusive."""

    def parse(value: str) -> int:
        number = java_int(value.strip(BLANKS), 64)
        if number is None:
            raise ConfigError(f"it is not a whole number: write one from {least} to {most}")
        if not least <= number <= most:
            raise ConfigError(f"it is out of bounds: write a number from {least} to {most}")
        return number

    return parse


def boolean(value: str) -> bool:
    """`true` or `false`."""
    known = {"true": True, "false": False}
    if value.strip().lower() not in known:
        raise ConfigError("write true or false")
    return known[value.strip().lower()]


def name_list(value: str) -> tuple[str, ...]:
    """Names between commas; none stands twice."""
    return _without_repeats(tuple(part.strip() for part in value.split(",") if part.strip()))


def path_list(value: str) -> tuple[str, ...]:
    """Directories between commas; none stands twice, with or without a closing slash."""
    paths = tuple(path(part).rstrip("/") or "/" for part in value.split(",") if part.strip())
    if not paths:
        raise ConfigError("name at least one directory")
    return _without_repeats(paths)


def optional_paths(value: str) -> tuple[str, ...]:
    """Return directories between commas, or none of an empty text; none stands twice."""
    return path_list(value) if value else ()


def listener_list(value: str) -> tuple[Endpoint, ...]:
    """`NAME://host:port` between commas; an empty host binds every interface; no name or port stands twice."""
    found = tuple(_listener(part.strip()) for part in value.split(",") if part.strip())
    _without_repeats(tuple(endpoint.name for endpoint in found))
    ports = [endpoint.port for endpoint in found if endpoint.port]
    for port in ports:
        if ports.count(port) > 1 and len({e.host for e in found if e.port == port}) == 1:
            raise ConfigError(f"two listeners have port {port}: give each its own")
    return found


def one_listener(value: str) -> Endpoint | None:
    """One `HTTP://host:port`, or nothing."""
    found = listener_list(value)
    if len(found) > 1:
        raise ConfigError("name one address, HTTP://host:port")
    return found[0] if found else None


def host_port_list(value: str) -> tuple[Endpoint, ...]:
    """`host:port` between commas, an IPv6 host in brackets. The endpoints have no name: the protocol gives it."""
    found = []
    for part in (part.strip() for part in value.split(",")):
        if not part:
            continue
        match = _HOST_PORT.fullmatch(part)
        if match is None:
            raise ConfigError(f"{part!r} is not an address: write host:port (an IPv6 host in brackets)")
        found.append(Endpoint(name="", host=match["host"].strip("[]"), port=_port(match["port"], least=1)))
    return tuple(found)


def voter_list(value: str) -> VoterSet:
    """`id@host:port` between commas: static voters, without directory ids. The endpoints have no name, as those of
    `host_port_list`."""
    found = []
    for part in (part.strip() for part in value.split(",")):
        if not part:
            continue
        number, separator, where = part.partition("@")
        if not separator or not number.isascii() or not number.isdigit() or not _HOST_PORT.fullmatch(where):
            raise ConfigError(f"{part!r} is no voter: write id@host:port (an IPv6 host in brackets)")
        found.append(Voter(key=ReplicaKey(node_id=NodeId(int(number))), endpoints=host_port_list(where)))
    try:
        return VoterSet.of(found)
    except InvalidVoterError as error:
        raise ConfigError(str(error)) from error


def protocol_map(value: str) -> dict[str, str]:
    """`LISTENER:PROTOCOL` between commas, in Kafka's four protocols; listeners not ours may stand there too."""
    found: dict[str, str] = {}
    for part in (part.strip() for part in value.split(",")):
        if not part:
            continue
        name, separator, protocol = part.partition(":")
        if not separator or not name:
            raise ConfigError(f"{part!r} is not LISTENER:PROTOCOL")
        if protocol not in PROTOCOLS:
            raise ConfigError(f"{protocol!r} for {name} is not a protocol: known are {', '.join(PROTOCOLS)}")
        if name in found:
            raise ConfigError(f"{name} stands twice")
        found[name] = protocol
    return found


def _listener(part: str) -> Endpoint:
    match = _LISTENER.fullmatch(part)
    if match is None:
        raise ConfigError(f"{part!r} is not a listener: write NAME://host:port (an IPv6 host in brackets)")
    return Endpoint(name=match["name"], host=match["host"].strip("[]"), port=_port(match["port"], least=0))


def _port(digits: str, *, least: int) -> int:
    port = int(digits)
    if not least <= port <= LARGEST_PORT:
        raise ConfigError(f"{digits} is not a port: write a number from {least} to {LARGEST_PORT}")
    return port


def _without_repeats(names: tuple[str, ...]) -> tuple[str, ...]:
    for name in names:
        if names.count(name) > 1:
            raise ConfigError(f"{name} stands twice")
    return names


def principal_set(value: str) -> frozenset[str]:
    """Principals as `User:name`, between semicolons (`super.users`)."""
    principals = frozenset(part.strip() for part in value.split(";") if part.strip())
    for principal in sorted(principals):
        kind, colon, name = principal.partition(":")
        if not (kind and colon and name):
            raise ConfigError(f"{principal!r} is no principal: write Type:name, as User:alice, and ; between several")
    return principals


def authorizer_class(value: str) -> str:
    """The one class that stands for the rules that are known here; nothing for none."""
    if value not in ("", STANDARD_AUTHORIZER):
        raise ConfigError(f"only {STANDARD_AUTHORIZER} is supported, or none")
    return value
