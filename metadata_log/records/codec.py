"""Reads and writes every version of every record.

Generated from the declarations by `python -m metadata_log.records.generate`: change those, not this.
"""

# fmt: off
# ruff: noqa
# mypy: disable-error-code="arg-type,assignment"

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from metadata_log.records.primitives import (
    ONE,
    PACK_INT32S,
    PACK_TAGGED_INT32S,
    READ_INT32S,
    READ_UUIDS,
    TAGGED,
    array_length,
    long_string_length,
    newer_field,
    read_bytes,
    read_count,
    read_int32s,
    read_nullable_int32s,
    read_nullable_string,
    read_nullable_uuids,
    read_string,
    read_strings,
    read_tag_head,
    read_uuids,
    read_uvarint,
    skip_tags,
    tag_of_newer_version,
    tagged,
    write_bytes,
    write_int32s,
    write_string,
    write_strings,
    write_uuids,
    wrong_end,
    wrong_id,
    wrong_tag,
)
from metadata_log.records.control import (
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    LeaderChangeVoter,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
    VotersRecordEndpoint,
    VotersRecordVoter,
)
from metadata_log.records.declarations.cluster import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    ClientQuotaRecord,
    ConfigRecord,
    EndTransactionRecord,
    EntityData,
    FeatureLevelRecord,
    NoOpRecord,
    ProducerIdsRecord,
    ZkMigrationStateRecord,
)
from metadata_log.records.declarations.nodes import (
    BrokerEndpoint,
    BrokerFeature,
    BrokerRegistrationChangeRecord,
    ControllerEndpoint,
    ControllerFeature,
    FenceBrokerRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UnregisterControllerRecord,
)
from metadata_log.records.declarations.security import (
    AccessControlEntryRecord,
    DelegationTokenRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveUserScramCredentialRecord,
    UserScramCredentialRecord,
)
from metadata_log.records.declarations.topics import (
    ClearElrRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from metadata_log.records.registry import (
    ControlRecord,
    MetadataRecord,
)

_S_H: Final = Struct('>H')
_S_Hh: Final = Struct('>Hh')
_S_b: Final = Struct('>b')
_S_bb: Final = Struct('>bb')
_S_dt: Final = Struct('>d?')
_S_h: Final = Struct('>h')
_S_hh: Final = Struct('>hh')
_S_hi: Final = Struct('>hi')
_S_hq: Final = Struct('>hq')
_S_i: Final = Struct('>i')
_S_iii: Final = Struct('>iii')
_S_iq: Final = Struct('>iq')
_S_iqq: Final = Struct('>iqq')
_S_ituq: Final = Struct('>i?16sq')
_S_iu: Final = Struct('>i16s')
_S_iuq: Final = Struct('>i16sq')
_S_iut: Final = Struct('>i16s?')
_S_qqq: Final = Struct('>qqq')
_S_t: Final = Struct('>?')
_S_tt: Final = Struct('>??')
_S_ub: Final = Struct('>16sb')

def _read_BrokerEndpoint_0s(v: bytes, p: int) -> tuple[tuple[BrokerEndpoint, ...], int]:
    count, p = read_count(v, p)
    elements = []
    for _ in range(count):
        n = v[p]
        if 0 < n < 128:
            e = p + n
            name = v[p + 1 : e].decode()
            p = e
        else:
            name, p = read_string(v, p)
        n = v[p]
        if 0 < n < 128:
            e = p + n
            host = v[p + 1 : e].decode()
            p = e
        else:
            host, p = read_string(v, p)
        port, security_protocol = _S_Hh.unpack_from(v, p)
        p += 4
        p = skip_tags(v, p) if v[p] else p + 1
        elements.append(BrokerEndpoint(name=name, host=host, port=port, security_protocol=security_protocol))
    return tuple(elements), p

def _write_BrokerEndpoint_0(r: BrokerEndpoint) -> bytes:
    name = r.name.encode()
    n = len(name) + 1
    name = (ONE[n] if n < 128 else long_string_length(n)) + name
    host = r.host.encode()
    n = len(host) + 1
    host = (ONE[n] if n < 128 else long_string_length(n)) + host
    return b''.join((name, host, _S_Hh.pack(r.port, r.security_protocol), b'\0',))

def _read_BrokerFeature_0s(v: bytes, p: int) -> tuple[tuple[BrokerFeature, ...], int]:
    count, p = read_count(v, p)
    elements = []
    for _ in range(count):
        n = v[p]
        if 0 < n < 128:
            e = p + n
            name = v[p + 1 : e].decode()
            p = e
        else:
            name, p = read_string(v, p)
        min_supported_version, max_supported_version = _S_hh.unpack_from(v, p)
        p += 4
        p = skip_tags(v, p) if v[p] else p + 1
        elements.append(BrokerFeature(name=name, min_supported_version=min_supported_version, max_supported_version=max_supported_version))
    return tuple(elements), p

def _write_BrokerFeature_0(r: BrokerFeature) -> bytes:
    name = r.name.encode()
    n = len(name) + 1
    name = (ONE[n] if n < 128 else long_string_length(n)) + name
    return b''.join((name, _S_hh.pack(r.min_supported_version, r.max_supported_version), b'\0',))

def _read_RegisterBrokerRecord_0(v: bytes) -> RegisterBrokerRecord:
    broker_id, incarnation_id, broker_epoch = _S_iuq.unpack_from(v, 3)
    end_points, p = _read_BrokerEndpoint_0s(v, 31)
    features, p = _read_BrokerFeature_0s(v, p)
    n = v[p]
    if 0 < n < 128:
        e = p + n
        rack = v[p + 1 : e].decode()
        p = e
    else:
        rack, p = read_nullable_string(v, p)
    (fenced,) = _S_t.unpack_from(v, p)
    p += 1
    if v[p]:
        count = v[p]
        p = p + 1
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag in (0, 1):
                raise tag_of_newer_version(tag)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return RegisterBrokerRecord(broker_id=broker_id, incarnation_id=incarnation_id, broker_epoch=broker_epoch, end_points=end_points, features=features, rack=rack, fenced=fenced)

def _write_RegisterBrokerRecord_0(r: RegisterBrokerRecord) -> bytes:
    if r.is_migrating_zk_broker != False:
        raise newer_field('RegisterBrokerRecord.is_migrating_zk_broker', 0)
    if r.in_controlled_shutdown != False:
        raise newer_field('RegisterBrokerRecord.in_controlled_shutdown', 0)
    if r.log_dirs != ():
        raise newer_field('RegisterBrokerRecord.log_dirs', 0)
    if r.cordoned_log_dirs is not None:
        raise newer_field('RegisterBrokerRecord.cordoned_log_dirs', 0)
    incarnation_id = r.incarnation_id
    if len(incarnation_id) != 16:
        raise wrong_id(incarnation_id)
    rack = r.rack
    return b''.join((b'\x01\x00\x00', _S_iuq.pack(r.broker_id, incarnation_id, r.broker_epoch), array_length(len(r.end_points)) + b''.join([_write_BrokerEndpoint_0(x) for x in r.end_points]), array_length(len(r.features)) + b''.join([_write_BrokerFeature_0(x) for x in r.features]), b'\0' if rack is None else write_string(rack), _S_t.pack(r.fenced), b'\0',))

def _read_RegisterBrokerRecord_1(v: bytes) -> RegisterBrokerRecord:
    broker_id, incarnation_id, broker_epoch = _S_iuq.unpack_from(v, 3)
    end_points, p = _read_BrokerEndpoint_0s(v, 31)
    features, p = _read_BrokerFeature_0s(v, p)
    n = v[p]
    if 0 < n < 128:
        e = p + n
        rack = v[p + 1 : e].decode()
        p = e
    else:
        rack, p = read_nullable_string(v, p)
    fenced, in_controlled_shutdown = _S_tt.unpack_from(v, p)
    p += 2
    if v[p]:
        count = v[p]
        p = p + 1
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag in (0, 1):
                raise tag_of_newer_version(tag)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return RegisterBrokerRecord(broker_id=broker_id, incarnation_id=incarnation_id, broker_epoch=broker_epoch, end_points=end_points, features=features, rack=rack, fenced=fenced, in_controlled_shutdown=in_controlled_shutdown)

def _write_RegisterBrokerRecord_1(r: RegisterBrokerRecord) -> bytes:
    if r.is_migrating_zk_broker != False:
        raise newer_field('RegisterBrokerRecord.is_migrating_zk_broker', 1)
    if r.log_dirs != ():
        raise newer_field('RegisterBrokerRecord.log_dirs', 1)
    if r.cordoned_log_dirs is not None:
        raise newer_field('RegisterBrokerRecord.cordoned_log_dirs', 1)
    incarnation_id = r.incarnation_id
    if len(incarnation_id) != 16:
        raise wrong_id(incarnation_id)
    rack = r.rack
    return b''.join((b'\x01\x00\x01', _S_iuq.pack(r.broker_id, incarnation_id, r.broker_epoch), array_length(len(r.end_points)) + b''.join([_write_BrokerEndpoint_0(x) for x in r.end_points]), array_length(len(r.features)) + b''.join([_write_BrokerFeature_0(x) for x in r.features]), b'\0' if rack is None else write_string(rack), _S_tt.pack(r.fenced, r.in_controlled_shutdown), b'\0',))

def _read_RegisterBrokerRecord_2(v: bytes) -> RegisterBrokerRecord:
    broker_id, is_migrating_zk_broker, incarnation_id, broker_epoch = _S_ituq.unpack_from(v, 3)
    end_points, p = _read_BrokerEndpoint_0s(v, 32)
    features, p = _read_BrokerFeature_0s(v, p)
    n = v[p]
    if 0 < n < 128:
        e = p + n
        rack = v[p + 1 : e].decode()
        p = e
    else:
        rack, p = read_nullable_string(v, p)
    fenced, in_controlled_shutdown = _S_tt.unpack_from(v, p)
    p += 2
    if v[p]:
        count = v[p]
        p = p + 1
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag in (0, 1):
                raise tag_of_newer_version(tag)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return RegisterBrokerRecord(broker_id=broker_id, is_migrating_zk_broker=is_migrating_zk_broker, incarnation_id=incarnation_id, broker_epoch=broker_epoch, end_points=end_points, features=features, rack=rack, fenced=fenced, in_controlled_shutdown=in_controlled_shutdown)

def _write_RegisterBrokerRecord_2(r: RegisterBrokerRecord) -> bytes:
    if r.log_dirs != ():
        raise newer_field('RegisterBrokerRecord.log_dirs', 2)
    if r.cordoned_log_dirs is not None:
        raise newer_field('RegisterBrokerRecord.cordoned_log_dirs', 2)
    incarnation_id = r.incarnation_id
    if len(incarnation_id) != 16:
        raise wrong_id(incarnation_id)
    rack = r.rack
    return b''.join((b'\x01\x00\x02', _S_ituq.pack(r.broker_id, r.is_migrating_zk_broker, incarnation_id, r.broker_epoch), array_length(len(r.end_points)) + b''.join([_write_BrokerEndpoint_0(x) for x in r.end_points]), array_length(len(r.features)) + b''.join([_write_BrokerFeature_0(x) for x in r.features]), b'\0' if rack is None else write_string(rack), _S_tt.pack(r.fenced, r.in_controlled_shutdown), b'\0',))

def _read_RegisterBrokerRecord_3(v: bytes) -> RegisterBrokerRecord:
    broker_id, is_migrating_zk_broker, incarnation_id, broker_epoch = _S_ituq.unpack_from(v, 3)
    end_points, p = _read_BrokerEndpoint_0s(v, 32)
    features, p = _read_BrokerFeature_0s(v, p)
    n = v[p]
    if 0 < n < 128:
        e = p + n
        rack = v[p + 1 : e].decode()
        p = e
    else:
        rack, p = read_nullable_string(v, p)
    fenced, in_controlled_shutdown = _S_tt.unpack_from(v, p)
    p += 2
    log_dirs = ()
    if v[p]:
        count = v[p]
        p = p + 1
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                n = v[p]
                if n < 128:
                    log_dirs = READ_UUIDS[n](v, p + 1)
                    p += 16 * n - 15
                else:
                    log_dirs, p = read_uuids(v, p)
            elif tag in (1,):
                raise tag_of_newer_version(tag)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return RegisterBrokerRecord(broker_id=broker_id, is_migrating_zk_broker=is_migrating_zk_broker, incarnation_id=incarnation_id, broker_epoch=broker_epoch, end_points=end_points, features=features, rack=rack, fenced=fenced, in_controlled_shutdown=in_controlled_shutdown, log_dirs=log_dirs)

def _write_RegisterBrokerRecord_3(r: RegisterBrokerRecord) -> bytes:
    if r.cordoned_log_dirs is not None:
        raise newer_field('RegisterBrokerRecord.cordoned_log_dirs', 3)
    incarnation_id = r.incarnation_id
    if len(incarnation_id) != 16:
        raise wrong_id(incarnation_id)
    rack = r.rack
    count = 0
    tags = b''
    log_dirs = r.log_dirs
    if log_dirs != ():
        count += 1
        tags += tagged(b'\x00', write_uuids(log_dirs))
    return b''.join((b'\x01\x00\x03', _S_ituq.pack(r.broker_id, r.is_migrating_zk_broker, incarnation_id, r.broker_epoch), array_length(len(r.end_points)) + b''.join([_write_BrokerEndpoint_0(x) for x in r.end_points]), array_length(len(r.features)) + b''.join([_write_BrokerFeature_0(x) for x in r.features]), b'\0' if rack is None else write_string(rack), _S_tt.pack(r.fenced, r.in_controlled_shutdown), ONE[count], tags,))

def _read_RegisterBrokerRecord_4(v: bytes) -> RegisterBrokerRecord:
    broker_id, is_migrating_zk_broker, incarnation_id, broker_epoch = _S_ituq.unpack_from(v, 3)
    end_points, p = _read_BrokerEndpoint_0s(v, 32)
    features, p = _read_BrokerFeature_0s(v, p)
    n = v[p]
    if 0 < n < 128:
        e = p + n
        rack = v[p + 1 : e].decode()
        p = e
    else:
        rack, p = read_nullable_string(v, p)
    fenced, in_controlled_shutdown = _S_tt.unpack_from(v, p)
    p += 2
    log_dirs = ()
    cordoned_log_dirs = None
    if v[p]:
        count = v[p]
        p = p + 1
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                n = v[p]
                if n < 128:
                    log_dirs = READ_UUIDS[n](v, p + 1)
                    p += 16 * n - 15
                else:
                    log_dirs, p = read_uuids(v, p)
            elif tag == 1:
                n = v[p]
                if 0 < n < 128:
                    cordoned_log_dirs = READ_UUIDS[n](v, p + 1)
                    p += 16 * n - 15
                else:
                    cordoned_log_dirs, p = read_nullable_uuids(v, p)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return RegisterBrokerRecord(broker_id=broker_id, is_migrating_zk_broker=is_migrating_zk_broker, incarnation_id=incarnation_id, broker_epoch=broker_epoch, end_points=end_points, features=features, rack=rack, fenced=fenced, in_controlled_shutdown=in_controlled_shutdown, log_dirs=log_dirs, cordoned_log_dirs=cordoned_log_dirs)

def _write_RegisterBrokerRecord_4(r: RegisterBrokerRecord) -> bytes:
    incarnation_id = r.incarnation_id
    if len(incarnation_id) != 16:
        raise wrong_id(incarnation_id)
    rack = r.rack
    count = 0
    tags = b''
    log_dirs = r.log_dirs
    if log_dirs != ():
        count += 1
        tags += tagged(b'\x00', write_uuids(log_dirs))
    cordoned_log_dirs = r.cordoned_log_dirs
    if cordoned_log_dirs is not None:
        count += 1
        tags += tagged(b'\x01', write_uuids(cordoned_log_dirs))
    return b''.join((b'\x01\x00\x04', _S_ituq.pack(r.broker_id, r.is_migrating_zk_broker, incarnation_id, r.broker_epoch), array_length(len(r.end_points)) + b''.join([_write_BrokerEndpoint_0(x) for x in r.end_points]), array_length(len(r.features)) + b''.join([_write_BrokerFeature_0(x) for x in r.features]), b'\0' if rack is None else write_string(rack), _S_tt.pack(r.fenced, r.in_controlled_shutdown), ONE[count], tags,))

def _read_UnregisterBrokerRecord_0(v: bytes) -> UnregisterBrokerRecord:
    broker_id, broker_epoch = _S_iq.unpack_from(v, 3)
    p = skip_tags(v, 15) if v[15] else 16
    if p != len(v):
        raise wrong_end(v, p)
    return UnregisterBrokerRecord(broker_id=broker_id, broker_epoch=broker_epoch)

def _write_UnregisterBrokerRecord_0(r: UnregisterBrokerRecord) -> bytes:
    return b''.join((b'\x01\x01\x00', _S_iq.pack(r.broker_id, r.broker_epoch), b'\0',))

def _read_TopicRecord_0(v: bytes) -> TopicRecord:
    n = v[3]
    if 0 < n < 128:
        e = 3 + n
        name = v[4 : e].decode()
        p = e
    else:
        name, p = read_string(v, 3)
    topic_id = v[p : p + 16]
    p += 16
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return TopicRecord(name=name, topic_id=topic_id)

def _write_TopicRecord_0(r: TopicRecord) -> bytes:
    name = r.name.encode()
    n = len(name) + 1
    name = (ONE[n] if n < 128 else long_string_length(n)) + name
    topic_id = r.topic_id
    if len(topic_id) != 16:
        raise wrong_id(topic_id)
    return b''.join((b'\x01\x02\x00', name, topic_id, b'\0',))

def _read_PartitionRecord_0(v: bytes) -> PartitionRecord:
    partition_id, topic_id = _S_iu.unpack_from(v, 3)
    n = v[23]
    if n < 128:
        replicas = READ_INT32S[n](v, 24)
        p = 23 + 4 * n - 3
    else:
        replicas, p = read_int32s(v, 23)
    n = v[p]
    if n < 128:
        isr = READ_INT32S[n](v, p + 1)
        p += 4 * n - 3
    else:
        isr, p = read_int32s(v, p)
    n = v[p]
    if n < 128:
        removing_replicas = READ_INT32S[n](v, p + 1)
        p += 4 * n - 3
    else:
        removing_replicas, p = read_int32s(v, p)
    n = v[p]
    if n < 128:
        adding_replicas = READ_INT32S[n](v, p + 1)
        p += 4 * n - 3
    else:
        adding_replicas, p = read_int32s(v, p)
    leader, leader_epoch, partition_epoch = _S_iii.unpack_from(v, p)
    p += 12
    leader_recovery_state = 0
    if v[p]:
        count = v[p]
        p = p + 1
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                (leader_recovery_state,) = _S_b.unpack_from(v, p)
                p += 1
            elif tag in (1, 2):
                raise tag_of_newer_version(tag)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return PartitionRecord(partition_id=partition_id, topic_id=topic_id, replicas=replicas, isr=isr, removing_replicas=removing_replicas, adding_replicas=adding_replicas, leader=leader, leader_recovery_state=leader_recovery_state, leader_epoch=leader_epoch, partition_epoch=partition_epoch)

def _write_PartitionRecord_0(r: PartitionRecord) -> bytes:
    if r.directories != ():
        raise newer_field('PartitionRecord.directories', 0)
    if r.eligible_leader_replicas is not None:
        raise newer_field('PartitionRecord.eligible_leader_replicas', 0)
    if r.last_known_elr is not None:
        raise newer_field('PartitionRecord.last_known_elr', 0)
    topic_id = r.topic_id
    if len(topic_id) != 16:
        raise wrong_id(topic_id)
    replicas = r.replicas
    n = len(replicas) + 1
    replicas = PACK_INT32S[n](n, *replicas) if n < 128 else write_int32s(replicas)
    isr = r.isr
    n = len(isr) + 1
    isr = PACK_INT32S[n](n, *isr) if n < 128 else write_int32s(isr)
    removing_replicas = r.removing_replicas
    n = len(removing_replicas) + 1
    removing_replicas = PACK_INT32S[n](n, *removing_replicas) if n < 128 else write_int32s(removing_replicas)
    adding_replicas = r.adding_replicas
    n = len(adding_replicas) + 1
    adding_replicas = PACK_INT32S[n](n, *adding_replicas) if n < 128 else write_int32s(adding_replicas)
    count = 0
    tags = b''
    leader_recovery_state = r.leader_recovery_state
    if leader_recovery_state != 0:
        count += 1
        tags += b'\x00\x01' + _S_b.pack(leader_recovery_state)
    return b''.join((b'\x01\x03\x00', _S_iu.pack(r.partition_id, topic_id), replicas, isr, removing_replicas, adding_replicas, _S_iii.pack(r.leader, r.leader_epoch, r.partition_epoch), ONE[count], tags,))

def _read_PartitionRecord_1(v: bytes) -> PartitionRecord:
    partition_id, topic_id = _S_iu.unpack_from(v, 3)
    n = v[23]
    if n < 128:
        replicas = READ_INT32S[n](v, 24)
        p = 23 + 4 * n - 3
    else:
        replicas, p = read_int32s(v, 23)
    n = v[p]
    if n < 128:
        isr = READ_INT32S[n](v, p + 1)
        p += 4 * n - 3
    else:
        isr, p = read_int32s(v, p)
    n = v[p]
    if n < 128:
        removing_replicas = READ_INT32S[n](v, p + 1)
        p += 4 * n - 3
    else:
        removing_replicas, p = read_int32s(v, p)
    n = v[p]
    if n < 128:
        adding_replicas = READ_INT32S[n](v, p + 1)
        p += 4 * n - 3
    else:
        adding_replicas, p = read_int32s(v, p)
    leader, leader_epoch, partition_epoch = _S_iii.unpack_from(v, p)
    p += 12
    n = v[p]
    if n < 128:
        directories = READ_UUIDS[n](v, p + 1)
        p += 16 * n - 15
    else:
        directories, p = read_uuids(v, p)
    leader_recovery_state = 0
    if v[p]:
        count = v[p]
        p = p + 1
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                (leader_recovery_state,) = _S_b.unpack_from(v, p)
                p += 1
            elif tag in (1, 2):
                raise tag_of_newer_version(tag)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return PartitionRecord(partition_id=partition_id, topic_id=topic_id, replicas=replicas, isr=isr, removing_replicas=removing_replicas, adding_replicas=adding_replicas, leader=leader, leader_recovery_state=leader_recovery_state, leader_epoch=leader_epoch, partition_epoch=partition_epoch, directories=directories)

def _write_PartitionRecord_1(r: PartitionRecord) -> bytes:
    if r.eligible_leader_replicas is not None:
        raise newer_field('PartitionRecord.eligible_leader_replicas', 1)
    if r.last_known_elr is not None:
        raise newer_field('PartitionRecord.last_known_elr', 1)
    topic_id = r.topic_id
    if len(topic_id) != 16:
        raise wrong_id(topic_id)
    replicas = r.replicas
    n = len(replicas) + 1
    replicas = PACK_INT32S[n](n, *replicas) if n < 128 else write_int32s(replicas)
    isr = r.isr
    n = len(isr) + 1
    isr = PACK_INT32S[n](n, *isr) if n < 128 else write_int32s(isr)
    removing_replicas = r.removing_replicas
    n = len(removing_replicas) + 1
    removing_replicas = PACK_INT32S[n](n, *removing_replicas) if n < 128 else write_int32s(removing_replicas)
    adding_replicas = r.adding_replicas
    n = len(adding_replicas) + 1
    adding_replicas = PACK_INT32S[n](n, *adding_replicas) if n < 128 else write_int32s(adding_replicas)
    count = 0
    tags = b''
    leader_recovery_state = r.leader_recovery_state
    if leader_recovery_state != 0:
        count += 1
        tags += b'\x00\x01' + _S_b.pack(leader_recovery_state)
    return b''.join((b'\x01\x03\x01', _S_iu.pack(r.partition_id, topic_id), replicas, isr, removing_replicas, adding_replicas, _S_iii.pack(r.leader, r.leader_epoch, r.partition_epoch), write_uuids(r.directories), ONE[count], tags,))

def _read_PartitionRecord_2(v: bytes) -> PartitionRecord:
    partition_id, topic_id = _S_iu.unpack_from(v, 3)
    n = v[23]
    if n < 128:
        replicas = READ_INT32S[n](v, 24)
        p = 23 + 4 * n - 3
    else:
        replicas, p = read_int32s(v, 23)
    n = v[p]
    if n < 128:
        isr = READ_INT32S[n](v, p + 1)
        p += 4 * n - 3
    else:
        isr, p = read_int32s(v, p)
    n = v[p]
    if n < 128:
        removing_replicas = READ_INT32S[n](v, p + 1)
        p += 4 * n - 3
    else:
        removing_replicas, p = read_int32s(v, p)
    n = v[p]
    if n < 128:
        adding_replicas = READ_INT32S[n](v, p + 1)
        p += 4 * n - 3
    else:
        adding_replicas, p = read_int32s(v, p)
    leader, leader_epoch, partition_epoch = _S_iii.unpack_from(v, p)
    p += 12
    n = v[p]
    if n < 128:
        directories = READ_UUIDS[n](v, p + 1)
        p += 16 * n - 15
    else:
        directories, p = read_uuids(v, p)
    leader_recovery_state = 0
    eligible_leader_replicas = None
    last_known_elr = None
    if v[p]:
        count = v[p]
        p = p + 1
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                (leader_recovery_state,) = _S_b.unpack_from(v, p)
                p += 1
            elif tag == 1:
                n = v[p]
                if 0 < n < 128:
                    eligible_leader_replicas = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    eligible_leader_replicas, p = read_nullable_int32s(v, p)
            elif tag == 2:
                n = v[p]
                if 0 < n < 128:
                    last_known_elr = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    last_known_elr, p = read_nullable_int32s(v, p)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return PartitionRecord(partition_id=partition_id, topic_id=topic_id, replicas=replicas, isr=isr, removing_replicas=removing_replicas, adding_replicas=adding_replicas, leader=leader, leader_recovery_state=leader_recovery_state, leader_epoch=leader_epoch, partition_epoch=partition_epoch, directories=directories, eligible_leader_replicas=eligible_leader_replicas, last_known_elr=last_known_elr)

def _write_PartitionRecord_2(r: PartitionRecord) -> bytes:
    topic_id = r.topic_id
    if len(topic_id) != 16:
        raise wrong_id(topic_id)
    replicas = r.replicas
    n = len(replicas) + 1
    replicas = PACK_INT32S[n](n, *replicas) if n < 128 else write_int32s(replicas)
    isr = r.isr
    n = len(isr) + 1
    isr = PACK_INT32S[n](n, *isr) if n < 128 else write_int32s(isr)
    removing_replicas = r.removing_replicas
    n = len(removing_replicas) + 1
    removing_replicas = PACK_INT32S[n](n, *removing_replicas) if n < 128 else write_int32s(removing_replicas)
    adding_replicas = r.adding_replicas
    n = len(adding_replicas) + 1
    adding_replicas = PACK_INT32S[n](n, *adding_replicas) if n < 128 else write_int32s(adding_replicas)
    count = 0
    tags = b''
    leader_recovery_state = r.leader_recovery_state
    if leader_recovery_state != 0:
        count += 1
        tags += b'\x00\x01' + _S_b.pack(leader_recovery_state)
    eligible_leader_replicas = r.eligible_leader_replicas
    if eligible_leader_replicas is not None:
        count += 1
        n = len(eligible_leader_replicas) + 1
        tags += PACK_TAGGED_INT32S[n](1, 4 * n - 3, n, *eligible_leader_replicas) if n < TAGGED else tagged(b'\x01', write_int32s(eligible_leader_replicas))
    last_known_elr = r.last_known_elr
    if last_known_elr is not None:
        count += 1
        n = len(last_known_elr) + 1
        tags += PACK_TAGGED_INT32S[n](2, 4 * n - 3, n, *last_known_elr) if n < TAGGED else tagged(b'\x02', write_int32s(last_known_elr))
    return b''.join((b'\x01\x03\x02', _S_iu.pack(r.partition_id, topic_id), replicas, isr, removing_replicas, adding_replicas, _S_iii.pack(r.leader, r.leader_epoch, r.partition_epoch), write_uuids(r.directories), ONE[count], tags,))

def _read_ConfigRecord_0(v: bytes) -> ConfigRecord:
    (resource_type,) = _S_b.unpack_from(v, 3)
    n = v[4]
    if 0 < n < 128:
        e = 4 + n
        resource_name = v[5 : e].decode()
        p = e
    else:
        resource_name, p = read_string(v, 4)
    n = v[p]
    if 0 < n < 128:
        e = p + n
        name = v[p + 1 : e].decode()
        p = e
    else:
        name, p = read_string(v, p)
    n = v[p]
    if 0 < n < 128:
        e = p + n
        value = v[p + 1 : e].decode()
        p = e
    else:
        value, p = read_nullable_string(v, p)
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return ConfigRecord(resource_type=resource_type, resource_name=resource_name, name=name, value=value)

def _write_ConfigRecord_0(r: ConfigRecord) -> bytes:
    resource_name = r.resource_name.encode()
    n = len(resource_name) + 1
    resource_name = (ONE[n] if n < 128 else long_string_length(n)) + resource_name
    name = r.name.encode()
    n = len(name) + 1
    name = (ONE[n] if n < 128 else long_string_length(n)) + name
    value = r.value
    return b''.join((b'\x01\x04\x00', _S_b.pack(r.resource_type), resource_name, name, b'\0' if value is None else write_string(value), b'\0',))

def _read_PartitionChangeRecord_0(v: bytes) -> PartitionChangeRecord:
    partition_id, topic_id = _S_iu.unpack_from(v, 3)
    isr = None
    leader = -2
    replicas = None
    removing_replicas = None
    adding_replicas = None
    leader_recovery_state = -1
    if v[23]:
        count = v[23]
        p = 24
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                n = v[p]
                if 0 < n < 128:
                    isr = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    isr, p = read_nullable_int32s(v, p)
            elif tag == 1:
                (leader,) = _S_i.unpack_from(v, p)
                p += 4
            elif tag == 2:
                n = v[p]
                if 0 < n < 128:
                    replicas = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    replicas, p = read_nullable_int32s(v, p)
            elif tag == 3:
                n = v[p]
                if 0 < n < 128:
                    removing_replicas = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    removing_replicas, p = read_nullable_int32s(v, p)
            elif tag == 4:
                n = v[p]
                if 0 < n < 128:
                    adding_replicas = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    adding_replicas, p = read_nullable_int32s(v, p)
            elif tag == 5:
                (leader_recovery_state,) = _S_b.unpack_from(v, p)
                p += 1
            elif tag in (6, 7, 8):
                raise tag_of_newer_version(tag)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = 24
    if p != len(v):
        raise wrong_end(v, p)
    return PartitionChangeRecord(partition_id=partition_id, topic_id=topic_id, isr=isr, leader=leader, replicas=replicas, removing_replicas=removing_replicas, adding_replicas=adding_replicas, leader_recovery_state=leader_recovery_state)

def _write_PartitionChangeRecord_0(r: PartitionChangeRecord) -> bytes:
    if r.directories is not None:
        raise newer_field('PartitionChangeRecord.directories', 0)
    if r.eligible_leader_replicas is not None:
        raise newer_field('PartitionChangeRecord.eligible_leader_replicas', 0)
    if r.last_known_elr is not None:
        raise newer_field('PartitionChangeRecord.last_known_elr', 0)
    topic_id = r.topic_id
    if len(topic_id) != 16:
        raise wrong_id(topic_id)
    count = 0
    tags = b''
    isr = r.isr
    if isr is not None:
        count += 1
        n = len(isr) + 1
        tags += PACK_TAGGED_INT32S[n](0, 4 * n - 3, n, *isr) if n < TAGGED else tagged(b'\x00', write_int32s(isr))
    leader = r.leader
    if leader != -2:
        count += 1
        tags += b'\x01\x04' + _S_i.pack(leader)
    replicas = r.replicas
    if replicas is not None:
        count += 1
        n = len(replicas) + 1
        tags += PACK_TAGGED_INT32S[n](2, 4 * n - 3, n, *replicas) if n < TAGGED else tagged(b'\x02', write_int32s(replicas))
    removing_replicas = r.removing_replicas
    if removing_replicas is not None:
        count += 1
        n = len(removing_replicas) + 1
        tags += PACK_TAGGED_INT32S[n](3, 4 * n - 3, n, *removing_replicas) if n < TAGGED else tagged(b'\x03', write_int32s(removing_replicas))
    adding_replicas = r.adding_replicas
    if adding_replicas is not None:
        count += 1
        n = len(adding_replicas) + 1
        tags += PACK_TAGGED_INT32S[n](4, 4 * n - 3, n, *adding_replicas) if n < TAGGED else tagged(b'\x04', write_int32s(adding_replicas))
    leader_recovery_state = r.leader_recovery_state
    if leader_recovery_state != -1:
        count += 1
        tags += b'\x05\x01' + _S_b.pack(leader_recovery_state)
    return b''.join((b'\x01\x05\x00', _S_iu.pack(r.partition_id, topic_id), ONE[count], tags,))

def _read_PartitionChangeRecord_1(v: bytes) -> PartitionChangeRecord:
    partition_id, topic_id = _S_iu.unpack_from(v, 3)
    isr = None
    leader = -2
    replicas = None
    removing_replicas = None
    adding_replicas = None
    leader_recovery_state = -1
    directories = None
    if v[23]:
        count = v[23]
        p = 24
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                n = v[p]
                if 0 < n < 128:
                    isr = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    isr, p = read_nullable_int32s(v, p)
            elif tag == 1:
                (leader,) = _S_i.unpack_from(v, p)
                p += 4
            elif tag == 2:
                n = v[p]
                if 0 < n < 128:
                    replicas = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    replicas, p = read_nullable_int32s(v, p)
            elif tag == 3:
                n = v[p]
                if 0 < n < 128:
                    removing_replicas = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    removing_replicas, p = read_nullable_int32s(v, p)
            elif tag == 4:
                n = v[p]
                if 0 < n < 128:
                    adding_replicas = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    adding_replicas, p = read_nullable_int32s(v, p)
            elif tag == 5:
                (leader_recovery_state,) = _S_b.unpack_from(v, p)
                p += 1
            elif tag == 8:
                n = v[p]
                if 0 < n < 128:
                    directories = READ_UUIDS[n](v, p + 1)
                    p += 16 * n - 15
                else:
                    directories, p = read_nullable_uuids(v, p)
            elif tag in (6, 7):
                raise tag_of_newer_version(tag)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = 24
    if p != len(v):
        raise wrong_end(v, p)
    return PartitionChangeRecord(partition_id=partition_id, topic_id=topic_id, isr=isr, leader=leader, replicas=replicas, removing_replicas=removing_replicas, adding_replicas=adding_replicas, leader_recovery_state=leader_recovery_state, directories=directories)

def _write_PartitionChangeRecord_1(r: PartitionChangeRecord) -> bytes:
    if r.eligible_leader_replicas is not None:
        raise newer_field('PartitionChangeRecord.eligible_leader_replicas', 1)
    if r.last_known_elr is not None:
        raise newer_field('PartitionChangeRecord.last_known_elr', 1)
    topic_id = r.topic_id
    if len(topic_id) != 16:
        raise wrong_id(topic_id)
    count = 0
    tags = b''
    isr = r.isr
    if isr is not None:
        count += 1
        n = len(isr) + 1
        tags += PACK_TAGGED_INT32S[n](0, 4 * n - 3, n, *isr) if n < TAGGED else tagged(b'\x00', write_int32s(isr))
    leader = r.leader
    if leader != -2:
        count += 1
        tags += b'\x01\x04' + _S_i.pack(leader)
    replicas = r.replicas
    if replicas is not None:
        count += 1
        n = len(replicas) + 1
        tags += PACK_TAGGED_INT32S[n](2, 4 * n - 3, n, *replicas) if n < TAGGED else tagged(b'\x02', write_int32s(replicas))
    removing_replicas = r.removing_replicas
    if removing_replicas is not None:
        count += 1
        n = len(removing_replicas) + 1
        tags += PACK_TAGGED_INT32S[n](3, 4 * n - 3, n, *removing_replicas) if n < TAGGED else tagged(b'\x03', write_int32s(removing_replicas))
    adding_replicas = r.adding_replicas
    if adding_replicas is not None:
        count += 1
        n = len(adding_replicas) + 1
        tags += PACK_TAGGED_INT32S[n](4, 4 * n - 3, n, *adding_replicas) if n < TAGGED else tagged(b'\x04', write_int32s(adding_replicas))
    leader_recovery_state = r.leader_recovery_state
    if leader_recovery_state != -1:
        count += 1
        tags += b'\x05\x01' + _S_b.pack(leader_recovery_state)
    directories = r.directories
    if directories is not None:
        count += 1
        tags += tagged(b'\x08', write_uuids(directories))
    return b''.join((b'\x01\x05\x01', _S_iu.pack(r.partition_id, topic_id), ONE[count], tags,))

def _read_PartitionChangeRecord_2(v: bytes) -> PartitionChangeRecord:
    partition_id, topic_id = _S_iu.unpack_from(v, 3)
    isr = None
    leader = -2
    replicas = None
    removing_replicas = None
    adding_replicas = None
    leader_recovery_state = -1
    eligible_leader_replicas = None
    last_known_elr = None
    directories = None
    if v[23]:
        count = v[23]
        p = 24
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                n = v[p]
                if 0 < n < 128:
                    isr = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    isr, p = read_nullable_int32s(v, p)
            elif tag == 1:
                (leader,) = _S_i.unpack_from(v, p)
                p += 4
            elif tag == 2:
                n = v[p]
                if 0 < n < 128:
                    replicas = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    replicas, p = read_nullable_int32s(v, p)
            elif tag == 3:
                n = v[p]
                if 0 < n < 128:
                    removing_replicas = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    removing_replicas, p = read_nullable_int32s(v, p)
            elif tag == 4:
                n = v[p]
                if 0 < n < 128:
                    adding_replicas = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    adding_replicas, p = read_nullable_int32s(v, p)
            elif tag == 5:
                (leader_recovery_state,) = _S_b.unpack_from(v, p)
                p += 1
            elif tag == 6:
                n = v[p]
                if 0 < n < 128:
                    eligible_leader_replicas = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    eligible_leader_replicas, p = read_nullable_int32s(v, p)
            elif tag == 7:
                n = v[p]
                if 0 < n < 128:
                    last_known_elr = READ_INT32S[n](v, p + 1)
                    p += 4 * n - 3
                else:
                    last_known_elr, p = read_nullable_int32s(v, p)
            elif tag == 8:
                n = v[p]
                if 0 < n < 128:
                    directories = READ_UUIDS[n](v, p + 1)
                    p += 16 * n - 15
                else:
                    directories, p = read_nullable_uuids(v, p)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = 24
    if p != len(v):
        raise wrong_end(v, p)
    return PartitionChangeRecord(partition_id=partition_id, topic_id=topic_id, isr=isr, leader=leader, replicas=replicas, removing_replicas=removing_replicas, adding_replicas=adding_replicas, leader_recovery_state=leader_recovery_state, directories=directories, eligible_leader_replicas=eligible_leader_replicas, last_known_elr=last_known_elr)

def _write_PartitionChangeRecord_2(r: PartitionChangeRecord) -> bytes:
    topic_id = r.topic_id
    if len(topic_id) != 16:
        raise wrong_id(topic_id)
    count = 0
    tags = b''
    isr = r.isr
    if isr is not None:
        count += 1
        n = len(isr) + 1
        tags += PACK_TAGGED_INT32S[n](0, 4 * n - 3, n, *isr) if n < TAGGED else tagged(b'\x00', write_int32s(isr))
    leader = r.leader
    if leader != -2:
        count += 1
        tags += b'\x01\x04' + _S_i.pack(leader)
    replicas = r.replicas
    if replicas is not None:
        count += 1
        n = len(replicas) + 1
        tags += PACK_TAGGED_INT32S[n](2, 4 * n - 3, n, *replicas) if n < TAGGED else tagged(b'\x02', write_int32s(replicas))
    removing_replicas = r.removing_replicas
    if removing_replicas is not None:
        count += 1
        n = len(removing_replicas) + 1
        tags += PACK_TAGGED_INT32S[n](3, 4 * n - 3, n, *removing_replicas) if n < TAGGED else tagged(b'\x03', write_int32s(removing_replicas))
    adding_replicas = r.adding_replicas
    if adding_replicas is not None:
        count += 1
        n = len(adding_replicas) + 1
        tags += PACK_TAGGED_INT32S[n](4, 4 * n - 3, n, *adding_replicas) if n < TAGGED else tagged(b'\x04', write_int32s(adding_replicas))
    leader_recovery_state = r.leader_recovery_state
    if leader_recovery_state != -1:
        count += 1
        tags += b'\x05\x01' + _S_b.pack(leader_recovery_state)
    eligible_leader_replicas = r.eligible_leader_replicas
    if eligible_leader_replicas is not None:
        count += 1
        n = len(eligible_leader_replicas) + 1
        tags += PACK_TAGGED_INT32S[n](6, 4 * n - 3, n, *eligible_leader_replicas) if n < TAGGED else tagged(b'\x06', write_int32s(eligible_leader_replicas))
    last_known_elr = r.last_known_elr
    if last_known_elr is not None:
        count += 1
        n = len(last_known_elr) + 1
        tags += PACK_TAGGED_INT32S[n](7, 4 * n - 3, n, *last_known_elr) if n < TAGGED else tagged(b'\x07', write_int32s(last_known_elr))
    directories = r.directories
    if directories is not None:
        count += 1
        tags += tagged(b'\x08', write_uuids(directories))
    return b''.join((b'\x01\x05\x02', _S_iu.pack(r.partition_id, topic_id), ONE[count], tags,))

def _read_FenceBrokerRecord_0(v: bytes) -> FenceBrokerRecord:
    id, epoch = _S_iq.unpack_from(v, 3)
    p = skip_tags(v, 15) if v[15] else 16
    if p != len(v):
        raise wrong_end(v, p)
    return FenceBrokerRecord(id=id, epoch=epoch)

def _write_FenceBrokerRecord_0(r: FenceBrokerRecord) -> bytes:
    return b''.join((b'\x01\x07\x00', _S_iq.pack(r.id, r.epoch), b'\0',))

def _read_UnfenceBrokerRecord_0(v: bytes) -> UnfenceBrokerRecord:
    id, epoch = _S_iq.unpack_from(v, 3)
    p = skip_tags(v, 15) if v[15] else 16
    if p != len(v):
        raise wrong_end(v, p)
    return UnfenceBrokerRecord(id=id, epoch=epoch)

def _write_UnfenceBrokerRecord_0(r: UnfenceBrokerRecord) -> bytes:
    return b''.join((b'\x01\x08\x00', _S_iq.pack(r.id, r.epoch), b'\0',))

def _read_RemoveTopicRecord_0(v: bytes) -> RemoveTopicRecord:
    topic_id = v[3 : 19]
    p = skip_tags(v, 19) if v[19] else 20
    if p != len(v):
        raise wrong_end(v, p)
    return RemoveTopicRecord(topic_id=topic_id)

def _write_RemoveTopicRecord_0(r: RemoveTopicRecord) -> bytes:
    topic_id = r.topic_id
    if len(topic_id) != 16:
        raise wrong_id(topic_id)
    return b''.join((b'\x01\t\x00', topic_id, b'\0',))

def _read_DelegationTokenRecord_0(v: bytes) -> DelegationTokenRecord:
    n = v[3]
    if 0 < n < 128:
        e = 3 + n
        owner = v[4 : e].decode()
        p = e
    else:
        owner, p = read_string(v, 3)
    n = v[p]
    if 0 < n < 128:
        e = p + n
        requester = v[p + 1 : e].decode()
        p = e
    else:
        requester, p = read_string(v, p)
    renewers, p = read_strings(v, p)
    issue_timestamp, max_timestamp, expiration_timestamp = _S_qqq.unpack_from(v, p)
    p += 24
    n = v[p]
    if 0 < n < 128:
        e = p + n
        token_id = v[p + 1 : e].decode()
        p = e
    else:
        token_id, p = read_string(v, p)
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return DelegationTokenRecord(owner=owner, requester=requester, renewers=renewers, issue_timestamp=issue_timestamp, max_timestamp=max_timestamp, expiration_timestamp=expiration_timestamp, token_id=token_id)

def _write_DelegationTokenRecord_0(r: DelegationTokenRecord) -> bytes:
    owner = r.owner.encode()
    n = len(owner) + 1
    owner = (ONE[n] if n < 128 else long_string_length(n)) + owner
    requester = r.requester.encode()
    n = len(requester) + 1
    requester = (ONE[n] if n < 128 else long_string_length(n)) + requester
    token_id = r.token_id.encode()
    n = len(token_id) + 1
    token_id = (ONE[n] if n < 128 else long_string_length(n)) + token_id
    return b''.join((b'\x01\n\x00', owner, requester, write_strings(r.renewers), _S_qqq.pack(r.issue_timestamp, r.max_timestamp, r.expiration_timestamp), token_id, b'\0',))

def _read_UserScramCredentialRecord_0(v: bytes) -> UserScramCredentialRecord:
    n = v[3]
    if 0 < n < 128:
        e = 3 + n
        name = v[4 : e].decode()
        p = e
    else:
        name, p = read_string(v, 3)
    (mechanism,) = _S_b.unpack_from(v, p)
    p += 1
    salt, p = read_bytes(v, p)
    stored_key, p = read_bytes(v, p)
    server_key, p = read_bytes(v, p)
    (iterations,) = _S_i.unpack_from(v, p)
    p += 4
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return UserScramCredentialRecord(name=name, mechanism=mechanism, salt=salt, stored_key=stored_key, server_key=server_key, iterations=iterations)

def _write_UserScramCredentialRecord_0(r: UserScramCredentialRecord) -> bytes:
    name = r.name.encode()
    n = len(name) + 1
    name = (ONE[n] if n < 128 else long_string_length(n)) + name
    return b''.join((b'\x01\x0b\x00', name, _S_b.pack(r.mechanism), write_bytes(r.salt), write_bytes(r.stored_key), write_bytes(r.server_key), _S_i.pack(r.iterations), b'\0',))

def _read_FeatureLevelRecord_0(v: bytes) -> FeatureLevelRecord:
    n = v[3]
    if 0 < n < 128:
        e = 3 + n
        name = v[4 : e].decode()
        p = e
    else:
        name, p = read_string(v, 3)
    (feature_level,) = _S_h.unpack_from(v, p)
    p += 2
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return FeatureLevelRecord(name=name, feature_level=feature_level)

def _write_FeatureLevelRecord_0(r: FeatureLevelRecord) -> bytes:
    name = r.name.encode()
    n = len(name) + 1
    name = (ONE[n] if n < 128 else long_string_length(n)) + name
    return b''.join((b'\x01\x0c\x00', name, _S_h.pack(r.feature_level), b'\0',))

def _read_EntityData_0s(v: bytes, p: int) -> tuple[tuple[EntityData, ...], int]:
    count, p = read_count(v, p)
    elements = []
    for _ in range(count):
        n = v[p]
        if 0 < n < 128:
            e = p + n
            entity_type = v[p + 1 : e].decode()
            p = e
        else:
            entity_type, p = read_string(v, p)
        n = v[p]
        if 0 < n < 128:
            e = p + n
            entity_name = v[p + 1 : e].decode()
            p = e
        else:
            entity_name, p = read_nullable_string(v, p)
        p = skip_tags(v, p) if v[p] else p + 1
        elements.append(EntityData(entity_type=entity_type, entity_name=entity_name))
    return tuple(elements), p

def _write_EntityData_0(r: EntityData) -> bytes:
    entity_type = r.entity_type.encode()
    n = len(entity_type) + 1
    entity_type = (ONE[n] if n < 128 else long_string_length(n)) + entity_type
    entity_name = r.entity_name
    return b''.join((entity_type, b'\0' if entity_name is None else write_string(entity_name), b'\0',))

def _read_ClientQuotaRecord_0(v: bytes) -> ClientQuotaRecord:
    entity, p = _read_EntityData_0s(v, 3)
    n = v[p]
    if 0 < n < 128:
        e = p + n
        key = v[p + 1 : e].decode()
        p = e
    else:
        key, p = read_string(v, p)
    value, remove = _S_dt.unpack_from(v, p)
    p += 9
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return ClientQuotaRecord(entity=entity, key=key, value=value, remove=remove)

def _write_ClientQuotaRecord_0(r: ClientQuotaRecord) -> bytes:
    key = r.key.encode()
    n = len(key) + 1
    key = (ONE[n] if n < 128 else long_string_length(n)) + key
    return b''.join((b'\x01\x0e\x00', array_length(len(r.entity)) + b''.join([_write_EntityData_0(x) for x in r.entity]), key, _S_dt.pack(r.value, r.remove), b'\0',))

def _read_ProducerIdsRecord_0(v: bytes) -> ProducerIdsRecord:
    broker_id, broker_epoch, next_producer_id = _S_iqq.unpack_from(v, 3)
    p = skip_tags(v, 23) if v[23] else 24
    if p != len(v):
        raise wrong_end(v, p)
    return ProducerIdsRecord(broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=next_producer_id)

def _write_ProducerIdsRecord_0(r: ProducerIdsRecord) -> bytes:
    return b''.join((b'\x01\x0f\x00', _S_iqq.pack(r.broker_id, r.broker_epoch, r.next_producer_id), b'\0',))

def _read_BrokerRegistrationChangeRecord_0(v: bytes) -> BrokerRegistrationChangeRecord:
    broker_id, broker_epoch = _S_iq.unpack_from(v, 3)
    fenced = 0
    if v[15]:
        count = v[15]
        p = 16
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                (fenced,) = _S_b.unpack_from(v, p)
                p += 1
            elif tag in (1, 2, 3):
                raise tag_of_newer_version(tag)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = 16
    if p != len(v):
        raise wrong_end(v, p)
    return BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=fenced)

