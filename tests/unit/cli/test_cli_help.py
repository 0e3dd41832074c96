"""Help and completion: of every command, with an example, and quick because nothing heavy is imported for it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.cli.main import COMMANDS, run
from tests.support.fixture_files import FIXTURES
from tests.support.on_a_terminal import on_a_terminal
from tests.support.output_page import all_commands

_COMMANDS = tuple(all_commands())
_HEAVY = ("grpc", "google.protobuf", "pyspark", "pyarrow", "asyncio", "uvloop", "structlog", "prometheus_client")
_SLOW = ("typer", "rich", "click", "crc32c", "typing_extensions", "importlib.metadata", "threading", *_HEAVY)


@pytest.mark.parametrize("words", _COMMANDS)
def test_every_command_explains_itself_by_example(words: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Its values are named for what they are, not for the types that programs have."""
    assert run([*words.split(), "--help"]) == 0
    said = capsys.readouterr().out
    assert re.findall(r" <(?:str|int|float|path|int range|float range)>", said) == []
    assert f"Usage: kraft {words}" in said
    assert "\\" not in said
    examples = said.partition("  Example")[2].splitlines()[1:]
    assert examples, f'give the command an example: @app.command(epilog="Example:  kraft {words} ...")'
    assert all(line.startswith("    kraft ") for line in examples)
    assert any(f"kraft {words}" in line for line in examples)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        ("agent describe", "--timeout <seconds> How long to wait for the agent."),
        ("quorum add-controller", "--timeout <seconds> How long to wait for the change to commit."),
        ("quorum transfer", "--timeout <seconds> How long to wait for the other voter to lead."),
        ("topics list", "--timeout <seconds> How long to wait for the controllers."),
        ("recover undo", "--dir <directory> The log directory whose latest repair is taken back;"),
        ("recover cluster-id", "--dir <directory> A log directory that gets the new cluster id;"),
        ("recover cluster-id", "--to <cluster-id> The new cluster id"),
        ("log export", "--live <host:port> GRPC address"),
    ],
)
def test_texts_of_options_belong_to_the_command(words: str, text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*words.split(), "--help"]) == 0
    assert text in " ".join(capsys.readouterr().out.split())


def test_help_is_as_wide_as_the_terminal() -> None:
    narrow, wide = (on_a_terminal([["log", "verify", "--help"]], COLUMNS=columns)[0] for columns in ("60", "150"))
    assert max(map(len, narrow.partition(b"  Example")[0].splitlines())) <= 60
    assert 110 < max(map(len, wide.partition(b"  Example")[0].splitlines())) <= 150


def test_severities_have_colours_on_a_terminal_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    node = shutil.copytree(FIXTURES / "basic/node-1", tmp_path / "node-1")
    log = next(node.rglob("00000000000000000000.log"))
    log.write_bytes(log.read_bytes()[:-1] + b"\xff")
    words = ["check", str(node)]
    (coloured,) = on_a_terminal([words], COLUMNS="9999", NO_COLOR="")
    (plain,) = on_a_terminal([words], COLUMNS="9999")
    assert re.search(rb"^  \x1b\[1;31mERROR\x1b\[0m   \w", coloured, re.MULTILINE)
    assert re.sub(rb"\x1b\[[0-9;]*m", b"", coloured) == plain
    assert b"\x1b" not in plain
    assert run(words) == 1
    assert capsys.readouterr().out.encode() == plain


@pytest.mark.parametrize("group", sorted({words.split()[0] for words in _COMMANDS if " " in words}))
def test_every_group_of_commands_shows_one_of_them(group: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([group, "--help"]) == 0
    _, *examples = capsys.readouterr().out.partition("  Example")[2].splitlines()
    assert examples
    commands = {words for words in _COMMANDS if words.startswith(f"{group} ")}
    assert all(" ".join(line.split()[1:3]) in commands for line in examples)


def test_help_imports_nothing_heavy() -> None:
    """The helps come one after another in one process: the first that imports such a module is named."""
    lines = [words.split() for words in ("", *COMMANDS, "topics create", "log export", "agent describe")]
    code = (
        "import json, sys; from quorum.cli.main import run\n"
        f"for words in {lines!r}:\n"
        "    status = run([*words, '--help'])\n"
        f"    heavy = [name for name in {_HEAVY!r} if name in sys.modules]\n"
        "    print(json.dumps([words, status, heavy]), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert [json.loads(line) for line in done.stderr.splitlines()] == [[words, 0, []] for words in lines]


def test_a_plain_dump_imports_what_it_needs_and_leaves_the_rest_as_it_was() -> None:
    log = next((FIXTURES / "basic").rglob("00000000000000000000.log"))
    code = (
        "import json, sys; before = set(sys.modules); from quorum.cli.main import run; "
        f"status = run(['log', 'dump', {str(log)!r}]); "
        f"print(json.dumps([status, [name for name in {_SLOW!r} if name in sys.modules and name not in before]]), "
        "file=sys.stderr); import typing_extensions, gc; print(gc.isenabled(), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.splitlines() == ["[0, []]", "True"]
    assert done.stdout.startswith(f"Dumping {log}\n")


def test_the_list_of_commands_is_whole(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["--help"]) == 0
    said = capsys.readouterr().out
    for name in COMMANDS:
        assert f" {name} " in said


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("kraft to", ["topics"]),
        ("kraft topics ", ["create", "alter", "delete", "list", "describe"]),
        ("kraft topics de", ["delete", "describe"]),
        ("kraft topics describe --under", ["--under-replicated-partitions", "--under-min-isr-partitions"]),
        ("kraft cluster ", ["id"]),
        ("kraft features upgrade --r", ["--release-version"]),
        ("kraft features di", ["disable"]),
        ("kraft topics describe --ex", ["--exclude-internal"]),
        ("kraft storage v", ["version-mapping"]),
        ("kraft topics create --re", ["--replication-factor", "--replica-assignment"]),
        ("kraft demo --d", ["--directory"]),
    ],
)
def test_bash_completes(
    line: str, expected: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    asked = {"_KRAFT_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
    for name, value in asked.items():
        monkeypatch.setenv(name, value)
    assert run([]) == 0
    said = capsys.readouterr()
    assert (said.out.split(), said.err) == (expected, "")


def test_bash_zsh_and_fish_complete() -> None:
    """A shell asks in a process that is there for that alone."""
    assert "topics" in _complete(_KRAFT_COMPLETE="complete_bash", COMP_WORDS="kraft to", COMP_CWORD="1").split()
    assert '"describe"' in _complete(_KRAFT_COMPLETE="complete_zsh", _TYPER_COMPLETE_ARGS="kraft quorum ")
    fish = _complete(
        _KRAFT_COMPLETE="complete_fish", _TYPER_COMPLETE_ARGS="kraft topics ", _TYPER_COMPLETE_FISH_ACTION="get-args"
    )
    assert [line.split("\t")[0] for line in fish.splitlines()] == ["create", "alter", "delete", "list", "describe"]


def _complete(**variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "quorum.cli.main"],
        capture_output=True, text=True, check=False, env={**os.environ, **variables},
    )  # fmt: skip
    assert done.stderr == ""
    return done.stdout
