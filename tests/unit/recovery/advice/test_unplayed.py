"""A record that no node can replay: the plan cuts before it, loses no more, and ends with a start."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import count
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.ids import NodeId
from metadata_log.records import FenceBrokerRecord
from quorum.cli.main import run
from quorum.recovery.advice.lent_checkpoint import lender
from quorum.recovery.advice.possible_repairs import Plan
from quorum.recovery.inspection import inspect_copies
from tests.support.damage import append
from tests.support.misuses import NO_WAIT, Bench, last_segment
from tests.support.one_fault import repeated_topic

IMPOSSIBLE = FenceBrokerRecord(id=NodeId(99), epoch=5)
NODES = (1, 2, 3, 11, 12)


def with_impossible(bench: Bench, fixture: str, holders: Sequence[int]) -> list[Path]:
    nodes = {node: bench.node(fixture, node) for node in NODES}
    for node in holders:
        append(last_segment(nodes[node]), [IMPOSSIBLE])
    return list(nodes.values())


def plan_of(nodes: Sequence[Path]) -> Plan:
    return inspect_copies(OsFiles(), [str(node) for node in nodes]).plan


def cuts_of(plan: Plan) -> list[str]:
    return [line for step in plan.steps for line in step.commands if line.startswith("kraft recover truncate")]


def play(lines: Sequence[str]) -> None:
    for line in lines:
        assert run([*shlex.split(line)[1:], *NO_WAIT]) == 0, line


def test_every_voter_that_holds_it_is_cut_before_it(clusters: Path, tmp_path: Path) -> None:
    nodes = with_impossible(Bench(clusters, tmp_path), "failovers", NODES)
    plan = plan_of(nodes)
    lines = cuts_of(plan)
    assert [line.split()[4] for line in lines[::2]] == [str(node) for node in nodes[:3]]
    assert all(" --to 326 " in line and "--accept-data-loss" in line for line in lines)
    assert lines[1::2] == [f"{line} --apply" for line in lines[::2]]
    (first, *_) = [step.text for step in plan.steps if "truncate" in str(step.commands)]
    assert first.endswith(f"Only this is lost: offset 326 on node 1 ({nodes[0]}): 1 FenceBroker; committed")
    assert "BACKUP" not in str(plan.steps)
    play(lines)
    after = plan_of(nodes)
    assert "undo" not in str(after.steps)
    assert after.steps[0].text.startswith("Start controllers 1, 2, 3 as they are")
    (voters,) = after.steps[-1].commands
    assert "--accept-data-loss" in voters
    ports = count(20001)
    play([re.sub("HOST:PORT", lambda _: f"localhost:{next(ports)}", voters)])


def test_the_voters_are_known_though_the_metadata_is_not(
    clusters: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = with_impossible(Bench(clusters, tmp_path), "failovers", NODES)
    run(["recover", "inspect", *map(str, nodes)])
    said = capsys.readouterr().out
    assert "Voters (kraft.version 1): 1@127.0.0.1:29101" in said
    assert re.findall(r"^ +\d+ +(\w+) ", said, re.MULTILINE).count("voter") == 3
    assert "unknown" not in said
    assert "Bring a copy of every broker's" not in said


def test_one_voter_alone_is_left_out_and_no_quorum_of_one_is_made(clusters: Path, tmp_path: Path) -> None:
    nodes = with_impossible(Bench(clusters, tmp_path), "failovers", (1,))
    plan = plan_of(nodes)
    assert not any("standalone" in line for step in plan.steps for line in step.commands)
    first, second, *_ = plan.steps
    assert first.text.startswith("Start controllers 2, 3 as they are")
    assert second.text.startswith(f"Do not start node 1 ({nodes[0]}): cannot replay FenceBrokerRecord at offset 326")


def test_a_voter_whose_log_keeps_less_is_not_cut(clusters: Path, tmp_path: Path) -> None:
    nodes = {node: Bench(clusters, tmp_path).node("basic", node) for node in NODES}
    for node in (1, 2, 3):
        assert repeated_topic(last_segment(nodes[node]))
    lines = cuts_of(plan_of(list(nodes.values())))
    assert [line.split()[4] for line in lines[::2]] == [str(nodes[2]), str(nodes[3])]
    play(lines)
    first, second, *_ = plan_of(list(nodes.values())).steps
    assert first.text.startswith("Start controllers 2, 3 as they are")
    assert second.text.startswith(f"Do not start node 1 ({nodes[1]}): cannot replay TopicRecord at offset 95")


def test_no_checkpoint_is_lent_that_ends_before_it(clusters: Path, tmp_path: Path) -> None:
    nodes = with_impossible(Bench(clusters, tmp_path), "failovers", NODES)
    known = inspect_copies(OsFiles(), [str(node) for node in nodes]).evidence
    assert [lender(known, copy) for copy in known.copies] == [None] * 5


def test_where_copies_part_the_one_that_cannot_be_replayed_is_left_out(clusters: Path, tmp_path: Path) -> None:
    nodes = with_impossible(Bench(clusters, tmp_path), "basic", (1,))
    first, second, *_ = plan_of(nodes).steps
    assert first.text.startswith("Start controllers 2, 3 as they are")
    assert second.text.startswith(f"Do not start node 1 ({nodes[0]}): cannot replay FenceBrokerRecord at offset 95")
    assert plan_of(nodes[1:]).steps[0].text.startswith("Start controllers 2, 3 as they are")
