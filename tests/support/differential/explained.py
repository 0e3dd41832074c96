"""Where our answers are meant to differ from Kafka's, each with its reason; docs/kafka-differences.md tells them.

Decides: what is taken out of both answers before they are compared.
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
    """An answer, as `comparable` made it, with nothing that is meant to differ."""
    if ask.key == CREATE_TOPICS:
        return _without_untrue_ids(ask, answer)
    answer = _without_metadata_topic(answer)
    return _answered_once(answer) if ask.key == DELETE_TOPICS else answer


def is_refusal(answer: Any) -> bool:
    """Whether nothing of the request was done: what Kafka closes the connection at, ours may refuse in words."""
    return "error_code" in repr(answer) and "'none'" not in repr(answer)


def is_left_unsaid(ask: Ask) -> bool:
    """Whether Kafka's controller does what it is asked and throws wording the answer: a name stands twice with a type
    that it does not know, and its AlterConfigsResponse makes a map of them."""
    if ask.key != ALTER_CONFIGS:
        return False
    unknown = Counter(
        each["resource_name"] for each in ask.fields["resources"] if each["resource_type"] == UNKNOWN_TYPE
    )
    return any(count > 1 for count in unknown.values())


def quotas_named_twice(ask: Ask) -> set[QuotaEntity]:
    """The entities that stand twice in a request for quotas: Kafka's carries the first out, ours neither, so that what
    they are given by it differs ever after."""
    if ask.key != ALTER_CLIENT_QUOTAS or ask.fields["validate_only"]:
        return set()
    named = Counter(_entity(entry["entity"]) for entry in ask.fields["entries"])
    return {entity for entity, count in named.items() if count > 1}


def _entity(parts: Iterable[dict[str, Any]]) -> QuotaEntity:
    return frozenset((part["entity_type"], part["entity_name"]) for part in parts)


def _answered_once(answer: Any) -> Any:
    """Of a topic that is named and given by id in two entries ours refuses both, Kafka's answers one; of an entry that
    stands there twice with name and id, or with neither, ours answers one, Kafka's both."""
    once = {repr(each): each for each in answer["responses"]}
    return {**answer, "responses": list(once.values())}


def _without_untrue_ids(ask: Ask, answer: Any) -> Any:
    """Kafka draws an id for a topic that it only validates, and forgets it: ours tells none."""
    if not ask.fields["validate_only"]:
        return answer
    topics = [{key: value for key, value in topic.items() if key != "topic_id"} for topic in answer["topics"]]
    return {**answer, "topics": topics}


def _without_metadata_topic(answer: Any) -> Any:
    """To Kafka it does not exist; with ours it stands in the log under an id of its own, and nobody may change it."""
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
