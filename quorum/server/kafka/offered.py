"""Which of Kafka's APIs are answered here, in which versions: exactly what works, and ApiVersions says so.

Source: the versions of Kafka 4.3's controllers (KIP-896 dropped the older ones).
"""

from __future__ import annotations

from typing import Final

import msgspec


class Offered(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One API: its name as kio spells it, the first and the last version, and whether brokers may forward it."""

    name: str
    first: int
    last: int
    is_forwardable: bool = False

    @property
    def versions(self) -> range:
        """All of them."""
        return range(self.first, self.last + 1)


OFFERED: Final[dict[int, Offered]] = {
    18: Offered(name="api_versions", first=0, last=4),
    55: Offered(name="describe_quorum", first=0, last=2, is_forwardable=True),
    60: Offered(name="describe_cluster", first=0, last=2),
}
"""By key."""
