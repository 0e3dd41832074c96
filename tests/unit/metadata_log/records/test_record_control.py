"""Control records, against another implementation of Kafka's protocol."""

from __future__ import annotations

import dataclasses
import io
import uuid
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.k_raft_version_record import v0 as kraft_version_v0
from kio.schema.leader_change_message import v0 as leader_change_v0
from kio.schema.leader_change_message import v1 as leader_change_v1
from kio.schema.snapshot_footer_record import v0 as footer_v0
from kio.schema.snapshot_header_record import v0 as header_v0
from kio.schema.voters_record import v0 as voters_v0
from kio.serial import entity_reader, entity_writer

from metadata_log.errors import InvariantViolation
from metadata_log.records import (
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
    VotersRecordEndpoint,
    VotersRecordVoter,
    control_type_of,
    decode_control,
    encode_control,
)
from metadata_log.records.json_form import data_of, json_text
from tests.support.records import CONTROL_VERSIONS_OF, any_record, version_id

BY_KIO: dict[tuple[type, int], Any] = {
    (LeaderChangeMessage, 0): leader_change_v0.LeaderChangeMessage,
    (LeaderChangeMessage, 1): leader_change_v1.LeaderChangeMessage,
    (SnapshotHeaderRecord, 0): header_v0.SnapshotHeaderRecord,
    (SnapshotFooterRecord, 0): footer_v0.SnapshotFooterRecord,
    (KRaftVersionRecord, 0): kraft_version_v0.KRaftVersionRecord,
    (VotersRecord, 0): voters_v0.VotersRecord,
}
RENAMED = {"kraft_version": "k_raft_version", "kraft_version_feature": "k_raft_version_feature"}


def as_kio_sees_it(value: Any) -> Any:
    """Ours in the shapes that kio gives its own: names, ids as UUID, the zero id as None."""
    if hasattr(value, "__struct_fields__"):
        names = value.__struct_fields__
        return {RENAMED.get(name, name): as_kio_sees_it(getattr(value, name)) for name in names}
    if isinstance(value, tuple):
        return tuple(map(as_kio_sees_it, value))
    if isinstance(value, bytes):
        return uuid.UUID(bytes=value) if any(value) else None
    return value


def plain(entity: Any) -> Any:
    if dataclasses.is_dataclass(entity):
        return {field.name: plain(getattr(entity, field.name)) for field in dataclasses.fields(entity)}
    if isinstance(entity, tuple):
        return tuple(map(plain, entity))
    return entity


@pytest.mark.parametrize("kind", CONTROL_VERSIONS_OF, ids=version_id)
@settings(max_examples=40)
@given(data=st.data())
def test_kio_reads_what_we_write_and_writes_what_we_read(kind: tuple[Any, int], data: st.DataObject) -> None:
    record = data.draw(any_record(*kind))
    key, value = encode_control(record)
    entity, size = entity_reader(BY_KIO[kind])(value, 0)
    assert size == len(value)
    ours, theirs = as_kio_sees_it(record), plain(entity)
    if kind == (LeaderChangeMessage, 0):
        for voter in (*ours["voters"], *ours["granting_voters"]):
            voter.pop("voter_directory_id")
    assert theirs == ours
    written = io.BytesIO()
    entity_writer(BY_KIO[kind])(written, entity)
    assert decode_control(key, written.getvalue()) == record


def test_the_type_stands_in_the_key() -> None:
    record = SnapshotFooterRecord()
    assert encode_control(record) == (bytes.fromhex("00000004"), bytes.fromhex("000000"))
    assert control_type_of(bytes.fromhex("00000006")) == 6
    assert control_type_of(bytes.fromhex("0000ffff")) == -1


def test_a_directory_id_in_the_old_leader_change_is_our_own_fault() -> None:
    voter = LeaderChangeVoter(voter_id=1, voter_directory_id=bytes(range(16)))
    with pytest.raises(InvariantViolation, match="voter_directory_id"):
        encode_control(LeaderChangeMessage(leader_id=1, voters=(voter,), granting_voters=()))
    newer = LeaderChangeMessage(version=1, leader_id=1, voters=(voter,), granting_voters=())
    assert decode_control(*encode_control(newer)) == newer


def test_voters_in_json_have_kafkas_names() -> None:
    voter = VotersRecordVoter(
        voter_id=1,
        voter_directory_id=bytes(16),
        endpoints=(VotersRecordEndpoint(name="CONTROLLER", host="a", port=1),),
        kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
    )
    assert json_text(data_of(VotersRecord(voters=(voter,)), 0)) == (
        '{"version":0,"voters":[{"voterId":1,"voterDirectoryId":"AAAAAAAAAAAAAAAAAAAAAA",'
        '"endpoints":[{"name":"CONTROLLER","host":"a","port":1}],'
        '"kRaftVersionFeature":{"minSupportedVersion":0,"maxSupportedVersion":1}}]}'
    )
