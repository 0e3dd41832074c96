from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from metadata_log.voters import Endpoint
from quorum.node.config.node_config import KEYS, NodeConfig, config_of, load_config
from quorum.node.config.values import ConfigError

CONTROLLER = {
    "process.roles": "controller",
    "node.id": "1",
    "listeners": "CONTROLLER://c1:9093,GRPC://c1:9094",
    "log.dirs": "/data",
}
BROKER = {
    "process.roles": "broker",
    "node.id": "11",
    "listeners": "PLAINTEXT://b1:9092,GRPC://b1:9096",
    "log.dirs": "/a,/b/",
    "controller.quorum.bootstrap.servers": "c1:9094,[::1]:9095",
}


def controller(**changes: str) -> NodeConfig:
    return config_of({**CONTROLLER, **_dotted(changes)})


def _dotted(changes: Mapping[str, str]) -> dict[str, str]:
    return {name.replace("_", "."): value for name, value in changes.items()}


def test_half_a_surrogate_pair_in_a_secret_becomes_a_question_mark_as_in_java() -> None:
    tokens = controller(delegation_token_secret_key="se\ud800cret").tokens
    assert tokens is not None
    assert tokens.secret_key == b"se?cret"


def test_defaults_are_kafkas() -> None:
    config = controller()
    assert config.is_controller
    assert (config.raft.election_timeout_ms, config.raft.fetch_timeout_ms) == (1000, 2000)
    assert (config.raft.request_timeout_ms, config.raft.retry_backoff_ms) == (2000, 20)
    assert (config.session_timeout_ms, config.heartbeat_interval_ms) == (9000, 2000)
    assert config.log.segment_bytes == 1 << 30
    assert config.delete_topic_delay_ms == 14_400_000
    assert config.max_idle_interval_ms == 500
    assert controller(metadata_max_idle_interval_ms="0").max_idle_interval_ms == 0
    assert config.metadata_log_dir == "/data"
    assert config.advertised_listeners == config.listeners
    assert config.controller_listener_names == ("CONTROLLER", "GRPC")
    assert config.http_listener is None


def test_a_number_of_bytes_between_snapshots_is_kept_to_where_it_is_given() -> None:
    default, given = controller().snapshots, controller(metadata_log_max_record_bytes_between_snapshots="20971520")
    assert default.max_new_record_bytes == given.snapshots.max_new_record_bytes == 20 * 1024 * 1024
    assert default.or_as_the_newest
    assert not given.snapshots.or_as_the_newest


def test_a_brokers_directories_and_servers() -> None:
    config = config_of(BROKER)
    assert config.log_dirs == ("/a", "/b")
    assert config.bootstrap_servers == (
        Endpoint(name="", host="c1", port=9094),
        Endpoint(name="", host="::1", port=9095),
    )


def test_a_short_fetch_timeout_shortens_the_parking_of_fetches() -> None:
    assert controller(**{"controller_quorum_fetch_timeout_ms": "400"}).raft.fetch_max_wait_ms == 200


def test_overrides_replace_what_the_file_says(tmp_path: Path) -> None:
    path = tmp_path / "c.properties"
    path.write_text("\n".join(f"{key}={value}" for key, value in CONTROLLER.items()))
    assert load_config(path, {"node.id": "7"}).node_id == 7


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"cannot read the configuration .*none\.properties"):
        load_config(tmp_path / "none.properties")


def test_the_last_value_of_a_repeated_key_counts(tmp_path: Path) -> None:
    path = tmp_path / "c.properties"
    path.write_text("\n".join(f"{key}={value}" for key, value in CONTROLLER.items()) + "\nnode.id=2\n")
    config = load_config(path)
    assert config.node_id == 2
    assert config.warnings == ("line 5: node.id replaces the value of line 2: remove one of the two",)


def test_super_users_stand_between_semicolons() -> None:
    config = config_of({**CONTROLLER, "super.users": " User:admin; User:CN=b,OU=c ;"})
    assert config.super_users == {"User:admin", "User:CN=b,OU=c"}


@pytest.mark.parametrize("key", [name for name, key in KEYS.items() if key.default is None])
def test_each_required_key_is_missed_by_name(key: str) -> None:
    with pytest.raises(ConfigError, match=f"{key} is missing"):
        config_of({name: value for name, value in CONTROLLER.items() if name != key})


