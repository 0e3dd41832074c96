"""Obstacles to any repair or start: copies that contradict each other, and pending repairs."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path

import pytest

from quorum.cli.main import run
from quorum.recovery.journal.repair_record import JOURNAL_FILE
from tests.support.misuses import NO_WAIT, Bench, edited, interrupted, metadata


def said_of(capsys: pytest.CaptureFixture[str], status: int, *words: object) -> str:
    """Run a command of `kraft recover`; return its output of both streams without any earlier output."""
    capsys.readouterr()
    assert run([*map(str, ["recover", *words])]) == status
    said = capsys.readouterr()
    return said.out + said.err


def commands_in(said: str) -> list[list[str]]:
    """The commands that a plan prints, each as words without the first."""
    lines = [line.strip() for line in said.splitlines()]
    return [shlex.split(line)[1:] for line in lines if line.startswith("kraft ")]


def test_voters_that_contradict_each_other_are_not_to_be_started(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    one, wrong = bench.node("basic", 1), edited(bench, 3)
    said = said_of(capsys, 1, "inspect", one, wrong)
    assert "Start controller" not in said
    assert "Copies contradict each other: " in said
    assert said.count("hold other bytes") == 2  # above the plan and in it
    assert "before it is known which is right" in said
    assert all(f"node {node} ({path})" in said for node, path in ((1, one), (3, wrong)))
    assert [words[:2] for words in commands_in(said)] == [["log", "diff"]]
    for words in commands_in(said):
        assert run(words) == 1
    said = said_of(capsys, 1, "standalone", "--dir", one, "--copy", wrong, "--missing", "rest", *NO_WAIT)
    assert "changed by hand" in said
    assert "start them" not in said


def test_the_voter_that_most_logs_contradict_is_left_out(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """`kraft check` names it, too."""
    one, two, wrong = bench.node("basic", 1), bench.node("basic", 2), edited(bench, 3)
    said = said_of(capsys, 1, "inspect", one, two, wrong)
    assert said.count(f"that of node 3 ({wrong}), as kraft check finds") == 2
    assert "Start controllers 2, 1 as they are" in said
    assert f"Do not start node 3 ({wrong}): cannot replay PartitionChangeRecord at offset 74" in said
    assert said.count(f"node 3 ({wrong})") >= 3


def test_a_broker_that_contradicts_agreeing_voters_hinders_nobody_else(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    broker = edited(bench)
    said = said_of(capsys, 1, "inspect", bench.node("basic", 1), bench.node("basic", 2), broker)
    assert "as they are: they elect a leader by themselves" in said
    assert f"node 11 ({broker}) contradicts the voters, which agree: never start it from that log" in said
    said = said_of(capsys, 1, "inspect", bench.node("basic", 1), broker)
    assert "before it is known which is right" in said


def test_a_sound_broker_beside_one_that_contradicts_all_is_not_accused(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = [bench.node("basic", node_id) for node_id in (1, 2, 12)]
    said = said_of(capsys, 1, "inspect", *nodes, edited(bench))
    assert "node 11" in said
    assert said.count("contradicts the voters") == 1


def alone(node: Path) -> None:
    assert run(["recover", "standalone", "--dir", str(node), "--missing", "rest", "--apply", *NO_WAIT]) == 0


@pytest.mark.parametrize("nodes", [("basic", 1, 2), ("failovers", 1, 3)], ids=["same ends", "other ends"])
def test_two_survivors_that_were_both_repaired_are_two_repairs(
    nodes: tuple[str, int, int], bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    scenario, *both = nodes
    paths = [Bench(bench.clusters, bench.root / f"host{node}").node(scenario, node) for node in both]
    for path in paths:
        alone(path)
    said = said_of(capsys, 1, "inspect", *paths)
    assert "Several repairs were done where only one may be" in said
    assert "two repairs were done, and neither knows of the other" in said
    assert "(epoch 10" in said
    assert "until all but one are undone" in said
    assert "Committed: " not in said
    assert "Start controller" not in said
    undo, again = commands_in(said)
    assert undo[:3] == ["recover", "undo", "--dir"]
    assert undo[3] in map(str, paths)
    assert "neither knows of the other" in said_of(capsys, 1, "verify", *paths)
    assert run(undo) == 0
    capsys.readouterr()
    assert run(again) == 0
    assert "two repairs" not in capsys.readouterr().out


def test_of_two_repairs_that_stays_on_which_a_node_has_run(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    """Undo would be refused there; and where it is refused for both, it is not advised."""
    paths = [Bench(bench.clusters, bench.root / f"host{node}").node("basic", node) for node in (1, 2)]
    nodes = list(enumerate(paths, 1))
    for path in paths:
        alone(path)
    for ran, left in ((paths[0], [paths[1]]), (paths[1], [])):
        shutil.rmtree(f"{ran}.recovery")
        said = said_of(capsys, 1, "inspect", *paths)
        undone = [words[3] for words in commands_in(said) if words[:2] == ["recover", "undo"]]
        assert undone == [str(path) for path in left]
        if left:
            assert f"nothing has started from any, that of node 1 ({ran})" in said
    stuck = [f"A node has run on node {n} ({path}) since its repair, or its backup is gone" for n, path in nodes]
    assert sum(one in said for one in stuck) == 1, "the other one stays"


def test_one_repair_of_several_directories_is_no_two(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [bench.node("basic", node) for node in (1, 2, 3)]
    words = [word for node, path in enumerate(paths, 1) for word in ("--dir", path, "--set", f"{node}@h{node}:1")]
    said_of(capsys, 0, "voters", *words, "--missing", "rest", "--apply", *NO_WAIT)
    said_of(capsys, 0, "verify", *paths)
    assert "CONFLICT" not in said_of(capsys, 0, "inspect", *paths)
    said_of(capsys, 0, "undo", "--dir", paths[1], "--apply")
    for command in ("verify", "inspect"):
        said = said_of(capsys, 1, command, *paths)
        for path in (paths[0], paths[2]):
            assert f"kraft recover undo --dir {path} --apply" in said, command
        assert f"kraft recover undo --dir {paths[1]} " not in said


def test_an_interrupted_repair_is_to_be_run_again_and_nothing_else(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    node, broker = interrupted(bench), bench.node("basic", 12)
    command = f"kraft recover standalone --dir {node} --missing rest --apply --timeout 0.3"
    journal = node / JOURNAL_FILE
    record = json.loads(journal.read_text())
    journal.write_text(json.dumps({**record, "command": command}))
    said = said_of(capsys, 1, "inspect", node, broker)
    assert "from-broker" not in said
    assert "What a repair would keep" not in said
    again, undo, look = commands_in(said)
    assert again == shlex.split(command)[1:]
    assert undo == ["recover", "undo", "--dir", str(node), "--apply"]
    assert look == ["recover", "inspect", str(node), str(broker)]
    (node / "meta.properties").rename(node / "meta.properties.recover-held")
    assert commands_in(said_of(capsys, 1, "inspect", node, broker)) == [again, undo, look]
    assert run(again) == 0
    capsys.readouterr()
    assert "A majority of the voters is here and sound" in said_of(capsys, 0, *look[1:])


def test_a_moved_directory_is_named_where_it_is(bench: Bench, capsys: pytest.CaptureFixture[str]) -> None:
    node = interrupted(bench)
    journal = node / JOURNAL_FILE
    record = json.loads(journal.read_text())
    command = f"kraft recover standalone --dir {node} --missing rest --apply"
    journal.write_text(json.dumps({**record, "command": command}))
    moved = node.rename(node.with_name("moved"))
    assert f"kraft recover standalone --dir {moved} --missing rest --apply" in said_of(capsys, 1, "inspect", moved)


def test_an_interruption_without_its_journal_is_no_reason_to_begin_another_repair(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    node = interrupted(bench)
    (node / "meta.properties").rename(node / "meta.properties.recover-held")
    for left in ("", "torn"):
        (node / JOURNAL_FILE).write_text(left) if left else (node / JOURNAL_FILE).unlink()
        said = said_of(capsys, 1, "inspect", node, bench.node("basic", 12))
        assert f"below {node}.recovery has the same text: copy it" in said
        assert [words[1] for words in commands_in(said)] == ["inspect"]
    [audit] = Path(f"{node}.recovery").glob("*/audit.json")
    record = json.loads(audit.read_text())
    (node / JOURNAL_FILE).write_text(json.dumps({**record, "state": "prepared"}))
    assert "Run it again: it goes on" in said_of(capsys, 1, "inspect", node)


def test_where_only_interrupted_directories_are_left_out_the_command_is_told(
    bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    node = interrupted(bench)
    for path in metadata(node).iterdir():
        path.unlink()
    assert "was interrupted in" in said_of(capsys, 1, "inspect", node)
