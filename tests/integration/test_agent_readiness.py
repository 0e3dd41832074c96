"""An agent that is not let in: `/readyz` and gRPC's health say so with the reason, and it heals by itself."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import grpc
from grpc_health.v1 import health_pb2, health_pb2_grpc

from quorum.cli.demo.cluster import Node, wait_until
from tests.support.local_cluster import Cluster


def _checks(node: Node) -> dict[str, Any]:
    node.check_running()
    url = f"http://{node.http_address}/readyz?format=json"
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            found = json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            found = json.load(refused)
    assert isinstance(found, dict)
    return found


def _is_serving(node: Node) -> bool:
    with grpc.insecure_channel(node.grpc_address) as channel:
        answer = health_pb2_grpc.HealthStub(channel).Check(health_pb2.HealthCheckRequest(), timeout=10)
    return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def _failing(node: Node, name: str) -> str | None:
    found = _checks(node)
    return None if found["ok"] or found["checks"].get(name, {"ok": True})["ok"] else found["checks"][name]["what"]


def test_a_second_agent_of_one_id_is_not_ready_until_the_first_is_gone(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=(1,), properties={"broker.session.timeout.ms": "3000"}) as cluster:
        first, second = cluster.agents[11], cluster.agents[12]
        second.properties["node.id"] = "11"
        cluster.format()
        for node in (*cluster.controllers.values(), first):
            node.start()
        wait_until("the first to be ready", lambda: first.is_listening and _checks(first)["ok"])
        wait_until("gRPC's health to follow", lambda: _is_serving(first))
        second.start()
        second.wait_listening()
        why = wait_until("the second to say why", lambda: _failing(second, "registered"))
        wait_until("a refusal", lambda: "DUPLICATE_BROKER_REGISTRATION" in (_failing(second, "registered") or ""))
        assert why
        assert not _is_serving(second)
        line = "the controller refuses this broker node_id=11 phase=starting request=RegisterBroker"
        (told,) = [each for each in second.log_file.read_text().splitlines() if line in each]
        assert f"GRPC://{first.grpc_address}" in told
        assert "stop the wrong one, or give it another node.id" in told
        first.kill()
        wait_until("the second to heal by itself", lambda: _checks(second)["ok"])
        wait_until("its health to follow", lambda: _is_serving(second))


def test_an_agent_of_another_cluster_is_not_ready_and_names_both_reasons(tmp_path: Path) -> None:
    with Cluster(tmp_path, controllers=(1,), agents=(11,)) as cluster:
        agent = cluster.agents[11]
        cluster.format()
        own = agent.log_dir / "meta.properties"
        foreign = own.read_text().replace(cluster.cluster_id, "4Fz1-of-another-cluster")
        assert foreign != own.read_text()
        own.write_text(foreign)
        cluster.start()
        why = wait_until("the Fetch to be refused", lambda: _failing(agent, "cluster-id"))
        assert "4Fz1-of-another-cluster" in why
        wait_until(
            "the registration to be refused",
            lambda: "INCONSISTENT_CLUSTER_ID" in (_failing(agent, "registered") or ""),
        )
        agent.check_running()
