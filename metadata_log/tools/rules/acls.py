"""Rules for access control entries: valid values, and no id or entry twice.

Decides: which codes are valid, and which ids and entries are taken. Must not know: how records are replayed, and their
positions.

Source: Kafka's AclControlManager gives each entry an unused random id, and never adds an entry that exists under
another id. At a used id or a repeated entry, the authorizer of every broker and controller stops, and keeps its former
entries (AclCache.addAcl). A controller rejects codes that only filters use (ANY, MATCH) and codes that Kafka does not
have (validateNewAcl). Replay takes the latter as UNKNOWN.
"""

from __future__ import annotations

from typing import Final

import msgspec

from metadata_log.acl_codes import ALLOW, DENY, LITERAL, PREFIXED, UNKNOWN, Operation, ResourceType
from metadata_log.acl_hosts import why_no_host
from metadata_log.ids import Uuid, id_text
from metadata_log.image import AclEntry, AclsImage
from metadata_log.image.access_builder import entry_of
from metadata_log.records import AccessControlEntryRecord, RemoveAccessControlEntryRecord
from metadata_log.tools.rules.values import KindAndFault

_NULL_ID = Uuid(bytes(16))

_LAST_OPERATION: Final = max(Operation)
_LAST_RESOURCE_TYPE: Final = max(ResourceType)


def entry_fault(
    record: AccessControlEntryRecord, *, may_be_unknown: bool, has_checked_host: bool = False
) -> str | None:
    """Return the fault in an entry's values, or None.

    Args:
        may_be_unknown: the entry may come from ZooKeeper, which checked less than controllers do. Its codes are
            Kafka's, too.
        has_checked_host: a controller of 4.4 or later added it, at a metadata.version with ranges (KIP-1276).
    """
    codes = (
        ("resource type", record.resource_type, ResourceType.TOPIC, _LAST_RESOURCE_TYPE),
        ("pattern type", record.pattern_type, LITERAL, PREFIXED),
        ("operation", record.operation, Operation.ALL, _LAST_OPERATION),
        ("permission", record.permission_type, DENY, ALLOW),
    )
    for what, code, first, last in codes:
        if not (UNKNOWN if may_be_unknown else first) <= code <= last:
            return (
                f"an entry of {what} {code}, where entries have {first} to {last}: no node takes it for such an entry"
            )
    if may_be_unknown:
        return None
    if ":" not in record.principal:
        return f"an entry of principal {record.principal!r}, which has no colon behind its type: authorizers fail at it"
    if not record.resource_name:
        return "an entry of a resource without a name"
    # Kafka accepts a zone by name if its machine has such an interface.
    host = why_no_host(record.host) if has_checked_host and "%" not in record.host else None
    return None if host is None else f"an entry of host {record.host!r}, which controllers refuse: {host}"


class _Known(msgspec.Struct):
    """All entries by id, and the latest id of each entry, at some record."""

    by_id: dict[Uuid, AclEntry]
    ids: dict[AclEntry, Uuid]

    def copy(self) -> _Known:
        return _Known(by_id=dict(self.by_id), ids=dict(self.ids))


class AclRules:
    """Checks the entries of one log or one checkpoint, in order. The entries before them are indexed at the first
    use."""

    def __init__(self) -> None:
        self._begins_with = AclsImage()
        self._known: _Known | None = None
        self._before: _Known | None = None

    def start(self, acls: AclsImage) -> None:
        """Continue from these entries."""
        self._begins_with = acls
        self._known = self._before = None

    def begin(self) -> None:
        """Begin a metadata transaction."""
        self._before = None if self._known is None else self._known.copy()

    def abort(self) -> None:
        """Discard all changes since `begin`."""
        self._known, self._before = self._before, None

    def on_entry(self, record: AccessControlEntryRecord) -> KindAndFault | None:
        """Add an entry, and return its fault, or None."""
        entry, known = entry_of(record), self._all()
        is_used, other = record.id in known.by_id, known.ids.get(entry)
        known.by_id[record.id] = entry
        known.ids[entry] = record.id
        if record.id == _NULL_ID:
            return "acl_id_null", "an entry is given the null id"
        if is_used:
            return "acl_id_reused", f"an entry is given the id {id_text(record.id)}, which one has already"
        if other is not None:
            return "acl_repeated", f"the entry of id {id_text(other)} is added again as {id_text(record.id)}"
        return None

    def on_removal(self, record: RemoveAccessControlEntryRecord) -> None:
        """Remove an entry."""
        known = self._all()
        entry = known.by_id.pop(record.id, None)
        if entry is not None and known.ids.get(entry) == record.id:
            del known.ids[entry]

    def _all(self) -> _Known:
        if self._known is None:
            by_id = dict(self._begins_with.by_id.items())
            self._known = _Known(by_id=by_id, ids={entry: acl_id for acl_id, entry in by_id.items()})
        return self._known
