"""Commands that read a log from which a running node removes a segment meanwhile."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.damage import Cluster, copy_cluster
from tests.support.vanishing import vanishing

BROKER = 11


@pytest.fixture
def cluster(clusters: Path, tmp_path: Path) -> Cluster:
    return copy_cluster(clusters / "failovers", tmp_path / "failovers")


def _oldest(cluster: Cluster) -> Path:
    """The broker's first segment, which its checkpoints cover."""
    return min(cluster.metadata(BROKER).glob("*.log"))


COMMANDS = {
    "check": (["check", "{all}"], 1),
    "log diff": (["log", "diff", "{all}"], 1),
    "storage audit": (["storage", "audit", "{disk}"], 0),
    "log hash, in the first pass": (["log", "hash", "{all}"], 0),
    "log hash, in the second": (["log", "hash", "{all}"], 1),
    "log timeline": (["log", "timeline", "{all}"], 1),
    "features check": (["features", "check", "{all}", "--target", "4.3"], 0),
    "recover inspect": (["recover", "inspect", "{disk}"], 0),
}
"""And how many times each opens the segment before it is gone: those that verify it first need it again then."""


@pytest.mark.parametrize("name", COMMANDS)
def test_a_segment_that_is_removed_meanwhile_is_nothing_wrong(
    name: str, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    words, stays = COMMANDS[name]
    places = {"all": cluster.root, "disk": cluster.disk(BROKER)}
    calm = run([word.format(**places) for word in words])
    capsys.readouterr()

    with vanishing(_oldest(cluster), stays=stays) as removed:
        status = run([word.format(**places) for word in words])

    assert removed.opened > stays, "it was there all the time"
    assert not Path(removed.path).exists()
    assert (status, capsys.readouterr().err) == (calm, "")


@pytest.mark.parametrize("form", ["text", "table", "json", "jsonl", "csv", "parquet", "arrow"])
def test_a_dump_goes_on_with_the_next_segment(
    form: str, cluster: Cluster, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    metadata, oldest = cluster.metadata(BROKER), _oldest(cluster)
    others = [str(path) for path in sorted(metadata.iterdir()) if path.suffix in (".log", ".checkpoint")]
    others.remove(str(oldest))
    assert run(["log", "dump", *others, "-o", form]) == 0
    calm = capsysbinary.readouterr().out

    with vanishing(oldest, stays=0 if form not in ("parquet", "arrow") else 1) as removed:
        status = run(["log", "dump", str(metadata), "-o", form])

    said = capsysbinary.readouterr()
    assert removed.opened
    assert (status, said.out) == (1, calm)
    assert said.err.decode() == (
        f"kraft: {oldest}: it was removed while the log was read, as a running node does with what its checkpoints "
        "cover: its records are not shown\n"
    )


def test_a_dump_of_a_topic_finds_its_id_in_the_segments_that_are_left(
    cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["log", "dump", str(cluster.metadata(BROKER)), "--type", "topic", "-o", "json"]) == 0
    topic = json.loads(capsys.readouterr().out)["records"][-1]["data"]["name"]

    with vanishing(_oldest(cluster), stays=0):
        assert run(["log", "dump", str(cluster.metadata(BROKER)), "--topic", topic, "-o", "jsonl"]) == 1

    assert topic in capsys.readouterr().out


def test_the_shell_says_that_it_was_removed(cluster: Cluster, capsys: pytest.CaptureFixture[str]) -> None:
    with vanishing(_oldest(cluster), stays=0) as removed:
        status = run(["shell", str(cluster.node(BROKER)), "history", "/image/features"])

    assert status == 1
    assert f"kraft: {removed.path} was removed while the log was read" in capsys.readouterr().err
