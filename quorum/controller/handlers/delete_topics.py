"""DeleteTopics: by name or by id; the commit deletes a topic, whether brokers respond or not (KIP-516, KIP-631).

An entry with both name and id, and a repeated topic, are rejected, because the intent is unclear. A client that may not
describe a topic does not learn its name.
"""

from __future__ import annotations

from collections import Counter

from metadata_log.ids import METADATA_TOPIC_ID, METADATA_TOPIC_NAME, ZERO_TOPIC_ID, TopicId
from metadata_log.image import TopicImage
from metadata_log.records import RemoveTopicRecord
from quorum.api.context import CLUSTER, Operation, Resource, ResourceType, authorize
from quorum.api.error_codes import Error
from quorum.api.topics import DeletableTopicResult, DeleteTopics, DeleteTopicsResponse, DeleteTopicState
from quorum.controller.handlers.too_large import refusal_of_too_many
from quorum.controller.result import ControllerResult
from quorum.controller.turn import Turn


def handle_delete_topics(request: DeleteTopics, turn: Turn) -> ControllerResult[DeleteTopicsResponse]:
    """Return a RemoveTopicRecord for each valid topic, and a result for each entry."""
    if not turn.config.delete_topic_enable:
        why = "Topic deletion is disabled (delete.topic.enable)."
        return ControllerResult(response=request.rejected(Error.TOPIC_DELETION_DISABLED, why))
    if not request.topics:
        return ControllerResult(response=DeleteTopicsResponse())
    if request.timeout_ms <= 0:
        why = f"The timeout of {request.timeout_ms} ms has passed."
        return ControllerResult(response=request.rejected(Error.REQUEST_TIMED_OUT, why))
    if (too_many := refusal_of_too_many(request, len(request.topics), turn)) is not None:
        return too_many
    deletion = _Deletion(request, turn)
    results = tuple(deletion.result_of(state) for state in deletion.asked)
    records = tuple(RemoveTopicRecord(topic_id=topic_id) for topic_id in deletion.deleted)
    response = DeleteTopicsResponse(topics=results, throttle_time_ms=deletion.quota.throttle_time_ms)
    return ControllerResult(records=records, response=response)


class _Deletion:
    """A request as a whole: the validity of an entry depends on all others."""

    def __init__(self, request: DeleteTopics, turn: Turn) -> None:
        self._turn = turn
        self._times_named = Counter(state.name for state in request.topics if _is_by_name(state))
        self._times_given = Counter(state.topic_id for state in request.topics if _is_by_id(state))
        self._is_unlimited = authorize(turn.context, Operation.DELETE, CLUSTER, turn.image) is Error.NONE
        told = [state for state in request.topics if _is_by_name(state) or _is_by_id(state)]
        untold = (state for state in request.topics if not _is_by_name(state) and not _is_by_id(state))
        self.asked = (*untold, *{(state.name, state.topic_id): state for state in told}.values())
        """The entries to answer: a repeated topic once, an invalid entry each time."""
        self.deleted: list[TopicId] = []
        self.quota = turn.mutation_quota()

    def result_of(self, state: DeleteTopicState) -> DeletableTopicResult:
        """Return the result of one entry, and add a valid one to `deleted`."""
        if _is_by_name(state):
            return self._by_name(state.name or "")
        if _is_by_id(state):
            return self._by_id(state.topic_id or ZERO_TOPIC_ID)
        if state.name is None:
            return _failure(Error.INVALID_REQUEST, None, None, "Neither topic name nor id were specified.")
        return _failure(
            Error.INVALID_REQUEST, state.name, state.topic_id, "You may not specify both topic name and topic id."
        )

    def _by_name(self, name: str) -> DeletableTopicResult:
        if self._times_named[name] > 1:
            return _failure(Error.INVALID_REQUEST, name, None, "Duplicate topic name.")
        topic = self._turn.image.topics.named(name)
        if not self._may(Operation.DESCRIBE, name) or (topic is not None and not self._may(Operation.DELETE, name)):
            return _failure(Error.TOPIC_AUTHORIZATION_FAILED, name, None, "Authorization failed.")
        if name == METADATA_TOPIC_NAME:
            return _failure(Error.INVALID_REQUEST, name, None, f"Deletion of internal topic {name} is prohibited.")
        if topic is None:
            return _failure(Error.UNKNOWN_TOPIC_OR_PARTITION, name, None, f"There is no topic named '{name}'.")
        if self._times_given[topic.topic_id]:
            why = "The provided topic name maps to an ID that was already supplied."
            return _failure(Error.INVALID_REQUEST, name, topic.topic_id, why)
        return self._delete(topic)

    def _by_id(self, topic_id: TopicId) -> DeletableTopicResult:
        if self._times_given[topic_id] > 1:
            return _failure(Error.INVALID_REQUEST, None, topic_id, "Duplicate topic id.")
        topic = self._turn.image.topics.topic(topic_id)
        if topic_id == METADATA_TOPIC_ID or (topic is not None and topic.name == METADATA_TOPIC_NAME):
            why = f"Deletion of internal topic {METADATA_TOPIC_NAME} is prohibited."
            return _failure(Error.INVALID_REQUEST, METADATA_TOPIC_NAME, topic_id, why)
        if topic is None:
            return _failure(Error.UNKNOWN_TOPIC_ID, None, topic_id, "There is no topic with this id.")
        if not self._may(Operation.DELETE, topic.name):
            shown = topic.name if self._may(Operation.DESCRIBE, topic.name) else None
            return _failure(Error.TOPIC_AUTHORIZATION_FAILED, shown, topic_id, "Authorization failed.")
        if self._times_named[topic.name] == 1:  # repeated names are rejected, and only the id counts
            why = "The provided topic id is that of a topic that was also supplied by name."
            return _failure(Error.INVALID_REQUEST, topic.name, topic_id, why)
        return self._delete(topic)

    def _may(self, operation: Operation, name: str) -> bool:
        if self._is_unlimited:
            return True
        resource = Resource(resource_type=ResourceType.TOPIC, name=name)
        return authorize(self._turn.context, operation, resource, self._turn.image) is Error.NONE

    def _delete(self, topic: TopicImage) -> DeletableTopicResult:
        if not self.quota.take(len(topic.partitions)):
            return _failure(Error.THROTTLING_QUOTA_EXCEEDED, topic.name, topic.topic_id, self.quota.why_not)
        self.deleted.append(topic.topic_id)
        return DeletableTopicResult(error=Error.NONE, name=topic.name, topic_id=topic.topic_id)


def _is_by_name(state: DeleteTopicState) -> bool:
    return state.name is not None and state.topic_id in (None, ZERO_TOPIC_ID)


def _is_by_id(state: DeleteTopicState) -> bool:
    return state.name is None and state.topic_id not in (None, ZERO_TOPIC_ID)


def _failure(error: Error, name: str | None, topic_id: TopicId | None, message: str) -> DeletableTopicResult:
    return DeletableTopicResult(error=error, name=name, topic_id=topic_id or ZERO_TOPIC_ID, error_message=message)
