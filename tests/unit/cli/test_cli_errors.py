"""A user's mistake ends in one sentence that says what to do, and an exit status: never in a traceback."""

from __future__ import annotations

import contextlib
import socket
from pathlib import Path

import pytest

from quorum.cli.connection import VARIABLE
from quorum.cli.errors import CliError, exit_code_of, unexpected
from quorum.cli.main import COMMANDS, DEBUG_VARIABLE, run
from tests.support.fixture_files import FIXTURES

_NOBODY = "--bootstrap-controller=127.0.0.1:1"
_LOG = str(FIXTURES / "basic" / "node-1")
_CONTROLLER = str(Path(__file__).parents[3] / "deploy" / "config" / "controller.properties")


@pytest.fixture(autouse=True)
def no_controller_in_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)


@pytest.fixture(autouse=True)
def what_a_node_chooses_ends_with_its_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """`start` chooses for its process, which is the tests' here: set and taken away, it is as it was afterwards."""
    monkeypatch.setenv("GRPC_EXPERIMENTS", "")
    monkeypatch.delenv("GRPC_EXPERIMENTS")


def test_a_terminal_obeys_nothing_that_a_message_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    assert exit_code_of(CliError("topic a\0b\x1b[2J\nis absent")) == 1
    assert capsys.readouterr().err == "kraft: topic a\\x00b\\x1b[2J\nis absent\n"


@pytest.mark.parametrize(
    ("words", "status", "said"),
    [
        (["nonsense"], 2, "No such command"),
        (["topics", "create"], 2, "--topic"),
        (["topics", "list"], 2, f"--bootstrap-controller host:port, or set {VARIABLE}"),
        (["topics", "list", "--bootstrap-controller", "nowhere"], 2, "write host:port"),
        (["topics", "list", _NOBODY, "--timeout", "0.3"], 1, "127.0.0.1:1"),
        (["topics", "list", _NOBODY, "--topic", "("], 2, "not a regular expression"),
        (["topics", "list", _NOBODY, "--timeout", "soon"], 2, "--timeout"),
        (["topics", "list", _NOBODY, "--timeout", "soon"], 2, "'soon' is no number."),
        (["log", "dump", ".", "--from", "x"], 2, "'--from': 'x' is no whole number."),
        (["log", "export", _LOG, f"{__file__}/x"], 2, f"{__file__}/x cannot be made, {__file__} is no directory"),
        (["topics", "delete", _NOBODY], 2, "--topic NAME or --topic-id ID"),
        (["topics", "delete", _NOBODY, "--topic-id", "short"], 2, "'short' is not an id"),
        (["topics", "create", _NOBODY, "--topic", "a", "--partitions", "0"], 2, "--partitions"),
        (["topics", "create", _NOBODY, "--topic", "a", "--config", "b"], 2, "write name=value"),
        (["topics", "create", _NOBODY, "--topic", "a", "--replica-assignment", "1:x"], 2, "'1:x'"),
        (
            ["topics", "create", _NOBODY, "--topic", "a", "--replica-assignment", "1", "--partitions", "1"],
            2,
            "leave --partitions",
        ),
        (["quorum", "describe", _NOBODY, "--timeout", "0.3"], 1, "127.0.0.1:1"),
        (["quorum", "transfer", _NOBODY, "-i", "2", "--timeout", "0.3"], 1, "127.0.0.1:1: connection refused"),
        (
            ["quorum", "add-controller", _NOBODY, "-i", "4", "--command-config", __file__],
            2,
            "--command-config says which controller it is",
        ),
        (
            ["quorum", "remove-controller", _NOBODY, "-i", "4", "-d", "foo"],
            2,
            "--controller-directory-id: 'foo' is not",
        ),
        (["quorum", "unregister-controller", _NOBODY], 2, "name the controller: --controller-id"),
        (["quorum", "unregister-controller", _NOBODY, "--id", "4", "--timeout", "0.3"], 1, "127.0.0.1:1"),
        (["storage", "format", "-c", _CONTROLLER, "-t", "A" * 22, "-s"], 2, "this id is reserved"),
        (["storage", "format", "-c", _CONTROLLER, "-t", "A" * 21 + "Q", "-s"], 2, "this id is reserved"),
        (["agent", "describe", "--agent", "nowhere"], 2, "write host:port"),
        (["agent", "describe", "--agent", "127.0.0.1:1", "--timeout", "1"], 1, "127.0.0.1:1"),
        (["log", "dump", "/does/not/exist"], 2, "does not exist"),
        (["log", "export", "/does/not/exist", "/tmp/target"], 2, "does not exist"),
        (["controller", "start", "--config", "/does/not/exist"], 2, "--config"),
        (["demo", "--directory", "/dev/null"], 2, "--directory"),
    ],
)
def test_a_mistake_is_named(words: list[str], status: int, said: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(words) == status
    captured = capsys.readouterr()
    assert captured.out == ""
    assert said in _unfolded(captured.err)


@pytest.mark.parametrize("words", ["storage format", "recover cluster-id"])
def test_help_asks_for_no_length_of_a_cluster_id(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words.split(), "--help"]) == 0
    said = _unfolded(capsys.readouterr().out)
    assert "any text: see" in said
    assert "22 characters" not in said


