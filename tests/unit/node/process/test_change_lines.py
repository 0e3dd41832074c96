"""One line for each accepted change: who changed what by which request, no secret, and at most a hundred a second."""

from __future__ import annotations

import io
import json
from typing import Any

import msgspec
import pytest

from metadata_log.acl_codes import ALLOW, LITERAL, PREFIXED, Operation, ResourceType
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey, id_text
from metadata_log.image import AclEntry
from metadata_log.offsets import Epoch, Offset
from metadata_log.voters import Endpoint, Voter
from quorum.api.acls import AclCreationResult, AclFilter, CreateAcls, CreateAclsResponse, DeleteAcls
from quorum.api.brokers import BrokerHeartbeat, FeatureRange, Listener, RegisterBroker, UnregisterBroker
from quorum.api.calls import ClientCall
from quorum.api.configs import (
    AlterableConfig,
    AlterableResource,
    AlterConfigs,
    IncrementalAlterConfigs,
    ReplacedResource,
)
from quorum.api.context import RequestContext
from quorum.api.controllers import RegisterController
from quorum.api.elections import ElectionType, ElectLeaders
from quorum.api.features import FeatureUpdate, UpdateFeatures, UpgradeType
from quorum.api.partition_counts import CreatePartitions, GrowingTopic
from quorum.api.partitions import AlterPartition, BrokerState, PartitionAlteration, TopicAlteration
from quorum.api.quotas import AlterClientQuotas, QuotaAlteration
from quorum.api.reassignments import AlterPartitionReassignments, ReassignablePartition, ReassignableTopic
from quorum.api.request import Request
from quorum.api.scram import AlterUserScramCredentials, ScramDeletion, ScramUpsertion
from quorum.api.tokens import CreateDelegationToken, ExpireDelegationToken, RenewDelegationToken
from quorum.api.topics import (
    CreatableTopic,
    CreatableTopicResult,
    CreateTopics,
    CreateTopicsResponse,
    DeleteTopics,
    DeleteTopicState,
    DescribeTopics,
)
from quorum.api.voter_messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    UpdateRaftVoterRequest,
    UpgradeKRaftVersionRequest,
)
from quorum.controller.authorizer import Authorizer
from quorum.controller.config import ControllerConfig
from quorum.controller.tokens import TokenSettings
from quorum.node.core.changes import Changes
from quorum.node.core.metadata_changes import Change, MetadataChanged
from quorum.node.process.change_lines import LINES_A_SECOND
from quorum.node.process.change_words import LONGEST
from quorum.node.process.log_lines import LogWatcher
from tests.support.controller import CLUSTER_ID, ControlledCluster, directory, uuid
from tests.support.timers import Timers

ALICE = RequestContext(
    principal="User:alice",
    client_host="10.0.0.7",
    forwarded_by=11,
    authorizer=Authorizer(super_users=frozenset({"User:alice"})),
)
SECRET = "s3cr3t-of-a-config"
SALT, SALTED, TOKEN_KEY = b"salt-salt-salt-1", b"salted-password!", b"master-key"
READ = AclEntry(
    resource_type=ResourceType.TOPIC,
    resource_name="or",
    pattern_type=PREFIXED,
    principal="User:bob",
    host="*",
    operation=Operation.READ,
    permission_type=ALLOW,
)
KEY = ReplicaKey(node_id=NodeId(4), directory_id=DirectoryId(bytes(15) + b"\4"))
AT = (Endpoint(name="GRPC", host="c4", port=9094),)


class Session:
    """A controller, and the log of its node."""

    def __init__(self, stream: io.StringIO) -> None:
        tokens = TokenSettings(
            secret_key=TOKEN_KEY, max_lifetime_ms=10**9, expiry_time_ms=10**8, expiry_check_interval_ms=10**8
        )
        self.cluster = ControlledCluster(
            config=ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, tokens=tokens, session_timeout_ms=9_000)
        )
        self.time = Timers()
        self.watcher = LogWatcher(1, self.time.now, self.time.later)
        self.changes = Changes(self.watcher.on_event)
        self._stream = stream

    def on_changes(self, *changes: Change) -> None:
        """Report changes whose outcome is known."""
        self.watcher.on_event(MetadataChanged(changes))

    def ask(self, request: Request, context: RequestContext = ALICE) -> Any:
        """The response, once its records are committed."""
        result = self.cluster.ask(request, context)
        call = ClientCall(request=request, context=context, respond=lambda answer: None)
        self.changes.add(call, result.response, result.records, Offset(self.cluster.last_offset))
        self.changes.on_committed(self.cluster.next_offset)
        return result.response

    @property
    def lines(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self._stream.getvalue().splitlines()]

    @property
    def count(self) -> int:
        """The number of lines."""
        return self._stream.getvalue().count("\n")

    def named(self) -> list[tuple[str, str]]:
        """Request and resource of each line."""
        return [(line["request"], line["resource"]) for line in self.lines]


