"""Nodes that tests fork are processes of their own: they end as others do, and with the process that forked them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from quorum.cli.demo.cluster import wait_until
from tests.support import warm_nodes
from tests.support.standalone import standalone, start


def test_a_node_ends_as_it_is_told_to(tmp_path: Path) -> None:
    with standalone(tmp_path) as cluster:
        node = cluster.controllers[1]
        start(node)
        assert node.process is not None
        assert os.getsid(node.pid) == node.pid
        with pytest.raises(subprocess.TimeoutExpired):
            node.process.wait(0.001)
        assert node.stop() == 0
        start(node)
        node.kill()
        assert node.process.returncode == -signal.SIGKILL


def test_a_node_has_the_environment_of_its_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with standalone(tmp_path / "cluster") as cluster:
        node = cluster.controllers[1]
        start(node)
        node.kill()
        monkeypatch.chdir(tmp_path)
        monkeypatch.setenv("OF_THE_TEST", "1")
        node.start(environment={"OF_THE_NODE": "2"})
        node.wait_listening()
        said = Path(f"/proc/{node.pid}")
        assert (said / "cwd").resolve() == tmp_path
        assert sorted(os.readlink(said / "fd" / each) for each in "012") == sorted(
            ["/dev/null", str(node.log_file), str(node.log_file)]
        )
        node.config_file.write_text("node.id=none\n")
        node.stop()
        node.start()
        assert node.wait() == 1
        assert "node.properties" in node.last_lines()


def test_nodes_end_with_the_process_that_forked_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm_nodes, "_starters", [])  # the one that forks the nodes of other tests goes on
    with standalone(tmp_path) as cluster:
        node = cluster.controllers[1]
        start(node)
        warm_nodes.end_starter()
        wait_until("the node to end", lambda: not Path(f"/proc/{node.pid}/cwd").exists())
        assert node.wait() == -signal.SIGKILL
        start(node)
        assert node.stop() == 0
    warm_nodes.end_starter()


def test_words_of_its_own_are_executed(tmp_path: Path) -> None:
    with standalone(tmp_path) as cluster:
        node = cluster.controllers[1]
        node.launcher = (sys.executable, "-c", "import sys; sys.exit(7)")
        node.start()
        assert isinstance(node.process, subprocess.Popen)
        assert node.wait() == 7
