"""Epochs at their end: what `inspect` says, and the reset of quorum-state to 1,000 above all logs."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from metadata_log.files.os_files import OsFiles
from metadata_log.offsets import LAST_EPOCH, Epoch
from metadata_log.storage.checkpoint import CheckpointTimes, build_checkpoint, write_checkpoint
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Severity
from quorum.cli.main import run
from quorum.node.process.log_lines import warn_of_last_epoch
from tests.support.other_process import held_by_another

NEW = 1003
"""1,000 above epoch 3, the greatest in the logs of `basic-4.4`."""


@pytest.fixture
def nodes(clusters: Path, tmp_path: Path) -> Path:
    """All nodes of a stopped cluster, every quorum-state in the last epoch, with a vote for a stranger."""
    root = shutil.copytree(clusters / "basic-4.4", tmp_path / "nodes")
    for node in (1, 2, 3):
        _set(root, node, leaderEpoch=LAST_EPOCH, leaderId=-1, votedId=666, votedDirectoryId="ZGlyZWN0b3J5LWlkLTY2Ng")
    return root


def _path(root: Path, node: int) -> Path:
    return root / f"node-{node}" / "data" / "__cluster_metadata-0" / "quorum-state"


def _state(root: Path, node: int) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(_path(root, node).read_text())
    return said


def _set(root: Path, node: int, **fields: object) -> None:
    path = _path(root, node)
    path.write_text(json.dumps({**_state(root, node), **fields}, separators=(",", ":")))


def _dirs(root: Path, *nodes: int, option: str = "--dir") -> list[str]:
    return [word for node in nodes for word in (option, str(root / f"node-{node}" / "data"))]


def _epoch(*words: str) -> int:
    return run(["recover", "epoch", *words, "--timeout", "0.5"])


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
    assert "A copy of another host's directory is named by --copy instead: its node is reset on its own host" in said


def test_all_voters_are_reset_and_no_log_is_touched(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = _logs(nodes)

    assert _epoch(*_dirs(nodes, 1, 2, 3), "--copy", str(nodes / "node-11" / "data")) == 0
    assert _state(nodes, 1)["leaderEpoch"] == LAST_EPOCH, "a dry run changes nothing"
    assert _epoch(*_dirs(nodes, 1, 2, 3), "--copy", str(nodes / "node-11" / "data"), "--apply") == 0

    for node in (1, 2, 3):
        state = _state(nodes, node)
        assert (state["leaderEpoch"], state["votedId"], state["leaderId"]) == (NEW, -1, -1)
    assert _logs(nodes) == before
    assert f"from epoch {LAST_EPOCH} to epoch {NEW}, without a vote" in capsys.readouterr().out
    assert check_paths([nodes / f"node-{node}" for node in (1, 2, 3)]).is_sound
    assert run(["recover", "verify", *(str(nodes / f"node-{node}" / "data") for node in (1, 2, 3))]) == 0
    assert _epoch(*_dirs(nodes, 1, 2, 3), "--apply") != 0
    assert "there is nothing to be reset" in capsys.readouterr().err


def test_it_is_taken_back(nodes: Path) -> None:
    before = {node: _path(nodes, node).read_bytes() for node in (1, 2, 3)}
    assert _epoch(*_dirs(nodes, 1, 2, 3), "--apply") == 0

    for node in (1, 2, 3):
        assert run(["recover", "undo", *_dirs(nodes, node), "--apply"]) == 0

    assert {node: _path(nodes, node).read_bytes() for node in (1, 2, 3)} == before


@pytest.mark.parametrize("named", [(1, 2), (1,)])
def test_it_refuses_without_all_voters(named: tuple[int, ...], nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _epoch(*_dirs(nodes, *named), "--apply") != 0

    assert "no whole log of voter" in capsys.readouterr().err
    assert all(_state(nodes, node)["leaderEpoch"] == LAST_EPOCH for node in (1, 2, 3))


def test_it_says_why_a_copy_that_is_here_does_not_count(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    metadata = _path(nodes, 3).parent
    for path in (*metadata.glob("*.checkpoint"), metadata / "leader-epoch-checkpoint"):
        path.unlink()
    for path in (*metadata.glob("*.log"), *metadata.glob("*index")):
        path.write_bytes(b"")

    assert _epoch(*_dirs(nodes, 1, 2, 3), "--apply") != 0

    said = capsys.readouterr().err
    assert "no whole log of voter 3 is here" in said
    assert f"(node 3 ({nodes / 'node-3' / 'data'}) holds no record, and node 2" in said
    assert all(_state(nodes, node)["leaderEpoch"] == LAST_EPOCH for node in (1, 2, 3))


def test_one_host_at_a_time_with_copies_of_the_others(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert _epoch(*_dirs(nodes, 2), *_dirs(nodes, 1, 3, option="--copy"), "--apply") == 0

    assert [_state(nodes, node)["leaderEpoch"] for node in (1, 2, 3)] == [LAST_EPOCH, NEW, LAST_EPOCH]
    said = capsys.readouterr().out
    assert f"kraft recover epoch --dir {nodes / 'node-1' / 'data'}" in said
    assert f"kraft recover epoch --dir {nodes / 'node-3' / 'data'}" in said
    assert "A copy of another host's directory is named by --copy instead" in said


def test_verify_repeats_no_step_that_is_done(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _set(nodes, 11, leaderEpoch=LAST_EPOCH, leaderId=-1)
    paths = {node: str(nodes / f"node-{node}" / "data") for node in (1, 2, 3, 11)}
    for node in (1, 2):
        others = _dirs(nodes, *({1, 2, 3, 11} - {node}), option="--copy")
        assert _epoch(*_dirs(nodes, node), *others, "--apply") == 0
    before = capsys.readouterr().out
    assert _epoch(*_dirs(nodes, 3), *_dirs(nodes, 1, 2, option="--copy"), "--apply") == 0
    assert _epoch(*_dirs(nodes, 11), "--apply") == 0
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
    _set(nodes, 11, leaderEpoch=LAST_EPOCH, leaderId=-1)

    found = [one for one in check_paths([nodes]).findings if one.kind == "quorum_state_ahead"]

    assert [(one.node_id, one.severity) for one in found] == [(node, Severity.ERROR) for node in (1, 2, 3, 11)]
    said = ["no election is possible any more" in one.meaning for one in found]
    assert said == [True, True, True, False]
    assert "ignores every leader" in found[3].meaning
    for one in found:
        assert "moves to its epoch" not in one.advice
        assert "move to its epoch" not in one.advice
        assert "`kraft recover epoch` (docs/runbooks/epochs-ended.md)" in one.advice


def test_observers_are_listed_with_the_command_for_their_file_alone(
    nodes: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _set(nodes, 11, leaderEpoch=LAST_EPOCH, leaderId=-1)
    observer = nodes / "node-11" / "data"

    assert _epoch(*_dirs(nodes, 1, 2, 3), "--copy", str(observer), "--apply") == 0

    said = capsys.readouterr().out
    line = f"kraft recover epoch --dir {observer} --apply"
    assert line in said
    assert "Look at every observer, a broker or an agent, whose directory was not given" in said
    assert _state(nodes, 11)["leaderEpoch"] == LAST_EPOCH
    assert run(line.split()[1:]) == 0
    assert _state(nodes, 11)["leaderEpoch"] <= NEW
    assert _state(nodes, 11)["data_version"] == 0


def test_a_log_at_the_end_of_the_epochs_is_not_helped(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An epoch is above all that any log has: no epoch is above the last one."""
    times = CheckpointTimes.at(1_795_715_997_885, last_contained_ms=0)
    batches = build_checkpoint((), epoch=Epoch(LAST_EPOCH), times=times, kraft_version=0)
    write_checkpoint(OsFiles(), f"{_path(nodes, 3).parent}/{20:020}-{LAST_EPOCH:010}.checkpoint", batches)

    assert _epoch(*_dirs(nodes, 1, 2, 3), "--apply") != 0

    said = capsys.readouterr().err
    assert "No election is possible any more" in said
    assert f"records of epoch {LAST_EPOCH} themselves, and no quorum-state of node" in said
    assert "Only a backup of before has lower epochs" in said