@pytest.fixture
def session(stream: io.StringIO) -> Session:
    session = Session(stream)
    session.cluster.start(11, 12)
    return session


def topic(name: str) -> CreatableTopic:
    return CreatableTopic(name=name, num_partitions=1, replication_factor=1)


def test_who_created_what_by_which_request_and_where_it_stands(session: Session) -> None:
    created = session.ask(CreateTopics(topics=(topic("orders"), topic("bad name"), topic("users"))))
    (line,) = session.lines
    assert list(line) == [
        "node_id", "principal", "client", "forwarded_by", "request", "resource", "offset",
        "event", "level", "timestamp",
    ]  # fmt: skip
    assert (line["event"], line["level"], line["principal"]) == ("change", "info", "User:alice")
    assert (line["client"], line["forwarded_by"], line["request"]) == ("10.0.0.7", 11, "CreateTopics")
    ids = [id_text(each.topic_id) for each in created.topics]
    assert line["resource"] == f"topic orders (id {ids[0]}), topic users (id {ids[2]})"
    assert line["offset"] == session.cluster.last_offset


def test_what_changes_nothing_leaves_no_line(session: Session) -> None:
    session.ask(CreateTopics(topics=(topic("orders"),), validate_only=True))
    session.ask(CreateTopics(topics=(topic("no such name!"),)))
    session.ask(DeleteTopics(topics=(DeleteTopicState(name="nope"),)))
    session.ask(CreateTopics(topics=(topic("x"),)), RequestContext(principal="User:eve", authorizer=Authorizer()))
    session.ask(DescribeTopics(all_topics=True))
    assert session.lines == []


def test_topics_partitions_and_moves(session: Session) -> None:
    created = session.cluster.create("orders", partitions=1, factor=1)
    session.ask(CreatePartitions(topics=(GrowingTopic(name="orders", count=3),)))
    moves = (
        ReassignablePartition(partition_index=0, replicas=(11, 12)),
        ReassignablePartition(partition_index=9, replicas=(11,)),
    )
    topics = (ReassignableTopic(name="orders", partitions=moves),)
    session.ask(AlterPartitionReassignments(topics=topics))
    session.ask(DeleteTopics(topics=(DeleteTopicState(topic_id=created), DeleteTopicState(name="nope"))))
    assert session.named() == [
        ("CreatePartitions", "topic orders (3 partitions)"),
        ("AlterPartitionReassignments", "partition orders-0 (to 11, 12)"),
        ("DeleteTopics", f"topic orders (id {id_text(created)})"),
    ]


def test_elections(session: Session) -> None:
    session.cluster.place("orders", (11, 12))
    session.cluster.heartbeat(11, want_fence=True)
    session.cluster.beat(11)
    partition = session.cluster.image.topics.by_name["orders"]
    alteration = PartitionAlteration(
        partition_index=0,
        leader_epoch=session.cluster.partition(partition).leader_epoch,
        new_isr=tuple(
            BrokerState(broker_id=each, broker_epoch=session.cluster.image.cluster.brokers[NodeId(each)].epoch)
            for each in (12, 11)
        ),
        partition_epoch=session.cluster.partition(partition).partition_epoch,
    )
    session.ask(
        AlterPartition(
            broker_id=12,
            broker_epoch=session.cluster.image.cluster.brokers[NodeId(12)].epoch,
            topics=(TopicAlteration(topic_id=partition, partitions=(alteration,)),),
        )
    )
    assert session.lines == []
    session.ask(ElectLeaders(election_type=ElectionType.PREFERRED))
    assert session.named() == [("ElectLeaders", "partition orders-0 (preferred)")]


def test_configs_are_named_and_their_values_are_not(session: Session) -> None:
    session.cluster.create("orders")
    password = AlterableConfig(name="listener.name.x.ssl.keystore.password", operation=0, value=SECRET)
    removed = AlterableConfig(name="retention.ms", operation=1)
    kept = AlterableConfig(name="retention.ms", operation=0, value="77777")
    session.ask(
        IncrementalAlterConfigs(
            resources=(
                AlterableResource(resource_type=2, name="orders", configs=(kept,)),
                AlterableResource(resource_type=4, name="11", configs=(password,)),
                AlterableResource(resource_type=2, name="nope", configs=(kept,)),
            )
        )
    )
    session.ask(
        IncrementalAlterConfigs(resources=(AlterableResource(resource_type=2, name="orders", configs=(removed,)),))
    )
    replaced = ReplacedResource(resource_type=2, name="orders", configs=(("flush.ms", "88888"),))
    session.ask(AlterConfigs(resources=(replaced,)))
    assert session.named() == [
        (
            "IncrementalAlterConfigs",
            "topic orders (set retention.ms), broker 11 (set listener.name.x.ssl.keystore.password)",
        ),
        ("IncrementalAlterConfigs", "topic orders (delete retention.ms)"),
        ("AlterConfigs", "topic orders (configs now: flush.ms)"),
    ]
    text = str(session.lines)
    assert not any(value in text for value in (SECRET, "77777", "88888"))


