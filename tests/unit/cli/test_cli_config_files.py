"""Commands that are given the `.properties` file of a node, Kafka's own, too."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.fixture_files import FIXTURES

Capture = pytest.CaptureFixture[str]


def _file(path: Path, **properties: str) -> str:
    path.write_text("".join(f"{key.replace('_', '.')}={value}\n" for key, value in properties.items()))
    return str(path)


def test_check_looks_into_the_directories_of_a_combined_node(tmp_path: Path, capsys: Capture) -> None:
    data = FIXTURES / "basic" / "node-1" / "data"
    config = _file(tmp_path / "s.properties", process_roles="broker,controller", node_id="1", log_dirs=str(data))
    statuses, outputs = [], []
    for words in ([str(data)], ["--config", config]):
        statuses.append(run(["check", *words, "-o", "json"]))
        outputs.append(json.loads(capsys.readouterr().out))
    assert statuses[0] == statuses[1]
    assert outputs[0] == outputs[1]
    assert run(["check", "--config", config]) == statuses[0]
    assert "1 node" in capsys.readouterr().out


def test_audit_reads_a_brokers_file(tmp_path: Path, capsys: Capture) -> None:
    config = _file(
        tmp_path / "s.properties",
        process_roles="broker",
        node_id="11",
        log_dirs=f"{tmp_path}/${{env:USER_OF_NONE}}",
        config_providers="env",
        config_providers_env_class="org.apache.kafka.common.config.provider.EnvVarConfigProvider",
    )
    assert run(["storage", "audit", "--config", config]) == 2
    assert f"{tmp_path}/${{env:USER_OF_NONE}} does not exist" in capsys.readouterr().err


@pytest.mark.parametrize("words", ["check", "storage audit"])
def test_a_command_without_directory_and_file_is_wrong_use(words: str, capsys: Capture) -> None:
    assert run(words.split()) == 2
    assert "or --config with a node's .properties file" in capsys.readouterr().err


def test_a_reference_that_cannot_be_resolved_is_named(tmp_path: Path, capsys: Capture) -> None:
    config = _file(
        tmp_path / "s.properties",
        node_id="11",
        log_dirs=f"${{file:{tmp_path}/gone:disk}}",
        config_providers="file",
        config_providers_file_class="org.apache.kafka.common.config.provider.FileConfigProvider",
    )
    assert run(["storage", "info", "--config", config]) == 2
    assert "gone cannot be read: No such file or directory" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("roles", "says"),
    [
        ("broker", "this is no controller's file. Start Apache Kafka's broker with it"),
        ("broker,controller", "a node of both roles is not supported. Run two processes with a file each"),
    ],
)
def test_a_file_for_another_program_is_answered_at_once(roles: str, says: str, tmp_path: Path, capsys: Capture) -> None:
    config = _file(tmp_path / "s.properties", process_roles=roles, node_id="1", what_is_this="5", log_dirs="x")
    assert run(["controller", "start", "--config", config]) == 1
    said = capsys.readouterr().err
    assert says in said
    assert len(said.splitlines()) == 1


@pytest.mark.parametrize("words", [["agent", "start"], ["storage", "format", "-t", "4L6g3nShT-eMCtK--X86sw"]])
def test_a_file_of_kafkas_broker_is_sent_to_kafkas_own_tools(words: list[str], capsys: Capture) -> None:
    assert run([*words, "--config", str(FIXTURES / "configs" / "stock-4-broker.properties")]) == 1
    assert "a broker of Apache Kafka is formatted and started by Kafka's own tools" in capsys.readouterr().err


def test_format_warns_of_an_unknown_key_and_refuses_it_if_strict(tmp_path: Path, capsys: Capture) -> None:
    config = _file(
        tmp_path / "c.properties",
        process_roles="controller",
        node_id="1",
        listeners="CONTROLLER://localhost:1",
        log_dirs=str(tmp_path / "data"),
        log_segment_byte="7",
    )
    words = ["storage", "format", "-c", config, "-t", "4L6g3nShT-eMCtK--X86sw", "--standalone"]
    assert run([*words, "--strict"]) == 1
    assert "unknown key log.segment.byte: did you mean log.segment.bytes?" in capsys.readouterr().err
    assert not (tmp_path / "data").exists()
    assert run(words) == 0
    assert "unknown key log.segment.byte is ignored: did you mean log.segment.bytes?" in capsys.readouterr().err
