"""The division of a process's descriptors among its listeners and its log."""

from __future__ import annotations

import pytest

from quorum.node.config.door_limits import HTTP_PLACES, DoorLimits, shares_of
from quorum.node.config.node_config import KEYS, config_of

_NODE = {
    "process.roles": "controller",
    "node.id": "1",
    "listeners": "CONTROLLER://h:9093,GRPC://h:9094",
    "log.dirs": "/d",
}


@pytest.mark.parametrize("descriptors", [256, 1_024, 4_096, 20_000, 1 << 20])
def test_connections_leave_the_log_its_descriptors(descriptors: int) -> None:
    shares = shares_of(descriptors)
    assert shares.kafka + shares.grpc + HTTP_PLACES + min(1_000, descriptors // 2) <= descriptors
    assert shares.kafka + shares.grpc < shares.first_kept < descriptors


def test_many_descriptors_do_not_make_many_connections() -> None:
    assert (shares_of(1 << 30).kafka, shares_of(1 << 30).grpc) == (12_000, 12_000)


def test_fewer_connections_may_be_configured() -> None:
    shares = shares_of(20_000, 90)
    assert shares.kafka + shares.grpc == 90


def test_the_keys_have_kafkas_names() -> None:
    given = {
        "max.connections": "90",
        "max.connections.per.ip": "8",
        "connections.max.idle.ms": "5000",
        "socket.request.max.bytes": "100000",
    }
    assert given.keys() <= KEYS.keys()
    assert config_of({**_NODE, **given}).doors == DoorLimits(
        max_connections=90, max_connections_per_ip=8, max_idle_ms=5_000, max_frame_bytes=100_000
    )
    assert config_of(_NODE).doors == DoorLimits()
