"""If one of several nodes cannot be read, commands name it, show the others, and exit with status 1."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from quorum.cli.main import run
from tests.support.fixture_files import FIXTURES
from tests.support.readers import as_nobody, open_root

Capture = pytest.CaptureFixture[str]

COMMANDS = (
    "log verify",
    "log hash",
    "log timeline",
    "log diff",
    "storage info",
    "features check --target 4.3",
)
METADATA = "data/__cluster_metadata-0"
HIDDEN = (".", "data", METADATA, f"{METADATA}/00000000000000000000.log", f"{METADATA}/quorum-state")

UNASKED = {
    ("quorum-state", "log hash"),
    ("quorum-state", "log timeline"),
    ("quorum-state", "features check --target 4.3"),
    ("00000000000000000000.log", "storage info"),
}
"""What a command does not read."""


@pytest.fixture(scope="module")
def cluster() -> Iterator[Path]:
    """Yield three nodes. All imports happen here, because the unprivileged user cannot read the modules."""
    with open_root() as root:
        for node_id in (1, 2, 3):
            shutil.copytree(FIXTURES / "basic" / f"node-{node_id}", root / f"node-{node_id}")
        for command in COMMANDS:
            run([*command.split(), str(root)])
        with as_nobody():
            run(["log", "verify", str(root)])
        yield root


@pytest.fixture(params=HIDDEN)
def closed(request: pytest.FixtureRequest, cluster: Path) -> Iterator[Path]:
    """Yield the path in node 2 that cannot be read."""
    path = cluster / "node-2" / request.param
    mode = path.stat().st_mode & 0o777
    path.chmod(0)
    try:
        with as_nobody():
            yield path
    finally:
        path.chmod(mode)


def _called(cluster: Path, command: str, capfd: Capture, *, each: bool = False) -> tuple[int, Any, str]:
    paths = [f"{cluster}/node-{node_id}" for node_id in (1, 2, 3)] if each else [str(cluster)]
    capfd.readouterr()
    status = run([*command.split(), *paths, "-o", "json"])
    out, err = capfd.readouterr()
    return status, json.loads(out), err


@pytest.mark.parametrize("each", [False, True])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_closed_node_hides_no_other(command: str, each: bool, cluster: Path, closed: Path, capfd: Capture) -> None:
    status, shown, err = _called(cluster, command, capfd, each=each)

    if (closed.name, command) in UNASKED:
        assert status == 0
        return
    assert status == 1
    assert "Permission denied" in err + json.dumps(shown)
    assert "node-2" in err + json.dumps(shown)
    if command == "log timeline":
        assert [event["kind"] for event in shown["events"]].count("election") == 1
    elif command == "log hash":
        assert [line["source"] for line in shown["hashes"] if line["hash"]] == ["node 1", "node 3"]
    elif command == "storage info":
        assert len(shown["directories"]) == 3
        assert [row["node_id"] for row in shown["directories"] if not row["problem"]] == [1, 3]