def _write_BrokerRegistrationChangeRecord_0(r: BrokerRegistrationChangeRecord) -> bytes:
    if r.in_controlled_shutdown != 0:
        raise newer_field('BrokerRegistrationChangeRecord.in_controlled_shutdown', 0)
    if r.log_dirs != ():
        raise newer_field('BrokerRegistrationChangeRecord.log_dirs', 0)
    if r.cordoned_log_dirs is not None:
        raise newer_field('BrokerRegistrationChangeRecord.cordoned_log_dirs', 0)
    count = 0
    tags = b''
    fenced = r.fenced
    if fenced != 0:
        count += 1
        tags += b'\x00\x01' + _S_b.pack(fenced)
    return b''.join((b'\x01\x11\x00', _S_iq.pack(r.broker_id, r.broker_epoch), ONE[count], tags,))

def _read_BrokerRegistrationChangeRecord_1(v: bytes) -> BrokerRegistrationChangeRecord:
    broker_id, broker_epoch = _S_iq.unpack_from(v, 3)
    fenced = 0
    in_controlled_shutdown = 0
    if v[15]:
        count = v[15]
        p = 16
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                (fenced,) = _S_b.unpack_from(v, p)
                p += 1
            elif tag == 1:
                (in_controlled_shutdown,) = _S_b.unpack_from(v, p)
                p += 1
            elif tag in (2, 3):
                raise tag_of_newer_version(tag)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = 16
    if p != len(v):
        raise wrong_end(v, p)
    return BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=fenced, in_controlled_shutdown=in_controlled_shutdown)

