"""Paths that are no text, or lie in a directory that this user may not read."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from metadata_log.files.os_files import OsFiles
from metadata_log.voters import Endpoint
from quorum.cli.recover.probe import asker
from quorum.recovery.guards.liveness import EndpointState
from quorum.recovery.inspection import inspect_copies
from tests.support.misuses import Bench, contents
from tests.support.readers import as_nobody, open_root


@pytest.fixture
def not_text(bench: Bench) -> Path:
    """A node's directory by a name that is no UTF-8."""
    node = bench.node("failovers", 1)
    strange = Path(os.fsdecode(os.fsencode(bench.root) + b"/nu\xff"))
    shutil.copytree(node, strange)
    return strange


def test_what_lies_behind_a_closed_door_is_not_said_to_be_gone(clusters: Path) -> None:
    with open_root() as root:
        for node in (1, 2):
            shutil.copytree(clusters / "failovers" / f"node-{node}", root / f"node-{node}")
        paths = [str(root / f"node-{node}" / "data") for node in (1, 2)]
        inspect_copies(OsFiles(), paths)
        (root / "node-2").chmod(0o700 if os.geteuid() == 0 else 0)
        with as_nobody():
            found = inspect_copies(OsFiles(), paths)
        (root / "node-2").chmod(0o700)
    (left_out,) = found.unjudged
    assert "cannot be read (Permission denied)" in left_out.problem
    assert found.plan.steps[0].text.startswith("Before any repair, fix what keeps")


def _said(*words: str) -> tuple[int, bytes]:
    """Run the command in a child process: this process's captured streams take only text."""
    done = subprocess.run(
        [sys.executable, "-m", "quorum.cli.main", "recover", *words], capture_output=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_a_path_that_is_no_text_is_inspected_and_not_repaired(not_text: Path, bench: Bench) -> None:
    status, said = _said("inspect", str(not_text))
    assert status == 1
    assert b"standalone --dir" in said
    link = bench.root / "link"
    link.symlink_to(not_text)
    before = contents(bench.root)
    for path in (not_text, link):
        status, said = _said("standalone", "--missing", "rest", "--timeout", "0.2", "--apply", "--dir", str(path))
        assert status == 1
        assert b"a path in it is no UTF-8, so no audit file could name it" in said
    assert contents(bench.root) == before


def test_a_name_of_a_log_that_is_no_hosts_answers_nothing() -> None:
    (answer,) = asker(0.2)([Endpoint(name="CONTROLLER", host="a..b", port=9093)])
    assert answer.heard is EndpointState.NOBODY
    assert answer.said == "'a..b' is no name of a host"
