"""Kafka brokers whose release cannot be served: one warning for each.

Decides: which releases those are, from the finalized levels. A broker chooses its versions from the ApiVersions
response, and shuts down if it finds none. So that request may be its only one. Must not know: the response.

Source: KIP-511 (name and version of software), KIP-778 (metadata.version), KIP-853 (voters in the log).
"""

from __future__ import annotations

import re
from typing import Final

from metadata_log.image import MetadataImage
from metadata_log.records.levels import METADATA_VERSIONS, MetadataVersion, level_name
from quorum.node.process.refusals import Refusals
from quorum.server.kafka.exchange import Exchange
from quorum.server.node import Node

_SOFTWARE: Final = "apache-kafka-java"
_VERSION: Final = re.compile(r"(?P<major>\d{1,4})\.(?P<minor>\d{1,4})[.\-\w]{0,40}", re.ASCII)
_REPLICA: Final = re.compile(r"raft-client-(?P<id>\d{1,10})", re.ASCII)
"""The client id of a broker or controller that fetches the metadata log."""
_FIRST_WITH_LEVELS: Final = (3, 3)
_FIRST_WITH_VOTERS_IN_THE_LOG: Final = (3, 9)
_MOST_KNOWN: Final = 1_000
"""The most brokers and releases that are remembered. Bounded, because clients choose their own names."""


class OldReleases:
    """The warnings of one listener, each written once for a broker and release."""

    def __init__(self, refusals: Refusals) -> None:
        self._refusals = refusals
        self._said: set[tuple[str, str]] = set()

    def note(self, exchange: Exchange, node: Node) -> None:
        """Write a warning if this ApiVersions request is from a broker whose release cannot be served."""
        body, client = exchange.body, exchange.header.client_id or ""
        replica, release = _REPLICA.fullmatch(client), str(getattr(body, "client_software_version", ""))
        if replica is None or getattr(body, "client_software_name", "") != _SOFTWARE:
            return
        if (client, release) in self._said or len(self._said) >= _MOST_KNOWN:
            return
        why = why_not_served(release, node.image, node.kraft_version)
        if why is not None:
            self._said.add((client, release))
            self._refusals.write(
                "warning",
                "a broker's release cannot be served",
                broker=int(replica["id"]),
                release=f"Kafka {release}",
                client=exchange.caller.host,
                why=why,
            )


def why_not_served(release: str, image: MetadataImage, kraft_version: int) -> str | None:
    """Return the reason, as a sentence, why brokers of that release cannot register here, or None if they can."""
    found = _VERSION.fullmatch(release)
    if found is None:
        return None
    number = int(found["major"]), int(found["minor"])
    if number < _FIRST_WITH_LEVELS:
        return "it knows no metadata.version: the first brokers that can be served are those of Kafka 3.3"
    if kraft_version > 0 and number < _FIRST_WITH_VOTERS_IN_THE_LOG:
        return (
            f"it does not know kraft.version {kraft_version}, voters in the log: Kafka 3.9 is the first that does. "
            "Brokers of 3.3 to 3.8 need controllers with controller.quorum.voters"
        )
    level, highest = image.features.metadata_version or 0, _highest_of(f"{number[0]}.{number[1]}")
    if highest is None or level <= highest.level:
        return None
    return (
        f"metadata.version is {level_name(level)}, and it knows those up to {level_name(highest.level)}: upgrade the "
        f"broker, or format a new cluster with --release-version {highest}"
    )


def _highest_of(release: str) -> MetadataVersion | None:
    """Return the highest level of that release, or None if the release is newer than this software knows."""
    return next((each for each in reversed(METADATA_VERSIONS) if each.release == release), None)