def _write_BrokerRegistrationChangeRecord_1(r: BrokerRegistrationChangeRecord) -> bytes:
    if r.log_dirs != ():
        raise newer_field('BrokerRegistrationChangeRecord.log_dirs', 1)
    if r.cordoned_log_dirs is not None:
        raise newer_field('BrokerRegistrationChangeRecord.cordoned_log_dirs', 1)
    count = 0
    tags = b''
    fenced = r.fenced
    if fenced != 0:
        count += 1
        tags += b'\x00\x01' + _S_b.pack(fenced)
    in_controlled_shutdown = r.in_controlled_shutdown
    if in_controlled_shutdown != 0:
        count += 1
        tags += b'\x01\x01' + _S_b.pack(in_controlled_shutdown)
    return b''.join((b'\x01\x11\x01', _S_iq.pack(r.broker_id, r.broker_epoch), ONE[count], tags,))

def _read_BrokerRegistrationChangeRecord_2(v: bytes) -> BrokerRegistrationChangeRecord:
    broker_id, broker_epoch = _S_iq.unpack_from(v, 3)
    fenced = 0
    in_controlled_shutdown = 0
    log_dirs = ()
    if v[15]:
        count = v[15]
        p = 16
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                (fenced,) = _S_b.unpack_from(v, p)
                p += 1
            elif tag == 1:
                (in_controlled_shutdown,) = _S_b.unpack_from(v, p)
                p += 1
            elif tag == 2:
                n = v[p]
                if n < 128:
                    log_dirs = READ_UUIDS[n](v, p + 1)
                    p += 16 * n - 15
                else:
                    log_dirs, p = read_uuids(v, p)
            elif tag in (3,):
                raise tag_of_newer_version(tag)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = 16
    if p != len(v):
        raise wrong_end(v, p)
    return BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=fenced, in_controlled_shutdown=in_controlled_shutdown, log_dirs=log_dirs)

