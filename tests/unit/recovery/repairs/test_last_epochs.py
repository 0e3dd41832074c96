"""Near the end of the epochs: the elections that are left are counted, an observer alone is reset alone."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from structlog.testing import capture_logs

from metadata_log.offsets import LAST_EPOCH
from metadata_log.tools.check.check import check_paths
from metadata_log.tools.findings.finding import Severity
from quorum.cli.main import run
from quorum.node.process.log_lines import warn_of_last_epoch
from tests.support.ended_epochs import dirs_of, ended_nodes, reset_epoch, set_state, state_of
from tests.support.other_process import held_by_another


@pytest.fixture
def nodes(clusters: Path, tmp_path: Path) -> Path:
    return ended_nodes(clusters, tmp_path)


def test_inspect_counts_the_elections_that_are_left(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for node in (1, 2, 3):
        set_state(nodes, node, leaderEpoch=LAST_EPOCH - 46)

    assert run(["recover", "inspect", *(str(nodes / f"node-{node}" / "data") for node in (1, 2, 3))]) == 1

    said = capsys.readouterr().out
    assert "Only 46 more elections are possible" in said
    assert "No election is possible" not in said
    assert re.search(r"kraft recover epoch --dir .*--apply", said) is not None
    (found, *_) = (one for one in check_paths([nodes]).findings if one.kind == "quorum_state_ahead")
    assert "only 46 more elections are possible" in found.meaning


def test_standalone_starts_no_voters_that_elect_nobody(nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [*dirs_of(nodes, 1), *dirs_of(nodes, 2, 3, option="--copy"), "--timeout", "0.5"]

    assert run(["recover", "standalone", *words]) != 0

    said = capsys.readouterr().err
    assert "they elect a leader" not in said
    assert "No election is possible any more" in said
    assert "kraft recover epoch --dir" in said


def test_from_broker_starts_no_voters_that_elect_nobody(
    nodes: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["--broker-dir", str(nodes / "node-11" / "data"), *dirs_of(nodes, 1, 2, 3, option="--copy")]
    words += ["--dir", str(tmp_path / "new"), "--node-id", "9", "--endpoint", "CONTROLLER://localhost:9093"]

    assert run(["recover", "from-broker", *words, "--timeout", "0.5"]) != 0

    said = capsys.readouterr().err
    assert "they elect a leader" not in said
    assert "No election is possible any more" in said
    assert "kraft recover epoch --dir" in said


@pytest.mark.parametrize("named", [(1, 2, 3), (1,)])
def test_moved_voters_are_reset_first(named: tuple[int, ...], nodes: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = [word for node in named for word in ("--set", f"{node}@localhost:{9090 + node}")]
    words += [*dirs_of(nodes, *named), *dirs_of(nodes, *({1, 2, 3} - {*named}), option="--copy"), "--missing", "rest"]

    assert run(["recover", "voters", *words, "--timeout", "0.5"]) != 0

    said = capsys.readouterr().err
    assert "go on as a second quorum" not in said
    assert "kraft recover epoch" in said


@pytest.fixture
def observer_alone(nodes: Path) -> Path:
    """A healthy quorum in the epoch after that of its logs, beside an observer in the last one."""
    for node in (1, 2, 3):
        set_state(nodes, node, leaderEpoch=4, leaderId=-1, votedId=-1, votedDirectoryId="AAAAAAAAAAAAAAAAAAAAAA")
    set_state(nodes, 11, leaderEpoch=LAST_EPOCH, leaderId=-1)
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
    assert state_of(observer_alone, 11)["leaderEpoch"] <= 3, "above the leader's epoch it would ignore the leader"
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

    set_state(nodes, 1, leaderEpoch=LAST_EPOCH - 1)
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
        set_state(nodes, 1, leaderEpoch=3, leaderId=-1, votedId=-1, votedDirectoryId="AAAAAAAAAAAAAAAAAAAAAA")
        gap = ["--epoch-gap", str(epoch - 3), "--missing", "rest", "--timeout", "0.5"]
        assert run(["recover", "standalone", *dirs_of(nodes, 1), *gap, "--apply"]) == 0
        return nodes / "node-1" / "data"

    return made


def test_a_log_near_the_end_is_said_and_a_reset_leaves_its_elections(
    nodes: Path, only_voter: Callable[[int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    newest = LAST_EPOCH - 45
    path = str(only_voter(newest))
    set_state(nodes, 1, leaderEpoch=LAST_EPOCH)
    capsys.readouterr()

    assert run(["recover", "inspect", path]) == 1
    said = capsys.readouterr().out
    assert "No election is possible any more" in said
    assert "The logs are not touched by that" not in said
    assert f"has records of epoch {newest} itself, and no command lowers that" in said
    assert "With the epochs reset: only 44 more elections are possible" in said
    assert f"kraft recover epoch --dir {path} --apply" in said

    assert reset_epoch("--dir", path, "--apply") == 0
    assert state_of(nodes, 1)["leaderEpoch"] == newest + 1
    assert "Only 44 more elections are possible then" in capsys.readouterr().out

    assert run(["recover", "verify", path]) == 0
    (found,) = (one for one in check_paths([Path(path)]).findings if one.kind == "quorum_state_ahead")
    assert (found.severity, "no command lowers" in found.advice.lower()) == (Severity.NOTE, True)
    capsys.readouterr()
    assert run(["recover", "inspect", path]) == 0
    said = capsys.readouterr().out
    assert "Only 44 more elections are possible" in said
    assert "kraft recover epoch" not in said, "it would find nothing to reset"
    assert "Only an earlier backup has lower epochs" in said
    assert reset_epoch("--dir", path, "--apply") != 0
    assert "no quorum-state of node 1" in capsys.readouterr().err


@pytest.mark.parametrize("newest", [LAST_EPOCH - 1, LAST_EPOCH])
def test_no_reset_is_advised_that_is_refused(
    newest: int, nodes: Path, only_voter: Callable[[int], Path], capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(only_voter(newest))
    set_state(nodes, 1, leaderEpoch=LAST_EPOCH)
    capsys.readouterr()

    assert run(["recover", "inspect", path]) == 1

    said = capsys.readouterr().out
    assert "No election is possible any more" in said
    assert "kraft recover epoch" not in said
    assert "kraft snapshot restore BACKUP DATA_DIR --node-id ID" in said
    assert run(["recover", "standalone", "--dir", path, "--missing", "rest", "--timeout", "0.5"]) != 0
    assert "start it" not in capsys.readouterr().err
    assert reset_epoch("--dir", path, "--apply") != 0
    assert "No election is possible any more" in capsys.readouterr().err
