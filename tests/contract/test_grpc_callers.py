"""The client identity of a gRPC call."""

from __future__ import annotations

import pytest

from quorum.controller.authorizer import Authorizer
from quorum.server.grpc.callers import caller_of
from tests.support.scripted_node import ScriptedNode


class _Context:
    def __init__(self, peer: str) -> None:
        self._peer = peer

    def peer(self) -> str:
        return self._peer


@pytest.mark.parametrize(
    ("peer", "host"),
    [
        ("ipv4:127.0.0.1:4711", "127.0.0.1"),
        ("ipv6:[::1]:4711", "::1"),
        ("ipv6:%5B::1%5D:4711", "::1"),
        ("ipv6:%5Bfe80::1%25eth0%5D:4711", "fe80::1%eth0"),
    ],
)
def test_a_caller_has_its_address_and_the_node_s_authorizer(peer: str, host: str) -> None:
    node = ScriptedNode()
    node.authorizer = Authorizer()
    caller = caller_of(_Context(peer), node)
    assert (caller.host, caller.listener) == (host, "GRPC")
    assert caller.context().authorizer is node.authorizer
    assert caller.context().client_host == host
