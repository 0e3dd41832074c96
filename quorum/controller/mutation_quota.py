"""The quota `controller_mutation_rate`: partitions that a client may create or delete a second.

Decides: the quota of a user with a client id, its remaining tokens, and the time until tokens are available again. Soft
state of the active controller: a new one begins with full buckets, as in Kafka. Sources: KIP-599 (the quota and its
token bucket), KIP-546 (the precedence of quotas).
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Final

from metadata_log.image import QuotaEntity
from metadata_log.image.access import CLIENT_ID, MUTATION_RATE, USER
from quorum.api.context import RequestContext

Quotas = Mapping[QuotaEntity, Mapping[str, float]]
"""Entity → key → value, as in the image."""
MOST_BUCKETS: Final = 10_000
"""The most buckets, as clients choose their ids. The least recently used is dropped; a new one is full."""

_Owner = tuple[str, str]
"""User and client id of a bucket; empty if the quota does not depend on it."""


class _Bucket:
    """Tokens that refill at the quota's rate up to the burst. A negative number is a debt."""

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
    """The tokens that one request may spend."""

    __slots__ = ("_bucket", "_is_strict", "_rate", "throttle_time_ms")

    def __init__(self, bucket: _Bucket | None = None, rate: float = 0.0, *, is_strict: bool = True) -> None:
        self._bucket = bucket
        self._rate = rate
        self._is_strict = is_strict
        self.throttle_time_ms = 0
        """The time that the client should wait before its next request."""

    def take(self, partitions: int) -> bool:
        """Spend a token for each partition; return False, without spending, if the bucket is in debt.

        A request may spend more tokens than are left. A client that does not know the error is never rejected, but its
        response has a throttle time.
        """
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
        """The message of a rejected request."""
        return f"The throttling quota has been exceeded: ask again in {self.throttle_time_ms} ms."


class MutationQuotas:
    """All buckets; `burst_s`: a client may spend the tokens of so many seconds at once."""

    def __init__(self, burst_s: int) -> None:
        self._burst_s = burst_s
        self._buckets: OrderedDict[_Owner, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def of(self, context: RequestContext, quotas: Quotas, now_ms: int) -> MutationQuota:
        """Return the tokens that the request may spend now."""
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
    """Return the most specific quota for user and client id: the bucket's owner and the tokens a second; or None."""
    user = context.principal.partition(":")[2]
    for parts, owner in _levels(user, context.client_id):
        rate = quotas.get(QuotaEntity(parts=parts), {}).get(MUTATION_RATE)
        if rate is not None:
            return owner, rate
    return None


def _levels(user: str, client_id: str) -> Iterator[tuple[tuple[tuple[str, str | None], ...], _Owner]]:
    """Yield possible quota entities and bucket owners, the most specific first.

    Each user or client id of a default has its own bucket. Without a client id, no quota of client ids applies.
    """
    for name in (user, None):
        if client_id:
            yield ((CLIENT_ID, client_id), (USER, name)), (user, client_id)
            yield ((CLIENT_ID, None), (USER, name)), (user, client_id)
        yield ((USER, name),), (user, "")
    if client_id:
        yield ((CLIENT_ID, client_id),), ("", client_id)
        yield ((CLIENT_ID, None),), ("", client_id)
