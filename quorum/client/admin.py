"""Topics by name or by id, and their administration, in the words of Kafka's Admin (KIP-516).

Decides: the request for a collection of topics, and which result belongs to which topic. Everything else that is
administered is in another module: `admin_acls`, `admin_cluster`, `admin_configs`, `admin_features`,
`admin_partitions`, `admin_quotas`, `admin_scram`. Must not know: where the active controller is.

    async with Admin("c1:9094,c2:9094") as admin:
        created = await admin.create_topics([CreatableTopic(name="orders", num_partitions=3, replication_factor=1)])
        ids = TopicCollection.of_topic_ids([created.topic_id("orders")])
        await admin.delete_topics(ids)

One `await` is one request to the active controller. An error of the whole request (no controller answers, the outcome
is unknown) is raised by the `await`. An error of one topic or resource is stored in the result; the result raises it
when that topic's or resource's value is read.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar

from metadata_log.ids import ZERO_TOPIC_ID, TopicId, id_text
from metadata_log.image import AclEntry, ConfigResource, QuotaEntity
from metadata_log.offsets import Offset
from quorum.api.acls import AclFilter
from quorum.api.configs import AlterableConfig
from quorum.api.error_codes import Error
from quorum.api.features import UpgradeType
from quorum.api.quotas import QuotaComponent
from quorum.api.scram import ScramDeletion, ScramUpsertion
from quorum.api.topics import CreatableTopic, CreatableTopicResult, DeletableTopicResult, DescribedTopic
from quorum.client import (
    admin_acls,
    admin_cluster,
    admin_configs,
    admin_features,
    admin_partitions,
    admin_quotas,
    admin_scram,
)
from quorum.client.admin_acls import CreateAclsResult, DeleteAclsResult
from quorum.client.admin_cluster import ClusterDescription
from quorum.client.admin_configs import AlterConfigsResult, DescribeConfigsResult
from quorum.client.admin_features import FeatureMetadata
from quorum.client.admin_partitions import CreatePartitionsResult, NewPartitions
from quorum.client.admin_quotas import AlterClientQuotasResult
from quorum.client.admin_results import (
    Cluster,
    CreateTopicsResult,
    DeleteTopicsResult,
    DescribeTopicsResult,
    Outcome,
    outcome_of,
)
from quorum.client.admin_scram import AlterUserScramCredentialsResult, DescribeUserScramCredentialsResult
from quorum.client.client import DEFAULT_TIMEOUT_S, Client
from quorum.client.errors import refused
from quorum.client.topic_collection import TopicCollection, TopicIdCollection, TopicNameCollection

T = TypeVar("T", CreatableTopicResult, DeletableTopicResult, DescribedTopic)


class Admin:
    """Administers one quorum. Any number of tasks may share an `Admin`, all in one event loop.

    Every method raises the errors that `Client` raises for a whole request: UnavailableError, RefusedError,
    ClosedError. A method that changes something also raises OutcomeUnknownError. `timeout_s` bounds each call.

    Raises:
        AddressError: `bootstrap` is empty, or an address in it is not `host:port`.
    """

    def __init__(self, bootstrap: str | Iterable[str] | Client, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        """Use the controllers' GRPC addresses, or an existing client, which keeps its own timeout."""
        self._client = bootstrap if isinstance(bootstrap, Client) else Client(bootstrap, timeout_s=timeout_s)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the client."""
        await self._client.close()

    async def create_topics(
        self, topics: Iterable[CreatableTopic], *, validate_only: bool = False, timeout_s: float | None = None
    ) -> CreateTopicsResult:
        """Create topics, each independently of the others. The result has the id of each.

        Raises:
            ValueError: two topics have the same name.
        """
        by_name: dict[str, CreatableTopic] = {}
        for topic in topics:
            if by_name.setdefault(topic.name, topic) is not topic:
                raise ValueError(f"topic {topic.name!r} is listed twice")

        async def ask(names: Sequence[str], _ids: Sequence[TopicId]) -> Sequence[CreatableTopicResult]:
            asked = (by_name[name] for name in names)
            return await self._client.create_topics(asked, validate_only=validate_only, timeout_s=timeout_s)

        collection = TopicCollection.of_topic_names(by_name)
        return CreateTopicsResult(collection, await _outcomes(collection, ask))

    async def create_partitions(
        self,
        new_partitions: Mapping[str, NewPartitions],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
    ) -> CreatePartitionsResult:
        """Add partitions to topics, to each independently of the others. A topic keeps its replication factor."""
        return await admin_partitions.create_partitions(
            self._client, new_partitions, validate_only=validate_only, timeout_s=timeout_s
        )

    async def delete_topics(self, topics: TopicCollection, *, timeout_s: float | None = None) -> DeleteTopicsResult:
        """Delete topics. A topic is gone once its removal is committed, whether or not brokers respond.

        A topic id is unambiguous; a name may meanwhile belong to a new topic.
        """

        async def ask(names: Sequence[str], ids: Sequence[TopicId]) -> Sequence[DeletableTopicResult]:
            return await self._client.delete_topics(names, topic_ids=ids, timeout_s=timeout_s)

        return DeleteTopicsResult(topics, await _outcomes(topics, ask))

    async def describe_topics(
        self, topics: TopicCollection, *, at_least_offset: Offset | None = None, timeout_s: float | None = None
    ) -> DescribeTopicsResult:
        """Describe topics, as consistently as `Client.describe_topics` does."""

        async def ask(names: Sequence[str], ids: Sequence[TopicId]) -> Sequence[DescribedTopic]:
            return await self._client.describe_topics(
                names, topic_ids=ids, at_least_offset=at_least_offset, timeout_s=timeout_s
            )

        return DescribeTopicsResult(topics, await _outcomes(topics, ask))

    async def cluster(self, *, at_least_offset: Offset | None = None, timeout_s: float | None = None) -> Cluster:
        """Return all topics with their ids, as consistently as `Client.describe_topics`."""
        found = await self._client.describe_topics(
            all_topics=True, at_least_offset=at_least_offset, timeout_s=timeout_s
        )
        return Cluster(found)

    # --- nodes

    async def describe_cluster(
        self, *, at_least_offset: Offset | None = None, timeout_s: float | None = None
    ) -> ClusterDescription:
        """Return the cluster's id and its registered brokers, as consistently as `Client.describe_topics`."""
        return await admin_cluster.describe_cluster(self._client, at_least_offset=at_least_offset, timeout_s=timeout_s)

    async def describe_features(
        self,
        *,
        node_id: int | None = None,
        at_least_offset: Offset | None = None,
        timeout_s: float | None = None,
    ) -> FeatureMetadata:
        """Return the levels of features, as consistently as `Client.describe_topics`.

        `node_id`: the controller that answers from its own image, even if another one leads.

        Raises:
            UnavailableError: also if the quorum has no such controller.
        """
        return await admin_features.describe_features(
            self._client, node_id=node_id, at_least_offset=at_least_offset, timeout_s=timeout_s
        )

    async def update_features(
        self,
        levels: Mapping[str, int],
        *,
        upgrade_type: UpgradeType = UpgradeType.UPGRADE,
        validate_only: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        """Set the levels of features by name, all or none; level 0 disables a feature.

        kraft.version is raised by Raft, after the controller has checked all levels and before it sets the others.

        Raises:
            RefusedError: INVALID_UPDATE_VERSION: a node does not support a level, or the direction is wrong.
        """
        await admin_features.update_features(
            self._client, levels, upgrade_type=upgrade_type, validate_only=validate_only, timeout_s=timeout_s
        )

    async def unregister_controller(self, controller_id: int, *, timeout_s: float | None = None) -> None:
        """Remove the registration of a controller that is gone for good; see `Client.unregister_controller`."""
        await self._client.unregister_controller(controller_id, timeout_s=timeout_s)

    # --- configs

    async def describe_configs(
        self,
        resources: Iterable[ConfigResource],
        *,
        include_synonyms: bool = False,
        at_least_offset: Offset | None = None,
        timeout_s: float | None = None,
    ) -> DescribeConfigsResult:
        """Return the configs of topics, groups, client-metrics subscriptions, brokers and controllers.

        As consistent as `Client.describe_topics`, except for a controller (type BROKER, named by its id). That
        controller itself responds, since only it knows its properties file. The configs of a broker are the dynamic
        ones set for it and for all brokers. An empty name of type BROKER returns those set for all brokers.

        Raises:
            UnavailableError: also if one of the controllers named does not respond.
        """
        return await admin_configs.describe_configs(
            self._client,
            resources,
            include_synonyms=include_synonyms,
            at_least_offset=at_least_offset,
            timeout_s=timeout_s,
        )

    async def incremental_alter_configs(
        self,
        configs: Mapping[ConfigResource, Iterable[AlterableConfig]],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
    ) -> AlterConfigsResult:
        """Change single configs of resources, of each resource all or none."""
        return await admin_configs.incremental_alter_configs(
            self._client, configs, validate_only=validate_only, timeout_s=timeout_s
        )

    # --- access control entries: SECURITY_DISABLED if the controllers have no authorizer

    async def create_acls(self, entries: Iterable[AclEntry], *, timeout_s: float | None = None) -> CreateAclsResult:
        """Add entries, each independently of the others. An entry that exists already counts as added."""
        return await admin_acls.create_acls(self._client, entries, timeout_s)

    async def delete_acls(self, filters: Iterable[AclFilter], *, timeout_s: float | None = None) -> DeleteAclsResult:
        """Remove every entry that one of the filters matches. The result of each filter lists its entries."""
        return await admin_acls.delete_acls(self._client, filters, timeout_s)

    async def describe_acls(
        self, asked: AclFilter, *, at_least_offset: Offset | None = None, timeout_s: float | None = None
    ) -> tuple[AclEntry, ...]:
        """Return the entries that a filter matches, sorted, as consistently as `Client.describe_topics`."""
        return await admin_acls.describe_acls(self._client, asked, at_least_offset=at_least_offset, timeout_s=timeout_s)

    # --- client quotas

    async def alter_client_quotas(
        self,
        changes: Mapping[QuotaEntity, Mapping[str, float | None]],
        *,
        validate_only: bool = False,
        timeout_s: float | None = None,
    ) -> AlterClientQuotasResult:
        """Set or remove (None) quotas by key, of each entity independently. `quota_entity` makes the keys."""
        return await admin_quotas.alter_client_quotas(
            self._client, changes, validate_only=validate_only, timeout_s=timeout_s
        )

    async def describe_client_quotas(
        self,
        components: Iterable[QuotaComponent] = (),
        *,
        strict: bool = False,
        at_least_offset: Offset | None = None,
        timeout_s: float | None = None,
    ) -> dict[QuotaEntity, dict[str, float]]:
        """Return the quotas, by key, of the entities that match all components.

        With `strict`, the entities that also have parts of other types are left out. As consistent as
        `Client.describe_topics`.
        """
        return await admin_quotas.describe_client_quotas(
            self._client, components, strict=strict, at_least_offset=at_least_offset, timeout_s=timeout_s
        )

    # --- SCRAM credentials

    async def alter_user_scram_credentials(
        self, alterations: Iterable[ScramUpsertion | ScramDeletion], *, timeout_s: float | None = None
    ) -> AlterUserScramCredentialsResult:
        """Add, replace or remove credentials, one for each user. `scram_upsertion` makes one from a password."""
        return await admin_scram.alter_user_scram_credentials(self._client, alterations, timeout_s)

    async def describe_user_scram_credentials(
        self, users: Iterable[str] = (), *, at_least_offset: Offset | None = None, timeout_s: float | None = None
    ) -> DescribeUserScramCredentialsResult:
        """Return the credentials of these users, or of every user that has some if `users` is empty.

        As consistent as `Client.describe_topics`.
        """
        return await admin_scram.describe_user_scram_credentials(
            self._client, users, at_least_offset=at_least_offset, timeout_s=timeout_s
        )


async def _outcomes(
    topics: TopicCollection, ask: Callable[[Sequence[str], Sequence[TopicId]], Awaitable[Sequence[T]]]
) -> list[Outcome[T]]:
    """Return one outcome for each topic, in order.

    An empty name and the zero id are rejected here: in a request each of them means that the field is absent.
    """
    names, ids = _keys(topics)
    sent_names = [name for name in names if name]
    sent_ids = [topic_id for topic_id in ids if topic_id != ZERO_TOPIC_ID]
    told = iter(await ask(sent_names, sent_ids) if sent_names or sent_ids else ())
    outcomes: list[Outcome[T]] = []
    for name in names:
        outcomes.append(_outcome(next(told), f"topic {name}") if name else _unspeakable("name", "''"))
    for topic_id in ids:
        text, is_null = id_text(topic_id), topic_id == ZERO_TOPIC_ID
        outcomes.append(_unspeakable("id", text) if is_null else _outcome(next(told), f"topic id {text}"))
    return outcomes


def _keys(topics: TopicCollection) -> tuple[Sequence[str], Sequence[TopicId]]:
    if isinstance(topics, TopicIdCollection):
        return (), topics.topic_ids
    if isinstance(topics, TopicNameCollection):
        return topics.topic_names, ()
    raise TypeError(f"{topics!r} is not a TopicCollection: make one with of_topic_ids or of_topic_names")


def _outcome(told: T, what: str) -> Outcome[T]:
    return outcome_of(told, told.error, told.error_message, what)


def _unspeakable(kind: str, text: str) -> Outcome[Any]:
    why = "a request cannot name it, so it was not sent"
    return Outcome(error=refused(Error.INVALID_TOPIC_EXCEPTION, why, f"topic {kind} {text}"))
