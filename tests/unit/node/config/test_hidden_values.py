"""Errors of a configuration show no password, no key, and nothing that a reference was resolved to."""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path

import pytest
import structlog

from quorum.cli.errors import CliError
from quorum.cli.node_file import read_node_file
from quorum.controller.configs.defaults import PASSWORD
from quorum.node.config.kafka_table import is_password, kafka_keys
from quorum.node.config.node_config import load_config
from quorum.node.config.shown import HIDDEN, Shown
from quorum.node.config.values import ConfigError
from quorum.node.process.log_lines import configure_logging, log_config, warn_of_plaintext
from quorum.recovery.repairs.static_voters import config_problems, parse_static_voter

CLASS = "org.apache.kafka.common.config.provider."
CONTROLLER = {
    "process.roles": "controller",
    "node.id": "1",
    "listeners": "CONTROLLER://c1:9093,GRPC://c1:9094",
    "log.dirs": "/data",
}
AGENT = {**CONTROLLER, "process.roles": "broker", "listeners": "GRPC://c1:9094"}
PLANTED = "s3cret-9f2c"
WRONG = [
    {"node.id": PLANTED},
    {"node.id": "-777123"},
    {"process.roles": PLANTED},
    {"listeners": f"CONTROLLER:{PLANTED}"},
    {"listeners": "CONTROLLER://h:777123"},
    {"listeners": f"{PLANTED}://h:1,{PLANTED}://h:2"},
    {"listeners": "A://h:7123,B://h:7123"},
    {"listeners": f"CONTROLLER://c1:9093,{PLANTED}://c1:9095"},
    {"listeners": "CONTROLLER://c1:7121,GRPC://c1:7122,X://c1:7123"},
    {"advertised.listeners": f"OTHER://{PLANTED}:7123"},
    {"advertised.listeners": f"{PLANTED}://h:1"},
    {"controller.listener.names": f"CONTROLLER,{PLANTED}"},
    {"controller.listener.names": f"{PLANTED},{PLANTED}"},
    {"listener.security.protocol.map": f"CONTROLLER:{PLANTED}"},
    {"listener.security.protocol.map": PLANTED},
    {"listener.security.protocol.map": f"{PLANTED}:SSL,{PLANTED}:SSL"},
    {"inter.controller.listener.name": PLANTED},
    {"log.dirs": f"/{PLANTED},/{PLANTED}"},
    {"metadata.log.dir": f"/{PLANTED}\\u0000x"},
    {"metadata.log.dir": f"/{PLANTED}\\ud800"},
    {"metadata.log.segment.bytes": PLANTED},
    {"controller.quorum.bootstrap.servers": PLANTED},
    {"controller.quorum.bootstrap.servers": "h:777123"},
    {"controller.quorum.voters": PLANTED},
    {"controller.quorum.voters": f"1@{PLANTED}:1,1@{PLANTED}:2"},
    {"controller.quorum.voters": "7123@h:1"},
    {"delete.topic.enable": PLANTED},
    {"authorizer.class.name": PLANTED},
    {"super.users": PLANTED},
    {"http.listener": PLANTED},
    {"broker.heartbeat.interval.ms": "777123"},
    {"broker.id": "7123"},
    {"num.partitions": "-777123"},
    {**AGENT, "inter.controller.listener.name": PLANTED},
]


def _file(tmp_path: Path, given: Mapping[str, str], *more: str) -> Path:
    """Write a file whose values are references to those given."""
    secrets = tmp_path / "secrets.properties"
    secrets.write_text("".join(f"{key}={value}\n" for key, value in given.items()))
    lines = [f"{key}=${{file:{secrets}:{key}}}" for key in given]
    providers = ["config.providers=file", f"config.providers.file.class={CLASS}FileConfigProvider"]
    path = tmp_path / "node.properties"
    path.write_text("\n".join([*providers, *lines, *more]) + "\n")
    return path


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: ",".join(wrong.values()))
def test_no_error_shows_what_a_reference_was_resolved_to(wrong: dict[str, str], tmp_path: Path) -> None:
    secrets = {key: value for key, value in wrong.items() if CONTROLLER.get(key) != value}
    path = _file(tmp_path, secrets, *(f"{key}={value}" for key, value in CONTROLLER.items() if key not in wrong))
    with path.open("a") as file:
        file.writelines(f"{key}={value}\n" for key, value in wrong.items() if key not in secrets)
    with pytest.raises(ConfigError) as raised:
        load_config(path)
    said = str(raised.value)
    assert not re.search(f"{PLANTED}|7123", said)
    assert f"${{file:{tmp_path}/secrets.properties:" in said


