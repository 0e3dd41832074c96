"""The input of a handler: the context of one request, and the controller's soft state.

Handlers read the image and the settings, take randomness and ids only from the turn, and change soft state only through
its methods.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Protocol

import msgspec

from metadata_log.errors import InvariantViolation
from metadata_log.ids import RESERVED_TOPIC_IDS, NodeId, TopicId, Uuid
from metadata_log.image import ClusterImage, MetadataImage
from metadata_log.offsets import Offset
from metadata_log.records import MetadataRecord
from quorum.api.context import RequestContext
from quorum.controller.config import ControllerConfig
from quorum.controller.configs.effective_topics import EffectiveTopicConfigs
from quorum.controller.mutation_quota import MutationQuota, MutationQuotas
from quorum.controller.partitions.brokers import Brokers, NewPartitions, prepare
from quorum.controller.partitions.topic_index import TopicIndex
from quorum.controller.periodic_tasks import Rounds
from quorum.controller.sessions import BrokerSessions
from quorum.controller.sweep import CleanUp, Loss, Sweep, Unregistration


class Clock(Protocol):
    """The time of a turn: monotonic for deadlines, wall clock for records and output."""

    @property
    def monotonic_ms(self) -> int: ...

    @property
    def wall_ms(self) -> int: ...


class SoftState:
    """The active controller's state outside the image, which a successor does not need."""

    def __init__(self, config: ControllerConfig, image: MetadataImage, now_ms: int = 0) -> None:
        self.sessions = BrokerSessions(config.session_timeout_ms)
        self.index = TopicIndex(image)
        self.departures: dict[NodeId, Sweep] = {}
        """Brokers that are leaving ISRs over several turns, or have left them and not returned."""
        self.clean_ups: dict[NodeId, CleanUp] = {}
        """Dead processes that are leaving ISRs, until their new incarnations are registered."""
        self.losses: dict[NodeId, Loss] = {}
        """Lost directories of live brokers, until their replicas have left ISRs and the record is written."""
        self.unregistrations: dict[NodeId, Unregistration] = {}
        """Brokers to unregister, until they have left all ISRs."""
        self.unregistered: set[NodeId] = set()
        """Brokers that were unregistered after their request got a retryable error."""
        self.elections: list[Sweep] = []
        """Deferred elections for leaderless partitions, in order."""
        self.topic_configs = EffectiveTopicConfigs(config)
        self.rounds = Rounds(config, now_ms)
        self.mutation_quotas = MutationQuotas(config.mutation_burst_s)
        self.balances: list[tuple[NodeId, Sweep]] = []
        """Brokers for preferred elections over several turns; the last is the next."""
        self.has_to_look_for_leaderless = True
        """True if a predecessor, or a turn before the index was built, may have left leaderless partitions."""
        self.has_to_remove_tokens = False
        """True if tokens may have expired."""
        self._cluster: ClusterImage | None = None
        self._brokers: Brokers | None = None
        self._new_partitions: NewPartitions | None = None

    def observe(self, records: Collection[MetadataRecord], image: MetadataImage, now_ms: int) -> None:
        """Update the index with records that are about to be appended to the log of `image`."""
        if records:
            self.rounds.on_append(now_ms)
        self.index.observe(records, image, {*self.departures, *self.clean_ups, *self.losses, *self.unregistrations})

    @property
    def has_work(self) -> bool:
        """True if deferred work waits for the next turn."""
        return (
            not self.index.is_built
            or self.has_to_look_for_leaderless
            or bool(self.elections)
            or bool(self.balances)
            or bool(self.losses)
            or bool(self.unregistrations)
            or self.has_to_remove_tokens
            or any(not clean_up.sweep.is_done for clean_up in self.clean_ups.values())
        )

    def brokers(self, cluster: ClusterImage) -> Brokers:
        """Return the data for placement and elections, computed again only after the cluster has changed."""
        if self._brokers is None or cluster is not self._cluster:
            self._brokers = prepare(cluster)
            self._new_partitions = None
            self._cluster = cluster
        return self._brokers

    def new_partitions(self, cluster: ClusterImage) -> NewPartitions:
        """Return the initial states of new partitions in that state of the cluster."""
        brokers = self.brokers(cluster)
        if self._new_partitions is None:
            self._new_partitions = NewPartitions(brokers)
        return self._new_partitions


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """The context of one request, or of one step of due work."""

    config: ControllerConfig
    state: SoftState
    image: MetadataImage
    next_offset: Offset
    """The offset of the first record of this turn."""
    now_ms: int
    """Monotonic ms."""
    wall_ms: int = 0
    """Ms since 1970, for records; 0 in a read, which writes none."""
    context: RequestContext
    draw: int
    new_ids: Iterator[TopicId]

    @property
    def brokers(self) -> Brokers:
        """The data for placement and elections."""
        return self.state.brokers(self.image.cluster)

    @property
    def new_partitions(self) -> NewPartitions:
        """The initial states of new partitions."""
        return self.state.new_partitions(self.image.cluster)

    def mutation_quota(self) -> MutationQuota:
        """Return the tokens for creating and deleting partitions that this client has now (KIP-599)."""
        quotas = self.image.client_quotas.by_entity
        return self.state.mutation_quotas.of(self.context, quotas, self.now_ms)

    def new_topic_id(self, taken: set[TopicId]) -> TopicId:
        """Return an id that is not reserved and no topic's, and add it to `taken`.

        Raises:
            InvariantViolation: `new_ids` ran out.
        """
        by_id = self.image.topics.by_id
        for topic_id in self.new_ids:
            if topic_id not in RESERVED_TOPIC_IDS and topic_id not in taken and topic_id not in by_id:
                taken.add(topic_id)
                return topic_id
        raise InvariantViolation("fewer new topic ids were handed in than topics are to be created")

    def new_uuid(self) -> Uuid:
        """Return a new id for any other use: its 122 random bits are unique.

        Raises:
            InvariantViolation: `new_ids` ran out.
        """
        for fresh in self.new_ids:
            return Uuid(fresh)
        raise InvariantViolation("no new id was handed in")

    def new_acl_id(self, taken: set[Uuid]) -> Uuid:
        """Return an id that no access control entry has, and add it to `taken`.

        Raises:
            InvariantViolation: `new_ids` ran out.
        """
        by_id = self.image.acls.by_id
        for fresh in self.new_ids:
            acl_id = Uuid(fresh)
            if acl_id not in taken and acl_id not in by_id:
                taken.add(acl_id)
                return acl_id
        raise InvariantViolation("fewer new ids were handed in than access control entries are to be created")
