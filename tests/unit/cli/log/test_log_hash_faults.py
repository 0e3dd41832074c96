"""`kraft log hash` over several replicas, one of which cannot be read: the others are hashed all the same."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.damage import Cluster, copy_cluster, with_bytes
from tests.support.left_behind import GONE, checkpoint_with

_HIT = 2


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "basic", tmp_path / "basic")


def a_directory(path: Path) -> str:
    path.unlink()
    path.mkdir()
    return f"{path}: Is a directory"


def a_flipped_bit(path: Path) -> str:
    data = path.read_bytes()
    path.write_bytes(with_bytes(data, 2000, bytes([data[2000] ^ 1])))
    return f"{path}, position 1480: its checksum is "


def no_segment(path: Path) -> str:
    path.unlink()
    return f"{path.parent} holds neither a segment nor a checkpoint"


@pytest.mark.parametrize("damage", [a_directory, a_flipped_bit, no_segment], ids=lambda damage: damage.__name__)
@pytest.mark.parametrize("at", [[], ["--at", "50"]], ids=["end", "at"])
def test_the_others_are_hashed(
    damage: Callable[[Path], str], at: list[str], cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    fault = damage(cluster.segment(_HIT))

    assert run(["log", "hash", str(cluster.root), "-o", "json", *at]) == 1

    said = capsys.readouterr()
    assert said.err.startswith(f"kraft: {fault}")
    lines = {line["source"]: line for line in json.loads(said.out)["hashes"]}
    assert lines[f"node {_HIT}"]["hash"] is None
    assert lines[f"node {_HIT}"]["problem"].startswith(fault)
    others = {lines[f"node {node_id}"]["hash"] for node_id in (1, 3, 11, 12)}
    assert len(others) == 1
    assert None not in others


def test_that_the_others_differ_is_said_besides(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cluster = copy_cluster(clusters / "stray", tmp_path / "stray")
    checkpoint_with(cluster.metadata(1), GONE)
    newest = max(cluster.metadata(3).glob("*.log"))
    fault = a_directory(newest)

    assert run(["log", "hash", str(cluster.node(1)), str(cluster.node(2)), str(cluster.node(3))]) == 1

    said = capsys.readouterr().err
    assert fault in said
    assert "differs only in configs of topics that are gone" in said


def test_the_only_one_is_refused_as_before(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    fault = a_directory(cluster.segment(_HIT))

    assert run(["log", "hash", str(cluster.node(_HIT))]) == 2

    assert capsys.readouterr() == ("", f"kraft: {fault}\n")
