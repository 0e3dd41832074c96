"""`kraft quorum describe` and `health` beside real controllers that die."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from quorum.cli.main import run as kraft
from tests.support.command_json import document
from tests.support.grpc_controllers import GrpcControllers, three_controllers
from tests.support.logs_apart import keep_logs_apart
from tests.support.loop import run


def test_a_follower_that_is_left_alone_shows_no_leader(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    keep_logs_apart()

    async def said(controllers: GrpcControllers, command: str, *words: str) -> tuple[int, str]:
        asked = ("quorum", command, "--bootstrap-controller", ",".join(controllers.addresses), *words)
        status = await asyncio.to_thread(kraft, asked)
        return status, capsys.readouterr().out

    async def main() -> None:
        async with three_controllers(tmp_path) as controllers:
            leader = await controllers.elected()

            async def until_said(expected: int, opening: str, command: str) -> str:
                """Ask again: a follower learns of an election, and of a leader's end, a moment later."""
                while True:  # `run` has a deadline
                    status, shown = await said(controllers, command)
                    if shown.startswith(opening):
                        assert status == expected
                        return shown

            shown = await until_said(0, "Healthy: ", "health")
            assert f"node {leader.config.node_id} leads epoch" in shown
            left, other = (node for node in controllers.nodes.values() if node is not leader)
            await other.stop()
            assert (await said(controllers, "health"))[0] == 0
            await leader.stop()
            shown = await until_said(1, "No leader ", "describe")
            assert shown.split("CurrentObservers:")[1].split()[0] == "unknown"
            status, shown = await said(controllers, "health", "-o", "json")
            verdict = document(shown)
            assert (status, verdict["healthy"], verdict["leader_id"]) == (1, False, None)
            assert verdict["answered_by"] == left.config.node_id

    run(main())
