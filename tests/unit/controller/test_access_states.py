"""Invariants hold in any order of entries, quotas, credentials, tokens, configs and failovers.

A standby that has read the log's bytes has the same state.
"""

from __future__ import annotations

from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from metadata_log.acl_codes import ALLOW, ANY, DENY, LITERAL, PREFIXED, WILDCARD, Operation, ResourceType
from metadata_log.image import AclEntry
from quorum.api.acls import AclFilter, CreateAcls, DeleteAcls
from quorum.api.configs import AlterConfigs, ReplacedResource
from quorum.api.context import RequestContext
from quorum.api.error_codes import Error
from quorum.api.quotas import AlterClientQuotas, QuotaAlteration
from quorum.api.scram import AlterUserScramCredentials, ScramDeletion, ScramUpsertion
from quorum.api.tokens import CreateDelegationToken, ExpireDelegationToken, RenewDelegationToken
from quorum.controller.acl_filters import is_meant
from quorum.controller.authorizer import Authorizer
from quorum.controller.config import ControllerConfig
from quorum.controller.tokens import TokenSettings, is_expired
from tests.support.controller import CLUSTER_ID, ControlledCluster, check_standby

HOUR_MS = 3600 * 1000
TOKENS = TokenSettings(
    secret_key=b"key", max_lifetime_ms=9 * HOUR_MS, expiry_time_ms=3 * HOUR_MS, expiry_check_interval_ms=HOUR_MS
)
ADMIN = RequestContext(
    principal="User:admin", forwarded_by=11, authorizer=Authorizer(super_users=frozenset({"User:admin"}))
)
USERS = st.sampled_from(["User:a", "User:b", "User:*"])
NAMES = st.sampled_from(["x", "xy", "xyz", "y", WILDCARD])
OPERATIONS = st.sampled_from([Operation.READ, Operation.WRITE, Operation.DESCRIBE, Operation.ALL])
ENTRIES = st.builds(
    AclEntry,
    resource_type=st.sampled_from([ResourceType.TOPIC, ResourceType.GROUP]),
    resource_name=NAMES,
    pattern_type=st.sampled_from([LITERAL, PREFIXED]),
    principal=USERS,
    host=st.sampled_from([WILDCARD, "10.0.0.1"]),
    operation=OPERATIONS,
    permission_type=st.sampled_from([ALLOW, DENY]),
)
FILTERS = st.builds(
    AclFilter,
    resource_type=st.sampled_from([ANY, ResourceType.TOPIC]),
    resource_name=st.none() | NAMES,
    pattern_type=st.sampled_from([ANY, 2, LITERAL, PREFIXED]),
    principal=st.none() | USERS,
    host=st.none(),
    operation=st.just(ANY) | OPERATIONS,
    permission_type=st.sampled_from([ANY, ALLOW]),
)
ENTITIES = st.sampled_from([(("user", "a"),), (("user", None),), (("user", "a"), ("client-id", "c")), (("ip", None),)])


