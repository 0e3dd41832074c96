"""Messages that are translated by the names of their fields come back as they went, whatever is in them."""

from __future__ import annotations

import types
import typing
from functools import cache
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kraft.v1 import admin_pb2 as pb
from kraft.v1 import controller_pb2
from metadata_log.ids import DirectoryId, TopicId, Uuid
from quorum.api.brokers import Listener
from quorum.api.directories import AssignReplicasToDirs
from quorum.api.elections import ElectLeaders
from quorum.api.error_codes import Error
from quorum.api.features import FeatureUpdate, UpdateFeatures, UpgradeType
from quorum.api.partition_counts import CreatePartitions
from quorum.api.partitions import BrokerState
from quorum.api.producer_ids import AllocateProducerIds
from quorum.api.reassignments import AlterPartitionReassignments, ReassignablePartition, ReassignableTopic
from quorum.api.topics import ConfigSource
from quorum.transport.grpc.convert.by_fields import by_fields
from quorum.transport.grpc.convert.calls import KINDS
from quorum.transport.grpc.convert.common import BadMessage
from quorum.transport.grpc.convert.kind import Kind
from tests.support import wire_strategies as wire

_SCALARS: dict[Any, st.SearchStrategy[Any]] = {
    int: wire.int32,
    str: wire.texts,
    bool: st.booleans(),
    bytes: st.binary(max_size=12),
    float: st.floats(allow_nan=False),
    Error: wire.errors,
    TopicId: wire.topic_ids,
    DirectoryId: wire.ids.map(DirectoryId),
    Uuid: wire.ids.map(Uuid),
    ConfigSource: st.sampled_from(ConfigSource),
    Listener: wire.listeners,
}
_BY_FUNCTIONS = ("create_topics", "delete_topics", "describe_topics")
_BY_FIELDS = {kind.name: kind for kind in KINDS if kind.name not in _BY_FUNCTIONS}


@cache
def _any(kind: Any) -> st.SearchStrategy[Any]:
    """Any value of the type, as the struct declares it."""
    given_types = typing.get_args(kind)
    if isinstance(kind, types.UnionType):
        (inner,) = (each for each in given_types if each is not types.NoneType)
        return st.none() | _any(inner)
    if typing.get_origin(kind) is tuple:
        if given_types[-1] is Ellipsis:
            return st.lists(_any(given_types[0]), max_size=3).map(tuple)
        return st.tuples(*map(_any, given_types))
    if kind in _SCALARS:
        return _SCALARS[kind]
    return st.builds(kind, **{field.name: _any(field.type) for field in msgspec.structs.fields(kind)})


def _responses(kind: Kind) -> type[Any]:
    return kind.response


@pytest.mark.parametrize("kind", _BY_FIELDS.values(), ids=_BY_FIELDS)
@settings(deadline=None)
@given(data=st.data())
def test_there_and_back(kind: Kind, data: st.DataObject) -> None:
    request = data.draw(_any(kind.request))
    message = kind.request_to(request)
    assert kind.request_from(type(message).FromString(message.SerializeToString())) == request
    response = data.draw(_any(_responses(kind)))
    message = kind.response_to(response)
    assert kind.response_from(kind.response_message.FromString(message.SerializeToString())) == response


def test_what_is_left_out_has_its_default() -> None:
    kinds = _BY_FIELDS
    assert kinds["create_partitions"].request_from(pb.CreatePartitionsRequest()) == CreatePartitions(topics=())
    asked = pb.AlterPartitionReassignmentsRequest(topics=[pb.ReassignableTopic(name="t", partitions=[{}])])
    assert kinds["alter_partition_reassignments"].request_from(asked) == AlterPartitionReassignments(
        topics=(ReassignableTopic(name="t", partitions=(ReassignablePartition(partition_index=0),)),)
    )
    update = pb.UpdateFeaturesRequest(updates=[pb.FeatureUpdate(name="group.version", level=1)])
    assert kinds["update_features"].request_from(update) == UpdateFeatures(
        updates=(FeatureUpdate(name="group.version", level=1, upgrade_type=UpgradeType.UPGRADE),)
    )
    assert kinds["elect_leaders"].request_from(pb.ElectLeadersRequest()) == ElectLeaders(election_type=0)
    isr = controller_pb2.AlterPartitionRequest.BrokerState(broker_id=1)
    topic = controller_pb2.AlterPartitionRequest.Topic(partitions=[{"new_isr": [isr]}])
    (altered,) = kinds["alter_partition"].request_from(controller_pb2.AlterPartitionRequest(topics=[topic])).topics
    assert altered.partitions[0].new_isr == (BrokerState(broker_id=1, broker_epoch=-1),)
    registered = kinds["register_broker"].request_from(controller_pb2.RegisterBrokerRequest(incarnation_id=bytes(16)))
    assert (registered.previous_broker_epoch, registered.rack) == (-1, None)


def test_none_and_nothing_are_not_the_same() -> None:
    ways = by_fields(ElectLeaders, pb.ElectLeadersRequest)
    for partitions in (None, ()):
        request = ElectLeaders(election_type=0, partitions=partitions)
        assert ways.to_struct(ways.to_message(request)).partitions == partitions


def test_an_id_of_another_length() -> None:
    ways = by_fields(AssignReplicasToDirs, pb.AssignReplicasToDirsRequest)
    with pytest.raises(BadMessage, match="directory id has 3 bytes"):
        ways.to_struct(pb.AssignReplicasToDirsRequest(directories=[pb.DirectoryAssignment(directory_id=b"abc")]))
    heartbeat = _BY_FIELDS["broker_heartbeat"]
    for field in ({"offline_log_dirs": [b"abc"]}, {"cordoned_log_dirs": {"directory_ids": [b"abc"]}}):
        with pytest.raises(BadMessage, match="directory id has 3 bytes"):
            heartbeat.request_from(controller_pb2.BrokerHeartbeatRequest(**field))
    with pytest.raises(BadMessage, match="has 3 bytes"):
        _BY_FIELDS["register_broker"].request_from(controller_pb2.RegisterBrokerRequest(incarnation_id=b"abc"))


def test_a_number_that_an_enumeration_does_not_have() -> None:
    described = pb.DescribedConfig(name="x", source=6)
    answer = pb.DescribeConfigsResponse(resources=[pb.DescribedResource(configs=[described])])
    with pytest.raises(BadMessage, match="there is no ConfigSource 6"):
        _BY_FIELDS["describe_configs"].response_from(answer)


def test_a_message_without_such_a_field() -> None:
    with pytest.raises(TypeError, match=r"UnregisterBrokerRequest has no field broker_epoch for AllocateProducerIds"):
        by_fields(AllocateProducerIds, pb.UnregisterBrokerRequest)
