"""The listener of Kafka's protocol over real connections: ApiVersions, the order of responses, hostile bytes."""

from __future__ import annotations

import asyncio
import struct

import msgspec
import pytest

from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, Uuid
from metadata_log.image import FeaturesImage, MetadataImage
from metadata_log.image.cluster import ControllerRegistration, Listener
from metadata_log.image.maps import Map
from metadata_log.offsets import Offset
from metadata_log.voters import Endpoint
from quorum.api.error_codes import Error
from quorum.api.quorum_description import QuorumDescription, ReplicaDescription
from quorum.node.config.door_limits import DEFAULT_FRAME_BYTES
from quorum.server.kafka.offered_versions import OFFERED
from tests.support.kafka_requests import api_versions, describe_cluster, describe_quorum
from tests.support.kafka_wire import connected, kafka_door, request_bytes, written
from tests.support.loop import run
from tests.support.scripted_node import NODE_ID, ScriptedNode

VOTER = ReplicaDescription(
    replica=ReplicaKey(node_id=NodeId(NODE_ID), directory_id=DirectoryId(bytes([9]) * 16)),
    log_end_offset=Offset(12),
    last_fetch_timestamp_ms=1000,
    last_caught_up_timestamp_ms=1000,
    endpoints=(
        Endpoint(name="CONTROLLER", host="c7.example", port=9093),
        Endpoint(name="GRPC", host="c7.example", port=9094),
    ),
)


class _Node(ScriptedNode):
    def __init__(self) -> None:
        super().__init__()
        self.image = MetadataImage(features=FeaturesImage(metadata_version=30, levels=Map({"group.version": 1})))

    def describe_quorum(self) -> QuorumDescription:
        found = super().describe_quorum()
        return QuorumDescription(
            leader_id=None if found.leader_id is None else NodeId(found.leader_id),
            leader_epoch=found.leader_epoch,
            high_watermark=found.high_watermark,
            voters=(VOTER,),
            observers=(),
        )


class _OfStaticVoters(_Node):
    def describe_quorum(self) -> QuorumDescription:
        unnamed = (Endpoint(name="", host="c7.configured", port=9093),)
        return msgspec.structs.replace(
            super().describe_quorum(), voters=(msgspec.structs.replace(VOTER, endpoints=unnamed),)
        )


def _registered(image: MetadataImage) -> MetadataImage:
    """Node 7 has registered with one listener."""
    controller = ControllerRegistration(
        controller_id=NodeId(NODE_ID),
        incarnation_id=Uuid(bytes([5]) * 16),
        listeners=(Listener(name="CONTROLLER", host="c7.registered", port=9093, security_protocol=0),),
    )
    cluster = msgspec.structs.replace(image.cluster, controllers=Map({NodeId(NODE_ID): controller}))
    return msgspec.structs.replace(image, cluster=cluster)


class TestApiVersions:
    @pytest.mark.parametrize("version", range(6))
    def test_it_offers_exactly_what_is_answered(self, version: int) -> None:
        async def main() -> None:
            async with kafka_door(_Node()) as door, connected(door.port) as client:
                said = await client.ask(api_versions(version))
            assert said.error_code.value == 0
            offered = {each.api_key: (each.min_version, each.max_version) for each in said.api_keys}
            assert offered == {key: (api.first, api.last) for key, api in OFFERED.items()}

        run(main())

    def test_features_are_those_of_the_log_and_of_this_software(self) -> None:
        async def main() -> None:
            async with kafka_door(_Node()) as door, connected(door.port) as client:
                newest, older = await client.ask(api_versions(4)), await client.ask(api_versions(3))
            levels = {each.name: each.max_version_level for each in newest.finalized_features}
            assert levels == {"kraft.version": 1, "metadata.version": 30, "group.version": 1}
            supported = {each.name: (each.min_version, each.max_version) for each in newest.supported_features}
            assert supported["metadata.version"] == (7, 33)
            assert supported["kraft.version"] == (0, 1)
            assert [each.name for each in older.supported_features] == ["metadata.version"], "v3 knows no level 0"

        run(main())

    def test_a_version_of_the_future_is_answered_in_the_oldest(self) -> None:
        async def main() -> None:
            async with kafka_door(_Node()) as door, connected(door.port) as client:
                head = struct.pack(">hhih", 18, 99, 77, 2) + b"me" + b"\0\xff\xff"
                await client.send_bytes(struct.pack(">i", len(head)) + head)
                said = await client.answer(18, 0, 77)
                assert said.error_code.value == 35
                assert [(each.api_key, each.min_version, each.max_version) for each in said.api_keys] == [(18, 0, 5)]
                assert (await client.ask(api_versions(4))).error_code.value == 0, "the connection goes on"

        run(main())

    @pytest.mark.parametrize("version", [4, 5])
    @pytest.mark.parametrize("name", ["", "-a", "a b", "a/"])
    def test_a_strange_name_of_software_is_refused(self, name: str, version: int) -> None:
        async def main() -> None:
            request = api_versions(version, client_software_name=name)
            async with kafka_door(_Node()) as door, connected(door.port) as client:
                assert (await client.ask(request)).error_code.value == 42

        run(main())

    @pytest.mark.parametrize(
        ("cluster_id", "node_id", "code"),
        [
            (None, -1, Error.NONE),
            ("any", NODE_ID, Error.NONE),
            ("any", NODE_ID + 1, Error.NONE),
            ("", 0, Error.NONE),
            ("any", -2, Error.NONE),
            ("any", -1, Error.INVALID_REQUEST),
            (None, NODE_ID, Error.INVALID_REQUEST),
            (None, 0, Error.INVALID_REQUEST),
        ],
    )
    def test_both_ids_or_neither_are_taken(self, cluster_id: str | None, node_id: int, code: Error) -> None:
        """Kafka's controllers check no id against their own, either."""

        async def main() -> None:
            async with kafka_door(_Node()) as door, connected(door.port) as client:
                said = await client.ask(api_versions(5, cluster_id=cluster_id, node_id=node_id))
                assert said.error_code.value == code
                assert bool(said.api_keys) == (code is Error.NONE)
                assert (await client.ask(api_versions(5))).error_code.value == 0, "the connection goes on"

        run(main())


