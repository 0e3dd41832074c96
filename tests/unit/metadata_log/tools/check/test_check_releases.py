"""Clusters of each minor release of Kafka from 3.3 to 4.4 are sound: no command accuses them, and ours opens them."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.read.sources import find_sources
from metadata_log.tools.verify.verify_log import verify_log
from quorum.cli.main import run
from quorum.node.config.node_config import config_of
from quorum.node.storage.open_replica import open_replica
from tests.support.kafka.jars import RELEASES
from tests.support.releases_fixture import MINORS, minor_of, unpack_release

COMMANDS = ("check", "log verify", "log verify --replay", "log diff", "log hash", "log timeline", "recover inspect")


@pytest.fixture(scope="module", params=MINORS)
def nodes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A controller and two brokers; no test changes them."""
    return unpack_release(request.param, tmp_path_factory.mktemp("release"))


def test_there_is_one_of_each_minor_release(nodes: list[Path]) -> None:
    assert tuple(map(minor_of, RELEASES)) == MINORS
    assert [node.name for node in nodes] == ["node-1", "node-11", "node-12"]
    released = next(release for version, release in RELEASES.items() if minor_of(version) == nodes[0].parent.name)
    image = verify_log(find_sources(nodes[:1]).nodes[0]).image
    assert image is not None
    assert image.features.metadata_version == released.level
    assert {"orders", "moved", "late"} <= set(image.topics.by_name)
    assert "gone" not in image.topics.by_name


@pytest.mark.parametrize("words", COMMANDS)
def test_nothing_is_found(words: str, nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words.split(), *map(str, nodes)]) == 0
    said = capsys.readouterr()
    assert not {"ERROR", "WARNING", "NOTE"} & set(said.out.split())
    assert not said.err


def test_each_node_by_itself(nodes: list[Path]) -> None:
    for node in nodes:
        assert not check_paths([node]).findings, node


def test_no_directory_of_a_broker_is_out_of_place(nodes: list[Path], capsys: pytest.CaptureFixture[str]) -> None:
    for broker in nodes[1:]:
        assert run(["storage", "audit", str(broker), "--image", str(nodes[0])]) == 0
        said = capsys.readouterr()
        assert " 0 of which do not belong" in said.out
        assert not said.err


def test_our_controller_opens_it(nodes: list[Path], tmp_path: Path) -> None:
    node = tmp_path / "node-1"
    shutil.copytree(nodes[0], node)
    keys = {
        "process.roles": "controller",
        "node.id": "1",
        "listeners": "CONTROLLER://127.0.0.1:1,GRPC://127.0.0.1:2",
        "log.dirs": f"{node}/data",
    }
    image = verify_log(find_sources([node]).nodes[0])
    if image.voters is None:
        keys["controller.quorum.voters"] = "1@127.0.0.1:1"
    opened = open_replica(OsFiles(), config_of(keys))
    opened.abandon()
    assert not opened.recovery.warnings
    assert opened.storage.end.offset == image.end_offset
    assert [int(key.node_id) for key in opened.storage.voters.latest.keys] == [1]
