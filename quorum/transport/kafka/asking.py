"""Outgoing requests in Kafka's protocol: the API and version of each request, and its bytes.

Decides: the newest version that both sides support, and which requests that version cannot express. Must not know:
connections, or which node gets the request. ApiVersions names no cluster and no node, as between Kafka's controllers.
Fetch and elections carry both themselves.

Sources: KIP-35 (ApiVersions), KIP-511 (its first request may have too new a version), KIP-1242; the versions of Kafka
4.4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final, Protocol

import msgspec

from quorum.api.calls import PeerRequest, PeerResponse, RegistrationAnswer
from quorum.api.controllers import RegisterController
from quorum.api.error_codes import Error
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    VoteRequest,
)
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    ApiVersionsRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
)
from quorum.transport.grpc.convert.common import error_from
from quorum.transport.kafka import elections, fetch_asking, voters
from quorum.transport.kafka.fetch_answer import read_fetch_answer
from quorum.transport.kafka.fetch_request_frame import fetch_request_body
from quorum.transport.kafka.reader import BadFrame
from quorum.transport.kafka.wire import API_VERSIONS, Fields, Questions, questions_of

CLIENT_ID: Final = "kraft"
_SOFTWARE: Final[Fields] = {"client_software_name": "kraft", "client_software_version": "1"}
_NEWEST_VERSIONS: Final = 5
_FEATURES_FROM: Final = 3
"""The first version of ApiVersions whose response has features."""
_UNSUPPORTED: Final = Error.UNSUPPORTED_VERSION.value
_ADVICE: Final = {
    Error.REBOOTSTRAP_REQUIRED: ": another node, or one of another cluster, listens there; check the listeners of the "
    "controllers",
}
"""The remedy for an error in a response to ApiVersions."""

Offered = Mapping[int, tuple[int, int]]
"""The first and last version of each API that the peer supports, by key."""


class NotSpokenError(Exception):
    """The peer does not support the request; the text names the API and the versions."""


class Asked(Protocol):
    """A request in the version for one peer."""

    @property
    def questions(self) -> Questions:
        """The API's requests and responses in that version."""

    def frame(self, correlation_id: int, client_id: str = CLIENT_ID) -> bytes:
        """Return the whole frame."""

    def read(self, data: bytes) -> PeerResponse | RegistrationAnswer:
        """Return the response in a frame; `data` is the frame without its length.

        Raises:
            BadFrame: it is not a response to this request.
        """


class _AskedByEntity(msgspec.Struct, frozen=True, kw_only=True):
    """A request that is written and read with kio's entities."""

    questions: Questions
    entity: Any
    answer: Callable[[Any], PeerResponse | RegistrationAnswer]
    """Converts kio's entity of the response; raises BadFrame."""

    def frame(self, correlation_id: int, client_id: str = CLIENT_ID) -> bytes:
        """See `Asked`."""
        return self.questions.frame(correlation_id, client_id, self.entity)

    def read(self, data: bytes) -> PeerResponse | RegistrationAnswer:
        """See `Asked`."""
        return self.answer(self.questions.read(data))


class _AskedFetch(msgspec.Struct, frozen=True, kw_only=True):
    """A Fetch, which is written and read without kio."""

    questions: Questions
    request: FetchRequest
    cluster_id: str | None

    def frame(self, correlation_id: int, client_id: str = CLIENT_ID) -> bytes:
        """See `Asked`."""
        body = fetch_request_body(self.questions.version, self.request, self.cluster_id)
        return self.questions.frame_around(correlation_id, client_id, body)

    def read(self, data: bytes) -> PeerResponse | RegistrationAnswer:
        """See `Asked`."""
        return read_fetch_answer(self.questions, data)


_Ask = Callable[[Questions, Any, str | None, int], Asked]
"""Takes the request, the cluster id, and the response timeout in ms."""


class _Api(msgspec.Struct, frozen=True):
    name: str
    key: int
    versions: tuple[int, int]
    """The first and last version that this software supports."""
    ask: _Ask
    least: Callable[[Any], int] = lambda request: 0
    """Returns the first version that can express the given request."""


def _by_entity(
    fields: Callable[[Questions, Any], Fields], answer: Callable[[Any], PeerResponse | RegistrationAnswer]
) -> _Ask:
    """Return an `_Ask`. `fields` returns the entity's fields except for cluster id and timeout."""

    def ask(questions: Questions, request: Any, cluster_id: str | None, timeout_ms: int) -> Asked:
        timeout = timedelta(milliseconds=timeout_ms)
        entity = questions.request(cluster_id=cluster_id, timeout=timeout, **fields(questions, request))
        return _AskedByEntity(questions=questions, entity=entity, answer=answer)

    return ask


def _ask_fetch(questions: Questions, request: FetchRequest, cluster_id: str | None, timeout_ms: int) -> Asked:
    return _AskedFetch(questions=questions, request=request, cluster_id=cluster_id)


