"""A node's metrics in Prometheus' terms (names after Kafka's if Kafka has the metric).

Decides: names, types and help texts. Must not know: HTTP. Values come from a `NodeView` at the time of a scrape. Only
transitions, refusals and the like are counted as they happen.
"""

from __future__ import annotations

import platform
from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from prometheus_client import CollectorRegistry, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

from metadata_log.ids import METADATA_TOPIC_NAME
from metadata_log.image import NO_LEADER, MetadataImage
from quorum import __version__
from quorum.node.core.checkpoint_jobs import SnapshotDamaged, SnapshotGenerated, SnapshotLoaded
from quorum.node.core.log_fence import HoldReason
from quorum.node.core.ports import ControllerActivated, ImagePublished, NodeEvent, RequestRejected, RoleChanged
from quorum.node.core.view import NodeView
from quorum.node.process.refusals import Refusals
from quorum.node.storage.disk_threads import BUCKETS_S, SyncStats

_ROLES = ("unattached", "prospective", "candidate", "follower", "leader", "resigned")


class NodeMetrics:
    """One node's metrics: a watcher of its executor, and a renderer of its views."""

    def __init__(self, refused: Refusals | None = None, *more: Callable[[], Iterable[Metric]]) -> None:
        """`more`: sources of further metrics; called in another thread."""
        self._refused = refused or Refusals(-1)
        self._more = more
        self.syncs = SyncStats()
        """Passed to the driver, whose writer thread fills it."""
        self._transitions: Counter[str] = Counter()
        self._refusals: Counter[tuple[str, str]] = Counter()
        self._elections = 0
        self._activations = 0
        self._images = 0
        self._generated = self._generated_bytes = self._loaded = self._damaged = 0

    def on_event(self, event: NodeEvent) -> None:
        """See `ports.Watcher`."""
        if isinstance(event, ImagePublished):
            self._images += len(event.changes)
        elif isinstance(event, RoleChanged):
            self._transitions[event.role] += 1
            self._elections += event.role == "candidate"
        elif isinstance(event, RequestRejected):
            self._refusals[event.error.name, "us" if event.by_us else "peer"] += 1
        elif isinstance(event, ControllerActivated):
            self._activations += 1
        elif isinstance(event, SnapshotGenerated):
            self._generated += 1
            self._generated_bytes = event.size
        elif isinstance(event, SnapshotLoaded):
            self._loaded += 1
        elif isinstance(event, SnapshotDamaged):
            self._damaged += 1

    def render(self, view: NodeView) -> bytes:
        """Return the text exposition of one snapshot. Counts all partitions of its image, so it may run in another
        thread."""
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Snapshot(self, view))
        ProcessCollector(registry=registry)
        return generate_latest(registry)

    def families(self, view: NodeView) -> Iterator[Metric]:
        """Yield every metric of one snapshot."""
        build = GaugeMetricFamily("kraft_build_info", "1, with the versions that run", labels=["version", "python"])
        build.add_metric([__version__, platform.python_version()], 1.0)
        yield build
        yield from self._raft(view)
        yield from self._controller(view)
        yield from self._image(view.image)
        behind = max(view.high_watermark - view.image.offset_and_epoch.offset, 0)
        yield _gauge("kraft_metadata_apply_lag_records", "Committed records that the image does not hold yet", behind)
        yield from self._snapshots(view)
        yield from self._process(view)
        for source in self._more:
            yield from source()

    def _raft(self, view: NodeView) -> Iterator[Metric]:
        state = GaugeMetricFamily("kraft_raft_state", "1 for the state that this replica is in", labels=["state"])
        for role in _ROLES:
            state.add_metric([role], float(view.role == role))
        yield state
        leader = -1 if view.leader_id is None else view.leader_id
        yield _gauge("kraft_raft_current_leader", "Node id of the leader, -1 when none is known", leader)
        yield _gauge("kraft_raft_current_epoch", "The epoch of this replica", view.epoch)
        yield _gauge("kraft_raft_high_watermark", "Exclusive end of what is known to be committed", view.high_watermark)
        yield _gauge("kraft_raft_log_start_offset", "First offset in the log", view.log_start_offset)
        yield _gauge("kraft_raft_log_end_offset", "Exclusive end of the log, durable or not", view.log_end_offset)
        yield _gauge("kraft_raft_flushed_offset", "Exclusive end of what is durable here", view.flushed_offset)
        yield _gauge("kraft_raft_number_of_voters", "Voters in the latest voter set", view.voter_count)
        yield _gauge("kraft_raft_is_voter", "1 when this replica is one of them", float(view.is_voter))
        heard = -1.0 if view.heard_age_ms is None else view.heard_age_ms / 1000
        yield _gauge("kraft_raft_heard_age_seconds", "Since the leader, or as leader a majority, was heard of", heard)
        held = GaugeMetricFamily("kraft_held", "1 while this replica takes nothing from its leader", labels=["reason"])
        for reason in HoldReason:
            held.add_metric([reason], float(view.held is not None and view.held.reason is reason))
        yield held
        transitions = CounterMetricFamily("kraft_raft_transitions", "Transitions into each state", labels=["state"])
        for role, count in self._transitions.items():
            transitions.add_metric([role], count)
        yield transitions
        yield CounterMetricFamily("kraft_raft_elections", "Elections with this replica as a candidate", self._elections)

    def _controller(self, view: NodeView) -> Iterator[Metric]:
        active = float(view.active_epoch is not None)
        yield _gauge("kraft_controller_active_controller_count", "1 on the active controller", active)
        yield CounterMetricFamily("kraft_controller_new_active_controllers", "Activations here", self._activations)
        yield _gauge("kraft_controller_waiting_answers", "Answers that wait for a commit", view.waiting_answers)
        yield _gauge("kraft_controller_queued_events", "Events that wait for a turn", view.queued)
        refusals = CounterMetricFamily(
            "kraft_refusals", "Requests refused by error, and by whom", labels=["error", "by"]
        )
        for (error, by), count in self._refusals.items():
            refusals.add_metric([error, by], count)
        yield refusals
        yield from _doors(self._refused)

    def _image(self, image: MetadataImage) -> Iterator[Metric]:
        end = image.offset_and_epoch
        yield _gauge("kraft_metadata_last_applied_offset", "Last offset in the published image", end.offset - 1)
        applied = image.last_contained_timestamp_ms / 1000
        yield _gauge("kraft_metadata_last_applied_timestamp_seconds", "When its last batch was written", applied)
        yield CounterMetricFamily("kraft_metadata_batches_applied", "Batches published since the start", self._images)
        yield _gauge("kraft_metadata_version", "Finalised metadata.version", image.features.metadata_version or 0)
        brokers = list(image.cluster.brokers.values())
        fenced = sum(broker.fenced for broker in brokers)
        yield _gauge("kraft_controller_active_broker_count", "Registered brokers not fenced", len(brokers) - fenced)
        yield _gauge("kraft_controller_fenced_broker_count", "Fenced brokers", fenced)
        topics = len(image.topics) - (METADATA_TOPIC_NAME in image.topics.by_name)
        yield _gauge("kraft_controller_global_topic_count", "Topics, the metadata topic not counted", topics)
        partitions, offline = _count_partitions(image)
        yield _gauge("kraft_controller_global_partition_count", "Partitions", partitions)
        yield _gauge("kraft_controller_offline_partitions_count", "Partitions without a leader", offline)

    def _snapshots(self, view: NodeView) -> Iterator[Metric]:
        end, time_s = view.snapshot_end_offset, view.snapshot_time_ms / 1000
        yield _gauge("kraft_snapshot_latest_end_offset", "Exclusive end of the newest snapshot, -1 without one", end)
        yield _gauge("kraft_snapshot_latest_bytes", "Size of its file", view.snapshot_bytes)
        written = "When the last record in it was written; absent without one"
        if view.snapshot_end_offset >= 0:
            yield _gauge("kraft_snapshot_latest_timestamp_seconds", written, time_s)
        size = self._generated_bytes
        yield _gauge("kraft_snapshot_latest_generated_bytes", "Size of the last one that this process took", size)
        yield CounterMetricFamily("kraft_snapshot_generated", "Snapshots taken since the start", self._generated)
        yield CounterMetricFamily("kraft_snapshot_loaded", "Snapshots of a leader installed", self._loaded)
        yield CounterMetricFamily("kraft_snapshot_damaged", "Snapshots found corrupt while this ran", self._damaged)

    def _process(self, view: NodeView) -> Iterator[Metric]:
        syncs = self.syncs
        buckets, total = [], 0
        for bound, count in zip((*map(str, BUCKETS_S), "+Inf"), syncs.counts, strict=True):
            total += count
            buckets.append((bound, float(total)))
        yield HistogramMetricFamily(
            "kraft_log_sync_seconds", "Writing and syncing one group", buckets=buckets, sum_value=syncs.total_seconds
        )
        yield CounterMetricFamily("kraft_log_writes", "Jobs made durable; several share a sync", syncs.jobs)
        yield CounterMetricFamily("kraft_executor_turns", "Turns of the executor", view.turns)
        yield CounterMetricFamily("kraft_executor_events", "Events in them", view.events)
        yield CounterMetricFamily("kraft_executor_turn_seconds", "Time in turns", view.turn_seconds)
        yield _gauge("kraft_executor_longest_turn_seconds", "The longest turn so far", view.longest_turn_seconds)


class _Snapshot:
    """A collector of one view."""

    def __init__(self, metrics: NodeMetrics, view: NodeView) -> None:
        self._metrics = metrics
        self._view = view

    def collect(self) -> Iterable[Metric]:
        return self._metrics.families(self._view)


def _doors(refused: Refusals) -> Iterator[Metric]:
    connections = CounterMetricFamily(
        "kraft_connections_refused",
        "Connections closed and calls refused by a listener, by reason",
        labels=["listener", "reason"],
    )
    for (listener, reason), count in refused.counts.items():
        connections.add_metric([listener, reason], count)
    yield connections
    yield CounterMetricFamily(
        "kraft_refusal_lines_left_out", "Refusals counted but not written to the log", refused.left_out
    )


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(name, text, value=float(value))


def _count_partitions(image: MetadataImage) -> tuple[int, int]:
    partitions = offline = 0
    for topic in image.topics.by_id.values():
        partitions += len(topic.partitions)
        offline += sum(partition.leader == NO_LEADER for partition in topic.partitions)
    return partitions, offline
