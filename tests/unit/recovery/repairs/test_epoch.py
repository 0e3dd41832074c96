"""Epochs at their end: what `inspect` says, and the reset of quorum-state to 1,000 above all logs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.offsets import LAST_EPOCH, Epoch
from metadata_log.storage.checkpoint import CheckpointTimes, build_checkpoint, write_checkpoint
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Severity
from quorum.cli.main import run
from tests.support.ended_epochs import dirs_of, ended_nodes, reset_epoch, set_state, state_of, state_path
from tests.support.other_process import held_by_another

NEW = 1003
"""1,000 above epoch 3, the greatest in the logs of `basic-4.4`."""


@pytest.fixture
def nodes(clusters: Path, tmp_path: Path) -> Path:
    return ended_nodes(clusters, tmp_path)


def _logs(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in root.glob("**/*") if path.suffix in (".log", ".checkpoint")}


def test_inspect_says_that_no_election_is_possible(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(nodes / f"node-{node}" / "data") for node in (1, 2, 3, 11)]

    assert run(["recover", "inspect", *paths]) == 1

    said = capsys.readouterr().out
    assert "No election is possible any more" in said
    assert "elect a leader by themselves" not in said
    line = re.search(r"kraft recover epoch --dir .*--apply", said)
    assert line is not None
    assert all(path in line[0] for path in paths)
    assert "Name a copy of another host's directory with --copy instead: its node is reset on its own host" in said


def test_all_voters_are_reset_and_no_log_is_touched(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = _logs(nodes)

    assert reset_epoch(*dirs_of(nodes, 1, 2, 3), "--copy", str(nodes / "node-11" / "data")) == 0
    assert state_of(nodes, 1)["leaderEpoch"] == LAST_EPOCH, "a dry run changes nothing"
    assert reset_epoch(*dirs_of(nodes, 1, 2, 3), "--copy", str(nodes / "node-11" / "data"), "--apply") == 0

    for node in (1, 2, 3):
        state = state_of(nodes, node)
        assert (state["leaderEpoch"], state["votedId"], state["leaderId"]) == (NEW, -1, -1)
    assert _logs(nodes) == before
    assert f"from epoch {LAST_EPOCH} to epoch {NEW}, without a vote" in capsys.readouterr().out
    assert check_paths([nodes / f"node-{node}" for node in (1, 2, 3)]).is_sound
    assert run(["recover", "verify", *(str(nodes / f"node-{node}" / "data") for node in (1, 2, 3))]) == 0
    assert reset_epoch(*dirs_of(nodes, 1, 2, 3), "--apply") != 0
    assert "there is nothing to be reset" in capsys.readouterr().err


def test_it_is_taken_back(nodes: Path) -> None:
    before = {node: state_path(nodes, node).read_bytes() for node in (1, 2, 3)}
    assert reset_epoch(*dirs_of(nodes, 1, 2, 3), "--apply") == 0

    for node in (1, 2, 3):
        assert run(["recover", "undo", *dirs_of(nodes, node), "--apply"]) == 0

    assert {node: state_path(nodes, node).read_bytes() for node in (1, 2, 3)} == before


@pytest.mark.parametrize("named", [(1, 2), (1,)])
def test_it_refuses_without_all_voters(named: tuple[int, ...], nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reset_epoch(*dirs_of(nodes, *named), "--apply") != 0

    assert "no whole log of voter" in capsys.readouterr().err
    assert all(state_of(nodes, node)["leaderEpoch"] == LAST_EPOCH for node in (1, 2, 3))


def test_it_says_why_a_copy_that_is_here_does_not_count(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metadata = state_path(nodes, 3).parent
    for path in (*metadata.glob("*.checkpoint"), metadata / "leader-epoch-checkpoint"):
        path.unlink()
    for path in (*metadata.glob("*.log"), *metadata.glob("*index")):
        path.write_bytes(b"")

    assert reset_epoch(*dirs_of(nodes, 1, 2, 3), "--apply") != 0

    said = capsys.readouterr().err
    assert "no whole log of voter 3 is here" in said
    assert f"(node 3 ({nodes / 'node-3' / 'data'}) holds no record, and node 2" in said
    assert all(state_of(nodes, node)["leaderEpoch"] == LAST_EPOCH for node in (1, 2, 3))


def test_one_host_at_a_time_with_copies_of_the_others(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert reset_epoch(*dirs_of(nodes, 2), *dirs_of(nodes, 1, 3, option="--copy"), "--apply") == 0

    assert [state_of(nodes, node)["leaderEpoch"] for node in (1, 2, 3)] == [LAST_EPOCH, NEW, LAST_EPOCH]
    said = capsys.readouterr().out
    assert f"kraft recover epoch --dir {nodes / 'node-1' / 'data'}" in said
    assert f"kraft recover epoch --dir {nodes / 'node-3' / 'data'}" in said
    assert "Name a copy of another host's directory with --copy instead" in said


def test_verify_repeats_no_step_that_is_done(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    set_state(nodes, 11, leaderEpoch=LAST_EPOCH, leaderId=-1)
    paths = {node: str(nodes / f"node-{node}" / "data") for node in (1, 2, 3, 11)}
    for node in (1, 2):
        others = dirs_of(nodes, *({1, 2, 3, 11} - {node}), option="--copy")
        assert reset_epoch(*dirs_of(nodes, node), *others, "--apply") == 0
    before = capsys.readouterr().out
    assert reset_epoch(*dirs_of(nodes, 3), *dirs_of(nodes, 1, 2, option="--copy"), "--apply") == 0
    assert reset_epoch(*dirs_of(nodes, 11), "--apply") == 0
    capsys.readouterr()
    assert run(["recover", "verify", *paths.values()]) == 0
    after = capsys.readouterr().out

    due = {node: f"kraft recover epoch --dir {path} " in before for node, path in paths.items()}
    left = {node: f"kraft recover epoch --dir {path} " in after for node, path in paths.items()}
    assert due == {1: False, 2: True, 3: True, 11: True}
    assert left == dict.fromkeys(paths, False)
    assert "Start all controllers" in after


def test_inspect_says_it_beside_running_nodes(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(nodes / f"node-{node}" / "data") for node in (1, 2, 3)]
    with held_by_another(Path(paths[0]) / ".lock"):
        assert run(["recover", "inspect", *paths]) == 1

    said = capsys.readouterr().out
    assert "No election is possible any more" in said
    assert "This quorum has running nodes" in said
    assert "Stop every controller" in said
    assert re.search(r"kraft recover epoch --dir .*--apply", said) is not None


def test_check_says_it_of_voters_and_of_observers(nodes: Path) -> None:
    set_state(nodes, 11, leaderEpoch=LAST_EPOCH, leaderId=-1)

    found = [one for one in check_paths([nodes]).findings if one.kind == "quorum_state_ahead"]

    assert [(one.node_id, one.severity) for one in found] == [(node, Severity.ERROR) for node in (1, 2, 3, 11)]
    said = ["no election is possible any more" in one.meaning for one in found]
    assert said == [True, True, True, False]
    assert "ignores every leader" in found[3].meaning
    for one in found:
        assert "moves to its epoch" not in one.advice
        assert "move to its epoch" not in one.advice
        assert "`kraft recover epoch` (`kraft docs runbooks/epochs-ended`)" in one.advice


def test_observers_are_listed_with_the_command_for_their_file_alone(
    nodes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    set_state(nodes, 11, leaderEpoch=LAST_EPOCH, leaderId=-1)
    observer = nodes / "node-11" / "data"

    assert reset_epoch(*dirs_of(nodes, 1, 2, 3), "--copy", str(observer), "--apply") == 0

    said = capsys.readouterr().out
    line = f"kraft recover epoch --dir {observer} --apply"
    assert line in said
    assert "Look at every observer, a broker or an agent, whose directory was not given" in said
    assert state_of(nodes, 11)["leaderEpoch"] == LAST_EPOCH
    assert run(line.split()[1:]) == 0
    assert state_of(nodes, 11)["leaderEpoch"] <= NEW
    assert state_of(nodes, 11)["data_version"] == 0


def test_a_log_at_the_end_of_the_epochs_is_not_helped(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An epoch is above all that any log has: no epoch is above the last one."""
    times = CheckpointTimes.at(1_795_715_997_885, last_contained_ms=0)
    batches = build_checkpoint((), epoch=Epoch(LAST_EPOCH), times=times, kraft_version=0)
    write_checkpoint(OsFiles(), f"{state_path(nodes, 3).parent}/{20:020}-{LAST_EPOCH:010}.checkpoint", batches)

    assert reset_epoch(*dirs_of(nodes, 1, 2, 3), "--apply") != 0

    said = capsys.readouterr().err
    assert "No election is possible any more" in said
    assert f"records of epoch {LAST_EPOCH} themselves, and no quorum-state of node" in said
    assert "Only an earlier backup has lower epochs" in said