def _write_BrokerRegistrationChangeRecord_2(r: BrokerRegistrationChangeRecord) -> bytes:
    if r.cordoned_log_dirs is not None:
        raise newer_field('BrokerRegistrationChangeRecord.cordoned_log_dirs', 2)
    count = 0
    tags = b''
    fenced = r.fenced
    if fenced != 0:
        count += 1
        tags += b'\x00\x01' + _S_b.pack(fenced)
    in_controlled_shutdown = r.in_controlled_shutdown
    if in_controlled_shutdown != 0:
        count += 1
        tags += b'\x01\x01' + _S_b.pack(in_controlled_shutdown)
    log_dirs = r.log_dirs
    if log_dirs != ():
        count += 1
        tags += tagged(b'\x02', write_uuids(log_dirs))
    return b''.join((b'\x01\x11\x02', _S_iq.pack(r.broker_id, r.broker_epoch), ONE[count], tags,))

def _read_BrokerRegistrationChangeRecord_3(v: bytes) -> BrokerRegistrationChangeRecord:
    broker_id, broker_epoch = _S_iq.unpack_from(v, 3)
    fenced = 0
    in_controlled_shutdown = 0
    log_dirs = ()
    cordoned_log_dirs = None
    if v[15]:
        count = v[15]
        p = 16
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                (fenced,) = _S_b.unpack_from(v, p)
                p += 1
            elif tag == 1:
                (in_controlled_shutdown,) = _S_b.unpack_from(v, p)
                p += 1
            elif tag == 2:
                n = v[p]
                if n < 128:
                    log_dirs = READ_UUIDS[n](v, p + 1)
                    p += 16 * n - 15
                else:
                    log_dirs, p = read_uuids(v, p)
            elif tag == 3:
                n = v[p]
                if 0 < n < 128:
                    cordoned_log_dirs = READ_UUIDS[n](v, p + 1)
                    p += 16 * n - 15
                else:
                    cordoned_log_dirs, p = read_nullable_uuids(v, p)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = 16
    if p != len(v):
        raise wrong_end(v, p)
    return BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=broker_epoch, fenced=fenced, in_controlled_shutdown=in_controlled_shutdown, log_dirs=log_dirs, cordoned_log_dirs=cordoned_log_dirs)

