"""What is asked of other controllers by Kafka's protocol: which API a request is, in which version, and its bytes.

Decides: the highest version that both sides know, and what cannot be said in it. Must not know: connections, and who is
asked.

Source: KIP-35 (ApiVersions), KIP-511 (its first request may be of too new a version); the versions of Kafka 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from quorum.controller.requests import RegisterController
from quorum.errors import Error
from quorum.node.ports import ClientAnswer, PeerResponse
from quorum.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    VoteRequest,
)
from quorum.raft.voter_messages import (
    AddRaftVoterRequest,
    ApiVersionsRequest,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
)
from quorum.transport.kafka import elections, fetch_asking, voters
from quorum.transport.kafka.reader import BadFrame
from quorum.transport.kafka.wire import API_VERSIONS, Questions, questions_of

CLIENT_ID: Final = "kraft"
_SOFTWARE: Final = {"client_software_name": "kraft", "client_software_version": "1"}
_NEWEST_VERSIONS: Final = 4
_FEATURES_FROM: Final = 3
"""The first version of ApiVersions whose answer tells of features."""
_UNSUPPORTED: Final = Error.UNSUPPORTED_VERSION.value

Offered = Mapping[int, tuple[int, int]]
"""The first and the last version of each API that the other side answers, by key."""


class NotSpokenError(Exception):
    """The other side does not know what would have to be asked; the text says what."""


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """A request as it is asked of one peer."""

    questions: Questions
    entity: Any
    answer: Callable[[Any], PeerResponse | ClientAnswer]
    """Reads kio's entity of the answer; raises BadFrame."""

    def frame(self, correlation_id: int) -> bytes:
        """The whole frame."""
        return self.questions.frame(correlation_id, CLIENT_ID, self.entity)

    def read(self, data: bytes) -> PeerResponse | ClientAnswer:
        """What the frame of the answer says; `data` without its length.

        Raises:
            BadFrame: it is no answer to this.
        """
        return self.answer(self.questions.read(data))


class _Api(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    key: int
    first: int
    last: int
    entity: Callable[[Questions, Any, str | None, int], Any]
    """Of request, cluster id and timeout in ms."""
    answer: Callable[[Any], PeerResponse | ClientAnswer]
    least: Callable[[Any], int] = lambda request: 0
    """The version from which on this very request can be said."""


def _elects(name: str, key: int, last: int, kind: type[elections.ElectionRequest], entity: Callable[..., Any]) -> _Api:
    return _Api(
        name=name,
        key=key,
        first=0,
        last=last,
        entity=lambda questions, request, cluster_id, timeout_ms: entity(questions, request, cluster_id),
        answer=lambda body: elections.election_response_from(kind, body),
        least=lambda request: elections.PRE_VOTE_FROM if getattr(request, "pre_vote", False) else 0,
    )


_APIS: Final[dict[type[Any], _Api]] = {
    VoteRequest: _elects("vote", 52, 2, VoteRequest, elections.vote_entity),
    BeginQuorumEpochRequest: _elects("begin_quorum_epoch", 53, 1, BeginQuorumEpochRequest, elections.begin_entity),
    EndQuorumEpochRequest: _elects("end_quorum_epoch", 54, 1, EndQuorumEpochRequest, elections.end_entity),
    FetchRequest: _Api(
        name="fetch",
        key=1,
        first=16,
        last=18,
        entity=lambda questions, request, cluster_id, timeout_ms: fetch_asking.fetch_entity(
            questions, request, cluster_id
        ),
        answer=fetch_asking.fetch_response_from,
    ),
    FetchSnapshotRequest: _Api(
        name="fetch_snapshot",
        key=59,
        first=0,
        last=1,
        entity=lambda questions, request, cluster_id, timeout_ms: fetch_asking.snapshot_entity(
            questions, request, cluster_id
        ),
        answer=fetch_asking.snapshot_response_from,
    ),
    RegisterController: _Api(
        name="controller_registration",
        key=70,
        first=0,
        last=0,
        entity=lambda questions, request, cluster_id, timeout_ms: voters.registration_entity(questions, request),
        answer=voters.registered_from,
    ),
    AddRaftVoterRequest: _Api(
        name="add_raft_voter",
        key=80,
        first=0,
        last=1,
        entity=voters.add_entity,
        answer=voters.added_from,
        least=lambda request: 0 if request.ack_when_committed else voters.ACK_WHEN_APPENDED_FROM,
    ),
    RemoveRaftVoterRequest: _Api(
        name="remove_raft_voter",
        key=81,
        first=0,
        last=0,
        entity=lambda questions, request, cluster_id, timeout_ms: voters.remove_entity(questions, request, cluster_id),
        answer=voters.removed_from,
    ),
    UpdateRaftVoterRequest: _Api(
        name="update_raft_voter",
        key=82,
        first=0,
        last=0,
        entity=lambda questions, request, cluster_id, timeout_ms: voters.update_entity(questions, request, cluster_id),
        answer=voters.updated_from,
    ),
    ApiVersionsRequest: _Api(
        name="api_versions",
        key=API_VERSIONS,
        first=_FEATURES_FROM,
        last=_NEWEST_VERSIONS,
        entity=lambda questions, request, cluster_id, timeout_ms: questions.request(**_SOFTWARE),
        answer=voters.versions_from,
    ),
}


def asked(request: object, offered: Offered, *, cluster_id: str | None, timeout_ms: int) -> Asked:
    """The request in the newest version that both sides know.

    Raises:
        NotSpokenError: there is none, or it cannot be said in one that the other side knows.
    """
    api = _APIS[type(request)]
    first, last = offered.get(api.key, (0, -1))
    version = min(last, api.last)
    if version < max(first, api.first, api.least(request)):
        known = f"versions {first} to {last}" if last >= first else "nothing"
        raise NotSpokenError(
            f"it knows {known} of {api.name} ({api.key}); version {max(api.first, api.least(request))} to {api.last} "
            "is needed: controllers beside ours are of Kafka 4.0 or newer"
        )
    questions = questions_of(api.name, api.key, version)
    return Asked(questions=questions, entity=api.entity(questions, request, cluster_id, timeout_ms), answer=api.answer)


def first_question(version: int = _NEWEST_VERSIONS) -> Questions:
    """ApiVersions: what a connection begins with."""
    return questions_of("api_versions", API_VERSIONS, version)


def first_frame(questions: Questions, correlation_id: int) -> bytes:
    """Its frame."""
    return questions.frame(correlation_id, CLIENT_ID, questions.request(**_SOFTWARE))


def offered_in(questions: Questions, data: bytes) -> Offered | Questions:
    """What the other side answers; or the question to ask again, where it does not know that version (KIP-511).

    Raises:
        BadFrame: it is no answer to this.
    """
    is_refused = int.from_bytes(data[4:6], "big", signed=True) == _UNSUPPORTED
    body = (first_question(0) if is_refused else questions).read(data)
    found = {each.api_key: (each.min_version, each.max_version) for each in body.api_keys}
    if not is_refused:
        if body.error_code:
            raise BadFrame(f"ApiVersions ends with error {body.error_code}")
        return found
    first, last = found.get(API_VERSIONS, (0, 0))
    again = min(last, questions.version - 1)
    if again < first:
        raise BadFrame("it knows no version of ApiVersions that is known here")
    return first_question(again)