def _unfolded(text: str) -> str:
    """Without the frames and folds that a usage error has on a terminal of 80 columns."""
    return " ".join(text.replace("│", " ").split())


def test_the_wrong_role_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "node.properties"
    config.write_text("process.roles=controller\nnode.id=1\nlisteners=GRPC://localhost:1\nlog.dirs=/nowhere\n")
    assert run(["agent", "start", "--config", str(config)]) == 1
    assert "this is no broker agent's" in capsys.readouterr().err


def test_an_unformatted_directory_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = tmp_path / "node.properties"
    config.write_text(
        f"process.roles=controller\nnode.id=1\nlisteners=GRPC://localhost:1\nlog.dirs={tmp_path / 'data'}\n"
    )
    assert run(["controller", "start", "--config", str(config)]) == 1
    assert "kraft storage format" in capsys.readouterr().err


def test_an_address_where_nobody_speaks_grpc_is_given_up_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        address = f"127.0.0.1:{mute.getsockname()[1]}"
        assert run(["topics", "list", "--bootstrap-controller", address, "--timeout", "0.5"]) == 1
    assert "no active controller answered within 0.5 s" in capsys.readouterr().err


def test_the_environment_may_name_the_controllers(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(VARIABLE, "nowhere")
    assert run(["quorum", "describe"]) == 2
    assert "'nowhere' is not an address" in capsys.readouterr().err


@pytest.mark.parametrize("port", ["0", "65536", "99999"])
def test_a_port_that_is_none_is_named(port: str, capsys: pytest.CaptureFixture[str]) -> None:
    """gRPC would take the rest of a division by 65536 for it."""
    assert run(["quorum", "describe", "--bootstrap-controller", f"localhost:{port}"]) == 2
    assert "its port is not from 1 to 65535" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["add-controller", "remove-controller"])
def test_a_directory_id_that_is_none_is_named_before_anybody_is_asked(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["quorum", command, "--bootstrap-controller", "localhost:1", "-i", "4", "-d", "home"]
    assert run(words) == 2
    assert "'home'" in capsys.readouterr().err


def test_a_directory_id_beside_the_file_that_says_it_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "node.properties"
    config.touch()
    words = ["quorum", "add-controller", "--bootstrap-controller", "localhost:1", "--command-config", str(config)]
    assert run([*words, "-d", "MkU3OEVBNTcwNTJENDM2Qg"]) == 2
    assert "--controller-directory-id goes with --controller-id" in capsys.readouterr().err


def test_a_bug_of_ours_has_no_exit_status() -> None:
    assert exit_code_of(ZeroDivisionError("ours")) is None
    assert exit_code_of(CliError("theirs", exit_code=2)) == 2


@pytest.fixture
def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A command `controller` with a bug, in place of the one that there is."""
    (tmp_path / "command_with_a_bug.py").write_text(
        """import typer

app = typer.Typer(epilog="Example:  kraft controller stop")


@app.command()
def start() -> None:
    raise ZeroDivisionError("first line\\nsecond line")


@app.command()
def stop() -> None:
    raise ZeroDivisionError
"""
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setitem(COMMANDS, "controller", ("command_with_a_bug", "A command with a bug."))
    monkeypatch.delenv(DEBUG_VARIABLE, raising=False)


@pytest.mark.usefixtures("failing")
def test_an_unexpected_error_is_one_line_that_names_debug(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["controller", "stop"]) == 1
    assert run(["--no-such-option", "controller", "stop"]) == 2
    line, *usage = capsys.readouterr().err.splitlines()
    assert line.startswith(
        "kraft: unexpected error: ZeroDivisionError; this is a bug in kraft: to see where it is, put"
    )
    assert usage[0].startswith("Usage: kraft")


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize("words", [["--debug", "controller", "stop"], ["controller", "start"]])
def test_debug_shows_the_traceback_as_a_nodes_log_does(words: list[str]) -> None:
    with pytest.raises(ZeroDivisionError):
        run(words)


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize(("value", "shows"), [("1", True), ("0", False), ("", False)])
def test_a_variable_shows_the_traceback(value: str, shows: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(DEBUG_VARIABLE, value)
    with pytest.raises(ZeroDivisionError) if shows else contextlib.nullcontext():
        assert run(["controller", "stop"]) == 1


def test_the_text_of_an_unexpected_error_is_on_one_line() -> None:
    sentence, status = unexpected(ValueError("first\nsecond"))
    assert sentence.startswith("unexpected error: ValueError: first second; this is a bug")
    assert status == 1


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["check", ""], "word 2, after check is empty"),
        (["storage", "audit", "", "--quarantine"], "word 3, after audit is empty"),
        (["recover", "standalone", "--dir", ""], "word 4, after --dir is empty"),
        (["recover", "standalone", "--dir="], "--dir= has no value"),
    ],
)
def test_an_empty_word_is_no_path(words: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A variable that is not set would mean the working directory."""
    assert run(words) == 2
    assert capsys.readouterr().err == f"kraft: {says}: is it a variable that is not set?\n"
