"""The environment with other makers' clients, kept in the cache until their versions change."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from types import TracebackType
from typing import Any

from tests.support.environments import environment_python

_ROOT = Path(__file__).resolve().parents[4]


def _python() -> Path:
    """Return an interpreter with the clients named in pyproject.toml, at the versions in constraints.txt."""
    project, constraints = _ROOT / "pyproject.toml", _ROOT / "constraints.txt"
    return environment_python(
        "clients",
        project.read_bytes() + constraints.read_bytes(),
        ("--upgrade", "pip>=25.1"),
        ("--constraint", constraints, "--group", f"{project}:clients"),
    )


class SteadyWriter:
    """A producer in a separate process, from its start to its report; see `clients.steady`."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        words = [str(_python()), "-m", "tests.support.kafka.clients.steady", bootstrap, topic]
        self._process = subprocess.Popen(
            words, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    def end(self, timeout_s: float) -> dict[str, Any]:
        """Let it stop writing and read everything; return its report.

        Raises:
            RuntimeError: the process failed; with its output.
        """
        out, err = self._process.communicate("", timeout=timeout_s)
        if self._process.returncode != 0:
            raise RuntimeError(f"the writer did not come to its end: {err[-4000:]}")
        told: dict[str, Any] = json.loads(out.splitlines()[-1])
        return told

    def __enter__(self) -> SteadyWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()


def play_with(client: str, bootstrap: str, topic: str, *, timeout_s: float) -> dict[str, Any]:
    """Run the scenario with a client in a separate process; return its report.

    Raises:
        RuntimeError: the process failed; with its output.
    """
    words = [str(_python()), "-m", "tests.support.kafka.clients", client, bootstrap, topic]
    done = subprocess.run(words, cwd=_ROOT, capture_output=True, text=True, timeout=timeout_s, check=False)
    if done.returncode != 0:
        raise RuntimeError(f"{client} did not play to the end: {done.stderr[-4000:]}")
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told
