"""Control records: the records of the quorum itself in the log and in checkpoints.

They are in control batches. The key has the type, and the value begins with its version, which each class has as
`version`. Declarations are those of metadata records (`metadata_log.records.wire`).

Sources: KIP-595 (LeaderChange), KIP-630 (snapshot header and footer), KIP-853 (kraft.version and voters).
"""

from __future__ import annotations

from typing import Annotated, ClassVar

import msgspec

from metadata_log.ids import ZERO_DIRECTORY_ID, DirectoryId, NodeId
from metadata_log.records.wire import Wire


class LeaderChangeVoter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A voter in a LeaderChange. Only version 1 has its directory id, and Kafka 4.3 writes version 0."""

    voter_id: Annotated[NodeId, Wire("int32")]
    voter_directory_id: Annotated[DirectoryId, Wire("uuid", since=1)] = ZERO_DIRECTORY_ID


class LeaderChangeMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The first record of each epoch. `granting_voters` are in the order of their grants."""

    CONTROL_TYPE: ClassVar[int] = 2
    VERSIONS: ClassVar[range] = range(2)

    version: Annotated[int, Wire("int16")] = 0
    leader_id: Annotated[NodeId, Wire("int32")]
    voters: Annotated[tuple[LeaderChangeVoter, ...], Wire("[]struct")]
    granting_voters: Annotated[tuple[LeaderChangeVoter, ...], Wire("[]struct")]


class SnapshotHeaderRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The first record of a checkpoint. The timestamp, in ms, is that of the last covered record."""

    CONTROL_TYPE: ClassVar[int] = 3
    VERSIONS: ClassVar[range] = range(1)

    version: Annotated[int, Wire("int16")] = 0
    last_contained_log_timestamp: Annotated[int, Wire("int64")]


class SnapshotFooterRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The last record of a checkpoint: without it, the file is incomplete."""

    CONTROL_TYPE: ClassVar[int] = 4
    VERSIONS: ClassVar[range] = range(1)

    version: Annotated[int, Wire("int16")] = 0


class KRaftVersionRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The finalized kraft.version: 0 static voters, 1 voters in the log."""

    CONTROL_TYPE: ClassVar[int] = 5
    VERSIONS: ClassVar[range] = range(1)

    version: Annotated[int, Wire("int16")] = 0
    kraft_version: Annotated[int, Wire("int16", json="kRaftVersion")]


class VotersRecordEndpoint(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One listener of a voter."""

    name: Annotated[str, Wire("string")]
    host: Annotated[str, Wire("string")]
    port: Annotated[int, Wire("uint16")]


class KRaftVersionFeature(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The levels of kraft.version that a voter supports, both ends included."""

    min_supported_version: Annotated[int, Wire("int16")]
    max_supported_version: Annotated[int, Wire("int16")]


class VotersRecordVoter(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One voter: replica key, endpoints, supported levels of kraft.version."""

    voter_id: Annotated[NodeId, Wire("int32")]
    voter_directory_id: Annotated[DirectoryId, Wire("uuid")]
    endpoints: Annotated[tuple[VotersRecordEndpoint, ...], Wire("[]struct")]
    kraft_version_feature: Annotated[KRaftVersionFeature, Wire("struct", json="kRaftVersionFeature")]


class VotersRecord(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The whole voter set from this record on, committed or not."""

    CONTROL_TYPE: ClassVar[int] = 6
    VERSIONS: ClassVar[range] = range(1)

    version: Annotated[int, Wire("int16")] = 0
    voters: Annotated[tuple[VotersRecordVoter, ...], Wire("[]struct")]