def _write_BrokerRegistrationChangeRecord_3(r: BrokerRegistrationChangeRecord) -> bytes:
    count = 0
    tags = b''
    fenced = r.fenced
    if fenced != 0:
        count += 1
        tags += b'\x00\x01' + _S_b.pack(fenced)
    in_controlled_shutdown = r.in_controlled_shutdown
    if in_controlled_shutdown != 0:
        count += 1
        tags += b'\x01\x01' + _S_b.pack(in_controlled_shutdown)
    log_dirs = r.log_dirs
    if log_dirs != ():
        count += 1
        tags += tagged(b'\x02', write_uuids(log_dirs))
    cordoned_log_dirs = r.cordoned_log_dirs
    if cordoned_log_dirs is not None:
        count += 1
        tags += tagged(b'\x03', write_uuids(cordoned_log_dirs))
    return b''.join((b'\x01\x11\x03', _S_iq.pack(r.broker_id, r.broker_epoch), ONE[count], tags,))

def _read_AccessControlEntryRecord_0(v: bytes) -> AccessControlEntryRecord:
    id, resource_type = _S_ub.unpack_from(v, 3)
    n = v[20]
    if 0 < n < 128:
        e = 20 + n
        resource_name = v[21 : e].decode()
        p = e
    else:
        resource_name, p = read_string(v, 20)
    (pattern_type,) = _S_b.unpack_from(v, p)
    p += 1
    n = v[p]
    if 0 < n < 128:
        e = p + n
        principal = v[p + 1 : e].decode()
        p = e
    else:
        principal, p = read_string(v, p)
    n = v[p]
    if 0 < n < 128:
        e = p + n
        host = v[p + 1 : e].decode()
        p = e
    else:
        host, p = read_string(v, p)
    operation, permission_type = _S_bb.unpack_from(v, p)
    p += 2
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return AccessControlEntryRecord(id=id, resource_type=resource_type, resource_name=resource_name, pattern_type=pattern_type, principal=principal, host=host, operation=operation, permission_type=permission_type)

