"""Hosts of access control entries and addresses of clients, with the verdict of Kafka 4.4.0 on each pair."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

_FIXTURE: Final = Path(__file__).parents[1] / "fixtures" / "acl-hosts" / "kafka-4.4.0.jsonl.gz"


class HostCase(msgspec.Struct, frozen=True, kw_only=True):
    """One pair of an entry's host and a client's address.

    Attributes:
        refused: the exception with which the controller refuses an entry of this host, at 4.4-IV1 and later.
        refused_below: the same below 4.4-IV1.
        matches: the authorizer takes an entry of this host for one about the client.
    """

    host: str
    client: str
    refused: str | None
    refused_below: str | None
    matches: bool


def parse_cases(lines: bytes) -> list[HostCase]:
    """Return the pairs of lines of JSON."""
    return [msgspec.json.decode(line, type=HostCase) for line in lines.splitlines()]


def stored_cases() -> list[HostCase]:
    """Return the pairs of the fixture."""
    return parse_cases(gzip.decompress(_FIXTURE.read_bytes()))


def as_input(pairs: Sequence[tuple[str, str]]) -> bytes:
    """Return the standard input with which `AclHosts.java` judges pairs of host and client."""
    return "".join(f"{host}\t{client}\n" for host, client in pairs).encode()
