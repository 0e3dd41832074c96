"""Controllers are unregistered (KIP-1312): processes, and the command that an operator uses."""

from __future__ import annotations

import asyncio
from pathlib import Path

from metadata_log.ids import NodeId
from quorum.cli.demo.cluster import LOOPBACK, wait_until
from quorum.client import Admin
from tests.support.command_json import document
from tests.support.kafka_requests import api_versions
from tests.support.kafka_wire import connected_to, requests_of
from tests.support.log_history import read_history
from tests.support.voter_processes import Controllers, kraft

LEADER, JOINED = 1, 2


_GONE = "is no longer registered; one that runs registers again at once."


def _controllers(root: Path, release: str) -> Controllers:
    """Controller 1 is the quorum; controller 2 is to follow it."""
    controllers = Controllers(root, 2)
    controllers.format(LEADER, "--standalone", "--release-version", release)
    controllers.format(JOINED, "--no-initial-controllers")
    return controllers


def _registered(controllers: Controllers) -> set[NodeId]:
    """Controllers in the leader's own log, which its disk has by the time that a request is answered."""
    return set(read_history(controllers.nodes[LEADER].metadata_dir).image.cluster.controllers)


def _await_both(controllers: Controllers) -> None:
    wait_until("both to be registered", lambda: _registered(controllers) == {LEADER, JOINED}, timeout_s=60)


def _unregister(controllers: Controllers, controller_id: int, *words: str) -> tuple[int, str, str]:
    return kraft(
        "quorum",
        "unregister-controller",
        "--bootstrap-controller",
        controllers.nodes[LEADER].grpc_address,
        "--controller-id",
        str(controller_id),
        *words,
    )


async def _ask_by_kafkas_protocol(port: int, controller_id: int) -> tuple[tuple[int, int], int]:
    """Return the offered versions of UnregisterController, and the error of its response."""
    async with connected_to(LOOPBACK, port) as client:
        offered = {each.api_key: each for each in (await client.ask(api_versions(5))).api_keys}[94]
        response = await client.ask(requests_of(94, 0).UnregisterControllerRequest(controller_id=controller_id))
    return (offered.min_version, offered.max_version), response.error_code.value


async def _unregister_by_admin(address: str, controller_id: int) -> None:
    async with Admin(address) as admin:
        await admin.unregister_controller(controller_id)


def test_a_controller_that_is_gone_is_unregistered_and_a_running_one_comes_back(tmp_path: Path) -> None:
    with _controllers(tmp_path, "4.4-IV2") as controllers:
        controllers.start(LEADER, JOINED)
        _await_both(controllers)
        assert _unregister(controllers, JOINED) == (0, f"Controller {JOINED} {_GONE}\n", "")
        _await_both(controllers)  # it runs, so that it registers again
        status, out, err = _unregister(controllers, LEADER)
        assert (status, out) == (1, "")
        assert "INVALID_REQUEST" in err, err
        controllers.nodes[JOINED].kill()
        asyncio.run(_unregister_by_admin(controllers.nodes[LEADER].grpc_address, JOINED))
        assert _registered(controllers) == {LEADER}
        status, out, err = _unregister(controllers, JOINED)
        assert (status, out) == (1, "")
        assert "CONTROLLER_ID_NOT_REGISTERED" in err, err
        controllers.start(JOINED)
        _await_both(controllers)
        controllers.nodes[JOINED].kill()
        status, out, err = _unregister(controllers, JOINED, "-o", "json")
        assert (status, document(out)) == (0, {"controller_id": JOINED, "registered": False}), err
        assert _registered(controllers) == {LEADER}


def test_before_its_level_it_is_offered_and_rejected(tmp_path: Path) -> None:
    with _controllers(tmp_path, "4.3-IV0") as controllers:
        controllers.start(LEADER, JOINED)
        _await_both(controllers)
        status, out, err = _unregister(controllers, JOINED)
        assert (status, out) == (1, "")
        assert "UNSUPPORTED_VERSION" in err, err
        assert "4.4-IV2" in err, err
        port = controllers.nodes[LEADER].ports["CONTROLLER"]
        assert asyncio.run(_ask_by_kafkas_protocol(port, JOINED)) == ((0, 0), 35)
        assert _registered(controllers) == {LEADER, JOINED}
