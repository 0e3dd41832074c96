"""Each file of Kafka's nodes is a controller's, which is read, or is answered with what to do."""

from __future__ import annotations

from pathlib import Path

import pytest

from quorum.cli.node_file import read_node_file
from quorum.node.config.node_config import CONTROLLER_ROLE, NodeConfig, load_config
from quorum.node.config.values import ConfigError
from tests.support.kafka_configs import kafka_files

OTHERS = {"combined.properties": "a node of both roles is not supported. Run two processes with a file each"}
NO_CONTROLLER = "this is no controller's file. Start Apache Kafka's broker with it"


def _read(text: str, path: Path) -> NodeConfig | str:
    path.write_text(text)
    try:
        return load_config(path, role=CONTROLLER_ROLE)
    except ConfigError as error:
        return str(error)


def test_every_controllers_file_is_taken_and_every_other_is_answered(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    answers = {name: _read(text, path) for name, text in kafka_files().items()}
    taken = {name: answer for name, answer in answers.items() if isinstance(answer, NodeConfig)}
    refused = {name: answer for name, answer in answers.items() if isinstance(answer, str)}
    assert (len(answers), len(taken)) == (75, 47)
    roles = {name: "process.roles=controller" in text.splitlines() for name, text in kafka_files().items()}
    assert taken.keys() == {name for name, is_controllers in roles.items() if is_controllers}
    assert {name: config.warnings for name, config in taken.items() if config.warnings} == {}
    assert all(config.listener("GRPC") is not None for config in taken.values())
    for name, answer in refused.items():
        assert OTHERS.get(name, NO_CONTROLLER) in answer, name
        assert "\n" not in answer


def test_every_file_names_its_nodes_directories(tmp_path: Path) -> None:
    path = tmp_path / "server.properties"
    for name, text in kafka_files().items():
        path.write_text(text)
        node = read_node_file(path)
        (dirs,) = (line.partition("=")[2] for line in text.splitlines() if line.startswith(("log.dirs=", "log.dir=")))
        assert ",".join(node.log_dirs) == dirs, name
        assert node.metadata_dir == "data"
        assert node.is_controller == ("controller" in text.partition("process.roles=")[2].splitlines()[0]), name


@pytest.mark.parametrize(
    ("name", "grpc", "advertised"),
    [
        ("stock-3.9-controller", "GRPC://:9094", ["CONTROLLER://localhost:9093", "GRPC://localhost:9094"]),
        ("stock-4-controller", "GRPC://:9094", ["CONTROLLER://localhost:9093", "GRPC://localhost:9094"]),
        ("kafka-controller", "GRPC://:9094", ["CONTROLLER://c1.example:9093", "GRPC://c1.example:9094"]),
    ],
)
def test_a_stock_file_gets_a_grpc_listener(name: str, grpc: str, advertised: list[str], tmp_path: Path) -> None:
    config = _read(kafka_files()[f"{name}.properties"], tmp_path / "c.properties")
    assert isinstance(config, NodeConfig)
    assert [str(at) for at in config.listeners] == ["CONTROLLER://:9093", grpc]
    assert [str(at) for at in config.advertised_listeners] == advertised
    assert config.controller_endpoints == config.advertised_listeners
    assert "log.retention.hours" in config.unused_keys
    assert f"listens at {grpc}: listeners has no GRPC" in "\n".join(config.notes)
    assert "socket.request.max.bytes=104857600 counts as 67108864: this node takes no more" in config.notes
    assert config.doors.max_frame_bytes == 67108864
