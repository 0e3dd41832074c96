"""The answer to DescribeConfigs that is put together by hand is kio's, byte for byte."""

from __future__ import annotations

import pytest

from quorum.api.described_configs import ConfigSynonym, DescribeConfigsResponse, DescribedConfig, DescribedResource
from quorum.api.error_codes import Error
from quorum.api.topics import ConfigSource
from quorum.transport.kafka.describe_configs_frame import describe_configs_frame
from quorum.transport.kafka.wire import answers_of

DEFAULT, OWN = ConfigSource.DEFAULT_CONFIG, ConfigSource.DYNAMIC_TOPIC_CONFIG
UNSET = DescribedConfig(
    name="a" * 200, value="", source=DEFAULT, kind=2, synonyms=(ConfigSynonym(name="log.a", value="1", source=DEFAULT),)
)
SECRET = DescribedConfig(
    name="s",
    value=None,
    source=OWN,
    kind=9,
    read_only=True,
    is_sensitive=True,
    synonyms=(
        ConfigSynonym(name="s", value=None, source=OWN),
        ConfigSynonym(name="log.s", value="ü" * 100, source=DEFAULT),
    ),
)
RESOURCES = (
    DescribedResource(resource_type=2, name="t", configs=(UNSET, SECRET)),
    DescribedResource(resource_type=2, name="u" * 249, configs=(UNSET,)),
    DescribedResource(resource_type=4, name="9", error=Error.INVALID_REQUEST, error_message="ask node 9: ü"),
)


@pytest.mark.parametrize("version", [1, 2, 3, 4])
@pytest.mark.parametrize("resources", [(), RESOURCES[:1], RESOURCES, RESOURCES * 100])
def test_it_is_what_kio_writes(version: int, resources: tuple[DescribedResource, ...]) -> None:
    answers = answers_of("describe_configs", version)
    entities = tuple(
        answers.make(
            "DescribeConfigsResult",
            error_code=resource.error,
            error_message=resource.error_message,
            resource_type=resource.resource_type,
            resource_name=resource.name,
            configs=tuple(
                answers.make(
                    "DescribeConfigsResourceResult",
                    name=config.name,
                    value=config.value,
                    read_only=config.read_only,
                    config_source=int(config.source),
                    is_sensitive=config.is_sensitive,
                    synonyms=tuple(
                        answers.make(
                            "DescribeConfigsSynonym", name=each.name, value=each.value, source=int(each.source)
                        )
                        for each in config.synonyms
                    ),
                    config_type=config.kind,
                    documentation=None,
                )
                for config in resource.configs
            ),
        )
        for resource in resources
    )
    expected = answers.frame(77, answers.response(results=entities))
    assert describe_configs_frame(77, version, DescribeConfigsResponse(resources=resources)) == expected
