"""A process loads kio only where it speaks Kafka's protocol: kio costs 0.1 s of its start, and memory."""

from __future__ import annotations

import subprocess
import sys

import pytest


@pytest.mark.parametrize("module", ["quorum.server.main", "broker_agent.main"])
def test_a_process_that_speaks_grpc_alone_loads_no_kio(module: str) -> None:
    code = f"import sys, {module}; print('kio' in sys.modules, 'grpc' in sys.modules)"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "True"]
