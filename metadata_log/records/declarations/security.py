"""Records of access: ACLs, SCRAM credentials, delegation tokens."""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from metadata_log.ids import Uuid
from metadata_log.records.wire import Wire


class DelegationTokenRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A delegation token, new or renewed (KIP-900). Timestamps are in milliseconds."""

    API_KEY: ClassVar[int] = 10
    VERSIONS: ClassVar[range] = range(1)

    owner: Annotated[str, Wire("string")]
    requester: Annotated[str, Wire("string")]
    renewers: Annotated[tuple[str, ...], Wire("[]string")]
    issue_timestamp: Annotated[int, Wire("int64")]
    max_timestamp: Annotated[int, Wire("int64")]
    expiration_timestamp: Annotated[int, Wire("int64")]
    token_id: Annotated[str, Wire("string")]


class UserScramCredentialRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A user's SCRAM credential, new or replaced (KIP-900). `mechanism`: 1 SCRAM-SHA-256, 2 SCRAM-SHA-512."""

    API_KEY: ClassVar[int] = 11
    VERSIONS: ClassVar[range] = range(1)

    name: Annotated[str, Wire("string")]
    mechanism: Annotated[int, Wire("int8")]
    salt: Annotated[bytes, Wire("bytes")]
    stored_key: Annotated[bytes, Wire("bytes")]
    server_key: Annotated[bytes, Wire("bytes")]
    iterations: Annotated[int, Wire("int32")]


class AccessControlEntryRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One access control entry (KIP-801). The small numbers are the codes of Kafka's ACL enumerations."""

    API_KEY: ClassVar[int] = 18
    VERSIONS: ClassVar[range] = range(1)

    id: Annotated[Uuid, Wire("uuid")]
    resource_type: Annotated[int, Wire("int8")]
    resource_name: Annotated[str, Wire("string")]
    pattern_type: Annotated[int, Wire("int8")]
    principal: Annotated[str, Wire("string")]
    host: Annotated[str, Wire("string")]
    operation: Annotated[int, Wire("int8")]
    permission_type: Annotated[int, Wire("int8")]


class RemoveAccessControlEntryRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The end of the access control entry with this id (KIP-801)."""

    API_KEY: ClassVar[int] = 19
    VERSIONS: ClassVar[range] = range(1)

    id: Annotated[Uuid, Wire("uuid")]


class RemoveUserScramCredentialRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The end of a user's SCRAM credential (KIP-900)."""

    API_KEY: ClassVar[int] = 22
    VERSIONS: ClassVar[range] = range(1)

    name: Annotated[str, Wire("string")]
    mechanism: Annotated[int, Wire("int8")]


class RemoveDelegationTokenRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The end of a delegation token (KIP-900)."""

    API_KEY: ClassVar[int] = 26
    VERSIONS: ClassVar[range] = range(1)

    token_id: Annotated[str, Wire("string")]
