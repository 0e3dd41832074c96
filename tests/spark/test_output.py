"""The JSON and the tables of `kraft analyze` are as docs/output.md has them."""

from __future__ import annotations

import subprocess
import sys

import msgspec
import pytest

from metadata_log.analysis import Verdict
from metadata_log.analysis.report.terminal import render_verdict
from quorum.cli.main import run
from quorum.cli.output import plain_lines
from tests.support.command_json import document
from tests.support.fixture_files import FIXTURES
from tests.support.output_page import described

pytestmark = pytest.mark.timeout(600)
"""The first waits for a JVM."""
WORDS = ("analyze", str(FIXTURES / "basic"), "-o", "json")


def test_json_and_headings_are_those_of_the_page(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(WORDS) == 0
    said = capsys.readouterr().out
    found = document(said)
    row = described()["kraft analyze"]
    assert set(found) == row.keys
    assert all(epoch["first"].endswith("Z") for epoch in found["epochs"])

    lines = plain_lines(render_verdict(msgspec.json.decode(said, type=Verdict)))

    assert row.headings[0] in [tuple(line.split()) for line in lines]


@pytest.mark.campaign
def test_a_process_of_its_own_prints_the_same_json() -> None:
    words = [sys.executable, "-m", "quorum.cli.main", *WORDS]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert set(document(done.stdout)) == described()["kraft analyze"].keys
