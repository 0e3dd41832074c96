"""Listeners with names of their own, and the addresses of those that have none in the file."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from quorum.node.config.node_config import NodeConfig, config_of, load_config
from quorum.node.config.values import ConfigError

PLANE = "CONTROLPLANE-9090"
OTHER_NAME = {
    "process.roles": "controller",
    "node.id": "1",
    "listeners": f"{PLANE}://127.0.0.1:9090,GRPC://127.0.0.1:9094",
    "controller.listener.names": f"{PLANE},GRPC",
    "listener.security.protocol.map": f"{PLANE}:PLAINTEXT,GRPC:PLAINTEXT",
    "controller.quorum.bootstrap.servers": "127.0.0.1:9094",
    "log.dirs": "data",
}
VOTERS = "1@c1.example:9093,2@c2.example:9093,3@c3.example:9093"
STATIC = {
    "process.roles": "controller",
    "node.id": "1",
    "controller.quorum.voters": VOTERS,
    "listeners": "CONTROLLER://:9093,GRPC://:9094",
    "controller.listener.names": "CONTROLLER,GRPC",
    "log.dirs": "data",
}


def advertised(properties: dict[str, str]) -> list[str]:
    return [str(at) for at in config_of(properties).advertised_listeners]


def other_name(**changes: str) -> NodeConfig:
    return config_of({**OTHER_NAME, **{key.replace("_", "."): value for key, value in changes.items()}})


def test_every_controller_listener_but_grpc_speaks_kafkas_protocol() -> None:
    assert other_name().kafka_listener_names == (PLANE,)
    two = other_name(
        listeners=f"CONTROLLER://h:1,{PLANE}://h:2,GRPC://h:3", controller_listener_names=f"GRPC,{PLANE},CONTROLLER"
    )
    assert two.kafka_listener_names == (PLANE, "CONTROLLER")
    assert {at.name for at in two.controller_endpoints} == {"GRPC", PLANE, "CONTROLLER"}


def test_controllers_ask_one_another_at_a_name_that_they_have() -> None:
    assert other_name(inter_controller_listener_name=PLANE).inter_controller_listener_name == PLANE
    with pytest.raises(ConfigError, match=f"name=CONTROLLER: write GRPC or {PLANE}"):
        other_name(inter_controller_listener_name="CONTROLLER")


def test_a_broker_has_no_listener_of_the_controllers() -> None:
    with pytest.raises(ConfigError, match=f"a broker has no {PLANE} listener: remove it"):
        other_name(process_roles="broker")


def test_a_static_voters_entry_is_its_address() -> None:
    assert advertised(STATIC) == ["CONTROLLER://c1.example:9093", "GRPC://c1.example:9094"]


@pytest.mark.parametrize("entry", ["c1.example:19093", "[fd00::1]:19093"])
def test_an_entry_with_another_port_is_the_address_of_the_first_listener_for_kafkas_protocol(entry: str) -> None:
    host = entry.rpartition(":")[0]
    static = {**STATIC, "listeners": "GRPC://:9094,CONTROLLER://0.0.0.0:9093", "controller.quorum.voters": f"1@{entry}"}
    assert advertised(static) == [f"GRPC://{host}:9094", f"CONTROLLER://{entry}"]


def test_an_entry_with_the_grpc_port_is_the_address_of_that_listener() -> None:
    static = {**STATIC, "controller.quorum.voters": "1@c1.example:9094"}
    assert advertised(static) == ["CONTROLLER://c1.example:9093", "GRPC://c1.example:9094"]


def test_an_address_that_is_advertised_or_bound_comes_before_the_entry() -> None:
    assert advertised({**STATIC, "advertised.listeners": "CONTROLLER://gate:19093"}) == [
        "CONTROLLER://gate:19093",
        "GRPC://c1.example:9094",
    ]
    bound = {**STATIC, "listeners": "CONTROLLER://10.0.0.1:9093,GRPC://:9094"}
    assert advertised(bound) == ["CONTROLLER://10.0.0.1:9093", "GRPC://c1.example:9094"]


def test_without_static_voters_an_address_is_wanted() -> None:
    dynamic = {**STATIC, "controller.quorum.bootstrap.servers": "c1.example:9094"}
    del dynamic["controller.quorum.voters"]
    with pytest.raises(ConfigError, match=r"set advertised\.listeners to an address"):
        config_of(dynamic)
    assert advertised(
        {**dynamic, "listeners": "CONTROLLER://c:1,GRPC://c:2", "advertised.listeners": "GRPC://g:3"}
    ) == [
        "GRPC://g:3",
        "CONTROLLER://c:1",
    ]


def test_log_dir_is_taken_where_there_is_no_log_dirs() -> None:
    one = {key: value for key, value in OTHER_NAME.items() if key != "log.dirs"} | {"log.dir": "/a,/b/"}
    assert (config_of(one).log_dirs, config_of(one).metadata_log_dir) == (("/a", "/b"), "/a")
    assert config_of({**one, "log.dirs": "/c"}).log_dirs == ("/c",)
    with pytest.raises(ConfigError, match=r"log\.dir= , : name at least one directory"):
        config_of({**one, "log.dir": " , "})
    with pytest.raises(ConfigError, match=r"log\.dirs is missing: it must be set"):
        config_of({key: value for key, value in one.items() if key != "log.dir"})


@pytest.mark.parametrize("roles", ["broker,controller", "controller, broker"])
def test_a_combined_node_is_refused_before_its_other_keys(roles: str) -> None:
    """Such a file is written for Kafka's broker, too: each of its keys would be refused, one after the other."""
    combined = {
        "process.roles": roles,
        "node.id": "1",
        "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@localhost:9093",
        "log.dirs": "data",
        "num.network.threads": "3",
    }
    with pytest.raises(ConfigError, match=f"process.roles={roles}: a node of both roles is not supported. Run two"):
        config_of(combined)


