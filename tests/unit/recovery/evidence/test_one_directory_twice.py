"""Two directories with one node.id and directory.id: nothing is chosen by the order in which they are named."""

from __future__ import annotations

import json
import shutil

import pytest

from metadata_log.directory import META_PROPERTIES_FILE
from quorum.cli.main import run
from tests.support.misuses import Bench


@pytest.mark.parametrize("order", [(1, 2, 3), (3, 2, 1)])
def test_neither_is_counted_nor_started(
    order: tuple[int, ...], bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = {each: bench.node("failovers", each) for each in order}
    shutil.copy(nodes[3] / META_PROPERTIES_FILE, nodes[2] / META_PROPERTIES_FILE)
    assert run(["recover", "inspect", *map(str, nodes.values()), "-o", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    said = sorted(found["not_counted"])
    assert len(said) == 2
    assert all("nothing shows on which of them the node ran last" in one for one in said)
    (step,) = found["steps"]
    assert step["text"].startswith(f"Start nothing from {nodes[2]} and {nodes[3]} yet: all have the node.id")
    assert f"The path {nodes[2]} names node 2, of which no other directory is here" in step["text"]


def test_a_majority_of_others_starts_without(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    nodes = [bench.node("failovers", each) for each in (1, 2, 3)]
    twice = bench.root / "twice"
    shutil.copytree(nodes[1], twice)
    shutil.copy(nodes[2] / META_PROPERTIES_FILE, twice / META_PROPERTIES_FILE)
    assert run(["recover", "inspect", *map(str, (*nodes, twice)), "-o", "json"]) == 1
    found = json.loads(capsys.readouterr().out)
    assert "(2 of 3: controllers 1, 2)" in found["situation"]
    assert any(step["text"].startswith("Start nothing from") for step in found["steps"])
