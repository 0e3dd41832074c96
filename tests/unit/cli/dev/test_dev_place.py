"""The directory of `kraft dev`, its ports, and the commands that it prints."""

from __future__ import annotations

import contextlib
import fcntl
import os
import shlex
import socket
import subprocess
from pathlib import Path
from typing import TextIO

import pytest

from quorum.cli.demo.cluster import LOG_NAME, LOOPBACK, Cluster, free_ports
from quorum.cli.demo.interrupts import signal_name
from quorum.cli.demo.place import held_directory
from quorum.cli.dev.command import commands_to_try, death_of
from quorum.cli.dev.place import (
    AGENTS,
    CONTROLLERS,
    DEFAULT_PORT,
    OWNER,
    PORTS,
    SavedCluster,
    check_ports_free,
    dev_directory,
    first_port,
)
from quorum.cli.errors import CliError
from quorum.cli.main import COMMANDS, run

SAVED = SavedCluster(cluster_id="dG9kYXkgaXQgcmFpbnMgYQ", port=19_400)


def _cluster(place: Path, ports: list[int] | None = None) -> Cluster:
    return Cluster(place, controllers=CONTROLLERS, agents=AGENTS, ports=ports or free_ports(PORTS))


def _fail_half_way(path: Path) -> None:
    with dev_directory(path) as (place, _):
        (place / "controller-1").mkdir()
        raise CliError("formatting failed")


def test_a_saved_cluster_is_found_again(tmp_path: Path) -> None:
    with dev_directory(tmp_path / "new") as (place, saved):
        assert saved is None
        (place / "controller-1").mkdir()
        SAVED.write(place)
    with dev_directory(tmp_path / "new") as (place, saved):
        assert saved == SAVED
        assert (place / "controller-1").is_dir()


def test_a_directory_in_which_no_cluster_was_saved_is_left_as_it_was_found(tmp_path: Path) -> None:
    empty = tmp_path / "empty"
    empty.mkdir()
    for path in (tmp_path / "new", empty):
        with pytest.raises(CliError, match="formatting failed"):
            _fail_half_way(path)
    assert not (tmp_path / "new").exists()
    assert list(empty.iterdir()) == []


def test_files_that_a_killed_start_left_are_removed(tmp_path: Path) -> None:
    (tmp_path / OWNER.marker).touch()
    (tmp_path / "controller-1").mkdir()
    (tmp_path / ".cluster.json").touch()
    with dev_directory(tmp_path) as (place, saved):
        assert saved is None
        assert [child.name for child in place.iterdir()] == [OWNER.marker]
        SAVED.write(place)


def test_a_directory_of_somebody_else_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "precious").touch()
    with pytest.raises(CliError, match=r"not made by kraft dev, and it is not empty.*--dir"), dev_directory(tmp_path):
        pass
    assert [child.name for child in tmp_path.iterdir()] == ["precious"]


@pytest.mark.parametrize(
    "content",
    [b"{}", b'{"cluster_id":"x","port":0}', b'{"cluster_id":"x","port":65524}', b'{"cluster_id":"\xff","port":19400}'],
)
def test_a_saved_cluster_that_cannot_be_read_is_not_replaced(content: bytes, tmp_path: Path) -> None:
    with dev_directory(tmp_path) as (place, _):
        SAVED.write(place)
    (tmp_path / "cluster.json").write_bytes(content)
    with pytest.raises(CliError, match=r"cluster\.json is not as kraft dev wrote it"), dev_directory(tmp_path):
        pass
    assert (tmp_path / "cluster.json").read_bytes() == content


def test_a_cluster_that_has_run_is_not_removed_with_its_saved_state(tmp_path: Path) -> None:
    with dev_directory(tmp_path) as (place, _):
        SAVED.write(place)
        (place / "controller-1").mkdir()
        (place / "controller-1" / LOG_NAME).touch()
        (place / "cluster.json").unlink()
    for _ in range(2):
        with pytest.raises(CliError, match=r"cluster\.json is missing, but a cluster has run"), dev_directory(tmp_path):
            pass
        assert (tmp_path / "controller-1" / LOG_NAME).exists()


