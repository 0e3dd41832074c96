"""An agent registers addresses that it listens on, and no other."""

from __future__ import annotations

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from broker_agent.listen import registered_listeners
from quorum.node.config.node_config import NodeConfig, config_of, load_config
from quorum.node.config.values import ConfigError

SAMPLE = Path(__file__).parents[3] / "deploy" / "config" / "agent.properties"


def _config(listeners: str, advertised: str = "") -> NodeConfig:
    return config_of(
        {
            "process.roles": "broker",
            "node.id": "11",
            "listeners": listeners,
            "advertised.listeners": advertised,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,GRPC:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "controller.quorum.bootstrap.servers": "localhost:9094",
            "log.dirs": "/data",
        }
    )


@pytest.mark.parametrize(
    ("listeners", "advertised", "address"),
    [
        ("PLAINTEXT://b11:9092,GRPC://b11:9096", "", "GRPC://b11:9096"),
        ("PLAINTEXT://:9092,GRPC://:9096", "PLAINTEXT://b11:9092,GRPC://b11:19096", "GRPC://b11:19096"),
        ("PLAINTEXT://:9092,GRPC://:9096", "GRPC://b11:9096", "GRPC://b11:9096"),
    ],
)
def test_a_listener_that_it_does_not_serve_is_not_registered_and_named(
    listeners: str, advertised: str, address: str
) -> None:
    with capture_logs() as said:
        found = registered_listeners(_config(listeners, advertised))
    assert [str(each) for each in found] == [address]
    assert [(line["log_level"], line["listener"]) for line in said] == [("warning", "PLAINTEXT")]


def test_an_agent_that_advertises_no_address_of_its_own_does_not_start() -> None:
    with pytest.raises(ConfigError, match=r"advertised.listeners: GRPC://host:port is missing"):
        registered_listeners(_config("PLAINTEXT://:9092,GRPC://:9096", "PLAINTEXT://b11:9092"))


def test_the_sample_names_only_what_it_serves() -> None:
    with capture_logs() as said:
        assert [each.name for each in registered_listeners(load_config(SAMPLE))] == ["GRPC"]
    assert said == []