GIVEN = {"process.roles": "controller", "node.id": "1", "log.dirs": "data", "listeners": "CONTROLLER://c1:9093"}


def test_a_missing_grpc_listener_is_beside_the_first_one_for_kafkas_protocol() -> None:
    config = config_of({**GIVEN, "listeners": f"X://h:1,{PLANE}://c1:9093", "controller.listener.names": f"{PLANE},X"})
    assert str(config.listener("GRPC")) == "GRPC://h:2"
    assert str(config.grpc_derived_from) == "X://h:1"
    assert config.controller_listener_names == (PLANE, "X", "GRPC")
    assert config_of({**GIVEN, "listeners": "CONTROLLER://[::1]:0"}).listeners[1].port == 0
    named = config_of({**GIVEN, "listeners": "CONTROLLER://c1:9093,GRPC://c1:7"})
    assert (named.grpc_derived_from, named.notes) == (None, ())


def test_a_derived_grpc_listener_is_advertised_where_the_other_one_is() -> None:
    given = {**GIVEN, "listeners": "CONTROLLER://:9093", "advertised.listeners": "CONTROLLER://gate:19093"}
    assert advertised(given) == ["CONTROLLER://gate:19093", "GRPC://gate:9094"]
    given["advertised.listeners"] += ",GRPC://other:5"
    assert advertised(given) == ["CONTROLLER://gate:19093", "GRPC://other:5"]


@pytest.mark.parametrize(
    ("listeners", "why"),
    [
        ("CONTROLLER://h:65535", "65536 is no port"),
        (f"CONTROLLER://h:9093,{PLANE}://h:9094", f"port 9094 is that of {PLANE}://h:9094"),
    ],
)
def test_a_port_that_grpc_cannot_get_is_an_error_that_says_what_to_set(listeners: str, why: str) -> None:
    given = {**GIVEN, "listeners": listeners, "controller.listener.names": f"CONTROLLER,{PLANE}"}
    with pytest.raises(ConfigError, match=f"{why}.*: add GRPC://h:PORT to listeners"):
        config_of(given)


def test_a_file_for_every_address_gets_the_name_of_this_host(tmp_path: Path) -> None:
    path = tmp_path / "c.properties"
    given = {**GIVEN, "listeners": "CONTROLLER://:9093", "controller.quorum.bootstrap.servers": "c1:9093"}
    path.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
    host = socket.getfqdn()
    config = load_config(path)
    assert [(at.host, at.port) for at in config.advertised_listeners] == [(host, 9093), (host, 9094)]
    assert f"is advertised at CONTROLLER://{host}:9093" in config.notes[-1]
    path.write_text(path.read_text() + "advertised.listeners=CONTROLLER://0.0.0.0:9093\n")
    with pytest.raises(ConfigError, match=r"no other node can connect to CONTROLLER://0\.0\.0\.0:9093"):
        load_config(path)


@pytest.mark.parametrize("name", ["SSL", "SASL_SSL", "SASL_PLAINTEXT"])
def test_a_listener_with_the_name_of_a_protocol_speaks_it_by_default(name: str) -> None:
    given = {**GIVEN, "listeners": f"{name}://c1:9093", "controller.listener.names": name}
    with pytest.raises(ConfigError, match=rf"listener\.security\.protocol\.map: {name} for {name} is not supported"):
        config_of(given)
    assert config_of({**given, "listener.security.protocol.map": f"{name}:PLAINTEXT"}).is_controller
