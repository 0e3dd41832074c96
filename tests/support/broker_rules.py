"""Rules of a state machine: what brokers and time do to a controller, each with its expected result."""

from __future__ import annotations

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from metadata_log.ids import NodeId
from metadata_log.image import NO_LEADER, BrokerRegistration, PartitionImage
from quorum.api.brokers import UnregisterBroker, UnregisterBrokerResponse
from quorum.api.error_codes import Error
from quorum.controller.partitions.brokers import is_active
from tests.support.controller import ControlledCluster

BROKERS = st.integers(1, 5)


class BrokerRules(RuleBasedStateMachine):
    """Five brokers and one active controller at a time. A subclass makes the cluster."""

    cluster: ControlledCluster

    def __init__(self) -> None:
        super().__init__()
        self.incarnation = 100
        self.broker_epochs: dict[int, int] = {}

    def partitions(self) -> list[PartitionImage]:
        return [each for topic in self.cluster.image.topics.by_id.values() for each in topic.partitions]

    def broker(self, broker: int) -> BrokerRegistration | None:
        return self.cluster.image.cluster.brokers.get(NodeId(broker))

    def others_beat(self, broker: int) -> None:
        for other in sorted(self.cluster.image.cluster.brokers):
            if other != broker and not self.cluster.image.cluster.brokers[other].fenced:
                self.cluster.beat(other)

    def register_anew(self, broker: int, *, clean: bool) -> Error:
        self.incarnation += 1
        known = self.broker(broker)
        response = self.cluster.register(
            broker,
            incarnation=self.incarnation,
            rack="x" if broker % 2 else "y",
            previous_broker_epoch=known.epoch if known is not None and clean else -1,
        )
        if response.error is Error.NONE:
            assert response.broker_epoch > self.broker_epochs.get(broker, -1)
            self.broker_epochs[broker] = response.broker_epoch
        return response.error

    @rule(broker=BROKERS, clean=st.booleans())
    def register(self, broker: int, clean: bool) -> None:
        assert self.register_anew(broker, clean=clean) in (Error.NONE, Error.DUPLICATE_BROKER_REGISTRATION)

    @rule(broker=BROKERS, behind=st.booleans(), fence=st.booleans(), stop=st.booleans())
    def heartbeat(self, broker: int, behind: bool, fence: bool, stop: bool) -> None:
        if self.broker(broker) is None:
            return
        offset = 0 if behind else self.cluster.last_offset
        response = self.cluster.beat(broker, current_metadata_offset=offset, want_fence=fence, want_shut_down=stop)
        assert response.error is Error.NONE
        now = self.broker(broker)
        assert now is not None
        assert response.is_fenced == now.fenced
        if response.should_shut_down:
            assert now.fenced
            assert broker not in {partition.leader for partition in self.partitions()}

    @rule(broker=BROKERS)
    def live(self, broker: int) -> None:
        """Let a broker register if it has not, catch up, and be unfenced, as a healthy broker does."""
        if self.broker(broker) is None and self.register_anew(broker, clean=True) is not Error.NONE:
            self.cluster.settle()  # the former registration may have left more than one turn of work
            assert self.register_anew(broker, clean=True) is Error.NONE
        response = self.cluster.beat(broker)
        if response.should_shut_down:
            # The broker had asked to stop, which is final: the next process takes over.
            assert self.register_anew(broker, clean=True) is Error.NONE
            response = self.cluster.beat(broker)
        assert not response.is_fenced
        self.cluster.settle()
        now = self.broker(broker)
        if now is not None and is_active(now):
            for partition in self.partitions():
                assert partition.leader != NO_LEADER or broker not in (partition.isr or partition.elr)

    @rule(broker=BROKERS)
    def fence(self, broker: int) -> None:
        """Check that a broker that leaves is fenced within a bounded number of turns."""
        if self.broker(broker) is None:
            return
        for _ in range(200):
            if self.cluster.beat(broker, want_fence=True).is_fenced:
                return
            self.others_beat(broker)
        raise AssertionError("never fenced")

    @rule(broker=BROKERS, returns=st.booleans())
    def stop(self, broker: int, returns: bool) -> None:
        """Check that a clean stop completes as long as the other brokers keep up."""
        if self.broker(broker) is None:
            return
        for _ in range(200):
            if self.cluster.beat(broker, want_shut_down=True).should_shut_down:
                break
            self.others_beat(broker)
        else:
            raise AssertionError("never let go")
        if returns:
            assert self.register_anew(broker, clean=True) is Error.NONE
            self.live(broker)

    @rule(broker=BROKERS, returns=st.booleans())
    def kill(self, broker: int, returns: bool) -> None:
        """Check that a killed broker is fenced once its session ends; its successor may register before or after
        that."""
        known = self.broker(broker)
        if known is None:
            return
        self.others_beat(broker)
        self.cluster.elapse(5_000)
        self.others_beat(broker)
        self.cluster.elapse(4_001)
        if returns:
            error = self.register_anew(broker, clean=False)
            if error is Error.DUPLICATE_BROKER_REGISTRATION:  # the former registration is still there
                self.cluster.settle()
                error = self.register_anew(broker, clean=False)
            assert error is Error.NONE
            if self.cluster.image.features.elr_enabled:
                assert not any(broker in (*each.isr, *each.elr) for each in self.partitions())
            self.live(broker)
        else:
            self.cluster.settle()
            now = self.broker(broker)
            assert now is not None
            assert now.fenced

    @rule(milliseconds=st.sampled_from([100, 4_000, 9_001]))
    def elapse(self, milliseconds: int) -> None:
        self.cluster.elapse(milliseconds)

    @rule()
    def look(self) -> None:
        self.cluster.look()

    @rule()
    def settle(self) -> None:
        """Check that all due work is done within a bounded number of turns."""
        self.cluster.settle()
        assert self.cluster.look() == ()

    @rule()
    def fail_over(self) -> None:
        assert self.cluster.fail_over().records == ()

    @rule(broker=BROKERS)
    def unregister(self, broker: int) -> None:
        known = self.broker(broker)
        response = self.cluster.ask(UnregisterBroker(broker_id=broker)).response
        assert isinstance(response, UnregisterBrokerResponse)
        if response.error is Error.REQUEST_TIMED_OUT:  # the work takes more than one turn
            self.cluster.settle()
            assert self.broker(broker) is None
            response = self.cluster.ask(UnregisterBroker(broker_id=broker)).response
            assert isinstance(response, UnregisterBrokerResponse)
        assert (response.error is Error.NONE) == (known is not None)
        assert self.broker(broker) is None

    @rule()
    def wait_for_the_next_round(self) -> None:
        """Let all brokers live on, and check that the preferred replica then leads each partition in whose ISR it
        is."""
        self.cluster.elapse(300_000)
        for broker in sorted(self.cluster.image.cluster.brokers):
            if not self.cluster.image.cluster.brokers[broker].fenced:
                self.cluster.beat(broker)
        self.cluster.settle()
        for partition in self.partitions():
            first = partition.preferred_leader
            known = self.broker(first)
            if first in partition.isr and known is not None and is_active(known):
                assert partition.leader == first
