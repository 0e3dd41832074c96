"""`kraft quorum describe` and `health` beside real controllers that die."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quorum.cli.main import run as kraft
from tests.support.command_json import document
from tests.support.grpc_controllers import three_controllers
from tests.support.loop import run


def test_a_follower_that_is_left_alone_shows_no_leader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def main() -> None:
        async with three_controllers(tmp_path) as controllers:
            leader = await controllers.elected()

            async def said(command: str, *words: str) -> tuple[int, str]:
                asked = ("quorum", command, "--bootstrap-controller", ",".join(controllers.addresses), *words)
                status = await asyncio.to_thread(kraft, asked)
                lines = capsys.readouterr().out.splitlines()
                return status, "\n".join(line for line in lines if not line.startswith("20"))  # the controllers' log

            status, shown = await said("health")
            assert (status, shown[:9]) == (0, "Healthy: ")
            assert f"node {leader.config.node_id} leads epoch" in shown
            left, other = (node for node in controllers.nodes.values() if node is not leader)
            await other.stop()
            assert (await said("health"))[0] == 0
            await leader.stop()
            status, shown = await said("describe")
            assert status == 1
            assert shown.startswith("No leader ")
            assert shown.split("CurrentObservers:")[1].split()[0] == "unknown"
            status, shown = await said("health", "-o", "json")
            verdict = document(shown)
            assert (status, verdict["healthy"], verdict["leader_id"]) == (1, False, None)
            assert verdict["answered_by"] == left.config.node_id

    run(main())