def _write_AccessControlEntryRecord_0(r: AccessControlEntryRecord) -> bytes:
    id = r.id
    if len(id) != 16:
        raise wrong_id(id)
    resource_name = r.resource_name.encode()
    n = len(resource_name) + 1
    resource_name = (ONE[n] if n < 128 else long_string_length(n)) + resource_name
    principal = r.principal.encode()
    n = len(principal) + 1
    principal = (ONE[n] if n < 128 else long_string_length(n)) + principal
    host = r.host.encode()
    n = len(host) + 1
    host = (ONE[n] if n < 128 else long_string_length(n)) + host
    return b''.join((b'\x01\x12\x00', _S_ub.pack(id, r.resource_type), resource_name, _S_b.pack(r.pattern_type), principal, host, _S_bb.pack(r.operation, r.permission_type), b'\0',))

def _read_RemoveAccessControlEntryRecord_0(v: bytes) -> RemoveAccessControlEntryRecord:
    id = v[3 : 19]
    p = skip_tags(v, 19) if v[19] else 20
    if p != len(v):
        raise wrong_end(v, p)
    return RemoveAccessControlEntryRecord(id=id)

def _write_RemoveAccessControlEntryRecord_0(r: RemoveAccessControlEntryRecord) -> bytes:
    id = r.id
    if len(id) != 16:
        raise wrong_id(id)
    return b''.join((b'\x01\x13\x00', id, b'\0',))

def _read_NoOpRecord_0(v: bytes) -> NoOpRecord:
    p = skip_tags(v, 3) if v[3] else 4
    if p != len(v):
        raise wrong_end(v, p)
    return NoOpRecord()

def _write_NoOpRecord_0(r: NoOpRecord) -> bytes:
    return b''.join((b'\x01\x14\x00', b'\0',))

def _read_ZkMigrationStateRecord_0(v: bytes) -> ZkMigrationStateRecord:
    (zk_migration_state,) = _S_b.unpack_from(v, 3)
    p = skip_tags(v, 4) if v[4] else 5
    if p != len(v):
        raise wrong_end(v, p)
    return ZkMigrationStateRecord(zk_migration_state=zk_migration_state)

def _write_ZkMigrationStateRecord_0(r: ZkMigrationStateRecord) -> bytes:
    return b''.join((b'\x01\x15\x00', _S_b.pack(r.zk_migration_state), b'\0',))

def _read_RemoveUserScramCredentialRecord_0(v: bytes) -> RemoveUserScramCredentialRecord:
    n = v[3]
    if 0 < n < 128:
        e = 3 + n
        name = v[4 : e].decode()
        p = e
    else:
        name, p = read_string(v, 3)
    (mechanism,) = _S_b.unpack_from(v, p)
    p += 1
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return RemoveUserScramCredentialRecord(name=name, mechanism=mechanism)

def _write_RemoveUserScramCredentialRecord_0(r: RemoveUserScramCredentialRecord) -> bytes:
    name = r.name.encode()
    n = len(name) + 1
    name = (ONE[n] if n < 128 else long_string_length(n)) + name
    return b''.join((b'\x01\x16\x00', name, _S_b.pack(r.mechanism), b'\0',))

def _read_BeginTransactionRecord_0(v: bytes) -> BeginTransactionRecord:
    name = None
    if v[3]:
        count = v[3]
        p = 4
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                n = v[p]
                if 0 < n < 128:
                    e = p + n
                    name = v[p + 1 : e].decode()
                    p = e
                else:
                    name, p = read_nullable_string(v, p)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = 4
    if p != len(v):
        raise wrong_end(v, p)
    return BeginTransactionRecord(name=name)

def _write_BeginTransactionRecord_0(r: BeginTransactionRecord) -> bytes:
    count = 0
    tags = b''
    name = r.name
    if name is not None:
        count += 1
        tags += tagged(b'\x00', write_string(name))
    return b''.join((b'\x01\x17\x00', ONE[count], tags,))

def _read_EndTransactionRecord_0(v: bytes) -> EndTransactionRecord:
    p = skip_tags(v, 3) if v[3] else 4
    if p != len(v):
        raise wrong_end(v, p)
    return EndTransactionRecord()

def _write_EndTransactionRecord_0(r: EndTransactionRecord) -> bytes:
    return b''.join((b'\x01\x18\x00', b'\0',))

def _read_AbortTransactionRecord_0(v: bytes) -> AbortTransactionRecord:
    reason = None
    if v[3]:
        count = v[3]
        p = 4
        if count > 127:
            count, p = read_uvarint(v, p - 1)
        for _ in range(count):
            tag = v[p]
            end = p + 2 + v[p + 1]
            if tag < 128 and end < p + 130:
                p += 2
            else:
                tag, end, p = read_tag_head(v, p)
            if tag == 0:
                n = v[p]
                if 0 < n < 128:
                    e = p + n
                    reason = v[p + 1 : e].decode()
                    p = e
                else:
                    reason, p = read_nullable_string(v, p)
            else:
                p = end
            if p != end:
                raise wrong_tag(tag, p, end)
    else:
        p = 4
    if p != len(v):
        raise wrong_end(v, p)
    return AbortTransactionRecord(reason=reason)