class TestDescribing:
    @pytest.mark.parametrize("version", range(3))
    def test_the_quorum_as_its_leader_sees_it(self, version: int) -> None:
        async def main() -> None:
            async with kafka_door(_Node()) as door, connected(door.port) as client:
                said = await client.ask(describe_quorum(version))
            assert said.error_code.value == 0
            (partition,) = said.topics[0].partitions
            assert (partition.leader_id, partition.leader_epoch, partition.high_watermark) == (NODE_ID, 3, 12)
            (voter,) = partition.current_voters
            assert (voter.replica_id, voter.log_end_offset) == (NODE_ID, 12)
            if version == 2:
                assert voter.replica_directory_id.bytes == VOTER.replica.directory_id
                listeners = [(each.name, each.host, each.port) for each in said.nodes[0].listeners]
                assert listeners == [("CONTROLLER", "c7.example", 9093), ("GRPC", "c7.example", 9094)]

        run(main())

    def test_static_voters_are_described_with_the_listeners_that_they_have_registered(self) -> None:
        """Listeners in the configuration have no name, and Kafka's tools reject listeners without one."""

        async def main() -> None:
            node = _OfStaticVoters()
            async with kafka_door(node) as door, connected(door.port) as client:
                assert [each.listeners for each in (await client.ask(describe_quorum(2))).nodes] == [()]
                node.image = _registered(node.image)
                said = await client.ask(describe_quorum(2))
            listeners = [(each.name, each.host, each.port) for each in said.nodes[0].listeners]
            assert listeners == [("CONTROLLER", "c7.registered", 9093)]

        run(main())

    def test_a_follower_does_not_describe_it(self) -> None:
        async def main() -> None:
            node = _Node()
            node.leader_id = NODE_ID + 1
            async with kafka_door(node) as door, connected(door.port) as client:
                assert (await client.ask(describe_quorum(2))).error_code.value == 6

        run(main())

    @pytest.mark.parametrize(("name", "partition"), [("other", 0), ("__cluster_metadata", 1)])
    def test_another_partition_is_unknown(self, name: str, partition: int) -> None:
        async def main() -> None:
            async with kafka_door(_Node()) as door, connected(door.port) as client:
                said = await client.ask(describe_quorum(2, name, partition))
            assert said.topics[0].partitions[0].error_code.value == 3

        run(main())

    @pytest.mark.parametrize("version", [1, 2])
    def test_the_controllers_by_the_listener_that_was_asked(self, version: int) -> None:
        async def main() -> None:
            async with kafka_door(_Node()) as door, connected(door.port) as client:
                said = await client.ask(describe_cluster(version, operations=True))
            assert said.error_code.value == 0
            assert (said.endpoint_type, said.cluster_id, said.controller_id) == (2, "scripted", NODE_ID)
            assert [(at.broker_id, at.host, at.port) for at in said.brokers] == [(NODE_ID, "c7.example", 9093)]
            assert said.cluster_authorized_operations == 8096

        run(main())

    @pytest.mark.parametrize(
        ("role", "leader_id", "told"),
        [("follower", 3, 3), ("prospective", 3, NODE_ID), ("candidate", 3, NODE_ID), ("unattached", None, NODE_ID)],
    )
    def test_who_holds_the_leader_for_dead_or_knows_none_names_itself(
        self, role: str, leader_id: int | None, told: int
    ) -> None:
        """If a response names no leader, Kafka's Admin asks no other controller until its call has timed out."""

        async def main() -> None:
            node = _Node()
            node.role, node.leader_id = role, leader_id
            async with kafka_door(node) as door, connected(door.port) as client:
                assert (await client.ask(describe_cluster(2))).controller_id == told

        run(main())

    @pytest.mark.parametrize(("version", "endpoint_type", "error"), [(0, 1, 114), (2, 1, 114), (2, 3, 115)])
    def test_brokers_are_asked_for_elsewhere(self, version: int, endpoint_type: int, error: int) -> None:
        async def main() -> None:
            async with kafka_door(_Node()) as door, connected(door.port) as client:
                said = await client.ask(describe_cluster(version, endpoint_type))
            assert (said.error_code.value, said.brokers) == (error, ())

        run(main())


