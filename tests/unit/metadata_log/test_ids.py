"""Ids: which random bytes may become one, and how they are written."""

from __future__ import annotations

import uuid

import pytest

from metadata_log import ids
from metadata_log.ids import (
    METADATA_TOPIC_ID,
    ZERO_TOPIC_ID,
    InvalidIdError,
    as_random_uuids,
    id_text,
    is_assignable,
    parse_topic_id,
)
from quorum.node.process.system_ports import SystemEntropy


@pytest.mark.parametrize("first", range(256))
def test_no_new_id_reads_as_an_option(first: int) -> None:
    value = bytes([first]) + b"\x5a" * 15
    assert is_assignable(value) is not id_text(value).startswith("-")


def test_no_new_id_is_a_reserved_one() -> None:
    assert not is_assignable(ZERO_TOPIC_ID)
    assert not is_assignable(METADATA_TOPIC_ID)
    assert not is_assignable((99).to_bytes(16, "big"))
    assert is_assignable((100).to_bytes(16, "big"))


@pytest.mark.parametrize("bits", [b"\x00", b"\xff"])
def test_random_bytes_become_a_version_4_uuid_and_keep_all_other_bits(bits: bytes) -> None:
    several = as_random_uuids(bits * 48)
    assert len(several) == 48
    for made in (several[:16], several[16:32], several[32:]):
        assert (uuid.UUID(bytes=made).version, uuid.UUID(bytes=made).variant) == (4, uuid.RFC_4122)
        given = int.from_bytes(made, "big") ^ int.from_bytes(bits * 16, "big")
        assert given & ~(0xF << 76 | 0x3 << 62) == 0


def test_the_systems_ids_are_random_uuids_each_another() -> None:
    entropy = SystemEntropy()
    made = [entropy.new_id() for _ in range(1000)]
    assert {uuid.UUID(bytes=each).version for each in made} == {4}
    assert all(is_assignable(each) for each in made)
    assert len(set(made)) == 1000


def test_the_text_is_url_safe_base64_and_comes_back() -> None:
    assert id_text(METADATA_TOPIC_ID) == "AAAAAAAAAAAAAAAAAAAAAQ"
    assert id_text(b"\xfb\xff" * 8) == "-__7__v_-__7__v_-__7_w"
    assert parse_topic_id("-__7__v_-__7__v_-__7_w") == b"\xfb\xff" * 8


@pytest.mark.parametrize("text", ["", "AAAA", "AAAAAAAAAAAAAAAAAAAAAR", "+AAAAAAAAAAAAAAAAAAAAA", "A" * 24, "é" * 22])
def test_another_text_is_no_id(text: str) -> None:
    with pytest.raises(InvalidIdError, match="is not an id"):
        parse_topic_id(text)


@pytest.mark.parametrize("text", ["test-cluster-id", "Mk3OEYBSD34fcwNTJENDM2Qk", "one, two"])
def test_any_text_is_a_clusters_id_with_a_doubt(text: str) -> None:
    assert ids.why_no_cluster_id(text, "--to") is None
    assert "is no UUID" in (ids.doubt_of_cluster_id(text, "--to") or "")
