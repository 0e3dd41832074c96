"""Advice can be copied to a command line, and names nodes in the order of their ids."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.advice import AUDIT
from metadata_log.tools.findings.finding import KINDS, Finding
from metadata_log.tools.read.sources import find_sources
from quorum.cli.main import run
from tests.support.damage import Cluster, copy_cluster

BROKER = 11


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    """Broker 11 has two disks."""
    return copy_cluster(clusters / "every-record", tmp_path / "every record")


def _of(cluster: Cluster, kind: str) -> Finding:
    (found,) = [one for one in check_paths([cluster.root]).findings if one.kind == kind]
    return found


def _words(advice: str, cluster: Cluster) -> list[str]:
    """Return the words of the command in the advice, without those that a person has to choose."""
    start = advice.index("kraft storage audit ")
    disks = [cluster.disk(BROKER), cluster.node(BROKER) / "data1"]
    command = f"kraft storage audit {shlex.join(map(str, disks))}"
    assert advice[start:].startswith(command)
    return shlex.split(command)[1:]


def test_a_strange_directory_is_found_by_the_command(
    cluster: Cluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = cluster.node(BROKER) / "data1" / "backup-of-mail"
    strange.mkdir()

    words = _words(_of(cluster, "strange_directory").advice, cluster)

    elsewhere = cluster.node(BROKER).parent / "elsewhere"
    image = ["--image", str(cluster.node(1))]
    assert run([*words, *image, "--quarantine", "--to", str(elsewhere)]) == 0
    assert not strange.exists()
    capsys.readouterr()
    assert run(["check", str(cluster.root)]) == 0


def test_a_wrong_id_is_set_aside_by_the_command(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    one, other = sorted(cluster.disk(BROKER).glob("[a-z]*-0/partition.metadata"))[:2]
    shutil.copyfile(one, other)

    words = _words(_of(cluster, "partition_wrong_id").advice, cluster)

    assert run([*words, "--image", str(cluster.node(1)), "--quarantine"]) == 0
    assert not other.exists()


def test_all_that_is_said_of_an_audit_names_the_command() -> None:
    for kind in KINDS.values():
        assert kind.advice.count("storage audit") == (kind.remedy.command[: len(AUDIT)] == AUDIT), kind.name


def test_nodes_stand_in_the_order_of_their_numbers(clusters: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = clusters / "basic"
    shuffled = [root / f"node-{node_id}" for node_id in (12, 3, 11, 1, 2)]

    assert [node.node_id for node in find_sources([root]).nodes] == [1, 2, 3, 11, 12]
    assert [node.node_id for node in find_sources(shuffled).nodes] == [1, 2, 3, 11, 12]

    for words in (["check"], ["log", "diff"], ["log", "hash"], ["storage", "info"]):
        assert run([*words, *map(str, shuffled)]) == 0
        out = capsys.readouterr().out
        places = (
            [out.index(f"node {node_id} ") for node_id in (1, 2, 3, 11, 12)]
            if "node 1 " in out
            else [out.index(f"{path}") for path in sorted(shuffled, key=lambda path: int(path.name.split("-")[1]))]
        )
        assert places == sorted(places), words
