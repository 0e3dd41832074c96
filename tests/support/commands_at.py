"""Commands run in the test's process, at controllers that the test runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from quorum.cli.connection import VARIABLE
from quorum.cli.main import run
from tests.support.command_json import document

Kraft = Callable[..., tuple[int, str, str]]
"""Runs a command; returns its status, standard output and standard error."""


def commands_at(bootstrap: Iterable[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Kraft:
    """Return a function that runs a command at these controllers."""
    monkeypatch.setenv(VARIABLE, ",".join(bootstrap))

    def call(*words: str) -> tuple[int, str, str]:
        status = run(words)
        said = capsys.readouterr()
        return status, said.out, said.err

    return call


def data(answer: tuple[int, str, str]) -> Any:
    """Return the JSON of a command that succeeded and wrote nothing to standard error."""
    status, out, err = answer
    assert (status, err) == (0, "")
    return document(out)