def test_access_quotas_and_features(session: Session) -> None:
    session.ask(CreateAcls(creations=(READ, msgspec.structs.replace(READ, resource_name=""))))
    session.ask(
        DeleteAcls(
            filters=2
            * (
                AclFilter(
                    resource_type=1, resource_name=None, pattern_type=1, principal=None, host=None,
                    operation=1, permission_type=1,
                ),
            )
        )
    )  # fmt: skip
    quota = QuotaAlteration(
        entity=(("user", "bob"), ("client-id", None)),
        ops=(("producer_byte_rate", 1000.0), ("request_percentage", None)),
    )
    session.ask(AlterClientQuotas(entries=(quota,)))
    session.ask(
        UpdateFeatures(
            updates=(
                FeatureUpdate(
                    name="eligible.leader.replicas.version", level=0, upgrade_type=UpgradeType.SAFE_DOWNGRADE
                ),
            )
        )
    )
    acl = "ACL: allow User:bob from * to read on topic prefixed or"
    assert session.named() == [
        ("CreateAcls", acl),
        ("DeleteAcls", acl),
        ("AlterClientQuotas", "client-id by default with user bob (producer_byte_rate, no request_percentage)"),
        ("UpdateFeatures", "feature eligible.leader.replicas.version (level 0)"),
    ]


def test_credentials_and_tokens_show_no_secret(session: Session, stream: io.StringIO) -> None:
    made = ScramUpsertion(name="bob", mechanism=1, iterations=4096, salt=SALT, salted_password=SALTED)
    session.ask(AlterUserScramCredentials(upsertions=(made,)))
    session.ask(AlterUserScramCredentials(deletions=(ScramDeletion(name="bob", mechanism=1),)))
    token = session.ask(CreateDelegationToken())
    session.ask(RenewDelegationToken(hmac=token.hmac))
    session.ask(ExpireDelegationToken(hmac=token.hmac))
    assert session.named() == [
        ("AlterUserScramCredentials", "user bob (set SCRAM-SHA-256)"),
        ("AlterUserScramCredentials", "user bob (delete SCRAM-SHA-256)"),
        ("CreateDelegationToken", f"token {token.token_id} of User:alice"),
        ("RenewDelegationToken", f"token {token.token_id} of User:alice"),
        ("ExpireDelegationToken", f"token {token.token_id}"),
    ]
    text = stream.getvalue()
    for secret in (SALT, SALTED, token.hmac, TOKEN_KEY):
        assert secret
        assert secret.decode("latin-1") not in text
        assert secret.hex() not in text
        assert repr(secret)[2:-1] not in text


def test_brokers_come_and_go(session: Session) -> None:
    cluster = session.cluster
    listeners = (Listener(name="PLAINTEXT", host="b13", port=9092),)
    session.ask(
        RegisterBroker(
            broker_id=13, cluster_id=CLUSTER_ID, incarnation_id=uuid(13), listeners=listeners,
            features=tuple(
                FeatureRange(name=name, min_supported_version=0, max_supported_version=most)
                for name, most in (
                    ("metadata.version", 30), ("kraft.version", 1), ("eligible.leader.replicas.version", 1)
                )
            ),
            log_dirs=(directory(13),),
        )
    )  # fmt: skip
    for _ in range(3):
        session.ask(
            BrokerHeartbeat(
                broker_id=13,
                broker_epoch=cluster.image.cluster.broker_epoch(NodeId(13)),
                current_metadata_offset=1 << 40,
            )
        )
    cluster.elapse(9_001)
    session.changes.add_own(cluster.look(), Offset(cluster.last_offset))
    session.changes.on_committed(cluster.next_offset)
    session.ask(UnregisterBroker(broker_id=13))
    assert session.named()[:2] == [
        ("RegisterBroker", f"broker 13 (incarnation {id_text(uuid(13))}, PLAINTEXT://b13:9092)"),
        ("BrokerHeartbeat", "broker 13 (unfenced)"),
    ]
    fenced, unregistered = session.lines[2:]
    assert (fenced["request"], fenced["client"]) == ("session timeout", "this node")
    assert fenced["principal"] == "this node"
    assert fenced["resource"].endswith("(fenced)")
    assert (unregistered["request"], unregistered["resource"]) == ("UnregisterBroker", "broker 13")


