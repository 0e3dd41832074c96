"""The command names itself in usage lines, examples and completion as it was called: `kraft-quorum` is its alias."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.cli.main import run
from quorum.cli.program import completion_variable, program_name

ALIAS = "kraft-quorum"


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/usr/bin/kraft", "kraft"),
        ("/usr/bin/kraft-quorum", ALIAS),
        ("kq", "kq"),
        ("/checkout/quorum/cli/main.py", "kraft"),
        ("/opt/kraft-0.2.0-linux-x86_64", "kraft"),
        ("-c", "kraft"),
        ("", "kraft"),
        ("/usr/bin/kräft", "kraft"),
    ],
)
def test_the_name_is_that_of_the_file_if_a_command_can_have_it(path: str, name: str) -> None:
    assert program_name(path) == name


def test_help_and_wrong_use_name_the_alias() -> None:
    calls = ["--help", "topics list --help", "check --help", "topics lisst"]
    code = (
        f"import contextlib, sys; from quorum.cli import main\nfor words in {calls!r}:\n"
        f"    sys.argv = ['/usr/bin/{ALIAS}', *words.split()]\n"
        "    with contextlib.suppress(SystemExit):\n        main.main()\n"
        "    print(end='\\f', flush=True)\n"
    )
    words = [sys.executable, "-c", code]
    done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=True)
    said = dict(zip(calls, done.stdout.split("\f"), strict=False))
    assert f"Usage: {ALIAS} [OPTIONS] COMMAND" in said["--help"]
    assert f"`{ALIAS} check`" in said["--help"]
    assert f"Usage: {ALIAS} topics list " in said["topics list --help"]
    assert f"\n    {ALIAS} topics list --bootstrap-controller" in said["topics list --help"]
    assert f"\n    {ALIAS} check " in said["check --help"]
    assert f"Try '{ALIAS} topics -h' for help." in said["topics lisst"]


@pytest.mark.parametrize("name", ["kraft", ALIAS])
@pytest.mark.parametrize(
    ("shell", "registers"),
    [
        ("bash", "complete -o default -F {function} {name}\n"),
        ("zsh", "#compdef {name}\n"),
        ("fish", "--command {name} "),
    ],
)
def test_completion_scripts_are_for_the_command_that_was_called(
    shell: str, registers: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    variable = completion_variable(name)
    monkeypatch.setenv(variable, f"source_{shell}")
    assert run([], name) == 0
    script = capsys.readouterr().out
    function = f"_{name.replace('-', '_')}_completion"
    assert registers.format(name=name, function=function) in script
    assert f"{variable}=complete_{shell}" in script


@pytest.mark.parametrize("name", ["kraft", ALIAS])
def test_each_shell_completes_the_command_that_was_called(
    name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    variable, expected = completion_variable(name), ["create", "alter", "delete", "list", "describe"]
    monkeypatch.setenv("COMP_WORDS", f"{name} topics ")
    monkeypatch.setenv("COMP_CWORD", "2")
    monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"{name} topics ")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    for shell in ("bash", "zsh", "fish"):
        monkeypatch.setenv(variable, f"complete_{shell}")
        assert run([], name) == 0
        said = capsys.readouterr().out
        assert all(word in said for word in expected)
    assert "kraft" not in said


@pytest.mark.skipif(shutil.which("bash") is None, reason="there is no bash")
def test_bash_itself_completes_the_alias(tmp_path: Path) -> None:
    program = tmp_path / ALIAS
    program.write_text(f"#!{sys.executable}\nfrom quorum.cli.main import main\nmain()\n")
    program.chmod(0o755)
    commands = (
        f'eval "$({completion_variable(ALIAS)}=source_bash {ALIAS})"; '
        f'COMP_WORDS=({ALIAS} topics de); COMP_CWORD=2; _kraft_quorum_completion {ALIAS}; echo "${{COMPREPLY[*]}}"'
    )
    path = f"{tmp_path}:{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", commands],
        capture_output=True, text=True, check=True, env={**os.environ, "PATH": path},
    )  # fmt: skip
    assert done.stdout.split() == ["delete", "describe"]
