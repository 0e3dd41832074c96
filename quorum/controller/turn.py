"""What a handler is given: one request's surroundings, and the controller's soft state.

Decides nothing. Handlers read the image and the settings, draw from what they are handed, and change soft state only
through its own methods.
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
    """The time as it is handed in: monotonic for deadlines, wall for what is written or shown."""

    @property
    def monotonic_ms(self) -> int: ...

    @property
    def wall_ms(self) -> int: ...


class SoftState:
    """What the active controller knows beyond the image, and any successor can do without."""

    def __init__(self, config: ControllerConfig, image: MetadataImage, now_ms: int = 0) -> None:
        self.sessions = BrokerSessions(config.session_timeout_ms)
        self.index = TopicIndex(image)
        self.departures: dict[NodeId, Sweep] = {}
        """Brokers that are being taken out of ISRs, over several turns, or were and have not come back."""
        self.clean_ups: dict[NodeId, CleanUp] = {}
        """What processes that have died left in ISRs, until their successors are registered."""
        self.losses: dict[NodeId, Loss] = {}
        """Directories of live brokers that are lost, until all their replicas have left ISRs and it is written."""
        self.unregistrations: dict[NodeId, Unregistration] = {}
        """Brokers that are to be no longer registered, until they have left all ISRs."""
        self.unregistered: set[NodeId] = set()
        """Those that are gone since somebody was told to ask again."""
        self.elections: list[Sweep] = []
        """Topics in which partitions without a leader may get one, over several turns; the first goes first."""
        self.topic_configs = EffectiveTopicConfigs(config)
        self.rounds = Rounds(config, now_ms)
        self.mutation_quotas = MutationQuotas(config.mutation_burst_s)
        self.balances: list[tuple[NodeId, Sweep]] = []
        """Brokers that may lead again where they are the first replica, over several turns; the last goes first."""
        self.has_to_look_for_leaderless = True
        """A predecessor, or a turn that could not know them all, may have left some."""
        self.has_to_remove_tokens = False
        """Some may have expired."""
        self._cluster: ClusterImage | None = None
        self._brokers: Brokers | None = None
        self._new_partitions: NewPartitions | None = None

    def observe(self, records: Collection[MetadataRecord], image: MetadataImage, now_ms: int) -> None:
        """Take note of records that are about to be appended to the log that `image` stands for."""
        if records:
            self.rounds.on_append(now_ms)
        self.index.observe(records, image, {*self.departures, *self.clean_ups, *self.losses, *self.unregistrations})

    @property
    def has_work(self) -> bool:
        """Whether something waits for the next turn."""
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
        """The cluster as placement and elections see it; worked out anew only when it has changed."""
        if self._brokers is None or cluster is not self._cluster:
            self._brokers = prepare(cluster)
            self._new_partitions = None
            self._cluster = cluster
        return self._brokers

    def new_partitions(self, cluster: ClusterImage) -> NewPartitions:
        """What new partitions begin with in that state of the cluster."""
        brokers = self.brokers(cluster)
        if self._new_partitions is None:
            self._new_partitions = NewPartitions(brokers)
        return self._new_partitions


class Turn(msgspec.Struct, frozen=True, kw_only=True):
    """One request, or one look at the time."""

    config: ControllerConfig
    state: SoftState
    image: MetadataImage
    next_offset: Offset
    """Of the first record that this turn writes."""
    now_ms: int
    """On the monotonic clock."""
    wall_ms: int = 0
    """In ms since 1970, for what is written; 0 in a read, which writes nothing."""
    context: RequestContext
    draw: int
    new_ids: Iterator[TopicId]

    @property
    def brokers(self) -> Brokers:
        """The cluster as placement and elections see it."""
        return self.state.brokers(self.image.cluster)

    @property
    def new_partitions(self) -> NewPartitions:
        """What new partitions begin with."""
        return self.state.new_partitions(self.image.cluster)

    def mutation_quota(self) -> MutationQuota:
        """How many partitions whoever asks may create and delete now (KIP-599)."""
        quotas = self.image.client_quotas.by_entity
        return self.state.mutation_quotas.of(self.context, quotas, self.now_ms)

    def new_topic_id(self, taken: set[TopicId]) -> TopicId:
        """An id that no topic has and that is not reserved, added to `taken`.

        Raises:
            InvariantViolation: the ids handed in ran out.
        """
        by_id = self.image.topics.by_id
        for topic_id in self.new_ids:
            if topic_id not in RESERVED_TOPIC_IDS and topic_id not in taken and topic_id not in by_id:
                taken.add(topic_id)
                return topic_id
        raise InvariantViolation("fewer new topic ids were handed in than topics are to be created")

    def new_uuid(self) -> Uuid:
        """A fresh id of anything else; 122 random bits are like no other's.

        Raises:
            InvariantViolation: the ids handed in ran out.
        """
        for fresh in self.new_ids:
            return Uuid(fresh)
        raise InvariantViolation("no new id was handed in")

    def new_acl_id(self, taken: set[Uuid]) -> Uuid:
        """An id that no access control entry has, added to `taken`.

        Raises:
            InvariantViolation: the ids handed in ran out.
        """
        by_id = self.image.acls.by_id
        for fresh in self.new_ids:
            acl_id = Uuid(fresh)
            if acl_id not in taken and acl_id not in by_id:
                taken.add(acl_id)
                return acl_id
        raise InvariantViolation("fewer new ids were handed in than access control entries are to be created")
