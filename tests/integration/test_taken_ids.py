"""A second controller with the leader's node id: both processes name the request and the other process."""

from __future__ import annotations

from pathlib import Path

from quorum.cli.demo.cluster import Node, wait_until
from tests.support.voter_processes import Controllers

ADVICE = "two processes have that node.id. Stop the wrong one, or give it"


def _refusals(node: Node) -> list[str]:
    return [each for each in node.log_file.read_text().splitlines() if " refusal " in each]


def test_a_new_directory_with_the_leaders_node_id(tmp_path: Path) -> None:
    with Controllers(tmp_path, 2) as controllers:
        leader, second = controllers.nodes.values()
        controllers.set(2, node_id="1")
        controllers.format(1, "--standalone")
        controllers.format(2, "--no-initial-controllers")
        controllers.start(1)
        assert controllers.wait_for_leader() == 1
        controllers.start(2)
        by_leader = wait_until("the leader's line", lambda: _refusals(leader))[0]
        by_second = wait_until("the second one's line", lambda: _refusals(second))[0]
        for line in (by_leader, by_second):
            assert "node_id=1 request=FetchRequest error=INVALID_REQUEST" in line
            assert ADVICE in line
        meta = (second.log_dir / "meta.properties").read_text()
        directory = next(each for each in meta.splitlines() if each.startswith("directory.id="))
        assert f"a process with directory {directory.removeprefix('directory.id=')} asks as node 1" in by_leader
        assert f"GRPC://{leader.grpc_address}" in by_second
