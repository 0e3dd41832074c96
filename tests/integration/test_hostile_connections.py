"""A controller under strangers: more silent connections than it has descriptors, and requests of many megabytes."""

from __future__ import annotations

import contextlib
import os
import socket
import sys
import urllib.request
from collections.abc import Callable
from pathlib import Path

import pytest

from benchmarks import attacks
from quorum.cli.demo.cluster import LOOPBACK
from tests.support.standalone import create, leader_of, standalone, start
from tests.support.under_attack import UnderAttack

_DESCRIPTORS = 1_024
_SILENT = 1_400
_WRITES = 60


@pytest.mark.parametrize("listener", ["GRPC", "CONTROLLER"])
def test_silent_connections_leave_the_log_its_descriptors(tmp_path: Path, listener: str) -> None:
    with standalone(tmp_path / "cluster") as cluster, contextlib.ExitStack() as stack:
        node = cluster.controllers[1]
        node.properties["internal.metadata.log.segment.bytes"] = "2000"
        node.write_config()
        limited = f'ulimit -n {_DESCRIPTORS} && exec "$@"'
        node.launcher = ("/bin/sh", "-c", limited, "sh", sys.executable, "-m", "quorum.cli.demo.child")
        start(node)
        leader_of(cluster)
        create(cluster, ["before"])
        for _ in range(_SILENT):
            silent = socket.socket()
            stack.callback(silent.close)
            with contextlib.suppress(ConnectionError):
                silent.connect((LOOPBACK, node.ports[listener]))
        created = create(cluster, [f"topic-{number}" for number in range(_WRITES)])
        assert len(created) == _WRITES
        assert node.is_running
        assert len(os.listdir(f"/proc/{node.pid}/fd")) < _DESCRIPTORS
        with urllib.request.urlopen(f"http://{node.http_address}/livez", timeout=20) as answer:
            assert answer.status == 200
        text = node.log_file.read_text()
        assert "Too many open files" not in text
        assert "Traceback" not in text


@pytest.mark.parametrize(
    "flood",
    [attacks.empty_elements, pytest.param(attacks.few_elements, marks=pytest.mark.campaign), attacks.large_sessions],
)
def test_floods_of_the_largest_requests_bring_neither_elections_nor_growth(
    tmp_path: Path, flood: Callable[[attacks.Ports, float], str]
) -> None:
    with standalone(tmp_path / "cluster") as cluster:
        node = cluster.controllers[1]
        start(node)
        leader_of(cluster)
        before = UnderAttack(node)
        flood(attacks.Ports(node.ports["CONTROLLER"], node.ports["GRPC"], node.ports["HTTP"]), 5.0)
        assert len(create(cluster, ["after"])) == 1
        before.check()
