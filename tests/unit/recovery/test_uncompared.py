"""Copies with one cluster id of which nothing shows that they are of one log, or something that they are not."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quorum.cli.main import run
from tests.support.misuses import NO_WAIT, Bench, last_segment, metadata


def said_of(capsys: pytest.CaptureFixture[str], status: int, *words: object) -> str:
    capsys.readouterr()
    assert run([*map(str, ["recover", *words])]) == status
    said = capsys.readouterr()
    return said.out + said.err


def short(bench: Bench, node_id: int) -> Path:
    """Return a node whose log ends before the first broker registered: it names no topic, and no broker's run."""
    node = bench.node("basic", node_id)
    words = ["--dir", node, "--to", 15, "--missing", "rest", "--accept-data-loss", "--apply"]
    assert run([*map(str, ["recover", "truncate", *words, *NO_WAIT])]) == 0
    (metadata(node) / "00000000000000000096.snapshot").unlink(missing_ok=True)
    return node


def test_logs_without_a_common_offset_are_told_apart_by_brokers_runs(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    brokers = bench.node("basic", 11), bench.node("failovers", 12)
    words = [word for path in brokers for word in ("--broker-dir", path)]
    new = ["--dir", bench.root / "new", "--node-id", 1, "--endpoint", "CONTROLLER://localhost:1", "--missing", "rest"]
    said = said_of(capsys, 1, "from-broker", *words, *new, *NO_WAIT)
    assert "are not of one cluster: broker 12 registered at offset 15 as " in said
    assert "two clusters have one cluster id" in said
    assert "oses nothing" not in said
    voters = bench.node("basic", 1), bench.node("failovers", 2)
    said = said_of(capsys, 1, "standalone", "--dir", voters[0], "--copy", voters[1], "--missing", "rest", *NO_WAIT)
    assert "are not of one cluster" in said
    assert "start them" not in said
    said = said_of(capsys, 1, "inspect", *voters)
    assert "CONFLICT: " in said
    assert "Inspect the copies of each cluster separately" in said
    assert "Start controller" not in said


def test_nothing_is_claimed_of_what_cannot_be_compared(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    old, late = short(bench, 1), bench.node("failovers", 2)
    said = said_of(capsys, 1, "inspect", old, late)
    assert f"NOT COMPARED: node 2 ({late}) and node 1 ({old}) share no batch" in said
    assert "no metadata is lost" not in said
    assert "which nothing shows to be of the log that is kept" in said
    asked = json.loads(said_of(capsys, 1, "inspect", old, late, "-o", "json"))
    assert len(asked["uncompared"]) == 1
    words = ["standalone", "--dir", late, "--copy", old, "--missing", "rest", *NO_WAIT]
    said = said_of(capsys, 1, *words)
    assert "this would lose offsets 0 to 15 on node 1" in said
    assert "start them" not in said
    said = said_of(capsys, 0, *words, "--accept-data-loss")
    assert "Loses nothing" not in said
    assert "the two cannot be compared" in said
    assert "whether it can follow is not known" in said
    assert "they cannot be compared" in said_of(capsys, 1, "verify", old, late)


def test_a_follower_that_came_back_by_snapshot_is_of_the_same_log(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its log begins behind the end of an older copy: topics and brokers in both show that they belong together."""
    older = short_of_late(bench)
    said = said_of(capsys, 1, "inspect", older, bench.node("failovers", 2))
    assert "NOT COMPARED" not in said
    assert "CONFLICT" not in said


def short_of_late(bench: Bench) -> Path:
    node = bench.node("failovers", 12)
    segments = sorted(metadata(node).glob("*.log"))
    assert last_segment(node) == segments[-1]
    for segment in segments:
        if int(segment.stem) >= 200:
            segment.unlink()
    for checkpoint in metadata(node).glob("*.checkpoint"):
        if int(checkpoint.stem.partition("-")[0]) >= 200:
            checkpoint.unlink()
    return node
