"""Keys that a node does not use: Kafka's are listed, unknown ones are warnings or errors."""

from __future__ import annotations

import itertools
import json

import msgspec
import pytest

from quorum.node.config.kafka_table import kafka_keys
from quorum.node.config.keys import KEYS
from quorum.node.config.known_keys import edit_distance, sort_keys
from quorum.node.config.node_config import config_of
from quorum.node.config.values import ConfigError

CONTROLLER = {
    "process.roles": "controller",
    "node.id": "1",
    "listeners": "CONTROLLER://c1:9093,GRPC://c1:9094",
    "log.dirs": "/data",
}


def test_keys_that_kafka_knows_are_listed() -> None:
    config = config_of(
        {**CONTROLLER, "zookeeper.connect": "z:1", "num.io.threads": "eight", "rsm.config.fs.root": "/tiers"}
    )
    assert config.unused_keys == ("num.io.threads", "rsm.config.fs.root", "zookeeper.connect")
    assert config.warnings == ()


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("log.segment.byte", ": did you mean log.segment.bytes?"),
        ("metadata.log.segmnet.bytes", ": did you mean metadata.log.segment.bytes?"),
        ("lisseners.x", ""),
        ("zookeeper.connects", ": did you mean zookeeper.connect?"),
        ("vendor.setting", ""),
    ],
)
def test_an_unknown_key_is_a_warning_and_an_error_if_strict(key: str, hint: str) -> None:
    assert config_of({**CONTROLLER, key: "5"}).warnings == (f"unknown key {key} is ignored{hint}",)
    with pytest.raises(ConfigError) as raised:
        config_of({**CONTROLLER, key: "5"}, strict=True)
    assert str(raised.value) == f"configuration: unknown key {key}{hint or ': remove it'}"


def test_keys_are_written_on_one_line_with_nothing_unseen() -> None:
    config = config_of({**CONTROLLER, "rsm.config.a\x1b[2J": "1", "no.such\nkey": "1"})
    assert config.unused_keys == (r"rsm.config.a\x1b[2J",)
    assert config.warnings == (r"unknown key no.such\x0akey is ignored",)


@pytest.mark.parametrize(
    "key",
    [
        "ssl.keystor.location",
        "sasl.enabled.mechanism",
        "listener.name.controller.ssl.no.such",
        "authorizer.class",
        "authorizers",
        "super.users.file",
        "controller.quorum.electon.timeout.ms",
    ],
)
def test_an_unknown_key_behind_a_prefix_that_matters_is_an_error(key: str) -> None:
    with pytest.raises(ConfigError, match=f"unknown key {key}: "):
        config_of({**CONTROLLER, key: "5"})


@pytest.mark.parametrize("key", ["ssl.keystore.password", "plain.sasl.jaas.config", "sasl.enabled.mechanisms"])
def test_a_key_that_secures_a_listener_is_not_to_be_removed(key: str) -> None:
    name = f"listener.name.controller.{key}"
    with pytest.raises(ConfigError) as raised:
        config_of({**CONTROLLER, name: "5"})
    assert str(raised.value) == (
        f"configuration: {name}: Kafka knows this key, but only PLAINTEXT is served here, so that this listener would "
        "be unprotected: see kraft docs security"
    )


def test_a_known_key_behind_such_a_prefix_is_listed() -> None:
    assert config_of({**CONTROLLER, "ssl.keystore.location": "/k"}).unused_keys == ("ssl.keystore.location",)


def test_all_errors_come_in_one_run() -> None:
    wrong = {
        **CONTROLLER,
        "node.id": "one",
        "listeners": "CONTROLLER://c1:9093,SSL://c1:9095",
        "controller.listener.names": "CONTROLLER,SSL,EXTRA",
        "sasl.what": "1",
        "delete.topic.enable": "yes",
        "advertised.listeners": "OTHER://h:1",
        "broker.heartbeat.interval.ms": "9000",
        "log.dirs": "",
    }
    with pytest.raises(ConfigError) as raised:
        config_of(wrong, source="c.properties")
    head, *lines = str(raised.value).split("\n  ")
    assert head == f"c.properties has {len(lines)} errors:"
    starts = [
        "unknown key sasl.what: remove it",
        "node.id=one: it is not a whole number",
        "delete.topic.enable=yes: write true or false",
        "log.dirs is missing",
        "broker.heartbeat.interval.ms=9000: it must be below",
        "advertised.listeners: OTHER://h:1 has no listener",
        "controller.listener.names: there is no listener EXTRA",
        "listener.security.protocol.map: SSL for SSL is not supported",
    ]
    assert [line[: len(start)] for line, start in itertools.zip_longest(lines, starts, fillvalue="")] == starts


def test_a_value_with_a_line_feed_makes_no_line_of_its_own() -> None:
    with pytest.raises(ConfigError) as raised:
        config_of({**CONTROLLER, "node.id": "1\nnode.id=2"})
    assert str(raised.value).startswith("configuration: node.id=1\\x0anode.id=2: it is not a whole number")


def test_broker_id_is_another_name_of_node_id() -> None:
    by_alias = {**CONTROLLER, "broker.id": "7"}
    with pytest.raises(ConfigError, match=r"broker\.id=7: it is not node\.id=1: remove broker\.id"):
        config_of(by_alias)
    del by_alias["node.id"]
    assert config_of(by_alias).node_id == 7


def test_the_edit_distance_is_levenshteins() -> None:
    words = ["", "a", "ab", "abc", "acb", "xbc", "axc", "abcd", "xyz", "log.dir", "log.dirs", "lgo.dirs"]

    def distance(one: str, other: str) -> int:
        if not one or not other:
            return len(one) + len(other)
        rest = distance(one[1:], other[1:]) + (one[0] != other[0])
        return min(rest, distance(one[1:], other) + 1, distance(one, other[1:]) + 1)

    short = [word for word in words if len(word) < 5]
    for one, other in itertools.product(short, short):
        assert edit_distance(one, other, 2) == min(distance(one, other), 3)
    assert (edit_distance("log.dir", "log.dirs", 2), edit_distance("log.dirs", "lgo.dirs", 2)) == (1, 2)


def test_the_table_holds_both_releases() -> None:
    table = kafka_keys()
    assert (table.before[:4], table.newest[:4]) == ("3.9.", "4.4.")
    keys = {key.name: key for key in table.keys}
    assert list(keys) == sorted(keys)
    assert len(keys) > 400
    assert keys["zookeeper.connect"].newest is None
    assert keys["cordoned.log.dirs"].before is None
    threads = keys["num.network.threads"]
    assert threads.before == threads.newest
    assert json.loads(msgspec.json.encode(threads.newest)) == {"type": "INT", "default": "3"}
    assert {name for name, key in keys.items() if key.is_used} >= KEYS.keys() & keys.keys()


def test_no_table_is_read_for_keys_that_are_used() -> None:
    assert sort_keys(KEYS, KEYS, strict=True).errors == ()


@pytest.mark.parametrize("name", ["process.roles", "node.id", "listeners", "log.dirs"])
def test_a_misspelled_key_is_named_where_its_own_is_missing(name: str) -> None:
    given = dict(CONTROLLER)
    given[name[:-1] + "zz"] = given.pop(name)
    with pytest.raises(ConfigError, match=f"^configuration: {name} is missing: write it in place of {name[:-1]}zz"):
        config_of(given)
    others = {key.name for key in kafka_keys().keys} - KEYS.keys()
    assert min(edit_distance(name, other, 2) for other in others) > 2, "only a key that is unknown is called so"
