"""Differences between Kafka and this project's tables that are on purpose, each with its reason.

A row that no difference needs any longer is reported: remove it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from tests.kafka_releases import facts as areas
from tests.kafka_releases.comparison import Difference
from tests.kafka_releases.schemas import BROKER_API, CONTROL_RECORD, CONTROLLER_API


class LeftOut(msgspec.Struct, frozen=True):
    """Differences of an area on purpose: names by a regular expression, one attribute or all of them."""

    area: str
    names: str
    reason: str
    attribute: str | None = None

    def covers(self, difference: Difference) -> bool:
        """Return True if this row explains the difference."""
        return (
            self.area == difference.area
            and self.attribute in {None, difference.attribute}
            and re.fullmatch(self.names, difference.name) is not None
        )


_NO_SASL: Final = "our own listeners have no SASL yet"

LEFT_OUT: Final = (
    LeftOut(CONTROL_RECORD, "AbortedTxn|EndTxnMarker", "transactions of clients: never in the metadata log"),
    LeftOut(CONTROL_RECORD, "ConsumerProtocol.*", "consumers exchange it"),
    LeftOut(CONTROL_RECORD, "ControlRecordTypeSchema", "the key of a control record: metadata_log/records/serde.py"),
    LeftOut(CONTROL_RECORD, "DefaultPrincipalData", "a forwarding broker's client: quorum/server/kafka/envelope.py"),
    LeftOut(areas.CONTROL_TYPE, "0|1", "ABORT and COMMIT, of clients' transactions: never in the metadata log"),
    LeftOut(areas.CONTROL_TYPE, "-1", "UNKNOWN is no type, but what a reader takes an unknown one for"),
    LeftOut(areas.RECORD_AT_LEVEL, "(fetch|listOffset)RequestVersion", "the version that a follower asks a broker in"),
    LeftOut(areas.FEATURE_LEVEL, r"(unit\.)?test\.feature\.version.*", "Kafka's own tests use it"),
    LeftOut(
        areas.FEATURE_LEVEL,
        "kraft.version 1",
        "how a cluster is formatted decides it, not its metadata.version",
        attribute="default since",
    ),
    LeftOut(
        areas.BROKER_CONFIG,
        "socket.request.max.bytes",
        "a lower limit until clients authenticate: docs/security.md",
        attribute="default",
    ),
    LeftOut(areas.UNSTABLE_FEATURE_LEVEL, ".*", "not in production"),
    LeftOut(
        CONTROLLER_API, "DescribeDelegationToken|DescribeUserScramCredentials", "Kafka's controllers reject it, too"
    ),
    LeftOut(CONTROLLER_API, "Sasl(Authenticate|Handshake)", _NO_SASL),
    LeftOut(
        CONTROLLER_API,
        "Fetch",
        "an older Fetch cannot say where the leader is (KIP-853): a broker that does not know it ends itself",
        attribute="first version",
    ),
    LeftOut(BROKER_API, ".*", "brokers answer it"),
    LeftOut(
        areas.GROUP_CONFIG,
        "streams.assignor.name",
        "null means the first of group.streams.assignors, which Kafka describes",
        attribute="default",
    ),
    LeftOut(
        areas.BROKER_CONFIG,
        r"group\.(consumer|share|streams)\.assignor\.offload\.enable|group\.share\.dlq\.manager\.class\.name|"
        r"group\.streams\.(acceptable\.recovery\.lag|max\.warmup\.replicas|min\.task\.offset\.interval\.ms|"
        r"num\.warmup\.replicas|task\.offset\.interval\.ms|topology\.description\.plugin\.class)|"
        r"errors\.deadletterqueue\.(auto\.create\.topics\.enable|topic\.name\.prefix)",
        "it configures the group coordinators of brokers",
    ),
    LeftOut(
        areas.BROKER_CONFIG,
        r"log\.remote\.copy\.lag\.(bytes|ms)|max\.decompressed\.message\.bytes",
        "it is the default of a topic's config, which our controllers take from the cluster's configs alone",
    ),
    LeftOut(
        areas.BROKER_CONFIG,
        r"sasl\.oauthbearer\.allow\.unverified\.(audience|issuer)",
        _NO_SASL,
    ),
    LeftOut(
        areas.BROKER_CONFIG,
        r"delete\.topic\.delay\.ms|http\.listener|inter\.controller\.listener\.name",
        "this project's own key",
    ),
    LeftOut(
        areas.BROKER_CONFIG,
        r"allow\.everyone\.if\.no\.acl\.found|super\.users",
        "Kafka's StandardAuthorizer reads it, so that it is in no ConfigDef",
    ),
    LeftOut(
        areas.BROKER_CONFIG,
        r"(advertised|early\.start)\.listeners|controller\.listener\.names|log\.dirs|process\.roles",
        "without a default Kafka appends to an empty list",
        attribute="default",
    ),
    LeftOut(areas.MAIN_CLASS, r"org\.apache\.kafka\.shell\.MetadataShell", "kafka-shell 4.4.0 is not published"),
    LeftOut(areas.MAIN_CLASS, r"org\.apache\.kafka\.tools\.ConnectInternalTopics", "no test runs Kafka Connect"),
)


def without_left_out(
    found: Iterable[Difference], rows: Iterable[LeftOut] = LEFT_OUT
) -> tuple[list[Difference], dict[LeftOut, list[Difference]]]:
    """Return the differences that no row explains, and those that each row explains."""
    explained: dict[LeftOut, list[Difference]] = {row: [] for row in rows}
    rest: list[Difference] = []
    for difference in found:
        row = next((row for row in explained if row.covers(difference)), None)
        (rest if row is None else explained[row]).append(difference)
    return rest, explained
