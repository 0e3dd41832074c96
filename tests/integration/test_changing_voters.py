"""Voters come and go (KIP-853): controllers as processes, changed by the commands that an operator uses."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from metadata_log.ids import NodeId, ReplicaKey, parse_directory_id
from quorum.api.voter_messages import RemoveRaftVoterRequest
from quorum.cli.demo.cluster import LOOPBACK, wait_until
from quorum.client import Client, RefusedError
from tests.support.command_json import document
from tests.support.voter_processes import BEFORE_REGISTRATION, VERSION_0, Controllers, kraft


def _standalone(root: Path, count: int, **properties: str) -> Controllers:
    """Controller 1 is the quorum, the others are there to join."""
    controllers = Controllers(root, count, {name.replace("_", "."): value for name, value in properties.items()})
    controllers.format(1, "--standalone")
    for node_id in range(2, count + 1):
        controllers.format(node_id, "--no-initial-controllers")
    return controllers


def test_a_quorum_grows_loses_its_leader_and_gets_a_new_disk(tmp_path: Path) -> None:
    with _standalone(tmp_path, 4) as controllers:
        controllers.start(1)
        controllers.wait_for_voters(1)
        status, out, err = controllers.quorum("remove-controller", "--controller-id", "1")
        assert (status, "is the only voter" in err, out) == (1, True, ""), out + err
        status, out, err = controllers.quorum("add-controller", "--controller-id", "2", "--timeout", "3")
        assert (status, "knows no observer 2" in err) == (1, True), out + err
        controllers.start(2, 3, 4)
        wait_until("observers", lambda: len(controllers.describe().get("current_observers") or []) == 3, timeout_s=60)
        config = str(controllers.nodes[2].config_file)

        def would_be_added() -> bool:
            status, out, _ = controllers.quorum("add-controller", "--command-config", config, "--dry-run")
            return status == 0 and "Nothing was changed" in out

        wait_until("controller 2 to have caught up", would_be_added, timeout_s=60, every_s=0.2)
        assert [voter["node_id"] for voter in controllers.wait_for_status()["current_voters"]] == [1]
        status, out, err = controllers.quorum("add-controller", "--command-config", config)
        assert (status, "committed" in out) == (0, True), out + err
        status, out, err = controllers.quorum("add-controller", "--command-config", config)
        assert (status, out, "controller 2 is a voter already" in err) == (1, "", True), out + err
        for node_id in ("3", "4"):
            wait_until(
                f"controller {node_id} to be registered and added",
                lambda node_id=node_id: controllers.quorum("add-controller", "-i", node_id)[0] == 0,
                timeout_s=60,
            )
        described = controllers.wait_for_voters(1, 2, 3, 4)
        assert {len(voter["endpoints"]) for voter in described["current_voters"]} == {2}
        leader = controllers.wait_for_leader()
        status, out, err = controllers.quorum("remove-controller", "-i", str(leader), "-o", "json")
        assert status == 0, out + err
        assert document(out)["after"] == [n for n in (1, 2, 3, 4) if n != leader]
        rest = [n for n in (1, 2, 3, 4) if n != leader]
        controllers.wait_for_leader(other_than=leader)
        controllers.wait_for_voters(*rest)
        assert controllers.nodes[leader].stop() == 0
        _replace_a_disk(controllers, rest)
        _refuse_to_lose_the_majority(controllers, rest)


def _replace_a_disk(controllers: Controllers, voters: list[int]) -> None:
    leader = controllers.wait_for_leader()
    victim = next(node_id for node_id in voters if node_id != leader)
    old = next(voter for voter in controllers.wait_for_status()["current_voters"] if voter["node_id"] == victim)
    controllers.nodes[victim].kill()
    controllers.replace_disk(victim)
    controllers.set(victim, controller_quorum_auto_join_enable="true")
    controllers.start(victim)

    def has_joined() -> bool:
        now = {voter["node_id"]: voter["directory_id"] for voter in controllers.describe().get("current_voters", [])}
        return now.get(victim) not in (None, old["directory_id"])

    wait_until("the new disk to vote", has_joined, timeout_s=90, every_s=0.2)
    controllers.wait_for_voters(*voters)


def _refuse_to_lose_the_majority(controllers: Controllers, voters: list[int]) -> None:
    leader = controllers.wait_for_leader()
    dead, alive = (node_id for node_id in voters if node_id != leader)
    controllers.nodes[dead].kill()

    def is_refused() -> bool:
        status, _, err = controllers.quorum("remove-controller", "-i", str(alive), "--dry-run")
        return status == 1 and "not removed" in err and f"Start {dead} first" in err

    wait_until("the dead voter to be noticed", is_refused, timeout_s=30, every_s=0.2)
    _let_the_leader_refuse(controllers, alive)
    status, out, err = controllers.quorum("remove-controller", "-i", str(dead))
    assert status == 0, out + err
    controllers.wait_for_voters(*(node_id for node_id in voters if node_id != dead))


def _let_the_leader_refuse(controllers: Controllers, alive: int) -> None:
    """Ask as a client does whose plan is older than the previous change."""
    voter = next(voter for voter in controllers.wait_for_status()["current_voters"] if voter["node_id"] == alive)
    key = ReplicaKey(node_id=NodeId(alive), directory_id=parse_directory_id(voter["directory_id"]))

    async def remove() -> None:
        async with Client(controllers.addresses) as client:
            await client.change_voters(RemoveRaftVoterRequest(voter=key, keeps_majority=True))

    with pytest.raises(RefusedError, match="nothing could be committed"):
        asyncio.run(remove())


def test_controllers_join_by_themselves_until_they_are_removed(tmp_path: Path) -> None:
    with _standalone(tmp_path, 3, controller_quorum_auto_join_enable="true") as controllers:
        controllers.start(1, 2, 3)
        controllers.wait_for_voters(1, 2, 3)
        status, out, err = controllers.quorum("remove-controller", "-i", "3")
        assert status == 0, out + err
        state = controllers.nodes[3].metadata_dir / "quorum-state"
        wait_until("it to be remembered", lambda: json.loads(state.read_text()).get("wasRemoved"), timeout_s=30)
        controllers.nodes[3].kill()

        def is_told() -> bool:
            return "does not fetch" in controllers.quorum("add-controller", "-i", "3", "--dry-run", "--timeout", "5")[2]

        wait_until("it to be missed", is_told, timeout_s=30)


def test_a_second_process_with_the_node_id_of_a_voter_does_not_take_its_vote(tmp_path: Path) -> None:
    with _standalone(tmp_path, 3, controller_quorum_auto_join_enable="true") as controllers:
        controllers.start(1, 2)
        voters = controllers.wait_for_voters(1, 2)["current_voters"]
        controllers.set(3, node_id="2")
        controllers.replace_disk(3)
        controllers.start(3)
        log = controllers.nodes[3].log_file
        wait_until("the refusal", lambda: "two processes have that node.id" in log.read_text(), timeout_s=60)
        assert controllers.wait_for_status()["current_voters"] == voters


def test_a_second_process_with_the_leaders_node_id_is_told_of_in_both_logs(tmp_path: Path) -> None:
    with _standalone(tmp_path, 2) as controllers:
        controllers.start(1)
        controllers.wait_for_voters(1)
        controllers.set(2, node_id="1")
        controllers.replace_disk(2)
        controllers.start(2)
        for node in controllers.nodes.values():
            log = node.log_file
            wait_until("the warning", lambda log=log: "two processes have that node.id" in log.read_text())  # type: ignore[misc]


def _three_static_voters(controllers: Controllers, listener: str, version: str) -> int:
    """Controllers 1 to 3, named by the port of that listener; who leads."""
    three = ",".join(f"{node_id}@{LOOPBACK}:{controllers.nodes[node_id].ports[listener]}" for node_id in (1, 2, 3))
    for node_id in (1, 2, 3):
        controllers.set(node_id, controller_quorum_voters=three)
        controllers.format(node_id, "--feature", version)
    controllers.start(1, 2, 3)
    return controllers.wait_for_leader()


@pytest.mark.parametrize("version", [BEFORE_REGISTRATION, pytest.param(VERSION_0, marks=pytest.mark.campaign)])
def test_static_voters_named_by_their_controller_ports_are_asked_through_any_of_them(
    tmp_path: Path, version: str
) -> None:
    """Kafka's own form names no gRPC listener. Voters report theirs when they register, if the version has that."""
    with Controllers(tmp_path, 3) as controllers:
        leader = _three_static_voters(controllers, "CONTROLLER", version)
        for asked in (1, 2, 3):
            of_one = ("--bootstrap-controller", controllers.nodes[asked].grpc_address, "--timeout", "10")
            status, out, err = kraft("quorum", "describe", *of_one, "-o", "json")
            assert (status, json.loads(out)["answered_by"]) == (0, leader), out + err
            status, out, err = kraft("quorum", "transfer", *of_one)
            assert (status, f"node {leader} led" in out) == (0, True), out + err
            leader = controllers.wait_for_leader(other_than=leader)


