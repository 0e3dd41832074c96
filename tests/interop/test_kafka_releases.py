"""This project's tables hold all that the newest release of Kafka has, but for what is left out on purpose."""

from __future__ import annotations

import pytest

from tests.kafka_releases.__main__ import compare
from tests.kafka_releases.report import Comparison, as_text
from tests.support.kafka.jars import NEWEST, PREVIOUS

pytestmark = pytest.mark.campaign


@pytest.fixture(scope="module")
def found() -> Comparison:
    return compare(PREVIOUS, NEWEST)


def test_the_tables_lack_nothing_of_4_4(found: Comparison) -> None:
    assert not found.lacking, as_text(found)


def test_each_reason_to_leave_something_out_is_used(found: Comparison) -> None:
    assert not found.unused


def test_what_4_4_adds(found: Comparison) -> None:
    """The facts of the release notes are among the changes: neither jars nor classes were read past."""
    new = {(each.area, each.name) for each in found.changes if each.before is None and each.attribute is None}
    assert new >= {
        ("metadata record", "UnregisterControllerRecord"),
        ("metadata.version", "33"),
        ("feature level", "share.version 2"),
        ("API of controllers", "UnregisterController"),
        ("API of brokers", "StreamsGroupTopologyDescriptionUpdate"),
        ("error code", "CONTROLLER_ID_NOT_REGISTERED"),
        ("topic config", "remote.copy.lag.ms"),
        ("broker config", "group.streams.assignors"),
        ("main class", "org.apache.kafka.tools.ConfigCommand"),
    }
