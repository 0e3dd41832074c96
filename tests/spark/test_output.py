"""The JSON and the tables of `kraft analyze` are as docs/output.md has them."""

from __future__ import annotations

import subprocess
import sys

import msgspec

from metadata_log.analysis import Verdict
from metadata_log.analysis.report.terminal import render_verdict
from quorum.cli.output import plain_lines
from tests.support.command_json import document
from tests.support.fixture_files import FIXTURES
from tests.support.output_page import described


def test_json_and_headings_are_those_of_the_page() -> None:
    words = ["-m", "quorum.cli.main", "analyze", str(FIXTURES / "basic"), "-o", "json"]
    done = subprocess.run([sys.executable, *words], capture_output=True, text=True, check=False)
    found = document(done.stdout)
    row = described()["kraft analyze"]
    assert set(found) == row.keys
    assert all(epoch["first"].endswith("Z") for epoch in found["epochs"])

    lines = plain_lines(render_verdict(msgspec.json.decode(done.stdout, type=Verdict)))

    assert row.headings[0] in [tuple(line.split()) for line in lines]