def test_controllers_and_voters(session: Session) -> None:
    listener = Listener(name="CONTROLLER", host="c4", port=9093)
    session.ask(RegisterController(controller_id=4, incarnation_id=uuid(4), listeners=(listener,), features=()))
    for request in (
        AddRaftVoterRequest(voter=KEY, endpoints=AT),
        RemoveRaftVoterRequest(voter=KEY),
        UpdateRaftVoterRequest(current_leader_epoch=Epoch(1), voter=Voter(key=KEY, endpoints=AT)),
        UpgradeKRaftVersionRequest(kraft_version=1),
    ):
        response = AddRaftVoterResponse(leader_epoch=Epoch(1), voters_offset=Offset(7))
        session.on_changes(Change(request=request, response=response, context=ALICE, offset=Offset(7)))
    voter = f"voter 4 (directory {id_text(KEY.directory_id)})"
    assert session.named() == [
        ("RegisterController", f"controller 4 (incarnation {id_text(uuid(4))}, CONTROLLER://c4:9093)"),
        ("AddRaftVoter", voter),
        ("RemoveRaftVoter", voter),
        ("UpdateRaftVoter", "voter 4 (GRPC://c4:9094)"),
        ("UpgradeKRaftVersion", "feature kraft.version (level 1)"),
    ]


def test_a_request_of_thousands_of_topics_is_one_line_of_bounded_length(session: Session, stream: io.StringIO) -> None:
    topics = tuple(topic(f"{number:04}{'x' * 200}") for number in range(3_000))
    session.ask(CreateTopics(topics=topics))
    (line,) = session.lines
    assert line["resource"].endswith(" and 2996 more")
    assert len(stream.getvalue()) < LONGEST + 500


def test_a_name_from_outside_is_cut_and_cannot_be_taken_for_two(session: Session, stream: io.StringIO) -> None:
    eve = RequestContext(principal="User:" + "e" * 5_000, client_host="10.0.0.9")
    name = "bob (set SCRAM-SHA-256), user root\nforged"
    made = ScramUpsertion(name=name, mechanism=1, iterations=4096, salt=SALT, salted_password=SALTED)
    session.ask(AlterUserScramCredentials(upsertions=(made,)), eve)
    (line,) = session.lines
    assert line["resource"] == f"user {name!r} (set SCRAM-SHA-256)"
    assert line["principal"].endswith("… (5005 characters)")
    assert len(stream.getvalue()) < 1_000


def _created(number: int) -> Change:
    created = CreatableTopicResult(name=f"t-{number}", error=CreateTopicsResponse().error, topic_id=uuid(1))  # type: ignore[arg-type]
    return Change(
        request=CreateTopics(topics=()),
        response=CreateTopicsResponse(topics=(created,)),
        context=ALICE,
        offset=Offset(number),
    )


def test_a_second_has_a_hundred_lines_and_one_that_counts_the_others(session: Session) -> None:
    time = session.time
    session.on_changes(*(_created(number) for number in range(50)))
    session.on_changes(*(_created(number) for number in range(50, 5_000)))
    assert len(session.lines) == LINES_A_SECOND == 100
    time.advance(0.999)
    assert len(session.lines) == 100
    time.advance(0.002)
    (more,) = session.lines[100:]
    assert (more["event"], more["level"], more["more"]) == ("changes not written", "info", 4_900)
    assert more["offsets"] == "100 to 4999"
    session.on_changes(_created(5_000))
    assert session.lines[-1]["offset"] == 5_000


def test_no_second_has_more_lines_whatever_the_load(session: Session) -> None:
    at_s: list[float] = []
    for number in range(4_000):
        before = session.count
        session.on_changes(_created(number))
        session.time.advance(0.001)
        at_s += [session.time.now()] * (session.count - before)
    session.time.advance(1.0)
    lines = session.lines
    assert sum(line.get("more", 1) for line in lines) == 4_000
    assert max(sum(begin <= each < begin + 1.0 for each in at_s) for begin in at_s) <= LINES_A_SECOND


def test_a_change_of_unknown_outcome_says_so(session: Session) -> None:
    session.on_changes(msgspec.structs.replace(_created(1), is_committed=False))
    assert [(line["event"], line["offset"]) for line in session.lines] == [("change of unknown outcome", 1)]


@pytest.mark.parametrize("pattern", [LITERAL, PREFIXED])
def test_codes_that_are_not_known_are_numbers(session: Session, pattern: int) -> None:
    entry = msgspec.structs.replace(READ, resource_type=99, operation=98, pattern_type=pattern)
    session.on_changes(
        Change(
            request=CreateAcls(creations=(entry,)),
            response=CreateAclsResponse(results=(AclCreationResult(),)),
            context=ALICE,
            offset=Offset(1),
        )
    )
    assert "to 98 on 99" in session.lines[0]["resource"]
