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
