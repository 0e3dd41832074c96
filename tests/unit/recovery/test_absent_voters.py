"""Voters that are only not named are looked for before a repair is recommended: a repair would pass them over."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from quorum.cli.main import run
from tests.support.misuses import Bench, flipped, last_segment


def first_step(capsys: pytest.CaptureFixture[str], *dirs: Path) -> str:
    run(["recover", "inspect", *map(str, dirs), "-o", "json"])
    steps: Any = json.loads(capsys.readouterr().out)["steps"]
    return str(steps[0]["text"])


def test_a_node_with_a_torn_tail_may_just_start_beside_the_others(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    node = bench.node("basic", 1)
    log = last_segment(node)
    os.truncate(log, log.stat().st_size - 7)
    for index in log.parent.glob("*index"):  # they would prove that it was whole
        index.unlink()
    assert first_step(capsys, node) == (
        "Voters 2 and 3 are not here. Where their disks live, name their directories or copies too, or just start "
        "node 1 beside them: nothing is lost so. Go on here only if they are gone for good"
    )


def test_a_damaged_node_does_not_just_start(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    node, other = bench.node("basic", 1), bench.node("basic", 2)
    flipped(last_segment(node), 100)
    damaged = first_step(capsys, node)
    assert "just start" not in damaged
    assert first_step(capsys, node, other).startswith(
        "Voter 3 is not here. Where its disk lives, name its directory or a copy too, or just start node 2 beside it: "
    )


def test_of_brokers_copies_alone_nothing_starts(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    assert first_step(capsys, bench.node("basic", 11), bench.node("basic", 12)) == (
        "Voters 1, 2 and 3 are not here. Where their disks live, name their directories or copies too. Go on here only "
        "if they are gone for good"
    )


def test_a_directory_that_is_not_the_voters_is_said_to_be_none(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    node, other = bench.node("basic", 1), bench.node("basic", 2)
    meta = node / "meta.properties"
    own = "ZGlyZWN0b3J5LWlkLTAwMQ"
    assert own in meta.read_text()
    meta.write_text(meta.read_text().replace(own, "KPikfxQIDfX-2knXmA1C6g"))
    assert run(["recover", "inspect", str(node), str(other)]) == 1
    said = capsys.readouterr().out
    assert (
        f"NO VOTE: node 1 ({node}) is not the directory of voter 1, and has no vote: that votes with {own}, and "
        "meta.properties here has directory.id KPikfxQIDfX-2knXmA1C6g."
    ) in said
    assert f"No copy here: voter 1's disk (directory {own}), voter 3, broker 11" in said
    assert "Voters 1 and 3 are not here. Where their disks live" in said


def test_an_old_disk_beside_the_voters_own_hides_nothing(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    new, old = bench.node("dynamic-voters", 3), bench.node("dynamic-voters/replaced-disk", 3)
    run(["recover", "inspect", str(new), str(old)])
    said = capsys.readouterr().out
    assert f"NO VOTE: node 3 ({old})" in said
    assert "voter 3's disk" not in said