def _write_AbortTransactionRecord_0(r: AbortTransactionRecord) -> bytes:
    count = 0
    tags = b''
    reason = r.reason
    if reason is not None:
        count += 1
        tags += tagged(b'\x00', write_string(reason))
    return b''.join((b'\x01\x19\x00', ONE[count], tags,))

def _read_RemoveDelegationTokenRecord_0(v: bytes) -> RemoveDelegationTokenRecord:
    n = v[3]
    if 0 < n < 128:
        e = 3 + n
        token_id = v[4 : e].decode()
        p = e
    else:
        token_id, p = read_string(v, 3)
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return RemoveDelegationTokenRecord(token_id=token_id)

def _write_RemoveDelegationTokenRecord_0(r: RemoveDelegationTokenRecord) -> bytes:
    token_id = r.token_id.encode()
    n = len(token_id) + 1
    token_id = (ONE[n] if n < 128 else long_string_length(n)) + token_id
    return b''.join((b'\x01\x1a\x00', token_id, b'\0',))

def _read_ControllerEndpoint_0s(v: bytes, p: int) -> tuple[tuple[ControllerEndpoint, ...], int]:
    count, p = read_count(v, p)
    elements = []
    for _ in range(count):
        n = v[p]
        if 0 < n < 128:
            e = p + n
            name = v[p + 1 : e].decode()
            p = e
        else:
            name, p = read_string(v, p)
        n = v[p]
        if 0 < n < 128:
            e = p + n
            host = v[p + 1 : e].decode()
            p = e
        else:
            host, p = read_string(v, p)
        port, security_protocol = _S_Hh.unpack_from(v, p)
        p += 4
        p = skip_tags(v, p) if v[p] else p + 1
        elements.append(ControllerEndpoint(name=name, host=host, port=port, security_protocol=security_protocol))
    return tuple(elements), p

def _write_ControllerEndpoint_0(r: ControllerEndpoint) -> bytes:
    name = r.name.encode()
    n = len(name) + 1
    name = (ONE[n] if n < 128 else long_string_length(n)) + name
    host = r.host.encode()
    n = len(host) + 1
    host = (ONE[n] if n < 128 else long_string_length(n)) + host
    return b''.join((name, host, _S_Hh.pack(r.port, r.security_protocol), b'\0',))

def _read_ControllerFeature_0s(v: bytes, p: int) -> tuple[tuple[ControllerFeature, ...], int]:
    count, p = read_count(v, p)
    elements = []
    for _ in range(count):
        n = v[p]
        if 0 < n < 128:
            e = p + n
            name = v[p + 1 : e].decode()
            p = e
        else:
            name, p = read_string(v, p)
        min_supported_version, max_supported_version = _S_hh.unpack_from(v, p)
        p += 4
        p = skip_tags(v, p) if v[p] else p + 1
        elements.append(ControllerFeature(name=name, min_supported_version=min_supported_version, max_supported_version=max_supported_version))
    return tuple(elements), p

def _write_ControllerFeature_0(r: ControllerFeature) -> bytes:
    name = r.name.encode()
    n = len(name) + 1
    name = (ONE[n] if n < 128 else long_string_length(n)) + name
    return b''.join((name, _S_hh.pack(r.min_supported_version, r.max_supported_version), b'\0',))

def _read_RegisterControllerRecord_0(v: bytes) -> RegisterControllerRecord:
    controller_id, incarnation_id, zk_migration_ready = _S_iut.unpack_from(v, 3)
    end_points, p = _read_ControllerEndpoint_0s(v, 24)
    features, p = _read_ControllerFeature_0s(v, p)
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return RegisterControllerRecord(controller_id=controller_id, incarnation_id=incarnation_id, zk_migration_ready=zk_migration_ready, end_points=end_points, features=features)

def _write_RegisterControllerRecord_0(r: RegisterControllerRecord) -> bytes:
    incarnation_id = r.incarnation_id
    if len(incarnation_id) != 16:
        raise wrong_id(incarnation_id)
    return b''.join((b'\x01\x1b\x00', _S_iut.pack(r.controller_id, incarnation_id, r.zk_migration_ready), array_length(len(r.end_points)) + b''.join([_write_ControllerEndpoint_0(x) for x in r.end_points]), array_length(len(r.features)) + b''.join([_write_ControllerFeature_0(x) for x in r.features]), b'\0',))

def _read_ClearElrRecord_0(v: bytes) -> ClearElrRecord:
    n = v[3]
    if 0 < n < 128:
        e = 3 + n
        topic_name = v[4 : e].decode()
        p = e
    else:
        topic_name, p = read_string(v, 3)
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return ClearElrRecord(topic_name=topic_name)

def _write_ClearElrRecord_0(r: ClearElrRecord) -> bytes:
    topic_name = r.topic_name.encode()
    n = len(topic_name) + 1
    topic_name = (ONE[n] if n < 128 else long_string_length(n)) + topic_name
    return b''.join((b'\x01\x1c\x00', topic_name, b'\0',))

def _read_UnregisterControllerRecord_0(v: bytes) -> UnregisterControllerRecord:
    (controller_id,) = _S_i.unpack_from(v, 3)
    p = skip_tags(v, 7) if v[7] else 8
    if p != len(v):
        raise wrong_end(v, p)
    return UnregisterControllerRecord(controller_id=controller_id)

def _write_UnregisterControllerRecord_0(r: UnregisterControllerRecord) -> bytes:
    return b''.join((b'\x01\x1d\x00', _S_i.pack(r.controller_id), b'\0',))

def _read_LeaderChangeVoter_0s(v: bytes, p: int) -> tuple[tuple[LeaderChangeVoter, ...], int]:
    count, p = read_count(v, p)
    elements = []
    for _ in range(count):
        (voter_id,) = _S_i.unpack_from(v, p)
        p += 4
        p = skip_tags(v, p) if v[p] else p + 1
        elements.append(LeaderChangeVoter(voter_id=voter_id))
    return tuple(elements), p

def _write_LeaderChangeVoter_0(r: LeaderChangeVoter) -> bytes:
    if r.voter_directory_id != b'\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00':
        raise newer_field('LeaderChangeVoter.voter_directory_id', 0)
    return b''.join((_S_i.pack(r.voter_id), b'\0',))

def _read_LeaderChangeMessage_0(v: bytes) -> LeaderChangeMessage:
    version, leader_id = _S_hi.unpack_from(v, 0)
    voters, p = _read_LeaderChangeVoter_0s(v, 6)
    granting_voters, p = _read_LeaderChangeVoter_0s(v, p)
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return LeaderChangeMessage(version=version, leader_id=leader_id, voters=voters, granting_voters=granting_voters)

def _write_LeaderChangeMessage_0(r: LeaderChangeMessage) -> bytes:
    return b''.join((_S_hi.pack(r.version, r.leader_id), array_length(len(r.voters)) + b''.join([_write_LeaderChangeVoter_0(x) for x in r.voters]), array_length(len(r.granting_voters)) + b''.join([_write_LeaderChangeVoter_0(x) for x in r.granting_voters]), b'\0',))

def _read_LeaderChangeVoter_1s(v: bytes, p: int) -> tuple[tuple[LeaderChangeVoter, ...], int]:
    count, p = read_count(v, p)
    elements = []
    for _ in range(count):
        voter_id, voter_directory_id = _S_iu.unpack_from(v, p)
        p += 20
        p = skip_tags(v, p) if v[p] else p + 1
        elements.append(LeaderChangeVoter(voter_id=voter_id, voter_directory_id=voter_directory_id))
    return tuple(elements), p

def _write_LeaderChangeVoter_1(r: LeaderChangeVoter) -> bytes:
    voter_directory_id = r.voter_directory_id
    if len(voter_directory_id) != 16:
        raise wrong_id(voter_directory_id)
    return b''.join((_S_iu.pack(r.voter_id, voter_directory_id), b'\0',))

def _read_LeaderChangeMessage_1(v: bytes) -> LeaderChangeMessage:
    version, leader_id = _S_hi.unpack_from(v, 0)
    voters, p = _read_LeaderChangeVoter_1s(v, 6)
    granting_voters, p = _read_LeaderChangeVoter_1s(v, p)
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return LeaderChangeMessage(version=version, leader_id=leader_id, voters=voters, granting_voters=granting_voters)

def _write_LeaderChangeMessage_1(r: LeaderChangeMessage) -> bytes:
    return b''.join((_S_hi.pack(r.version, r.leader_id), array_length(len(r.voters)) + b''.join([_write_LeaderChangeVoter_1(x) for x in r.voters]), array_length(len(r.granting_voters)) + b''.join([_write_LeaderChangeVoter_1(x) for x in r.granting_voters]), b'\0',))

def _read_SnapshotHeaderRecord_0(v: bytes) -> SnapshotHeaderRecord:
    version, last_contained_log_timestamp = _S_hq.unpack_from(v, 0)
    p = skip_tags(v, 10) if v[10] else 11
    if p != len(v):
        raise wrong_end(v, p)
    return SnapshotHeaderRecord(version=version, last_contained_log_timestamp=last_contained_log_timestamp)

def _write_SnapshotHeaderRecord_0(r: SnapshotHeaderRecord) -> bytes:
    return b''.join((_S_hq.pack(r.version, r.last_contained_log_timestamp), b'\0',))

def _read_SnapshotFooterRecord_0(v: bytes) -> SnapshotFooterRecord:
    (version,) = _S_h.unpack_from(v, 0)
    p = skip_tags(v, 2) if v[2] else 3
    if p != len(v):
        raise wrong_end(v, p)
    return SnapshotFooterRecord(version=version)

def _write_SnapshotFooterRecord_0(r: SnapshotFooterRecord) -> bytes:
    return b''.join((_S_h.pack(r.version), b'\0',))

def _read_KRaftVersionRecord_0(v: bytes) -> KRaftVersionRecord:
    version, kraft_version = _S_hh.unpack_from(v, 0)
    p = skip_tags(v, 4) if v[4] else 5
    if p != len(v):
        raise wrong_end(v, p)
    return KRaftVersionRecord(version=version, kraft_version=kraft_version)