class TestOrder:
    def test_answers_come_in_the_order_of_the_requests(self) -> None:
        async def main() -> None:
            async with kafka_door(_Node()) as door, connected(door.port) as client:
                kinds = [(18, 4), (55, 2), (60, 2), (18, 0)] * 20
                data = b""
                for number, (key, version) in enumerate(kinds):
                    entity = {18: api_versions, 55: describe_quorum, 60: describe_cluster}[key](version)
                    data += request_bytes(key, version, written(entity), number)
                await client.send_bytes(data)
                for number, (key, version) in enumerate(kinds):
                    assert (await client.answer(key, version, number)).error_code.value == 0

        run(main())

    def test_a_request_may_come_in_any_pieces(self) -> None:
        async def main() -> None:
            data = request_bytes(18, 4, written(api_versions(4)), 5)
            async with kafka_door(_Node()) as door, connected(door.port) as client:
                for at in range(len(data)):
                    await client.send_bytes(data[at : at + 1])
                    await asyncio.sleep(0)
                assert (await client.answer(18, 4, 5)).error_code.value == 0

        run(main())

    def test_a_request_without_a_client_id_and_with_unknown_tags(self) -> None:
        async def main() -> None:
            software = b"\2a\2b" + b"\1\x63\3xyz"
            data = request_bytes(18, 4, software, 5, client_id=None)
            async with kafka_door(_Node()) as door, connected(door.port) as client:
                await client.send_bytes(data)
                assert (await client.answer(18, 4, 5)).error_code.value == 0

        run(main())


def _framed(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


_QUORUM = request_bytes(55, 2, written(describe_quorum(2)))
_HOSTILE = {
    "a negative length": struct.pack(">i", -1),
    "no length at all": struct.pack(">i", 0),
    "too short for a header": _framed(b"\0" * 7),
    "larger than any request": struct.pack(">i", DEFAULT_FRAME_BYTES + 1),
    "an unknown API": _framed(struct.pack(">hhih", 999, 0, 1, -1)),
    "a negative API": _framed(struct.pack(">hhih", -1, 0, 1, -1)),
    "an API that is not offered": _framed(struct.pack(">hhih", 0, 9, 1, -1)),
    "an unknown version": _framed(struct.pack(">hhih", 55, 99, 1, -1)),
    "a negative version": _framed(struct.pack(">hhih", 55, -1, 1, -1)),
    "a client id longer than the request": _framed(struct.pack(">hhih", 55, 2, 1, 500)),
    "a client id that is no text": _framed(struct.pack(">hhih", 55, 2, 1, 1) + b"\xff\0"),
    "cut short": _framed(_QUORUM[4:-3]),
    "bytes left over": _framed(_QUORUM[4:] + b"\0"),
    "an array longer than memory": request_bytes(55, 2, b"\xff\xff\xff\xff\x07\0"),
    "a null array": request_bytes(55, 2, b"\0\0"),
    "a length that does not end": request_bytes(55, 2, b"\xff" * 9),
    "more elements than are read": request_bytes(55, 2, b"\xd1\x8e\x05" + b"\1\1\0" * 83_000),
    "a text that is no UTF-8": request_bytes(55, 2, b"\2\2\xff\1\0\0"),
    "a tag that is longer than the rest": request_bytes(55, 2, b"\1\1\1\x7f\0"),
    "endless tags": request_bytes(55, 2, b"\1\xff\xff\xff\xff\x0f"),
}


@pytest.mark.parametrize("kind", _HOSTILE)
def test_hostile_bytes_end_their_connection_and_no_other(kind: str) -> None:
    async def main() -> None:
        async with kafka_door(_Node()) as door, connected(door.port) as other, connected(door.port) as client:
            await client.send_bytes(_HOSTILE[kind])
            assert await client.is_closed()
            assert (await other.ask(api_versions(4))).error_code.value == 0

    run(main())
