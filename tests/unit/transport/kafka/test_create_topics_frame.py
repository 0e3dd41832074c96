"""The answer to CreateTopics that is put together by hand is kio's, byte for byte."""

from __future__ import annotations

import pytest

from metadata_log.ids import ZERO_TOPIC_ID, TopicId
from quorum.api.error_codes import Error
from quorum.api.topics import ConfigSource, CreatableTopicResult, CreateTopicsResponse, EffectiveConfig
from quorum.transport.kafka.create_topics_frame import create_topics_frame
from quorum.transport.kafka.wire import answers_of, uuid_to
from tests.support.controller import uuid

CONFIGS = tuple(
    EffectiveConfig(name=name, value=value, source=source)
    for name, value, source in (
        ("a", "", ConfigSource.DEFAULT_CONFIG),
        ("b" * 200, "ü" * 100, ConfigSource.DYNAMIC_TOPIC_CONFIG),
    )
)
TOPICS = (
    CreatableTopicResult(
        name="t",
        error=Error.NONE,
        topic_id=TopicId(uuid(7)),
        num_partitions=300,
        replication_factor=3,
        configs=CONFIGS,
    ),
    CreatableTopicResult(
        name="u", error=Error.TOPIC_ALREADY_EXISTS, topic_id=ZERO_TOPIC_ID, error_message="it is there: ü"
    ),
    CreatableTopicResult(
        name="v", error=Error.NONE, topic_id=TopicId(uuid(8)), config_error=Error.TOPIC_AUTHORIZATION_FAILED
    ),
)


@pytest.mark.parametrize("version", [5, 6, 7])
@pytest.mark.parametrize("topics", [(), TOPICS[:1], TOPICS, TOPICS[:1] * 200])
def test_it_is_what_kio_writes(version: int, topics: tuple[CreatableTopicResult, ...]) -> None:
    answers = answers_of("create_topics", version)
    entities = tuple(
        answers.make(
            "CreatableTopicResult",
            name=topic.name,
            topic_id=uuid_to(topic.topic_id),
            error_code=topic.error,
            error_message=topic.error_message,
            topic_config_error_code=int(topic.config_error),
            num_partitions=topic.num_partitions,
            replication_factor=topic.replication_factor,
            configs=tuple(
                answers.make(
                    "CreatableTopicConfigs",
                    name=config.name,
                    value=config.value,
                    read_only=False,
                    config_source=int(config.source),
                    is_sensitive=False,
                )
                for config in topic.configs
            ),
        )
        for topic in topics
    )
    expected = answers.frame(77, answers.response(topics=entities))
    assert create_topics_frame(77, version, CreateTopicsResponse(topics=topics)) == expected
