"""Who may do what to what, by the access control entries of the image: the rules of Kafka's StandardAuthorizer.

Decides: a super user may do all; else one entry that denies counts for more than any that allow; where no entry is
about the resource, `allow.everyone.if.no.acl.found` decides. Must not know: how a principal was found out, and which
operation a request is.

An entry is about a resource of its type if it names it (literal), names `*` (literal), or begins it (prefixed). An
entry's host may be a range (CIDR); the finalised metadata.version decides who may add it, not who is in it. Source:
KIP-11, KIP-290, KIP-801, KIP-1276.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from typing import Final

from metadata_log.acl_codes import ALLOW, LITERAL, WILDCARD, Operation
from metadata_log.acl_hosts import HostRange, client_address, is_range, range_of
from metadata_log.ids import Uuid
from metadata_log.image import AclEntry, AclsImage, Map

WILDCARD_PRINCIPAL: Final = "User:*"
_IMPLY: Final[dict[int, frozenset[Operation]]] = {
    Operation.DESCRIBE: frozenset(
        {Operation.DESCRIBE, Operation.READ, Operation.WRITE, Operation.DELETE, Operation.ALTER}
    ),
    Operation.DESCRIBE_CONFIGS: frozenset({Operation.DESCRIBE_CONFIGS, Operation.ALTER_CONFIGS}),
}
"""Whoever is allowed one of these may do that too; whoever is denied one of them, may still."""


class AclIndex:
    """Entries by what they are about, so that few of them are looked at for one resource."""

    def __init__(self, acls: AclsImage) -> None:
        self._literal: dict[tuple[int, str], list[AclEntry]] = {}
        self._prefixed: dict[tuple[int, str], list[AclEntry]] = {}
        self._lengths: dict[int, set[int]] = {}
        self.ranges: dict[str, HostRange | None] = {}
        """By the hosts with a slash; None where one names no range."""
        for entry in acls.by_id.values():
            if is_range(entry.host):
                self.ranges[entry.host] = range_of(entry.host)
            table = self._literal if entry.pattern_type == LITERAL else self._prefixed
            table.setdefault((entry.resource_type, entry.resource_name), []).append(entry)
            if table is self._prefixed:
                self._lengths.setdefault(entry.resource_type, set()).add(len(entry.resource_name))

    def about(self, resource_type: int, name: str) -> Iterator[AclEntry]:
        """Every entry that is about the resource."""
        yield from self._literal.get((resource_type, name), ())
        if name != WILDCARD:
            yield from self._literal.get((resource_type, WILDCARD), ())
        for length in self._lengths.get(resource_type, ()):
            if length <= len(name):
                yield from self._prefixed.get((resource_type, name[:length]), ())


class Authorizer:
    """Holds the settings, and the index of the entries that it was last asked about: a pure function of its inputs."""

    def __init__(self, *, super_users: frozenset[str] = frozenset(), allow_everyone_if_no_acl: bool = False) -> None:
        """`super_users` are principals as `User:name`."""
        self._super_users = super_users
        self._allow_everyone_if_no_acl = allow_everyone_if_no_acl
        self._indexed: Map[Uuid, AclEntry] | None = None
        self._index = AclIndex(AclsImage())

    def allows(self, principal: str, host: str, operation: int, resource_type: int, name: str, acls: AclsImage) -> bool:
        """Whether `principal` at the address `host` may do `operation` to the resource."""
        if principal in self._super_users:
            return True
        if self._indexed is not acls.by_id:
            self._index, self._indexed = AclIndex(acls), acls.by_id
        is_any, is_allowed, host, ranges = False, False, _as_kafka_writes(host), self._index.ranges
        for entry in self._index.about(resource_type, name):
            is_any = True
            if entry.principal not in (principal, WILDCARD_PRINCIPAL):
                continue
            if entry.host not in (host, WILDCARD) and not (entry.host in ranges and _holds(ranges[entry.host], host)):
                continue
            if not _concerns(entry, operation):
                continue
            if entry.permission_type != ALLOW:
                return False
            is_allowed = True
        return is_allowed if is_any else self._allow_everyone_if_no_acl


def _holds(found: HostRange | None, host: str) -> bool:
    address = None if found is None else client_address(host)
    return found is not None and address is not None and found.holds(address)


def _concerns(entry: AclEntry, operation: int) -> bool:
    if entry.operation in (Operation.ALL, operation):
        return True
    return entry.permission_type == ALLOW and entry.operation in _IMPLY.get(operation, ())


def _as_kafka_writes(host: str) -> str:
    """An address of IPv6 as Java spells it, and so the entries that are about it: `0:0:0:0:0:0:0:1`. What is none is
    compared as it is."""
    if ":" not in host:
        return host
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        return host
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    scope = f"%{address.scope_id}" if address.scope_id else ""
    number = int(address)
    return ":".join(f"{number >> shift & 0xFFFF:x}" for shift in range(112, -1, -16)) + scope
