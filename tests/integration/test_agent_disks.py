"""An agent with two disks: what is removed under it is seen at once when asked, and a disk that is gone is offline."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

from quorum.cli.demo.cluster import Cluster, wait_until
from tests.integration.test_agent_readiness import _checks


def _verified(cluster: Cluster) -> tuple[int, Any]:
    words = ["agent", "verify", "--agent", cluster.agents[11].grpc_address, "-o", "json"]
    done = subprocess.run([*cluster.kraft, *words], capture_output=True, text=True, check=False)
    return done.returncode, json.loads(done.stdout)


def test_a_directory_and_then_a_disk_disappear_under_an_agent(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=(1,), agents=(11,)) as cluster:
        agent = cluster.agents[11]
        second = agent.root / "second"
        agent.properties["log.dirs"] += f",{second}"
        cluster.format()
        cluster.start()
        wait_until("the agent to be ready", lambda: _checks(agent)["ok"])
        cluster.run(
            "topics", "create", "--topic", "orders", "--partitions", "4", "--bootstrap-controller", cluster.bootstrap[0]
        )
        wait_until("four directories", lambda: len(list(agent.root.glob("*/orders-*"))) == 4)
        status, found = _verified(cluster)
        assert (status, found["directories"], found["gone"], found["offline"]) == (0, 4, [], [])
        assert len(list(second.glob("orders-*"))) == 2
        gone = next(second.glob("orders-*"))
        shutil.rmtree(gone)
        status, found = _verified(cluster)
        assert (status, found["gone"], found["made"]) == (1, [str(gone)], [str(gone)])
        shutil.rmtree(second)
        status, found = _verified(cluster)
        assert (status, found["directories"]) == (1, 2)
        assert [each["path"] for each in found["offline"]] == [str(second)]
        agent.stop()
        agent.start()
        agent.wait_listening()
        wait_until("the agent to be ready with one disk", lambda: _checks(agent)["ok"])
        assert str(second) in _checks(agent)["checks"]["log-dirs"]["what"]
        assert not second.exists()
