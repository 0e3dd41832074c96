"""The hosts of access control entries: an address, `*`, or from 4.4-IV1 on a range in CIDR form (KIP-1276).

Decides: which texts name a range, and which addresses are in one, as Kafka 4.4's `CidrUtils` does. Must not know:
principals and operations.

Kafka's two parsers differ. The one for IPv4 accepts only ASCII digits, and finds 0.0.0.0 in no range. The one for IPv6
accepts what Java accepts: a sign or digits of other scripts in the prefix length, brackets, a zone's number. An
IPv4-mapped IPv6 address names no range; a client at such an address counts as its IPv4 address. A zone with the name of
a network interface is valid for Kafka if the interface exists, and never here: all controllers must agree.
"""

from __future__ import annotations

import ipaddress
import re
from functools import lru_cache
from typing import Final

import msgspec

_IPV4_RANGE = re.compile(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})/(\d{1,2})", re.ASCII)
_LENGTH = re.compile(r"[+-]?\d+")
_LEADING_ZEROS = re.compile(r"(?<![0-9a-f])0+(?=[0-9a-f])", re.IGNORECASE)
_ZONE = re.compile(r"\d+", re.ASCII)
_IPV4_BITS: Final = 32
_IPV6_BITS: Final = 128
_LARGEST_INT32: Final = (1 << 31) - 1
_KEPT: Final = 4096


class InvalidRangeError(ValueError):
    """A text does not name a range. The message is Kafka's."""


class HostRange(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The addresses `first` to `last` (inclusive), as numbers, of one version of IP."""

    version: int
    first: int
    last: int

    def holds(self, address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
        """Return True if the address is in the range."""
        return address.version == self.version and self.first <= int(address) <= self.last


def is_range(host: str) -> bool:
    """Return True if an entry's host has a slash, and so is meant as a range."""
    return "/" in host


def why_no_host(host: str) -> str | None:
    """Return Kafka 4.4's message if it rejects an entry with this host while ranges are enabled, or None."""
    if not host:
        return "Host pattern cannot be null or empty"
    if not is_range(host):
        return None
    try:
        parse_range(host)
    except InvalidRangeError as error:
        return f"Invalid CIDR notation '{host}': {error}"
    return None


@lru_cache(_KEPT)
def range_of(host: str) -> HostRange | None:
    """Return the range that an entry's host names, or None."""
    try:
        return parse_range(host)
    except InvalidRangeError:
        return None


def parse_range(host: str) -> HostRange:
    """Return the range that an entry's host names.

    Raises:
        InvalidRangeError: it names no range.
    """
    return _parse_ipv6(host) if ":" in host else _parse_ipv4(host)


@lru_cache(_KEPT)
def client_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return a client's address, or None if the text is not an address. An IPv4-mapped address becomes IPv4."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return None
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        return address.ipv4_mapped
    return address


def _parse_ipv4(host: str) -> HostRange:
    match = _IPV4_RANGE.fullmatch(host)
    if match is None:
        raise InvalidRangeError(f"Could not parse [{host}]")
    *parts, length = map(int, match.groups())
    for number, largest in (*((part, 255) for part in parts), (length, _IPV4_BITS)):
        if number > largest:
            raise InvalidRangeError(f"Value [{number}] not in range [0,{largest}]")
    first, last = _bounds(int.from_bytes(bytes(parts)), length, _IPV4_BITS)
    return HostRange(version=4, first=max(first, 1), last=last)


def _parse_ipv6(host: str) -> HostRange:
    text, slash, said = host.partition("/")
    if not slash:
        raise InvalidRangeError(f"Could not parse [{host}] - missing prefix length")
    if _LENGTH.fullmatch(said) is None or abs(int(said)) > _LARGEST_INT32:
        raise InvalidRangeError(f"Could not parse [{host}] - invalid prefix length")
    length = int(said)
    if not 0 <= length <= _IPV6_BITS:
        raise InvalidRangeError(f"Could not parse [{host}] - prefix length must be between 0 and {_IPV6_BITS}")
    address = _parse_address(text)
    if address is None:
        raise InvalidRangeError(f"Could not parse [{text}]")
    if address.ipv4_mapped is not None:
        raise InvalidRangeError(f"Could not parse [{text}] - not an IPv6 address")
    first, last = _bounds(int(address), length, _IPV6_BITS)
    return HostRange(version=6, first=first, last=last)


def _parse_address(text: str) -> ipaddress.IPv6Address | None:
    """Return an IPv6 address without its zone, from any form that Java accepts, or None."""
    inner = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    inner, percent, zone = inner.partition("%")
    if percent and _ZONE.fullmatch(zone) is None:
        return None
    try:
        return ipaddress.IPv6Address(_LEADING_ZEROS.sub("", inner))
    except ValueError:
        return None


def _bounds(address: int, length: int, bits: int) -> tuple[int, int]:
    rest = (1 << (bits - length)) - 1
    return address & ~rest, address | rest
