"""Matching of access control entries by filters, by the rules of Kafka's AclBindingFilter.

A filter with an unknown number gets its own error. Must not know: the operation on the entries.
"""

from __future__ import annotations

from bisect import bisect_right
from typing import Final

from metadata_log.acl_codes import ALLOW, ANY, DENY, LITERAL, MATCH, PREFIXED, WILDCARD, Operation, ResourceType
from metadata_log.ids import Uuid
from metadata_log.image import AclEntry, AclsImage
from quorum.api.acls import AclFilter

RESOURCE_TYPES: Final = frozenset(int(each) for each in ResourceType)
_CHARS_A_LOOK: Final = 1_000
OPERATIONS: Final = frozenset(int(each) for each in Operation)


def why_unknown(asked: AclFilter) -> str | None:
    """Return an error message for the first unknown number of the filter, or None."""
    known = (
        ("resource type", asked.resource_type, RESOURCE_TYPES),
        ("pattern type", asked.pattern_type, {MATCH, LITERAL, PREFIXED}),
        ("operation", asked.operation, OPERATIONS),
        ("permission type", asked.permission_type, {DENY, ALLOW}),
    )
    for name, number, numbers in known:
        if number != ANY and number not in numbers:
            return f"The filter has an unknown {name}: {number}"
    return None


def matching(asked: AclFilter, acls: AclsImage) -> list[tuple[AclEntry, Uuid]]:
    """Return the entries that match a valid filter, with their ids, sorted by their content."""
    return sorted((entry, acl_id) for acl_id, entry in acls.by_id.items() if is_meant(asked, entry))


class ManyFilters:
    """The entries that match each of many filters.

    Only a filter without a resource name searches all entries: its cost is filters times entries.
    """

    def __init__(self, acls: AclsImage) -> None:
        self._acls = acls
        self._of_name: dict[str, list[tuple[AclEntry, Uuid]]] = {}
        for acl_id, entry in acls.by_id.items():
            self._of_name.setdefault(entry.resource_name, []).append((entry, acl_id))
        self._lengths = sorted({len(entry.resource_name) for entry in acls.by_id.values() if _is_prefix(entry)})
        """The lengths of prefixed resource names."""
        self._found: dict[AclFilter, list[tuple[AclEntry, Uuid]]] = {}
        self.looks = 0
        """The number of comparisons of an entry with a filter so far."""

    def matching(self, asked: AclFilter) -> list[tuple[AclEntry, Uuid]]:
        """Return the entries that match, see `matching`; a repeated filter costs nothing."""
        found = self._found.get(asked)
        if found is None:
            found = self._found[asked] = self._look(asked)
        return found

    def _look(self, asked: AclFilter) -> list[tuple[AclEntry, Uuid]]:
        name = asked.resource_name
        if name is None:
            self.looks += len(self._acls.by_id)
            return matching(asked, self._acls)
        names = {name} if asked.pattern_type != MATCH else self._names_that_match(name)
        those = [each for one in names for each in self._of_name.get(one, ())]
        self.looks += len(those)
        return sorted(each for each in those if is_meant(asked, each[0]))

    def _names_that_match(self, name: str) -> set[str]:
        lengths = self._lengths[: bisect_right(self._lengths, len(name))]
        self.looks += len(lengths) * (1 + len(name) // _CHARS_A_LOOK)
        return {name, WILDCARD, *(name[:length] for length in lengths)}


def _is_prefix(entry: AclEntry) -> bool:
    return entry.pattern_type == PREFIXED


def is_meant(asked: AclFilter, entry: AclEntry) -> bool:
    """Return True if the entry matches the filter."""
    return (
        asked.resource_type in (ANY, entry.resource_type)
        and _is_pattern_meant(asked, entry)
        and asked.principal in (None, entry.principal)
        and asked.host in (None, entry.host)
        and asked.operation in (ANY, entry.operation)
        and asked.permission_type in (ANY, entry.permission_type)
    )


def _is_pattern_meant(asked: AclFilter, entry: AclEntry) -> bool:
    kind, name = asked.pattern_type, asked.resource_name
    if kind not in (ANY, MATCH, entry.pattern_type):
        return False
    if name is None:
        return True
    if kind != MATCH:
        return name == entry.resource_name
    if entry.pattern_type == LITERAL:
        return entry.resource_name in (name, WILDCARD)
    return name.startswith(entry.resource_name)