WRONG = [
    ("process.roles", "leader", r"'leader' is no role: write controller or broker"),
    ("process.roles", " , ", r"a node has one role here: write one of the two"),
    ("process.roles", "broker", r"controller\.quorum\.bootstrap\.servers is missing"),
    ("node.id", "one", r"node\.id=one: it is not a whole number"),
    ("node.id", "-1", r"node\.id=-1: it is out of bounds"),
    ("listeners", "CONTROLLER:9093", r"'CONTROLLER:9093' is not a listener: write NAME://host:port"),
    ("listeners", "CONTROLLER://h:70000", r"70000 is not a port"),
    ("listeners", "CONTROLLER://h:1,CONTROLLER://h:2", r"CONTROLLER stands twice"),
    ("listeners", "CONTROLLER://h:1,GRPC://h:1", r"two listeners have port 1"),
    ("listeners", "CONTROLLER://:9093,GRPC://h:9094", r"no other node can connect to CONTROLLER://:9093"),
    ("advertised.listeners", "OTHER://h:1", r"has no listener of that name"),
    ("advertised.listeners", "GRPC://0.0.0.0:9094", r"no other node can connect to GRPC://0\.0\.0\.0:9094"),
    ("controller.listener.names", "SSL", r"there is no listener SSL"),
    (
        "controller.listener.names",
        "GRPC",
        r"nothing would listen at CONTROLLER://c1:9093: add CONTROLLER",
    ),
    (
        "listeners",
        "PLANE://h:1,GRPC://h:2",
        r"nothing would listen at PLANE://h:1: add PLANE to",
    ),
    ("listener.security.protocol.map", "GRPC:SSL", r"SSL for GRPC is not supported: only PLAINTEXT"),
    ("listener.security.protocol.map", "GRPC", r"'GRPC' is not LISTENER:PROTOCOL"),
    ("listener.security.protocol.map", "GRPC:TLS", r"'TLS' for GRPC is not a protocol"),
    ("log.dirs", "/a,/a/", r"/a stands twice"),
    ("log.dirs", " , ", r"name at least one directory"),
    ("metadata.log.segment.bytes", "100", r"it is out of bounds: write a number from 8388608"),
    ("controller.quorum.bootstrap.servers", "nowhere", r"'nowhere' is not an address"),
    ("controller.quorum.bootstrap.servers", f"localhost:{'1' * 5000}", r"is not an address"),
    ("controller.quorum.election.timeout.ms", "0", r"out of bounds"),
    ("broker.heartbeat.interval.ms", "9000", r"must be below broker\.session\.timeout\.ms=9000"),
    ("delete.topic.enable", "yes", r"write true or false"),
    ("num.partitions", "0", r"out of bounds"),
    ("metadata.max.idle.interval.ms", "-1", r"out of bounds: write a number from 0 to 2147483647"),
    ("metadata.max.idle.interval.ms", "2147483648", r"out of bounds"),
    ("default.replication.factor", "40000", r"out of bounds"),
    ("authorizer.class.name", "AclAuthorizer", r"only org\.apache\.kafka\.metadata\.authorizer\.StandardAuthorizer"),
    ("super.users", "User:a;bob", r"'bob' is no principal: write Type:name"),
    ("allow.everyone.if.no.acl.found", "yes", r"write true or false"),
    ("listeners", "CONTROLLER://h:1,GRPC://h:2,HTTP://h:3", r"write http\.listener=HTTP://host:port"),
    ("inter.controller.listener.name", "SSL", r"inter\.controller\.listener\.name=SSL: write GRPC or CONTROLLER"),
    ("http.listener", "localhost", r"is not a listener"),
    ("http.listener", "A://h:1,B://h:2", r"name one address"),
]


@pytest.mark.parametrize(("key", "value", "message"), WRONG)
def test_a_wrong_value_is_refused_by_key_and_value(key: str, value: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as raised:
        config_of({**CONTROLLER, key: value}, source="c.properties")
    assert str(raised.value).startswith(("c.properties: ", "c.properties has "))


def test_a_broker_has_no_controller_listener() -> None:
    with pytest.raises(ConfigError, match="a broker has no CONTROLLER listener"):
        config_of({**BROKER, "listeners": "CONTROLLER://h:1,GRPC://h:2"})


def test_controllers_ask_one_another_by_grpc_unless_it_is_said_otherwise() -> None:
    assert controller().inter_controller_listener_name == "GRPC"
    assert controller(inter_controller_listener_name="CONTROLLER").inter_controller_listener_name == "CONTROLLER"
    with pytest.raises(ConfigError, match=r"an agent asks controllers by GRPC alone"):
        config_of({**BROKER, "inter.controller.listener.name": "CONTROLLER"})


def test_static_voters_are_read_and_serve_as_bootstrap_servers() -> None:
    config = controller(controller_quorum_voters="1@c1:9094,2@[::1]:9095")
    assert [(voter.key.node_id, voter.endpoints[0].port) for voter in config.static_voters] == [(1, 9094), (2, 9095)]
    assert not config.static_voters.are_dynamic
    assert [at.port for at in config.bootstrap_servers] == [9094, 9095]


@pytest.mark.parametrize(
    ("voters", "what"),
    [
        ("1:c1:9094", "is no voter"),
        ("1@c1", "is no voter"),
        ("1@c1:1,1@c2:2", "named 2 times"),
        ("2@c2:1", "not among"),
    ],
)
def test_static_voters_that_make_no_sense(voters: str, what: str) -> None:
    with pytest.raises(ConfigError, match=what):
        controller(controller_quorum_voters=voters)


def test_only_a_controller_joins_by_itself() -> None:
    assert controller(controller_quorum_auto_join_enable="true").auto_join
    with pytest.raises(ConfigError, match="only a controller"):
        config_of({**BROKER, "controller.quorum.auto.join.enable": "true"})