@pytest.mark.parametrize("wrong", WRONG, ids=lambda wrong: ",".join(wrong.values()))
def test_the_same_errors_show_a_value_of_the_file_itself(wrong: dict[str, str], tmp_path: Path) -> None:
    path = tmp_path / "node.properties"
    path.write_text("".join(f"{key}={value}\n" for key, value in {**CONTROLLER, **wrong}.items()))
    with pytest.raises(ConfigError, match=f"{PLANTED}|7123"):
        load_config(path)


def test_a_value_that_counts_as_another_is_shown_as_the_file_has_it(tmp_path: Path) -> None:
    path = _file(tmp_path, {"socket.request.max.bytes": "777123000"}, *(f"{k}={v}" for k, v in CONTROLLER.items()))
    (note,) = load_config(path).notes
    assert note.startswith("socket.request.max.bytes=${file:")
    assert "777123" not in note


def test_a_file_that_only_names_directories_hides_what_was_resolved(tmp_path: Path) -> None:
    for key in ("node.id", "broker.id"):
        path = _file(tmp_path, {key: PLANTED}, "log.dirs=/data")
        with pytest.raises(CliError) as raised:
            read_node_file(path)
        assert PLANTED not in str(raised.value)
        assert f"{key}=${{file:" in str(raised.value)


def test_a_repair_names_the_reference_of_other_voters() -> None:
    named = [parse_static_voter("1@c1:9093")]
    given = {"controller.quorum.voters": f"1@{PLANTED}:9093"}
    (problem,) = config_problems(given, named, "c.properties", shown={"controller.quorum.voters": "${env:VOTERS}"})
    assert problem == "c.properties: controller.quorum.voters is ${env:VOTERS}, and must be 1@c1:9093"
    assert PLANTED in config_problems(given, named, "c.properties")[0]


def test_passwords_are_never_shown(tmp_path: Path) -> None:
    path = tmp_path / "node.properties"
    lines = [f"{key}={value}" for key, value in CONTROLLER.items()]
    providers = ["config.providers=file", f"config.providers.file.class={CLASS}FileConfigProvider"]
    reference = f"delegation.token.secret.key={PLANTED}${{file:{tmp_path}/gone:key}}"
    path.write_text("\n".join([*lines, *providers, reference]))
    with pytest.raises(
        ConfigError, match=r"delegation\.token\.secret\.key=\[hidden\]: .*gone cannot be read"
    ) as raised:
        load_config(path)
    assert PLANTED not in str(raised.value)


def test_the_log_of_a_start_holds_no_password(tmp_path: Path) -> None:
    passwords = {key.name: PLANTED for key in kafka_keys().keys if is_password(key.name)}
    more = [*(f"{key}={value}" for key, value in CONTROLLER.items()), f"vendor.password={PLANTED}"]
    config = load_config(_file(tmp_path, passwords, *more))
    assert config.tokens is not None
    assert config.settings["delegation.token.secret.key"].kind == PASSWORD, "DescribeConfigs leaves the value out"
    stream = io.StringIO()
    configure_logging(stream=stream)
    try:
        log_config(config)
        warn_of_plaintext(config)
    finally:
        structlog.reset_defaults()
    assert "ssl.keystore.key" in stream.getvalue()
    assert PLANTED not in stream.getvalue()


def test_keys_of_type_password_are_hidden_behind_every_prefix() -> None:
    names = [key.name for key in kafka_keys().keys if is_password(key.name)]
    assert {"ssl.keystore.key", "sasl.jaas.config", "delegation.token.master.key"} <= set(names)
    others = [f"listener.name.x.{names[0]}", f"listener.name.x.scram-sha-256.{names[1]}"]
    shown = Shown(dict.fromkeys([*names, *others, "node.id"], PLANTED), {})
    assert {shown.value(name) for name in [*names, *others]} == {HIDDEN}
    assert shown.value("node.id") == PLANTED
