"""AssignReplicasToDirs and its response: a broker reports the log directories of its replicas (KIP-858)."""

from __future__ import annotations

import msgspec

from metadata_log.ids import DirectoryId, TopicId
from quorum.api.error_codes import Error
from quorum.api.request import Request


class TopicInDirectory(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Partitions of one topic."""

    topic_id: TopicId
    partitions: tuple[int, ...]


class DirectoryAssignment(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The replicas in one directory of the broker."""

    directory_id: DirectoryId
    topics: tuple[TopicInDirectory, ...]


class AssignReplicasToDirs(Request["AssignReplicasToDirsResponse"], frozen=True, kw_only=True, gc=False):
    """A broker reports in which directories its replicas are now."""

    broker_id: int
    broker_epoch: int
    directories: tuple[DirectoryAssignment, ...]

    def rejected(self, error: Error, message: str | None = None) -> AssignReplicasToDirsResponse:
        """Return the response that rejects the whole request."""
        return AssignReplicasToDirsResponse(error=error, error_message=message)


class AssignedTopic(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of each partition, by its index."""

    topic_id: TopicId
    partitions: tuple[tuple[int, Error], ...]


class AssignedDirectory(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The outcome of the replicas in one directory."""

    directory_id: DirectoryId
    topics: tuple[AssignedTopic, ...]


class AssignReplicasToDirsResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Results in the order of the request; empty if `error` is not NONE."""

    error: Error = Error.NONE
    directories: tuple[AssignedDirectory, ...] = ()
    error_message: str | None = None
