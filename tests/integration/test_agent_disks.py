"""An agent with two disks: what is removed under it is seen at once when asked, and a disk that is gone is offline."""

from __future__ import annotations

import shutil
import urllib.request
from pathlib import Path
from typing import Any

from metadata_log.directory import PARTITION_METADATA_FILE
from quorum.cli.demo.cluster import Node, wait_until
from tests.integration.test_agent_readiness import _checks
from tests.support.command_json import document
from tests.support.local_cluster import Cluster
from tests.support.voter_processes import kraft


def _verified(cluster: Cluster) -> tuple[int, Any]:
    status, out, _ = kraft("agent", "verify", "--agent", cluster.agents[11].grpc_address, "-o", "json")
    return status, document(out)


def _metric(node: Node, name: str) -> float:
    with urllib.request.urlopen(f"http://{node.http_address}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    return next(float(line.split()[-1]) for line in lines if line.split("{")[0].split(" ")[0] == name)


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
        _verified(cluster)  # unless the watch was first
        assert gone.is_dir()
        assert _metric(agent, "kraft_agent_directories_lost_total") == 1
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


def test_a_running_agent_sees_by_itself_what_others_remove_and_bring(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=(1,), agents=(11,)) as cluster:
        agent = cluster.agents[11]
        cluster.format()
        cluster.start()
        wait_until("the agent to be ready", lambda: _checks(agent)["ok"])
        cluster.run(
            "topics",
            "create",
            "--topic",
            "orders",
            "--partitions",
            "200",
            "--bootstrap-controller",
            cluster.bootstrap[0],
        )
        wait_until("200 directories", lambda: _metric(agent, "kraft_agent_partition_directories") == 200)
        gone = next(agent.root.glob("*/orders-7"))
        shutil.rmtree(gone)
        wait_until("the removal to be seen", lambda: _metric(agent, "kraft_agent_directories_lost_total") == 1)
        wait_until("the directory to be made again", (gone / PARTITION_METADATA_FILE).exists)
        assert _metric(agent, "kraft_agent_comparisons_total") == 1  # its own 200 moves caused none
        (said,) = (line for line in agent.log_file.read_text().splitlines() if "partition directory is gone" in line)
        assert "error" in said.lower()
        assert str(gone) in said
        foreign = tmp_path / "foreign"
        foreign.mkdir()
        (foreign / PARTITION_METADATA_FILE).write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAZA")
        foreign.rename(gone.parent / "strange-0")
        wait_until("quarantine", lambda: _metric(agent, "kraft_agent_directories_set_aside_total") == 1)
        assert len(list(gone.parent.glob("strange-0.*-stray"))) == 1
        assert _metric(agent, "kraft_agent_comparisons_total") == 2
        assert _metric(agent, "kraft_agent_directories_lost_total") == 1
