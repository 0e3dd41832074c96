"""The answer to DescribeAcls that is put together by hand is kio's, byte for byte."""

from __future__ import annotations

from itertools import groupby
from operator import attrgetter
from typing import Any

import pytest
from msgspec.structs import replace

from metadata_log.image import AclEntry
from quorum.api.acls import DescribeAclsResponse
from quorum.api.error_codes import Error
from quorum.transport.kafka.describe_acls_frame import describe_acls_frame
from quorum.transport.kafka.wire import Answers, answers_of

ENTRY = AclEntry(
    resource_type=2,
    resource_name="orders",
    pattern_type=4,
    principal="User:alice",
    host="*",
    operation=3,
    permission_type=3,
)
RESPONSES = (
    DescribeAclsResponse(),
    DescribeAclsResponse(error=Error.INVALID_REQUEST, error_message="ü" * 9_000),
    DescribeAclsResponse(entries=(ENTRY, replace(ENTRY, host="::1"), replace(ENTRY, resource_name="ü" * 100))),
    DescribeAclsResponse(entries=tuple(replace(ENTRY, principal=f"User:{number}") for number in range(200))),
)
pattern = attrgetter("resource_type", "resource_name", "pattern_type")


def entity(answers: Answers, said: DescribeAclsResponse) -> Any:
    resources = tuple(
        answers.make(
            "DescribeAclsResource",
            resource_type=kind,
            resource_name=name,
            pattern_type=pattern_type,
            acls=answers.rows("AclDescription", entries),
        )
        for (kind, name, pattern_type), entries in groupby(said.entries, key=pattern)
    )
    return answers.response(error_code=said.error, error_message=said.error_message, resources=resources)


@pytest.mark.parametrize("version", range(1, 4))
@pytest.mark.parametrize("said", RESPONSES)
def test_it_is_kios(said: DescribeAclsResponse, version: int) -> None:
    answers = answers_of("describe_acls", version)
    assert describe_acls_frame(7, version, said) == answers.frame(7, entity(answers, said))
