"""The gRPC contract: its stubs are fresh, and everything in it is explained."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest
from google.protobuf.descriptor_pb2 import DescriptorProto, FileDescriptorProto, FileDescriptorSet
from grpc_tools import protoc

PROTO = Path(__file__).resolve().parents[3] / "proto"


@pytest.fixture(scope="module")
def contract(tmp_path_factory: pytest.TempPathFactory) -> list[FileDescriptorProto]:
    """The contract's files as the compiler describes them, with comments."""
    target = tmp_path_factory.mktemp("contract") / "contract.binpb"
    sources = sorted(str(path.relative_to(PROTO)) for path in (PROTO / "kraft/v1").glob("*.proto"))
    arguments = [
        "protoc",
        f"--proto_path={PROTO}",
        f"--proto_path={files('grpc_tools') / '_proto'}",
        "--include_source_info",
        f"--descriptor_set_out={target}",
        *sources,
    ]
    assert protoc.main(arguments) == 0
    return list(FileDescriptorSet.FromString(target.read_bytes()).file)


def test_the_stubs_are_what_the_sources_give(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(PROTO))
    import generate  # noqa: PLC0415  (it stands beside the sources, in no package)

    try:
        assert generate.stale() == []
    finally:
        del sys.modules["generate"]


def test_every_service_method_message_and_field_has_a_comment(contract: list[FileDescriptorProto]) -> None:
    missing = [
        f"{file.name}: {name}"
        for file in contract
        for path, name in _elements(file)
        if path not in {tuple(at.path) for at in file.source_code_info.location if at.leading_comments.strip()}
    ]
    assert missing == []


def test_no_two_fields_of_a_message_share_a_number_or_a_comment_left_over(contract: list[FileDescriptorProto]) -> None:
    names = [name for file in contract for _, name in _elements(file)]
    assert len(names) == len(set(names))
    assert len(names) > 250


def _elements(file: FileDescriptorProto) -> Iterator[tuple[tuple[int, ...], str]]:
    """Path in the descriptor, and name, of everything that needs a comment."""
    for index, service in enumerate(file.service):
        yield (6, index), service.name
        for number, method in enumerate(service.method):
            yield (6, index, 2, number), f"{service.name}.{method.name}"
    for index, message in enumerate(file.message_type):
        yield from _message_elements((4, index), message.name, message)


def _message_elements(
    path: tuple[int, ...], name: str, message: DescriptorProto
) -> Iterator[tuple[tuple[int, ...], str]]:
    yield path, name
    for index, field in enumerate(message.field):
        yield (*path, 2, index), f"{name}.{field.name}"
    for index, nested in enumerate(message.nested_type):
        yield from _message_elements((*path, 3, index), f"{name}.{nested.name}", nested)