def _write_KRaftVersionRecord_0(r: KRaftVersionRecord) -> bytes:
    return b''.join((_S_hh.pack(r.version, r.kraft_version), b'\0',))

def _read_VotersRecordEndpoint_0s(v: bytes, p: int) -> tuple[tuple[VotersRecordEndpoint, ...], int]:
    count, p = read_count(v, p)
    elements = []
    for _ in range(count):
        n = v[p]
        if 0 < n < 128:
            e = p + n
            name = v[p + 1 : e].decode()
            p = e
        else:
            name, p = read_string(v, p)
        n = v[p]
        if 0 < n < 128:
            e = p + n
            host = v[p + 1 : e].decode()
            p = e
        else:
            host, p = read_string(v, p)
        (port,) = _S_H.unpack_from(v, p)
        p += 2
        p = skip_tags(v, p) if v[p] else p + 1
        elements.append(VotersRecordEndpoint(name=name, host=host, port=port))
    return tuple(elements), p

def _write_VotersRecordEndpoint_0(r: VotersRecordEndpoint) -> bytes:
    name = r.name.encode()
    n = len(name) + 1
    name = (ONE[n] if n < 128 else long_string_length(n)) + name
    host = r.host.encode()
    n = len(host) + 1
    host = (ONE[n] if n < 128 else long_string_length(n)) + host
    return b''.join((name, host, _S_H.pack(r.port), b'\0',))

def _read_KRaftVersionFeature_0(v: bytes, p: int) -> tuple[KRaftVersionFeature, int]:
    min_supported_version, max_supported_version = _S_hh.unpack_from(v, p)
    p += 4
    p = skip_tags(v, p) if v[p] else p + 1
    return KRaftVersionFeature(min_supported_version=min_supported_version, max_supported_version=max_supported_version), p

def _write_KRaftVersionFeature_0(r: KRaftVersionFeature) -> bytes:
    return b''.join((_S_hh.pack(r.min_supported_version, r.max_supported_version), b'\0',))

def _read_VotersRecordVoter_0s(v: bytes, p: int) -> tuple[tuple[VotersRecordVoter, ...], int]:
    count, p = read_count(v, p)
    elements = []
    for _ in range(count):
        voter_id, voter_directory_id = _S_iu.unpack_from(v, p)
        p += 20
        endpoints, p = _read_VotersRecordEndpoint_0s(v, p)
        kraft_version_feature, p = _read_KRaftVersionFeature_0(v, p)
        p = skip_tags(v, p) if v[p] else p + 1
        elements.append(VotersRecordVoter(voter_id=voter_id, voter_directory_id=voter_directory_id, endpoints=endpoints, kraft_version_feature=kraft_version_feature))
    return tuple(elements), p

def _write_VotersRecordVoter_0(r: VotersRecordVoter) -> bytes:
    voter_directory_id = r.voter_directory_id
    if len(voter_directory_id) != 16:
        raise wrong_id(voter_directory_id)
    return b''.join((_S_iu.pack(r.voter_id, voter_directory_id), array_length(len(r.endpoints)) + b''.join([_write_VotersRecordEndpoint_0(x) for x in r.endpoints]), _write_KRaftVersionFeature_0(r.kraft_version_feature), b'\0',))

def _read_VotersRecord_0(v: bytes) -> VotersRecord:
    (version,) = _S_h.unpack_from(v, 0)
    voters, p = _read_VotersRecordVoter_0s(v, 2)
    p = skip_tags(v, p) if v[p] else p + 1
    if p != len(v):
        raise wrong_end(v, p)
    return VotersRecord(version=version, voters=voters)

def _write_VotersRecord_0(r: VotersRecord) -> bytes:
    return b''.join((_S_h.pack(r.version), array_length(len(r.voters)) + b''.join([_write_VotersRecordVoter_0(x) for x in r.voters]), b'\0',))

READERS: Final[dict[bytes, Callable[[bytes], MetadataRecord]]] = {
    b'\x01\x00\x00': _read_RegisterBrokerRecord_0,
    b'\x01\x00\x01': _read_RegisterBrokerRecord_1,
    b'\x01\x00\x02': _read_RegisterBrokerRecord_2,
    b'\x01\x00\x03': _read_RegisterBrokerRecord_3,
    b'\x01\x00\x04': _read_RegisterBrokerRecord_4,
    b'\x01\x01\x00': _read_UnregisterBrokerRecord_0,
    b'\x01\x02\x00': _read_TopicRecord_0,
    b'\x01\x03\x00': _read_PartitionRecord_0,
    b'\x01\x03\x01': _read_PartitionRecord_1,
    b'\x01\x03\x02': _read_PartitionRecord_2,
    b'\x01\x04\x00': _read_ConfigRecord_0,
    b'\x01\x05\x00': _read_PartitionChangeRecord_0,
    b'\x01\x05\x01': _read_PartitionChangeRecord_1,
    b'\x01\x05\x02': _read_PartitionChangeRecord_2,
    b'\x01\x07\x00': _read_FenceBrokerRecord_0,
    b'\x01\x08\x00': _read_UnfenceBrokerRecord_0,
    b'\x01\t\x00': _read_RemoveTopicRecord_0,
    b'\x01\n\x00': _read_DelegationTokenRecord_0,
    b'\x01\x0b\x00': _read_UserScramCredentialRecord_0,
    b'\x01\x0c\x00': _read_FeatureLevelRecord_0,
    b'\x01\x0e\x00': _read_ClientQuotaRecord_0,
    b'\x01\x0f\x00': _read_ProducerIdsRecord_0,
    b'\x01\x11\x00': _read_BrokerRegistrationChangeRecord_0,
    b'\x01\x11\x01': _read_BrokerRegistrationChangeRecord_1,
    b'\x01\x11\x02': _read_BrokerRegistrationChangeRecord_2,
    b'\x01\x11\x03': _read_BrokerRegistrationChangeRecord_3,
    b'\x01\x12\x00': _read_AccessControlEntryRecord_0,
    b'\x01\x13\x00': _read_RemoveAccessControlEntryRecord_0,
    b'\x01\x14\x00': _read_NoOpRecord_0,
    b'\x01\x15\x00': _read_ZkMigrationStateRecord_0,
    b'\x01\x16\x00': _read_RemoveUserScramCredentialRecord_0,
    b'\x01\x17\x00': _read_BeginTransactionRecord_0,
    b'\x01\x18\x00': _read_EndTransactionRecord_0,
    b'\x01\x19\x00': _read_AbortTransactionRecord_0,
    b'\x01\x1a\x00': _read_RemoveDelegationTokenRecord_0,
    b'\x01\x1b\x00': _read_RegisterControllerRecord_0,
    b'\x01\x1c\x00': _read_ClearElrRecord_0,
    b'\x01\x1d\x00': _read_UnregisterControllerRecord_0,
}
"""Reader of a value that begins with these three bytes: frame version, api key, version."""

WRITERS: Final[dict[type, dict[int, Callable[[Any], bytes]]]] = {
    RegisterBrokerRecord: {0: _write_RegisterBrokerRecord_0, 1: _write_RegisterBrokerRecord_1, 2: _write_RegisterBrokerRecord_2, 3: _write_RegisterBrokerRecord_3, 4: _write_RegisterBrokerRecord_4},
    UnregisterBrokerRecord: {0: _write_UnregisterBrokerRecord_0},
    TopicRecord: {0: _write_TopicRecord_0},
    PartitionRecord: {0: _write_PartitionRecord_0, 1: _write_PartitionRecord_1, 2: _write_PartitionRecord_2},
    ConfigRecord: {0: _write_ConfigRecord_0},
    PartitionChangeRecord: {0: _write_PartitionChangeRecord_0, 1: _write_PartitionChangeRecord_1, 2: _write_PartitionChangeRecord_2},
    FenceBrokerRecord: {0: _write_FenceBrokerRecord_0},
    UnfenceBrokerRecord: {0: _write_UnfenceBrokerRecord_0},
    RemoveTopicRecord: {0: _write_RemoveTopicRecord_0},
    DelegationTokenRecord: {0: _write_DelegationTokenRecord_0},
    UserScramCredentialRecord: {0: _write_UserScramCredentialRecord_0},
    FeatureLevelRecord: {0: _write_FeatureLevelRecord_0},
    ClientQuotaRecord: {0: _write_ClientQuotaRecord_0},
    ProducerIdsRecord: {0: _write_ProducerIdsRecord_0},
    BrokerRegistrationChangeRecord: {0: _write_BrokerRegistrationChangeRecord_0, 1: _write_BrokerRegistrationChangeRecord_1, 2: _write_BrokerRegistrationChangeRecord_2, 3: _write_BrokerRegistrationChangeRecord_3},
    AccessControlEntryRecord: {0: _write_AccessControlEntryRecord_0},
    RemoveAccessControlEntryRecord: {0: _write_RemoveAccessControlEntryRecord_0},
    NoOpRecord: {0: _write_NoOpRecord_0},
    ZkMigrationStateRecord: {0: _write_ZkMigrationStateRecord_0},
    RemoveUserScramCredentialRecord: {0: _write_RemoveUserScramCredentialRecord_0},
    BeginTransactionRecord: {0: _write_BeginTransactionRecord_0},
    EndTransactionRecord: {0: _write_EndTransactionRecord_0},
    AbortTransactionRecord: {0: _write_AbortTransactionRecord_0},
    RemoveDelegationTokenRecord: {0: _write_RemoveDelegationTokenRecord_0},
    RegisterControllerRecord: {0: _write_RegisterControllerRecord_0},
    ClearElrRecord: {0: _write_ClearElrRecord_0},
    UnregisterControllerRecord: {0: _write_UnregisterControllerRecord_0},
    LeaderChangeMessage: {0: _write_LeaderChangeMessage_0, 1: _write_LeaderChangeMessage_1},
    SnapshotHeaderRecord: {0: _write_SnapshotHeaderRecord_0},
    SnapshotFooterRecord: {0: _write_SnapshotFooterRecord_0},
    KRaftVersionRecord: {0: _write_KRaftVersionRecord_0},
    VotersRecord: {0: _write_VotersRecord_0},
}
"""Writers of a class, by version."""

CONTROL_READERS: Final[dict[int, tuple[Callable[[bytes], ControlRecord], ...]]] = {
    2: (_read_LeaderChangeMessage_0, _read_LeaderChangeMessage_1,),
    3: (_read_SnapshotHeaderRecord_0,),
    4: (_read_SnapshotFooterRecord_0,),
    5: (_read_KRaftVersionRecord_0,),
    6: (_read_VotersRecord_0,),
}
"""Readers of a control record type, by version."""