@pytest.mark.parametrize("with_directory", [False, True])
def test_a_marker_that_is_unlinked_before_it_is_locked_holds_nothing(
    with_directory: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, lock, locked = tmp_path / "dev", fcntl.lockf, list[int]()

    def lock_late(file: TextIO, command: int) -> None:
        """Let the command that held the directory end between the open and the lock."""
        if not locked:
            (path / OWNER.marker).unlink()
            if with_directory:
                path.rmdir()
        lock(file, command)
        locked.append(os.fstat(file.fileno()).st_ino)

    monkeypatch.setattr(fcntl, "lockf", lock_late)
    with held_directory(path, OWNER) as place:
        assert len(locked) == 2
        assert (place / OWNER.marker).stat().st_ino == locked[-1]
        assert (place / OWNER.marker).read_text() == OWNER.text


def test_a_marker_that_never_stays_is_called_in_use(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fcntl, "lockf", lambda *_: (tmp_path / OWNER.marker).unlink())
    with pytest.raises(CliError, match=r"another kraft dev is running"), held_directory(tmp_path, OWNER):
        pass


def test_a_directory_in_which_another_command_has_begun_is_not_removed(tmp_path: Path) -> None:
    with dev_directory(tmp_path / "dev") as (place, _):
        marker = place / OWNER.marker
        unlink = Path.unlink

        def unlink_and_begin(path: Path, missing_ok: bool = False) -> None:
            unlink(path, missing_ok)
            if path == marker:
                (place / "of the next").touch()

        patch = pytest.MonkeyPatch()
        patch.setattr(Path, "unlink", unlink_and_begin)
    patch.undo()
    assert [child.name for child in (tmp_path / "dev").iterdir()] == ["of the next"]


@pytest.mark.parametrize(
    ("number", "name"), [(9, "SIGKILL"), (34, "SIGRTMIN"), (35, "SIGRTMIN+1"), (63, "SIGRTMIN+29"), (64, "SIGRTMAX")]
)
def test_the_death_of_a_node_is_named_for_each_signal(number: int, name: str, tmp_path: Path) -> None:
    assert signal_name(number) == name
    node = next(iter(_cluster(tmp_path).nodes))
    process = subprocess.Popen(["true"])
    process.wait()
    process.returncode = -number
    node.process = process
    assert f"was killed by {name}; the others go on" in death_of(node)


def test_the_directory_of_another_user_is_not_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    (tmp_path / OWNER.marker).symlink_to(tmp_path.parent / "theirs")
    (tmp_path.parent / "theirs").write_text("theirs")
    with pytest.raises(CliError, match=r"belongs to another user \(uid \d+\): name another"), dev_directory(tmp_path):
        pass
    assert (tmp_path.parent / "theirs").read_text() == "theirs"


def test_the_first_port_is_the_saved_one_or_the_one_asked_for(tmp_path: Path) -> None:
    assert first_port(None, None, tmp_path) == DEFAULT_PORT
    assert first_port(25_000, None, tmp_path) == 25_000
    assert first_port(None, SAVED, tmp_path) == 19_400
    assert first_port(19_400, SAVED, tmp_path) == 19_400
    with pytest.raises(CliError, match=r"--port 25000: .* from 19400 on") as refused:
        first_port(25_000, SAVED, tmp_path)
    assert refused.value.exit_code == 2


def _both_named(controller: int, health: int) -> str:
    return (
        rf"{controller} \(CONTROLLER of controller 2\): it is taken; "
        rf".*:{health} \(HTTP of agent 12\): it is taken\. .*--port"
    )


def test_every_taken_port_is_named(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path)
    check_ports_free(cluster)
    ports = cluster.controllers[2].ports["CONTROLLER"], cluster.agents[12].ports["HTTP"]
    with contextlib.ExitStack() as taken:
        for port in ports:
            taken.enter_context(socket.create_server((LOOPBACK, port)))
        taken.enter_context(pytest.raises(CliError, match=_both_named(*ports)))
        check_ports_free(cluster)


def test_a_taken_port_ends_the_command_before_it_makes_anything(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with socket.create_server((LOOPBACK, 0)) as taken:
        port = min(taken.getsockname()[1], 65_523)
        status = run(["dev", "--dir", str(tmp_path / "new"), "--port", str(port)])
    said = capsys.readouterr()
    assert (status, said.out) == (1, "")
    assert "nothing was started" in said.err
    assert not (tmp_path / "new").exists()


def test_each_printed_command_is_one_of_ours_and_a_shell_reads_its_paths_whole(tmp_path: Path) -> None:
    cluster = _cluster(tmp_path / "it's a directory")
    commands = [shlex.split(command)[1:] for command in commands_to_try(cluster)]
    assert len(commands) == 5
    assert {words[0] for words in commands} <= set(COMMANDS)
    assert commands[-1][-1] == str(cluster.controllers[1].metadata_dir)
