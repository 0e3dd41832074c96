"""How fast a client may change topics: the quota `controller_mutation_rate`, in partitions created or deleted a second.

Decides which quota holds for a user with a client id, how much of it is left, and how long it takes until there is some
again. Must not know: what is asked for. Soft state of the active controller: a new one begins with full buckets, as
Kafka's do. Sources: KIP-599 (the quota, its token bucket), KIP-546 (which of several quotas holds).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Final

from metadata_log.image import QuotaEntity
from metadata_log.image.access import CLIENT_ID, MUTATION_RATE, USER
from quorum.api.context import RequestContext

Quotas = Mapping[QuotaEntity, Mapping[str, float]]
"""Values by key by entity, as the image has them."""
MOST_BUCKETS: Final = 10_000
"""Clients choose their ids: then the bucket goes that nobody has used for longest. Made again, it is full."""

_Owner = tuple[str, str]
"""User and client id that share a bucket; empty where the quota does not look at it."""


class _Bucket:
    """Tokens that come back at the rate of the quota, until there are enough for the burst; below zero it is a debt."""

    __slots__ = ("at_ms", "tokens")

    def __init__(self, tokens: float, at_ms: int) -> None:
        self.tokens = tokens
        self.at_ms = at_ms

    def refill(self, rate: float, burst: float, now_ms: int) -> None:
        self.tokens = min(burst, self.tokens + rate * (now_ms - self.at_ms) / 1000)
        self.at_ms = now_ms

    def until_paid_ms(self, rate: float) -> int:
        return round(-self.tokens / rate * 1000) if self.tokens < 0 else 0


class MutationQuota:
    """What one request may spend."""

    __slots__ = ("_bucket", "_is_strict", "_rate", "throttle_time_ms")

    def __init__(self, bucket: _Bucket | None = None, rate: float = 0.0, *, is_strict: bool = True) -> None:
        self._bucket = bucket
        self._rate = rate
        self._is_strict = is_strict
        self.throttle_time_ms = 0
        """How long the client is to wait before it asks for more."""

    def take(self, partitions: int) -> bool:
        """Spend a token for each partition; False when nothing was left, and nothing is spent. Whoever has any left may
        spend more than that. Who would not understand a refusal is let through, and told to wait."""
        bucket = self._bucket
        if bucket is None:
            return True
        if self._is_strict and bucket.tokens < 0:
            self.throttle_time_ms = bucket.until_paid_ms(self._rate)
            return False
        bucket.tokens -= partitions
        if not self._is_strict:
            self.throttle_time_ms = bucket.until_paid_ms(self._rate)
        return True

    @property
    def why_not(self) -> str:
        """The refusal in words."""
        return f"The throttling quota has been exceeded: ask again in {self.throttle_time_ms} ms."


class MutationQuotas:
    """All buckets; `burst_s`: tokens of so many seconds may be spent at once."""

    def __init__(self, burst_s: int) -> None:
        self._burst_s = burst_s
        self._buckets: OrderedDict[_Owner, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def of(self, context: RequestContext, quotas: Quotas, now_ms: int) -> MutationQuota:
        """What the request may spend now."""
        found = _quota_of(context, quotas) if quotas else None
        if found is None:
            return MutationQuota()
        owner, rate = found
        burst = rate * self._burst_s
        bucket = self._buckets.get(owner)
        if bucket is None:
            bucket = self._buckets[owner] = _Bucket(burst, now_ms)
            if len(self._buckets) > MOST_BUCKETS:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(owner)
        bucket.refill(rate, burst, now_ms)
        return MutationQuota(bucket, rate, is_strict=context.knows_throttling)


def _quota_of(context: RequestContext, quotas: Quotas) -> tuple[_Owner, float] | None:
    """The most specific quota for the user and the client id, in tokens a second, and whom its bucket belongs to."""
    user = context.principal.partition(":")[2]
    for parts, owner in _levels(user, context.client_id):
        rate = quotas.get(QuotaEntity(parts=parts), {}).get(MUTATION_RATE)
        if rate is not None:
            return owner, rate
    return None


def _levels(user: str, client_id: str) -> Iterator[tuple[tuple[tuple[str, str | None], ...], _Owner]]:
    """The entities that a quota may be of, the most specific first. A default has a bucket for each whom it is for;
    whoever names no client id is under no quota of client ids."""
    for name in (user, None):
        if client_id:
            yield ((CLIENT_ID, client_id), (USER, name)), (user, client_id)
            yield ((CLIENT_ID, None), (USER, name)), (user, client_id)
        yield ((USER, name),), (user, "")
    if client_id:
        yield ((CLIENT_ID, client_id),), ("", client_id)
        yield ((CLIENT_ID, None),), ("", client_id)
