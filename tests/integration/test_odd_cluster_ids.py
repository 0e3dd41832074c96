"""Any text that Kafka takes as a cluster id, from its format on: the tools, a controller and an agent live with it."""

from __future__ import annotations

import asyncio
import shutil
from pathlib import Path
from typing import Final

import pytest

from metadata_log.directory import read_meta_properties
from metadata_log.files.os_files import OsFiles
from quorum.cli.demo.cluster import wait_until
from quorum.cli.main import run
from quorum.client import Client
from tests.support.every_run import in_every_run
from tests.support.local_cluster import Cluster
from tests.support.misuses import NO_WAIT
from tests.support.standalone import create, start, written

_ODD: Final = {
    "signs": "  test cluster=1:a#b!c, 'd' \\e\\",
    "letters": "grüße-кластер-集群-\U0001d54f",
    "long": "long-" * 400,
    "dash": "--",
    "hexadecimal": "0f3b1c6e9a2d4e5f8b7c6d5e4f3a2b1c",
}


@pytest.fixture(params=in_every_run(("signs", "letters", "long"), _ODD))
def odd(request: pytest.FixtureRequest) -> str:
    """Return a cluster id that is no UUID."""
    return str(request.param)


def _says(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    assert run(words) == 0
    return capsys.readouterr().out


async def _cluster_id(address: str) -> str:
    async with Client([address]) as client:
        return (await client.describe_quorum()).cluster_id


def test_a_cluster_lives_with_an_odd_id(odd: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Cluster(tmp_path, controllers=(1,), agents=(11,)) as cluster:
        cluster.cluster_id = odd
        cluster.format()
        cluster.start()
        agent = cluster.agents[11]
        describe = ("agent", "describe", "--agent", agent.grpc_address, "-o", "json")
        wait_until("the agent to run", lambda: '"running"' in cluster.run(*describe))
        made = create(cluster, ["before"])
        assert asyncio.run(_cluster_id(cluster.bootstrap[0])) == odd
        controller = cluster.controllers[1]
        controller.kill()
        start(controller)
        made |= create(cluster, ["after"])
        assert set(cluster.stop().values()) == {0}

        places = [str(controller.log_dir), str(agent.log_dir)]
        assert _says(capsys, "storage", "info", *places).count(f"  {odd}  ") == 2
        assert "Nothing is wrong" in _says(capsys, "check", *places)
        assert written(controller).items() >= made.items()


def test_a_clone_gets_an_odd_id(odd: str, clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = shutil.copytree(clusters / "basic/node-1/data", tmp_path / "data")
    words = ["recover", "cluster-id", "--dir", str(node), "--to", odd, "--is-a-clone", *NO_WAIT, "--apply"]
    assert run(words) == 0
    assert "is no UUID. Kafka takes it" in capsys.readouterr().out
    assert f"  {odd}  " in _says(capsys, "storage", "info", str(node))
    assert read_meta_properties(OsFiles(), str(node)).cluster_id == odd


def test_a_backup_is_restored_under_an_odd_id(
    odd: str, clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["snapshot", "save", str(clusters / "basic/node-1"), str(tmp_path / "backup")]) == 0
    for target, source in (("first", "backup"), ("second", "again")):
        place = str(tmp_path / target)
        assert run(["snapshot", "restore", str(tmp_path / source), place, "--node-id", "1", "-t", odd]) == 0
        assert "is no UUID. Kafka takes it" in capsys.readouterr().err
        assert f"  {odd}  " in _says(capsys, "storage", "info", place)
        if source == "backup":
            assert run(["snapshot", "save", place, str(tmp_path / "again")]) == 0
            assert odd in _says(capsys, "snapshot", "status", str(tmp_path / "again"))
