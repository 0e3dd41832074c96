"""Intended differences from Kafka's responses, each with its reason; docs/kafka-differences.md documents them.

Decides: what is removed from both responses before they are compared.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any, Final

from tests.support.differential.asks import Ask
from tests.support.differential.config_requests import UNKNOWN_TYPE
from tests.support.differential.requests import ALTER_CLIENT_QUOTAS, ALTER_CONFIGS, CREATE_TOPICS, DELETE_TOPICS
from tests.support.differential.world import QuotaEntity

METADATA_TOPIC: Final = "__cluster_metadata"
METADATA_TOPIC_ID: Final = "the metadata topic's id"


def without_explained(ask: Ask, answer: Any) -> Any:
    """Return a response, as `comparable` made it, without the parts that differ by intention."""
    if ask.key == CREATE_TOPICS:
        return _without_untrue_ids(ask, answer)
    answer = _without_metadata_topic(answer)
    return _answered_once(answer) if ask.key == DELETE_TOPICS else answer


def is_refusal(answer: Any) -> bool:
    """Return True if nothing of the request was done: where Kafka closes the connection, this project may reject it."""
    return "error_code" in repr(answer) and "'none'" not in repr(answer)


def is_left_unsaid(ask: Ask) -> bool:
    """Return True if Kafka's controller does what is asked and then fails to build its response.

    A name occurs twice with an unknown type, and Kafka's AlterConfigsResponse makes a map of the resources.
    """
    if ask.key != ALTER_CONFIGS:
        return False
    unknown = Counter(
        each["resource_name"] for each in ask.fields["resources"] if each["resource_type"] == UNKNOWN_TYPE
    )
    return any(count > 1 for count in unknown.values())


def quotas_named_twice(ask: Ask) -> set[QuotaEntity]:
    """Return the entities that occur twice in a request for quotas.

    Kafka applies the first occurrence, this project none, so that these quotas differ from then on.
    """
    if ask.key != ALTER_CLIENT_QUOTAS or ask.fields["validate_only"]:
        return set()
    named = Counter(_entity(entry["entity"]) for entry in ask.fields["entries"])
    return {entity for entity, count in named.items() if count > 1}


def _entity(parts: Iterable[dict[str, Any]]) -> QuotaEntity:
    return frozenset((part["entity_type"], part["entity_name"]) for part in parts)


def _answered_once(answer: Any) -> Any:
    """Return the response without topics that occur in two entries.

    This project rejects both entries where a topic is named and given by id; Kafka responds to one. For an entry that
    occurs twice with name and id, or with neither, this project responds once and Kafka twice.
    """
    once = {repr(each): each for each in answer["responses"]}
    return {**answer, "responses": list(once.values())}


def _without_untrue_ids(ask: Ask, answer: Any) -> Any:
    """Remove the id that Kafka draws for a topic that it only validates; this project returns none."""
    if not ask.fields["validate_only"]:
        return answer
    topics = [{key: value for key, value in topic.items() if key != "topic_id"} for topic in answer["topics"]]
    return {**answer, "topics": topics}


def _without_metadata_topic(answer: Any) -> Any:
    """Remove the metadata topic: it does not exist for Kafka; here it has an id in the log and cannot be changed."""
    if isinstance(answer, dict):
        return {key: _without_metadata_topic(value) for key, value in answer.items()}
    if isinstance(answer, list):
        return [_without_metadata_topic(each) for each in answer if not _is_of_metadata_topic(each)]
    return answer


def _is_of_metadata_topic(part: Any) -> bool:
    if not isinstance(part, dict):
        return False
    names = (part.get("name"), part.get("resource_name"), part.get("topic"))
    return METADATA_TOPIC in names or part.get("topic_id") == METADATA_TOPIC_ID
