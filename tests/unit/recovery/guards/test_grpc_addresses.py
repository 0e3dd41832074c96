"""The search for a live leader asks our own controllers by gRPC at any given address, as every command does."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from kraft.v1 import quorum_pb2
from metadata_log.voters import CONTROLLER_LISTENER, GRPC_LISTENER, Endpoint
from quorum.cli.main import run
from quorum.cli.recover.probe import asker
from quorum.recovery.guards.liveness import EndpointState
from tests.support.misuses import CLUSTER, Bench, contents


def leads(request: object, context: object) -> quorum_pb2.DescribeQuorumResponse:
    """Return the response of a controller that leads."""
    answer = quorum_pb2.DescribeQuorumResponse(cluster_id=CLUSTER, node_id=3)
    answer.topics.add().partitions.add(leader_id=3, leader_epoch=7)
    return answer


@pytest.fixture
def port() -> Iterator[int]:
    server = grpc.server(ThreadPoolExecutor(max_workers=2))
    method = grpc.unary_unary_rpc_method_handler(
        leads,
        request_deserializer=quorum_pb2.DescribeQuorumRequest.FromString,
        response_serializer=quorum_pb2.DescribeQuorumResponse.SerializeToString,
    )
    handler = grpc.method_handlers_generic_handler("kraft.v1.Quorum", {"DescribeQuorum": method})
    server.add_generic_rpc_handlers((handler,))
    bound = server.add_insecure_port("127.0.0.1:0")
    server.start()
    yield bound
    server.stop(None).wait()


def test_a_leader_of_ours_is_heard_at_an_address_without_a_listeners_name(
    port: int, bench: Bench, capsys: pytest.CaptureFixture[str]
) -> None:
    node = bench.node("basic", 1)
    before = contents(node)
    words = ["recover", "standalone", "--dir", str(node), "--missing", "rest", "--apply"]
    assert run([*words, "--bootstrap-controller", f"127.0.0.1:{port}"]) == 1
    assert f"a leader answers at 127.0.0.1:{port} (node 3 of cluster {CLUSTER}, epoch 7)" in capsys.readouterr().err
    assert contents(node) == before


def test_an_address_under_two_names_is_asked_once(port: int) -> None:
    names = (CONTROLLER_LISTENER, GRPC_LISTENER)
    [answer] = asker(2.0)([Endpoint(name=name, host="127.0.0.1", port=port) for name in names])
    assert (answer.heard, answer.node_id) == (EndpointState.LEADER, 3)
