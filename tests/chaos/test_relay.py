"""The relay between sockets that keep the bounds of packets, in place of devices."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.chaos.relay import Link, Relay

Ends = dict[int, socket.socket]


@pytest.fixture
def network() -> Iterator[tuple[Relay, Ends]]:
    with ExitStack() as held:
        pairs = {host: socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM) for host in (1, 2)}
        for pair in pairs.values():
            for end in pair:
                held.enter_context(end)
                end.settimeout(10)
        relay = held.enter_context(Relay({host: pair[0].fileno() for host, pair in pairs.items()}, seed=1))
        yield relay, {host: pair[1] for host, pair in pairs.items()}


def _packet(source: int, destination: int, content: bytes) -> bytes:
    return bytes([0x45, *bytes(11), 10, 77, 0, source, 10, 77, 0, destination]) + content


def _send(ends: Ends, source: int, destination: int, *contents: bytes) -> None:
    for content in contents:
        ends[source].send(_packet(source, destination, content))


def _received(ends: Ends, host: int, count: int) -> list[bytes]:
    return [ends[host].recv(100)[20:] for _ in range(count)]


def test_what_is_sound_passes_in_order(network: tuple[Relay, Ends]) -> None:
    relay, ends = network
    _send(ends, 1, 2, b"a", b"b", b"c")
    assert _received(ends, 2, 3) == [b"a", b"b", b"c"]
    assert relay.counts.passed == 3


def test_a_cut_is_one_way_and_ends(network: tuple[Relay, Ends]) -> None:
    relay, ends = network
    relay.set_link(1, 2, Link(is_cut=True))
    _send(ends, 1, 2, b"lost")
    _send(ends, 2, 1, b"other way")
    assert _received(ends, 1, 1) == [b"other way"]
    relay.heal()
    _send(ends, 1, 2, b"after")
    assert _received(ends, 2, 1) == [b"after"]
    assert relay.counts.cut == 1


def test_everything_may_be_lost_or_doubled(network: tuple[Relay, Ends]) -> None:
    relay, ends = network
    relay.set_link(1, 2, Link(loss=1.0))
    _send(ends, 1, 2, b"lost")
    relay.set_link(2, 1, Link(duplicates=1.0))
    _send(ends, 2, 1, b"twice")
    assert _received(ends, 1, 2) == [b"twice", b"twice"]
    assert (relay.counts.lost, relay.counts.doubled) == (1, 1)


def test_late_packets_keep_their_order_unless_told_otherwise(network: tuple[Relay, Ends]) -> None:
    relay, ends = network
    contents = [b"%d" % number for number in range(50)]
    relay.set_link(1, 2, Link(jitter_s=0.05))
    _send(ends, 1, 2, *contents)
    assert _received(ends, 2, 50) == contents
    relay.set_link(1, 2, Link(jitter_s=0.05, is_unordered=True))
    _send(ends, 1, 2, *contents)
    found = _received(ends, 2, 50)
    assert sorted(found) == sorted(contents)
    assert found != contents


def test_what_is_for_nobody_or_no_packet_is_dropped(network: tuple[Relay, Ends]) -> None:
    relay, ends = network
    ends[1].send(b"\x60" + bytes(60))
    ends[1].send(b"short")
    _send(ends, 1, 77, b"nobody")
    _send(ends, 1, 2, b"somebody")
    assert _received(ends, 2, 1) == [b"somebody"]
    relay.check()