@pytest.mark.parametrize("listener", [pytest.param("GRPC", marks=pytest.mark.campaign), "CONTROLLER"])
def test_static_voters_move_into_the_log(tmp_path: Path, listener: str) -> None:
    with Controllers(tmp_path, 4) as controllers:
        leader = _three_static_voters(controllers, listener, VERSION_0)
        state = (controllers.nodes[leader].metadata_dir / "quorum-state").read_text()
        assert json.loads(state)["data_version"] == 0
        assert [voter["voterId"] for voter in json.loads(state)["currentVoters"]] == [1, 2, 3]
        status, out, err = controllers.quorum("remove-controller", "-i", "3")
        assert (status, "kraft.version 0" in err) == (1, True), out + err

        def is_raised() -> bool:
            words = ("--bootstrap-controller", controllers.nodes[leader % 3 + 1].grpc_address)
            words = (*words, "--feature", "kraft.version=1")
            return kraft("features", "upgrade", *words)[0] == 0

        wait_until("every voter to have told its directory", is_raised, timeout_s=60, every_s=0.2)
        controllers.format(4, "--no-initial-controllers")
        controllers.start(4)
        config = str(controllers.nodes[4].config_file)
        wait_until(
            "the fourth", lambda: controllers.quorum("add-controller", "--command-config", config)[0] == 0, timeout_s=60
        )
        controllers.wait_for_voters(1, 2, 3, 4)
        for node_id in (1, 2, 3):
            assert controllers.nodes[node_id].stop() == 0
        controllers.start(1, 2, 3)
        controllers.wait_for_voters(1, 2, 3, 4)
