"""No `object` or `Any` on the path of a request, except where a table below says why a type cannot be named.

The tables list modules. An annotation that a new module needs has a type, or its module gets a reason here.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PATH_OF_REQUESTS = (
    *("quorum/api", "quorum/raft", "quorum/controller", "quorum/node/core", "quorum/node/controller"),
    *("quorum/server", "quorum/transport", "quorum/client", "broker_agent"),
)
_KIO = "kio generates a class for each API and version; its classes share no base that has their fields"
_MESSAGE = "the messages of all requests share a base without fields: a row of KINDS names the class"
_GRPC = "grpc publishes no types of its contexts, handlers, calls"
_TABLE = "each function of the table takes the class of its key, which no dictionary can say"
_CALLBACK = "what a callback returns, or is called with, is of no interest"
_WAITING = "it holds calls of every kind; a generic function takes one out"
ANY = {
    _WAITING: {
        *("quorum/api/calls.py", "quorum/node/controller/waiting.py", "quorum/node/controller/purgatory.py"),
    },
    "a failure, which fits the outcome of every item": {"quorum/client/admin.py"},
    _TABLE: {
        *("quorum/raft/dispatch.py", "quorum/controller/request_table.py", "quorum/node/controller/tail.py"),
        *("quorum/node/core/executor.py", "quorum/node/core/peers.py", "quorum/node/core/topic_id_fencing.py"),
        "quorum/transport/kafka/asking.py",
    },
    "the fields to replace, as msgspec takes them": {"quorum/node/core/fence.py"},
    "what a coroutine yields, which asyncio ignores": {"quorum/client/loop_thread.py"},
    _GRPC: {
        *(f"quorum/server/grpc/{name}.py" for name in ("callers", "health_service", "quorum_service", "session")),
        *(f"quorum/transport/grpc/{name}.py" for name in ("event_loop", "methods", "network")),
        "quorum/server/grpc/controller_service.py",
    },
    _MESSAGE: {
        f"quorum/transport/grpc/convert/{name}.py"
        for name in (
            *("admin", "by_fields", "calls", "consistency", "fetch", "fetch_snapshot", "kind", "partitions", "parts"),
            *("unsendable", "voters"),
        )
    },
    _KIO: {
        *(
            f"quorum/server/kafka/{name}.py"
            for name in (
                *("acl_apis", "api_versions", "broker_apis", "config_apis", "exchange", "feature_apis"),
                *("partition_apis", "quorum_apis", "quota_apis", "token_apis", "topic_apis", "voter_apis"),
            )
        ),
        *(
            f"quorum/transport/kafka/{name}.py"
            for name in (
                *("elections", "fetch", "fetch_asking", "partitions", "plain_requests", "reader", "voters"),
                *("wire", "writer"),
            )
        ),
    },
}
"""Reason → modules whose annotations may say `Any`."""
OBJECT = {
    _CALLBACK: {
        *("quorum/node/core/snapshots.py", "quorum/server/kafka/exchange.py", "quorum/transport/grpc/network.py"),
    },
    "grpc's EOF, an object without its own class": {
        *("quorum/server/grpc/fetch_streams.py", "quorum/server/grpc/session.py"),
    },
    "the fields of a message, by name": {"quorum/transport/grpc/convert/partitions.py"},
    "any struct: it walks the fields": {
        *("quorum/transport/grpc/convert/unsendable.py", "quorum/transport/grpc/convert/parts.py"),
    },
}
"""Reason → modules whose annotations may say `object`."""


@pytest.mark.parametrize(("name", "allowed"), [("Any", ANY), ("object", OBJECT)])
def test_no_other_module_on_the_path_of_a_request_is_untyped(name: str, allowed: dict[str, set[str]]) -> None:
    found = {
        str(path.relative_to(ROOT))
        for package in PATH_OF_REQUESTS
        for path in (ROOT / package).rglob("*.py")
        if name in _annotated(ast.parse(path.read_text(encoding="utf-8")))
    }
    assert found == set().union(*allowed.values())


def _annotated(tree: ast.Module) -> set[str]:
    """Return the names in annotations of parameters, results and variables, and in aliases of types."""
    return {name.id for each in _annotations(tree) for name in ast.walk(each) if isinstance(name, ast.Name)}


def _annotations(tree: ast.Module) -> Iterator[ast.expr]:
    for node in ast.walk(tree):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation is not None:
            yield node.annotation
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.returns is not None:
            yield node.returns
        elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Subscript):
            yield node.value
