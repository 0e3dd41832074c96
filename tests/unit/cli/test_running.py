"""The settings that a node's process makes before it loads gRPC."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

_SHOW = (
    "import os, sys; from quorum.cli.main import run\n"
    "try: run([*sys.argv[1:]])\n"
    "finally:\n"
    "    print('EXPERIMENTS', os.environ.get('GRPC_EXPERIMENTS'), 'grpc' in sys.modules)\n"
    "    print('FORKS', os.environ.get('GRPC_ENABLE_FORK_SUPPORT'), 'grpc' in sys.modules)"
)
_FIRST = (
    "import sys; import quorum.cli.controller, quorum.cli.agent, quorum.cli.demo.command, quorum.cli.main\n"
    "print('grpc' in sys.modules)"
)
_SETTLED = ("GRPC_EXPERIMENTS", "GRPC_ENABLE_FORK_SUPPORT")


def _python(code: str, *words: str, environment: dict[str, str] | None = None) -> str:
    clean = {name: value for name, value in os.environ.items() if name not in _SETTLED}
    done = subprocess.run(
        [sys.executable, "-c", code, *words],
        capture_output=True,
        text=True,
        check=True,
        env=clean | (environment or {}),
    )
    return done.stdout


def test_nothing_has_loaded_grpc_when_a_node_chooses_how_it_waits() -> None:
    assert _python(_FIRST).split() == ["False"]


def test_a_node_has_grpc_wait_in_one_thread(tmp_path: Path) -> None:
    config = tmp_path / "empty.properties"
    config.touch()
    for role in ("controller", "agent"):
        said = _python(_SHOW, role, "start", "--config", str(config))
        assert "EXPERIMENTS -event_engine_client,-event_engine_listener True" in said, said


@pytest.mark.parametrize(("chosen", "holds"), [({}, "0"), ({"GRPC_ENABLE_FORK_SUPPORT": "1"}, "1")])
def test_the_demo_keeps_grpc_out_of_its_forks_unless_the_operator_chose(
    tmp_path: Path, chosen: dict[str, str], holds: str
) -> None:
    (tmp_path / "somebody's").touch()  # the demo ends at a directory that is not its own
    said = _python(_SHOW, "demo", "--directory", str(tmp_path), environment=chosen)
    assert f"FORKS {holds} False" in said, said


def test_the_operators_own_choice_stays(tmp_path: Path) -> None:
    config = tmp_path / "empty.properties"
    config.touch()
    said = _python(_SHOW, "controller", "start", "--config", str(config), environment={"GRPC_EXPERIMENTS": "mine"})
    assert "EXPERIMENTS mine True" in said, said
