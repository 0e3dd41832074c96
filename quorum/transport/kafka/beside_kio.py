"""Requests and responses that kio 0.6.5 lacks, declared in kio's form.

When a newer kio has one of them, remove its entities and its row in `DECLARED`: `wire` then finds kio's. The tests
compare their bytes with those of Kafka's own classes.

Source: ApiVersionsRequest.json (KIP-1242) and UnregisterControllerRequest.json (KIP-1312) of Kafka 4.4, with the
responses.
"""

# No `from __future__ import annotations`: the reader and the writers evaluate the types of the fields themselves.
from dataclasses import dataclass, field
from typing import ClassVar, Final

from kio.schema.api_versions.v4 import request as api_versions_request
from kio.schema.api_versions.v4 import response as api_versions_response
from kio.schema.api_versions.v4.response import ApiVersion, FinalizedFeatureKey, SupportedFeatureKey
from kio.schema.errors import ErrorCode
from kio.schema.request_header.v2.header import RequestHeader
from kio.schema.response_header.v1.header import ResponseHeader
from kio.static.constants import EntityType
from kio.static.primitive import i16, i32, i32Timedelta

__all__ = ["ApiVersion", "FinalizedFeatureKey", "SupportedFeatureKey"]

DECLARED: Final = frozenset({("api_versions", 5), ("unregister_controller", 0)})
"""API and version of the messages in this module."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsRequest(api_versions_request.ApiVersionsRequest):
    """ApiVersions v5. A client sends both `cluster_id` and `node_id`, or neither."""

    __version__: ClassVar[i16] = i16(5)
    cluster_id: str | None = field(metadata={"kafka_type": "string"}, default=None)
    """Id of the cluster that the client expects, or None."""
    node_id: i32 = field(metadata={"kafka_type": "int32"}, default=i32(-1))
    """Id of the node that the client expects, or -1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ApiVersionsResponse(api_versions_response.ApiVersionsResponse):
    """The response to ApiVersions v5, with the fields of v4."""

    __version__: ClassVar[i16] = i16(5)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterControllerRequest:
    """UnregisterController v0."""

    __type__: ClassVar = EntityType.request
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(94)
    __header_schema__: ClassVar[type[RequestHeader]] = RequestHeader
    controller_id: i32 = field(metadata={"kafka_type": "int32"})
    """Id of the controller to unregister."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnregisterControllerResponse:
    """The response to UnregisterController v0."""

    __type__: ClassVar = EntityType.response
    __version__: ClassVar[i16] = i16(0)
    __flexible__: ClassVar[bool] = True
    __api_key__: ClassVar[i16] = i16(94)
    __header_schema__: ClassVar[type[ResponseHeader]] = ResponseHeader
    throttle_time: i32Timedelta = field(metadata={"kafka_type": "timedelta_i32"})
    """Time for which the client is to send no request."""
    error_code: ErrorCode = field(metadata={"kafka_type": "error_code"})
    """0: no error."""
    error_message: str | None = field(metadata={"kafka_type": "string"})
    """Reason for the error, or None."""