class Access(RuleBasedStateMachine):
    """A few users and resources, one active controller at a time."""

    cluster: ControlledCluster

    @initialize()
    def begin(self) -> None:
        config = ControllerConfig(node_id=1, cluster_id=CLUSTER_ID, tokens=TOKENS)
        self.cluster = ControlledCluster(config=config)
        self.entries: set[AclEntry] = set()
        self.secrets: dict[str, bytes] = {}

    def ask(self, request: Any) -> Any:
        return self.cluster.ask(request, ADMIN).response

    @rule(entries=st.lists(ENTRIES, max_size=4))
    def create_acls(self, entries: list[AclEntry]) -> None:
        before = self.cluster.next_offset
        response = self.ask(CreateAcls(creations=tuple(entries)))
        assert all(each.error is Error.NONE for each in response.results)
        assert self.cluster.next_offset - before == len(set(entries) - self.entries)
        self.entries |= set(entries)

    @rule(asked=FILTERS)
    def delete_acls(self, asked: AclFilter) -> None:
        (result,) = self.ask(DeleteAcls(filters=(asked,))).results
        meant = {entry for entry in self.entries if is_meant(asked, entry)}
        assert set(result.matching) == meant
        self.entries -= meant

    @rule(entity=ENTITIES, value=st.none() | st.sampled_from([0.0, 1.0, 2.5]), key=st.sampled_from([0, 1]))
    def alter_quotas(self, entity: Any, value: float | None, key: int) -> None:
        name = ("producer_byte_rate", "connection_creation_rate")[key]
        before = self.cluster.image.client_quotas
        alteration = QuotaAlteration(entity=entity, ops=((name, value),))
        (result,) = self.ask(AlterClientQuotas(entries=(alteration,))).entries
        assert result.error is Error.NONE or self.cluster.image.client_quotas == before

    @rule(name=st.sampled_from(["a", "b"]), mechanism=st.integers(0, 3), iterations=st.sampled_from([1, 4096]))
    def upsert(self, name: str, mechanism: int, iterations: int) -> None:
        wish = ScramUpsertion(name=name, mechanism=mechanism, iterations=iterations, salt=b"s", salted_password=b"p")
        (result,) = self.ask(AlterUserScramCredentials(upsertions=(wish,))).results
        assert (result.error is Error.NONE) == (mechanism in (1, 2) and iterations == 4096)

    @rule(name=st.sampled_from(["a", "b"]), mechanism=st.integers(1, 2))
    def remove(self, name: str, mechanism: int) -> None:
        held = {(user.name, user.mechanism) for user in self.cluster.image.scram.credentials}
        wish = ScramDeletion(name=name, mechanism=mechanism)
        (result,) = self.ask(AlterUserScramCredentials(deletions=(wish,))).results
        assert (result.error is Error.NONE) == ((name, mechanism) in held)

    @rule(hours=st.integers(-1, 12))
    def create_token(self, hours: int) -> None:
        made = self.ask(CreateDelegationToken(max_lifetime_ms=hours * HOUR_MS))
        assert made.error is Error.NONE
        assert made.token_id not in self.secrets
        self.secrets[made.token_id] = made.hmac

    @rule(data=st.data(), hours=st.integers(-1, 12), renews=st.booleans())
    def change_token(self, data: st.DataObject, hours: int, renews: bool) -> None:
        if not self.secrets:
            return
        token_id = data.draw(st.sampled_from(sorted(self.secrets)))
        secret = self.secrets[token_id]
        token = self.cluster.image.delegation_tokens.by_id.get(token_id)
        response = self.ask(
            RenewDelegationToken(hmac=secret, renew_period_ms=hours * HOUR_MS)
            if renews
            else ExpireDelegationToken(hmac=secret, expiry_period_ms=hours * HOUR_MS)
        )
        if token is None:
            assert response.error is Error.DELEGATION_TOKEN_NOT_FOUND
        elif is_expired(token, self.cluster.time.wall_ms) and (renews or hours >= 0):
            assert response.error is Error.DELEGATION_TOKEN_EXPIRED
        else:
            assert response.error is Error.NONE
            assert response.expiry_timestamp <= token.max_timestamp

    @rule(name=st.sampled_from(["", "11"]), value=st.sampled_from(["1", "2"]))
    def replace_configs(self, name: str, value: str) -> None:
        configs = (("min.insync.replicas", value),) if not name else (("log.cleaner.threads", value),)
        self.ask(AlterConfigs(resources=(ReplacedResource(resource_type=4, name=name, configs=configs),)))

    @rule(hours=st.integers(1, 4))
    def elapse(self, hours: int) -> None:
        """All that is due is done: who has expired is gone within the hour."""
        self.cluster.elapse(hours * HOUR_MS)
        self.cluster.settle()
        now = self.cluster.time.wall_ms
        assert not any(is_expired(token, now) for token in self.cluster.image.delegation_tokens.by_id.values())

    @rule()
    def fail_over(self) -> None:
        assert self.cluster.fail_over().records == ()

    # --- what must always hold

    @invariant()
    def each_entry_stands_once_under_an_id_of_its_own(self) -> None:
        by_id = self.cluster.image.acls.by_id
        assert set(by_id.values()) == self.entries
        assert len(by_id) == len(self.entries)

    @invariant()
    def decisions_are_those_of_a_plain_search(self) -> None:
        authorizer, acls = Authorizer(), self.cluster.image.acls
        for name in ("x", "xy", "zz"):
            about = [
                entry
                for entry in self.entries
                if entry.resource_type == ResourceType.TOPIC
                and (
                    name.startswith(entry.resource_name)
                    if entry.pattern_type == PREFIXED
                    else entry.resource_name in (name, WILDCARD)
                )
                and entry.principal in ("User:a", "User:*")
                and entry.operation in (Operation.WRITE, Operation.ALL)
            ]
            said = {entry.permission_type for entry in about if entry.host in (WILDCARD, "10.0.0.1")}
            may = authorizer.allows("User:a", "10.0.0.1", Operation.WRITE, ResourceType.TOPIC, name, acls)
            assert may is (said == {ALLOW})

    def teardown(self) -> None:
        if hasattr(self, "cluster"):
            check_standby(self.cluster)


TestAccess: Any = Access.TestCase
TestAccess.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
