"""Options that take seconds, given what is no time."""

from __future__ import annotations

import pytest

from quorum.cli.main import run
from tests.support.fixture_files import FIXTURES

NODE = FIXTURES / "basic" / "node-1"
COMMANDS = (
    f"log timeline {NODE} --gap",
    "quorum describe --bootstrap-controller localhost:1 --timeout",
    "quorum describe --bootstrap-controller localhost:1 --timeout 0.1 --watch --interval",
    f"recover standalone --dir {NODE}/data --timeout",
)


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("seconds", ["nan", "inf", "1e400", "1e308"])
def test_what_is_no_time_is_named_in_a_line(command: str, seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([*command.split(), seconds]) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == f"kraft: {float(seconds)} seconds: give a number up to 1000000000\n"