def test_inspect_counts_the_elections_that_are_left(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for node in (1, 2, 3):
        _set(nodes, node, leaderEpoch=LAST_EPOCH - 46)

    assert run(["recover", "inspect", *(str(nodes / f"node-{node}" / "data") for node in (1, 2, 3))]) == 1

    said = capsys.readouterr().out
    assert "Only 46 more elections are possible" in said
    assert "No election is possible" not in said
    assert re.search(r"kraft recover epoch --dir .*--apply", said) is not None
    (found, *_) = (one for one in check_paths([nodes]).findings if one.kind == "quorum_state_ahead")
    assert "only 46 more elections are possible" in found.meaning


def test_standalone_starts_no_voters_that_elect_nobody(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*_dirs(nodes, 1), *_dirs(nodes, 2, 3, option="--copy"), "--timeout", "0.5"]

    assert run(["recover", "standalone", *words]) != 0

    said = capsys.readouterr().err
    assert "they elect a leader" not in said
    assert "No election is possible any more" in said
    assert "kraft recover epoch --dir" in said


def test_from_broker_starts_no_voters_that_elect_nobody(
    nodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--broker-dir", str(nodes / "node-11" / "data"), *_dirs(nodes, 1, 2, 3, option="--copy")]
    words += ["--dir", str(tmp_path / "new"), "--node-id", "9", "--endpoint", "CONTROLLER://localhost:9093"]

    assert run(["recover", "from-broker", *words, "--timeout", "0.5"]) != 0

    said = capsys.readouterr().err
    assert "they elect a leader" not in said
    assert "No election is possible any more" in said
    assert "kraft recover epoch --dir" in said


@pytest.mark.parametrize("named", [(1, 2, 3), (1,)])
def test_moved_voters_are_reset_first(named: tuple[int, ...], nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word for node in named for word in ("--set", f"{node}@localhost:{9090 + node}")]
    words += [*_dirs(nodes, *named), *_dirs(nodes, *({1, 2, 3} - {*named}), option="--copy"), "--missing", "rest"]

    assert run(["recover", "voters", *words, "--timeout", "0.5"]) != 0

    said = capsys.readouterr().err
    assert "go on by themselves" not in said
    assert "kraft recover epoch" in said


@pytest.fixture
def observer_alone(nodes: Path) -> Path:
    """A healthy quorum in the epoch of its logs, beside an observer in the last one."""
    for node in (1, 2, 3):
        _set(nodes, node, leaderEpoch=3, leaderId=-1, votedId=-1, votedDirectoryId="AAAAAAAAAAAAAAAAAAAAAA")
    _set(nodes, 11, leaderEpoch=LAST_EPOCH, leaderId=-1)
    return nodes


def test_an_observer_alone_is_reset_alone(observer_alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    paths = [str(observer_alone / f"node-{node}" / "data") for node in (1, 2, 3, 11)]

    assert run(["recover", "inspect", *paths]) == 1

    said = capsys.readouterr().out
    assert f"(epoch {LAST_EPOCH}) ignores every leader of a lower epoch" in said
    assert "No election is possible" not in said
    assert "Stop every controller" not in said
    line = f"kraft recover epoch --dir {paths[3]} --apply"
    assert line in said
    assert run(line.split()[1:]) == 0
    assert _state(observer_alone, 11)["leaderEpoch"] <= 3, "above the leader's epoch it would ignore the leader"
    capsys.readouterr()
    assert run(["recover", "inspect", *paths]) == 0


def test_an_observer_alone_is_said_beside_running_voters(
    observer_alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [observer_alone / f"node-{node}" / "data" for node in (1, 2, 3, 11)]
    with held_by_another(paths[0] / ".lock"):
        assert run(["recover", "inspect", *map(str, paths)]) == 1

    said = capsys.readouterr().out
    assert "This quorum has running nodes" in said
    assert f"kraft recover epoch --dir {paths[3]} --apply" in said


def test_check_and_verify_stop_no_controller_for_an_observer(
    observer_alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (found,) = (one for one in check_paths([observer_alone]).findings if one.kind == "quorum_state_ahead")
    assert found.severity is Severity.ERROR
    assert "stop this node alone, no controller" in found.advice
    assert "stop every controller" not in found.advice

    assert run(["log", "verify", *(str(observer_alone / f"node-{node}" / "data") for node in (1, 2, 3, 11))]) == 1
    said = capsys.readouterr().out
    assert "it ignores every leader of a lower epoch" in said
    assert "stop every controller" not in said


def test_verify_says_it_of_one_log(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["log", "verify", str(nodes / "node-1" / "data")]) == 1

    assert "no election is possible any more" in capsys.readouterr().out


def test_storage_info_says_it(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["storage", "info", str(nodes / "node-1" / "data")]) == 1
    assert "No election is possible any more" in capsys.readouterr().out

    _set(nodes, 1, leaderEpoch=LAST_EPOCH - 1)
    assert run(["storage", "info", str(nodes / "node-1" / "data")]) == 1
    assert "Only 1 more election is possible" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("epoch", "is_observer", "says"),
    [
        (LAST_EPOCH, False, "no election is possible any more"),
        (LAST_EPOCH - 45, False, "only 45 more elections are possible"),
        (LAST_EPOCH, True, "it ignores every leader of a lower epoch"),
        (3, True, None),
    ],
)
def test_the_log_of_a_node_says_it_at_its_start(epoch: int, is_observer: bool, says: str | None) -> None:
    with capture_logs() as lines:
        warn_of_last_epoch(epoch, in_log=3, is_observer=is_observer)

    assert [one["log_level"] for one in lines] == (["warning"] if says else [])
    assert all(says is not None and says in one["what"] for one in lines)


@pytest.fixture
def only_voter(nodes: Path) -> Callable[[int], Path]:
    """Return node 1 as the only voter, with records of a given epoch in its log."""

    def made(epoch: int) -> Path:
        _set(nodes, 1, leaderEpoch=3, leaderId=-1, votedId=-1, votedDirectoryId="AAAAAAAAAAAAAAAAAAAAAA")
        gap = ["--epoch-gap", str(epoch - 3), "--missing", "rest", "--timeout", "0.5"]
        assert run(["recover", "standalone", *_dirs(nodes, 1), *gap, "--apply"]) == 0
        return nodes / "node-1" / "data"

    return made


def test_a_log_near_the_end_is_said_and_a_reset_leaves_its_elections(
    nodes: Path, only_voter: Callable[[int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    newest = LAST_EPOCH - 45
    path = str(only_voter(newest))
    _set(nodes, 1, leaderEpoch=LAST_EPOCH)
    capsys.readouterr()

    assert run(["recover", "inspect", path]) == 1
    said = capsys.readouterr().out
    assert "No election is possible any more" in said
    assert "The logs are not touched by that" not in said
    assert f"has records of epoch {newest} itself, and no command lowers that" in said
    assert "With the epochs reset: only 44 more elections are possible" in said
    assert f"kraft recover epoch --dir {path} --apply" in said

    assert _epoch("--dir", path, "--apply") == 0
    assert _state(nodes, 1)["leaderEpoch"] == newest + 1
    assert "Only 44 more elections are possible then" in capsys.readouterr().out

    assert run(["recover", "verify", path]) == 0
    (found,) = (one for one in check_paths([Path(path)]).findings if one.kind == "quorum_state_ahead")
    assert (found.severity, "no command lowers" in found.advice.lower()) == (Severity.NOTE, True)
    capsys.readouterr()
    assert run(["recover", "inspect", path]) == 0
    said = capsys.readouterr().out
    assert "Only 44 more elections are possible" in said
    assert "kraft recover epoch" not in said, "it would find nothing to reset"
    assert "Only a backup of before has lower epochs" in said
    assert _epoch("--dir", path, "--apply") != 0
    assert "no quorum-state of node 1" in capsys.readouterr().err


@pytest.mark.parametrize("newest", [LAST_EPOCH - 1, LAST_EPOCH])
def test_no_reset_is_advised_that_is_refused(
    newest: int, nodes: Path, only_voter: Callable[[int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(only_voter(newest))
    _set(nodes, 1, leaderEpoch=LAST_EPOCH)
    capsys.readouterr()

    assert run(["recover", "inspect", path]) == 1

    said = capsys.readouterr().out
    assert "No election is possible any more" in said
    assert "kraft recover epoch" not in said
    assert "kraft snapshot restore BACKUP DATA_DIR --node-id ID" in said
    assert run(["recover", "standalone", "--dir", path, "--missing", "rest", "--timeout", "0.5"]) != 0
    assert "start it" not in capsys.readouterr().err
    assert _epoch("--dir", path, "--apply") != 0
    assert "No election is possible any more" in capsys.readouterr().err
