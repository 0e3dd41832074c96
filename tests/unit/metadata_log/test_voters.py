"""Voters: their text, their sets, their history, and the record that carries them."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from metadata_log.errors import InvariantViolation
from metadata_log.files.os_files import OsFiles
from metadata_log.ids import ZERO_DIRECTORY_ID, DirectoryId, NodeId, ReplicaKey, parse_directory_id
from metadata_log.offsets import Offset
from metadata_log.records import decode_control, encode_control
from metadata_log.records.control import VotersRecord
from metadata_log.storage.checkpoint import read_checkpoint
from metadata_log.voters import (
    Endpoint,
    InvalidVoterError,
    Voter,
    VoterHistory,
    VoterSet,
    format_voter,
    kafka_listener_name,
    parse_voter,
    parse_voters,
)

ID_1, ID_2, ID_3 = (f"ZGlyZWN0b3J5LWlkLTAw{suffix}" for suffix in ("MQ", "Mg", "Mw"))
BASIC = Path(__file__).parents[2] / "fixtures/basic/node-1/data/__cluster_metadata-0"


def key(node_id: int, directory_id: str | None = ID_1) -> ReplicaKey:
    directory = ZERO_DIRECTORY_ID if directory_id is None else parse_directory_id(directory_id)
    return ReplicaKey(node_id=NodeId(node_id), directory_id=directory)


def static(*node_ids: int) -> VoterSet:
    return VoterSet.of(Voter(key=key(node_id, None)) for node_id in node_ids)


@pytest.mark.parametrize(
    ("text", "host", "ports"),
    [
        (f"1@localhost:9093:{ID_1}", "localhost", (9093, None)),
        (f"1@c-1.example.org:9093/9094:{ID_1}", "c-1.example.org", (9093, 9094)),
        (f"1@127.0.0.1:1/65535:{ID_1}", "127.0.0.1", (1, 65535)),
        (f"1@[::1]:9093/9094:{ID_1}", "::1", (9093, 9094)),
        (f"1@[fe80::1%eth0]:9093:{ID_1}".replace("%eth0", "%2"), "fe80::1%2", (9093, None)),
    ],
)
def test_a_voter_is_read_and_written(text: str, host: str, ports: tuple[int, int | None]) -> None:
    voter = parse_voter(text)
    assert voter.key == key(1)
    assert voter.endpoint("CONTROLLER") == Endpoint(name="CONTROLLER", host=host, port=ports[0])
    grpc = voter.endpoint("GRPC")
    assert grpc == (None if ports[1] is None else Endpoint(name="GRPC", host=host, port=ports[1]))
    assert format_voter(voter) == str(voter) == text


def test_the_listener_for_kafkas_protocol_may_have_another_name() -> None:
    text = f"1@c1:9093/9094:{ID_1}"
    voter = parse_voter(text, "CONTROLPLANE-9090")
    assert [at.name for at in voter.endpoints] == ["CONTROLPLANE-9090", "GRPC"]
    assert format_voter(voter) == text
    backwards = msgspec.structs.replace(voter, endpoints=voter.endpoints[::-1])
    assert format_voter(backwards) == text
    assert [kafka_listener_name([each]) for each in (voter, backwards)] == ["CONTROLPLANE-9090"] * 2
    assert kafka_listener_name([]) == "CONTROLLER"


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("", "write id@host:port"),
        ("1@localhost:9093", "write id@host:port"),
        (f"-1@localhost:9093:{ID_1}", "write id@host:port"),
        (f"1@::1:9093:{ID_1}", "IPv6 host in brackets"),
        (f"1@localhost:0:{ID_1}", "0 is not a port"),
        (f"1@localhost:9093/65536:{ID_1}", "65536 is not a port"),
        ("1@localhost:9093:short", "is not an id"),
        ("1@localhost:9093:AAAAAAAAAAAAAAAAAAAAAQ", "is reserved"),
    ],
)
def test_a_wrong_voter_is_named(text: str, fault: str) -> None:
    with pytest.raises(InvalidVoterError, match=fault):
        parse_voter(text)


def test_lists_of_voters() -> None:
    text = f"1@a:1:{ID_1}, 2@b:2/3:{ID_2}"
    assert parse_voters(text).node_ids == (1, 2)
    with pytest.raises(InvalidVoterError, match="voter 1 is named 2 times"):
        parse_voters(f"1@a:1:{ID_1},1@b:2:{ID_2}")
    with pytest.raises(InvalidVoterError, match="the same directory id"):
        parse_voters(f"1@a:1:{ID_1},2@b:2:{ID_1}")


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        (
            f"1@a:1:{ID_1},2@A:1:{ID_2}",
            "A:1 is the address of CONTROLLER of voter 1 and of CONTROLLER of voter 2: give",
        ),
        (f"1@a:1/2:{ID_1},2@a:2/3:{ID_2}", "a:2 is the address of GRPC of voter 1 and of CONTROLLER of voter 2"),
        (f"1@[::1]:1/1:{ID_1}", r"\[::1\]:1 is the address of CONTROLLER of voter 1 and of GRPC of voter 1"),
    ],
)
def test_two_listeners_have_two_addresses(text: str, fault: str) -> None:
    with pytest.raises(InvalidVoterError, match=fault):
        parse_voters(text)
    assert len(parse_voters(f"1@a:1/2:{ID_1},2@a:3/4:{ID_2}")) == 2


def test_an_endpoint_shows_its_address() -> None:
    assert str(Endpoint(name="GRPC", host="::1", port=9)) == "GRPC://[::1]:9"


@pytest.mark.parametrize(("size", "majority"), [(1, 1), (2, 2), (3, 2), (4, 3), (5, 3)])
def test_a_majority_is_more_than_half(size: int, majority: int) -> None:
    assert static(*range(size)).majority == majority


def test_the_same_node_with_another_directory_does_not_vote() -> None:
    voters = parse_voters(f"1@a:1:{ID_1},2@b:2:{ID_2}")
    assert voters.is_voter(key(1, ID_1))
    assert not voters.is_voter(key(1, ID_3))
    assert not voters.is_voter(key(1, None))
    assert not voters.is_voter(key(3, ID_1))
    assert not voters.is_only_voter(key(1, ID_1))
    assert voters.get(NodeId(2)) is not None
    assert voters.get(NodeId(3)) is None
    assert (2 in voters, 3 in voters, len(voters), [voter.key for voter in voters]) == (True, False, 2, [*voters.keys])


def test_a_static_voter_votes_from_any_directory() -> None:
    assert static(1).is_voter(key(1, ID_2))
    assert static(1).is_only_voter(key(1, None))


def test_history_is_looked_up_by_end_and_cut() -> None:
    first, second, third = static(1), static(1, 2), static(1, 2, 3)
    history = VoterHistory.start(first).append(Offset(10), second).append(Offset(20), third)
    assert [history.at(Offset(end)) for end in (0, 10, 11, 20, 21)] == [first, first, second, second, third]
    assert (history.latest, history.latest_offset) == (third, 20)
    cut = history.truncate_to(Offset(20))
    assert (cut.latest, cut.latest_offset) == (second, 10)
    assert history.truncate_to(Offset(0)).latest == first
    assert history.truncate_to(Offset(21)) is history
    with pytest.raises(InvariantViolation):
        history.append(Offset(20), first)
    assert (VoterHistory().latest, VoterHistory().latest_offset) == (VoterSet(), -1)
    assert VoterHistory().at(Offset(5)) == VoterSet()


voters = st.builds(
    lambda node_id, directory, endpoints, low: Voter(
        key=ReplicaKey(node_id=NodeId(node_id), directory_id=DirectoryId(directory)),
        endpoints=tuple(Endpoint(name=name, host=host, port=port) for name, host, port in endpoints),
        min_kraft_version=low,
    ),
    st.integers(0, 2**31 - 1),
    st.binary(min_size=16, max_size=16),
    st.lists(st.tuples(st.text(max_size=9), st.text(max_size=9), st.integers(0, 65535)), max_size=3),
    st.integers(0, 1),
)


@given(st.lists(voters, max_size=5, unique_by=lambda voter: voter.key.node_id))
def test_sets_come_back_through_their_record(members: list[Voter]) -> None:
    key_bytes, value = encode_control(VoterSet.of(members).to_record())
    record = decode_control(key_bytes, value)
    assert isinstance(record, VotersRecord)
    assert VoterSet.from_record(record) == VoterSet.of(members)


def test_kafkas_voters_are_read() -> None:
    record = read_checkpoint(OsFiles(), str(BASIC / "00000000000000000000-0000000000.checkpoint")).voters
    assert record is not None
    assert [str(voter) for voter in VoterSet.from_record(record)] == [
        f"1@127.0.0.1:29101:{ID_1}",
        f"2@127.0.0.1:29102:{ID_2}",
        f"3@127.0.0.1:29103:{ID_3}",
    ]
    assert VoterSet.from_record(record).to_record() == record