def _ask_versions(questions: Questions, request: ApiVersionsRequest, cluster_id: str | None, timeout_ms: int) -> Asked:
    """Return ApiVersions without ids: a cluster id without a node id is rejected."""
    return _AskedByEntity(questions=questions, entity=questions.request(**_SOFTWARE), answer=voters.versions_from)


def _elects(
    name: str, key: int, last: int, kind: type[elections.ElectionRequest], fields: Callable[..., Fields]
) -> _Api:
    return _Api(
        name,
        key,
        (0, last),
        _by_entity(fields, lambda body: elections.election_response_from(kind, body)),
        least=lambda request: elections.PRE_VOTE_FROM if getattr(request, "pre_vote", False) else 0,
    )


def _least_to_add(request: AddRaftVoterRequest) -> int:
    return 0 if request.ack_when_committed else voters.ACK_WHEN_APPENDED_FROM


_APIS: Final[dict[type[Any], _Api]] = {
    VoteRequest: _elects("vote", 52, 2, VoteRequest, elections.vote_fields),
    BeginQuorumEpochRequest: _elects("begin_quorum_epoch", 53, 1, BeginQuorumEpochRequest, elections.begin_fields),
    EndQuorumEpochRequest: _elects("end_quorum_epoch", 54, 1, EndQuorumEpochRequest, elections.end_fields),
    FetchRequest: _Api("fetch", 1, (16, 18), _ask_fetch),
    FetchSnapshotRequest: _Api(
        "fetch_snapshot", 59, (0, 1), _by_entity(fetch_asking.snapshot_fields, fetch_asking.snapshot_response_from)
    ),
    RegisterController: _Api(
        "controller_registration", 70, (0, 0), _by_entity(voters.registration_fields, voters.registered_from)
    ),
    AddRaftVoterRequest: _Api(
        "add_raft_voter", 80, (0, 1), _by_entity(voters.add_fields, voters.added_from), _least_to_add
    ),
    RemoveRaftVoterRequest: _Api(
        "remove_raft_voter", 81, (0, 0), _by_entity(voters.remove_fields, voters.removed_from)
    ),
    UpdateRaftVoterRequest: _Api(
        "update_raft_voter", 82, (0, 0), _by_entity(voters.update_fields, voters.updated_from)
    ),
    ApiVersionsRequest: _Api("api_versions", API_VERSIONS, (_FEATURES_FROM, _NEWEST_VERSIONS), _ask_versions),
}


def asked(
    request: PeerRequest | RegisterController, offered: Offered, *, cluster_id: str | None, timeout_ms: int
) -> Asked:
    """Return the request in the newest version that both sides support.

    Raises:
        NotSpokenError: no version is common, or the common ones cannot express this request.
    """
    api = _APIS[type(request)]
    first, last = offered.get(api.key, (0, -1))
    least, newest = max(api.versions[0], api.least(request)), api.versions[1]
    version = min(last, newest)
    if version < max(first, least):
        known = f"versions {first} to {last}" if last >= first else "nothing"
        advice = "other controllers in this quorum must be of Kafka 4.0 or newer"
        if first > newest:
            advice = "it is of a later release: use a version of this software that knows that release"
        raise NotSpokenError(
            f"it knows {known} of {api.name} ({api.key}); version {least} to {newest} is needed: {advice}"
        )
    return api.ask(questions_of(api.name, api.key, version), request, cluster_id, timeout_ms)


def first_question(version: int = _NEWEST_VERSIONS) -> Questions:
    """Return the requests of ApiVersions, with which a connection begins."""
    return questions_of("api_versions", API_VERSIONS, version)


def first_frame(questions: Questions, correlation_id: int) -> bytes:
    """Return the frame of the first ApiVersions request."""
    return questions.frame(correlation_id, CLIENT_ID, questions.request(**_SOFTWARE))


def offered_in(questions: Questions, data: bytes) -> Offered | Questions:
    """Return the versions in the response, or the request to send next if the peer does not support that version
    (KIP-511).

    Raises:
        BadFrame: it is not a response to that request.
    """
    is_refused = int.from_bytes(data[4:6], "big", signed=True) == _UNSUPPORTED
    body = (first_question(0) if is_refused else questions).read(data)
    found = {each.api_key: (each.min_version, each.max_version) for each in body.api_keys}
    if not is_refused:
        if body.error_code:
            error = error_from(body.error_code)
            raise BadFrame(f"ApiVersions ends with {error.name} ({body.error_code}){_ADVICE.get(error, '')}")
        return found
    first, last = found.get(API_VERSIONS, (0, 0))
    again = min(last, questions.version - 1)
    if again < first:
        raise BadFrame(
            f"it knows no version of ApiVersions ({API_VERSIONS}) that is known here: it answers {first} to {last}, "
            f"and 0 to {_NEWEST_VERSIONS} are known. Use a version of this software that knows its release"
        )
    return first_question(again)
