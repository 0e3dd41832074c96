"""Authorization by the access control entries of the image, with the rules of Kafka's StandardAuthorizer.

Decides: a super user is allowed everything. Otherwise one entry that denies overrides all that allow. If no entry
applies to the resource, `allow.everyone.if.no.acl.found` decides. Must not know: authentication, or which operation a
request needs.

An entry applies to a resource of its type if its name is equal or `*` (literal), or a prefix (prefixed). An entry's
host may be a CIDR range; the finalized metadata.version limits adding such an entry, not its effect. Source: KIP-11,
KIP-290, KIP-801, KIP-1276.
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
"""Operation → the operations whose permission allows it, too. Their denial does not deny it."""


class AclIndex:
    """Entries by resource, so that a check reads few of them."""

    def __init__(self, acls: AclsImage) -> None:
        self._literal: dict[tuple[int, str], list[AclEntry]] = {}
        self._prefixed: dict[tuple[int, str], list[AclEntry]] = {}
        self._lengths: dict[int, set[int]] = {}
        self.ranges: dict[str, HostRange | None] = {}
        """Host with a slash → its range, or None for an invalid one."""
        for entry in acls.by_id.values():
            if is_range(entry.host):
                self.ranges[entry.host] = range_of(entry.host)
            table = self._literal if entry.pattern_type == LITERAL else self._prefixed
            table.setdefault((entry.resource_type, entry.resource_name), []).append(entry)
            if table is self._prefixed:
                self._lengths.setdefault(entry.resource_type, set()).add(len(entry.resource_name))

    def about(self, resource_type: int, name: str) -> Iterator[AclEntry]:
        """Yield every entry that applies to the resource."""
        yield from self._literal.get((resource_type, name), ())
        if name != WILDCARD:
            yield from self._literal.get((resource_type, WILDCARD), ())
        for length in self._lengths.get(resource_type, ()):
            if length <= len(name):
                yield from self._prefixed.get((resource_type, name[:length]), ())


class Authorizer:
    """The settings, and the index of the last entries. The results depend only on the inputs."""

    def __init__(self, *, super_users: frozenset[str] = frozenset(), allow_everyone_if_no_acl: bool = False) -> None:
        """`super_users` are principals as `User:name`."""
        self._super_users = super_users
        self._allow_everyone_if_no_acl = allow_everyone_if_no_acl
        self._indexed: Map[Uuid, AclEntry] | None = None
        self._index = AclIndex(AclsImage())

    def allows(self, principal: str, host: str, operation: int, resource_type: int, name: str, acls: AclsImage) -> bool:
        """Return True if `principal` at the address `host` may do `operation` on the resource."""
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
    """Return an IPv6 address in Java's form, which entries use: `0:0:0:0:0:0:0:1`. Other text is returned unchanged."""
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
