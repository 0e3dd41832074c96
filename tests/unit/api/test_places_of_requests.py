"""A request that the controller serves is in every place that it needs: each test names a place that was forgotten.

`PLACES` has a row for each request. It says by which of Kafka's APIs the request comes, which method of the client
sends it, and which command. None is a decision.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
from pathlib import Path
from typing import Any

import msgspec
import pytest

import quorum.api
import quorum.controller.handlers
from kraft.v1 import controller_pb2
from quorum.api.acls import CreateAcls, DeleteAcls, DescribeAcls
from quorum.api.brokers import BrokerHeartbeat, RegisterBroker, UnregisterBroker
from quorum.api.cluster import DescribeCluster
from quorum.api.configs import AlterConfigs, IncrementalAlterConfigs
from quorum.api.context import authorize
from quorum.api.controllers import RegisterController, UnregisterController
from quorum.api.described_configs import DescribeConfigs
from quorum.api.directories import AssignReplicasToDirs
from quorum.api.elections import ElectLeaders
from quorum.api.features import UpdateFeatures
from quorum.api.partition_counts import CreatePartitions
from quorum.api.partitions import AlterPartition
from quorum.api.producer_ids import AllocateProducerIds
from quorum.api.quotas import AlterClientQuotas, DescribeClientQuotas
from quorum.api.reassignments import AlterPartitionReassignments, ListPartitionReassignments
from quorum.api.request import AnyRequest, Read, Request, response_of
from quorum.api.scram import AlterUserScramCredentials, DescribeUserScramCredentials
from quorum.api.tokens import CreateDelegationToken, ExpireDelegationToken, RenewDelegationToken
from quorum.api.topics import CreateTopics, DeleteTopics, DescribeTopics
from quorum.cli.main import run
from quorum.client import Admin, Client
from quorum.controller.request_table import HANDLERS
from quorum.node.process import change_words
from quorum.server.grpc.controller_service import ControllerService
from quorum.server.kafka import apis
from quorum.server.kafka.offered_versions import OFFERED
from quorum.transport.grpc.convert.calls import KINDS
from quorum.transport.grpc.convert.parts import ANSWERED_LONG

DOCS = Path(__file__).parents[3] / "docs"
HANDLERS_OF_REQUESTS = Path(quorum.controller.handlers.__file__).parent
HANDLER_TESTS = Path(__file__).parents[1] / "controller/handlers"


class Places(msgspec.Struct, frozen=True, kw_only=True):
    """The places of one request besides the controller and gRPC."""

    kafka: str | None
    """Its API, as `OFFERED` names it."""
    method: str | None
    """Of `Client` or `Admin`."""
    command: str | None
    grpc: bool = True


PLACES: dict[type[AnyRequest], Places] = {
    CreateTopics: Places(kafka="create_topics", method="create_topics", command="topics create"),
    DeleteTopics: Places(kafka="delete_topics", method="delete_topics", command="topics delete"),
    DescribeTopics: Places(kafka=None, method="describe_topics", command="topics describe"),
    CreatePartitions: Places(kafka="create_partitions", method="create_partitions", command="topics alter"),
    IncrementalAlterConfigs: Places(
        kafka="incremental_alter_configs", method="incremental_alter_configs", command="configs alter"
    ),
    AlterConfigs: Places(kafka="alter_configs", method=None, command=None, grpc=False),
    DescribeConfigs: Places(kafka="describe_configs", method="describe_configs", command="configs describe"),
    DescribeCluster: Places(kafka="describe_cluster", method="describe_cluster", command="brokers describe"),
    UpdateFeatures: Places(kafka="update_features", method="update_features", command="features upgrade"),
    CreateAcls: Places(kafka="create_acls", method="create_acls", command=None),
    DeleteAcls: Places(kafka="delete_acls", method="delete_acls", command=None),
    DescribeAcls: Places(kafka="describe_acls", method="describe_acls", command=None),
    AlterClientQuotas: Places(kafka="alter_client_quotas", method="alter_client_quotas", command=None),
    DescribeClientQuotas: Places(kafka=None, method="describe_client_quotas", command=None),
    AlterUserScramCredentials: Places(
        kafka="alter_user_scram_credentials", method="alter_user_scram_credentials", command=None
    ),
    DescribeUserScramCredentials: Places(kafka=None, method="describe_user_scram_credentials", command=None),
    AlterPartitionReassignments: Places(kafka="alter_partition_reassignments", method=None, command=None),
    ListPartitionReassignments: Places(kafka="list_partition_reassignments", method=None, command=None),
    ElectLeaders: Places(kafka="elect_leaders", method=None, command=None),
    UnregisterBroker: Places(kafka="unregister_broker", method=None, command=None),
    UnregisterController: Places(
        kafka="unregister_controller", method="unregister_controller", command="quorum unregister-controller"
    ),
    RegisterBroker: Places(kafka="broker_registration", method="register_broker", command=None),
    BrokerHeartbeat: Places(kafka="broker_heartbeat", method="broker_heartbeat", command=None),
    AlterPartition: Places(kafka="alter_partition", method="alter_partition", command=None),
    RegisterController: Places(kafka="controller_registration", method="register_controller", command=None),
    AllocateProducerIds: Places(kafka="allocate_producer_ids", method=None, command=None),
    AssignReplicasToDirs: Places(kafka="assign_replicas_to_dirs", method=None, command=None),
    CreateDelegationToken: Places(kafka="create_delegation_token", method=None, command=None, grpc=False),
    RenewDelegationToken: Places(kafka="renew_delegation_token", method=None, command=None, grpc=False),
    ExpireDelegationToken: Places(kafka="expire_delegation_token", method=None, command=None, grpc=False),
}
ALWAYS_LINEARIZABLE = {ListPartitionReassignments}
"""Reads whose messages cannot say how current the response has to be."""
ALWAYS_SHORT = {ListPartitionReassignments}
"""Reads whose responses are not divided: they are hardly longer than their requests."""
NEVER_LOGGED = {AllocateProducerIds, AlterPartition, AssignReplicasToDirs}
"""Changes that brokers make all the time: the log of accepted changes has no line for them."""


def _requests() -> set[type[AnyRequest]]:
    """Return every request that a module of `quorum.api` declares."""
    modules = [
        importlib.import_module(f"quorum.api.{found.name}") for found in pkgutil.iter_modules(quorum.api.__path__)
    ]
    declared = {each for module in modules for each in vars(module).values() if inspect.isclass(each)}
    return {each for each in declared if issubclass(each, Request)} - {Request, Read}


def _of_oneof(message: Any, oneof: str) -> dict[str, str]:
    fields = message.DESCRIPTOR.oneofs_by_name[oneof].fields
    return {field.name: field.message_type.name for field in fields if field.name != "unknown"}


def _names(requests: set[type[AnyRequest]]) -> list[str]:
    return sorted(request.__name__ for request in requests)


def test_every_request_has_its_row_of_places() -> None:
    assert _names(_requests() - set(PLACES)) == [], "add its row to PLACES above: its API, its method, its command"
    assert _names(set(PLACES) - _requests()) == [], "no module of quorum/api declares it: remove its row of PLACES"


def test_every_request_has_a_handler() -> None:
    forgotten = _names(_requests() - set(HANDLERS))
    assert forgotten == [], "write its module in quorum/controller/handlers/, then its row in request_table.py HANDLERS"


def test_a_test_of_handlers_asks_every_request() -> None:
    """`ControlledCluster.ask` compares a read with the response of a standby, if a test asks it."""
    calls = (
        node.func
        for page in HANDLER_TESTS.glob("test_*.py")
        for node in ast.walk(ast.parse(page.read_text()))
        if isinstance(node, ast.Call)
    )
    made = {func.id for func in calls if isinstance(func, ast.Name)}
    forgotten = sorted({request.__name__ for request in PLACES} - made)
    assert forgotten == [], "write tests/unit/controller/handlers/test_<request>.py, which asks it by ControlledCluster"


def test_every_request_over_grpc_has_its_row_of_conversions() -> None:
    by_grpc = {request for request, places in PLACES.items() if places.grpc}
    forgotten = _names(by_grpc - {kind.request for kind in KINDS})
    assert forgotten == [], "write its row in quorum/transport/grpc/convert/admin.py, which KINDS of calls.py holds"
    assert _names({kind.request for kind in KINDS} - by_grpc) == [], "its row of PLACES says grpc=False: remove that"


def test_every_row_of_conversions_has_its_messages_and_its_rpc() -> None:
    requests = {kind.name: f"{kind.request.__name__}Request" for kind in KINDS}
    responses = {kind.name: kind.response.__name__ for kind in KINDS}
    where = "add its field to {} of proto/kraft/v1/controller.proto, then run `make fix`"
    assert _of_oneof(controller_pb2.Call, "request") == requests, where.format("Call")
    assert _of_oneof(controller_pb2.Answer, "response") == responses, where.format("Answer")
    rpcs = controller_pb2.DESCRIPTOR.services_by_name["Controller"].methods_by_name
    names = {kind.request.__name__ for kind in KINDS} | {"Session"}
    assert set(rpcs) == names, (
        "add its rpc to service Controller of proto/kraft/v1/controller.proto, then run `make fix`"
    )
    for kind in KINDS:
        rpc = rpcs[kind.request.__name__]
        assert (rpc.input_type.name, rpc.output_type.name) == (requests[kind.name], responses[kind.name])
        assert kind.response is response_of(kind.request)


def test_every_rpc_is_served() -> None:
    for name in controller_pb2.DESCRIPTOR.services_by_name["Controller"].methods_by_name:
        assert callable(getattr(ControllerService, name, None)), f"{name}: quorum/server/grpc/controller_service.py"


def test_a_message_says_how_current_its_response_has_to_be_if_and_only_if_it_is_a_read() -> None:
    rpcs = controller_pb2.DESCRIPTOR.services_by_name["Controller"].methods_by_name
    for kind in KINDS:
        fields = set(rpcs[kind.request.__name__].input_type.fields_by_name)
        is_read = issubclass(kind.request, Read) and kind.request not in ALWAYS_LINEARIZABLE
        has_both = {"at_least_offset", "consistency"} <= fields
        assert has_both is is_read, f"{kind.name}: only a read's message in the .proto has at_least_offset, consistency"
        is_repeatable = kind.is_repeatable or not issubclass(kind.request, Read)
        assert is_repeatable, f"{kind.name}: a read is repeatable: say so in its row of KINDS"


def test_a_long_response_to_a_read_is_divided() -> None:
    reads = {kind.request for kind in KINDS if issubclass(kind.request, Read)}
    forgotten = sorted({read.__name__ for read in reads - ALWAYS_SHORT} - ANSWERED_LONG)
    assert forgotten == [], (
        "divide its response in quorum/transport/grpc/convert/parts.py _DIVIDED, or name it in ALWAYS_SHORT above"
    )


def test_every_accepted_change_has_its_words_in_the_log() -> None:
    changing = {request for request in PLACES if not issubclass(request, Read)}
    forgotten = _names(changing - NEVER_LOGGED - set(change_words._WORDS))
    assert forgotten == [], "write its words in quorum/node/process/change_words.py, or name it in NEVER_LOGGED above"
    assert _names(changing & NEVER_LOGGED & set(change_words._WORDS)) == [], (
        "it has words: NEVER_LOGGED must not name it"
    )


@pytest.mark.parametrize(("request_", "places"), PLACES.items(), ids=lambda each: getattr(each, "__name__", ""))
def test_every_other_place_that_is_named_is_there(
    request_: type[AnyRequest], places: Places, capsys: pytest.CaptureFixture[str]
) -> None:
    assert places.grpc or places.kafka, "no client can send it"
    pages = "\n".join(page.read_text() for page in DOCS.glob("*.md"))
    if places.kafka is not None:
        keys = {offered.name: key for key, offered in OFFERED.items()}
        assert keys[places.kafka] in apis._HANDLERS, "write its module in quorum/server/kafka, and its row in apis.py"
    if places.method is not None:
        has_method = any(inspect.iscoroutinefunction(getattr(of, places.method, None)) for of in (Admin, Client))
        assert has_method, "write the method in quorum/client/admin.py"
        assert places.method in pages or request_.__name__ in pages, "describe the method in docs/admin.md"
    if places.command is not None:
        assert run([*places.command.split(), "--help"]) == 0, "write the command in quorum/cli/"
        assert f"kraft {places.command}" in pages, "describe the command in docs/output.md"
    capsys.readouterr()


def test_every_handler_checks_a_right() -> None:
    """A handler calls `authorize`, by itself or by its package: no other place checks a client's right.

    A delegation token is renewed and expired by its owner and its renewers, who need no right.
    """
    calls: dict[str, set[str]] = {}
    for page in HANDLERS_OF_REQUESTS.glob("*.py"):
        made_here = ast.walk(ast.parse(page.read_text()))
        for made in (node for node in made_here if isinstance(node, ast.FunctionDef | ast.ClassDef)):
            named = {each.id for each in ast.walk(made) if isinstance(each, ast.Name)}
            calls.setdefault(made.name, set()).update(named)
    handlers = {name for name in calls if name.startswith("handle_")}
    assert len(handlers) >= len(PLACES), "each request has a function handle_<request> in quorum/controller/handlers/"
    without = {name for name in handlers if not _reaches(name, authorize.__name__, calls)}
    by_owner = {"handle_renew_delegation_token", "handle_expire_delegation_token"}
    assert sorted(without - by_owner) == [], "call quorum/api/context.py authorize first, or any client may ask"
    assert by_owner <= without, "this test sees no call of authorize any more"
    assert not _reaches("handle_describe_acls", authorize.__name__, calls | {"why_no_acls": set()})


def _reaches(name: str, searched: str, calls: dict[str, set[str]]) -> bool:
    reached, due = set[str](), [name]
    while due:
        one = due.pop()
        if one not in reached:
            reached.add(one)
            due += calls.get(one, ())
    return searched in reached
