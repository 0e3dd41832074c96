"""The node's log: one line for each transition or refusal, with the same fields in the same order.

Decides: which events get a line, and its fields. Must not know: where lines go after the stream. The cores do not log;
the executor's events report what they did.
"""

from __future__ import annotations

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable
from typing import Any, Final, TextIO, cast

import structlog
from structlog.typing import EventDict

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.ids import TopicId, id_text
from metadata_log.offsets import is_near_last_epoch
from metadata_log.tools.findings.last_epochs import meaning_of, what_to_do
from metadata_log.voters import majority_of
from quorum import __version__
from quorum.node.config.node_config import NodeConfig
from quorum.node.core.checkpoint_jobs import SnapshotDamaged, SnapshotGenerated, SnapshotLoaded
from quorum.node.core.metadata_changes import MetadataChanged
from quorum.node.core.opened import OpenedReplica
from quorum.node.core.peer_failures import LeaderUnreached, PeersReached, VotersUnreached
from quorum.node.core.ports import (
    ControllerActivated,
    ControllerDeactivated,
    HoldChanged,
    NodeEvent,
    RequestRejected,
    RoleChanged,
    VotersKnown,
    Watcher,
)
from quorum.node.process.change_lines import ChangeLines
from quorum.node.process.failure_words import unreached_lines
from quorum.node.process.listeners import is_loopback
from quorum.node.process.refusals import Refusals, call_later

REFUSAL_EVERY_S: Final = 60.0
"""The shortest interval between lines about the same refusal of the same peer."""
SETTLED_S: Final = 1.0
"""An omitted state is written if it lasts for so long. In the same epoch the next one must last twice as long, and
so on."""
_MOST_REFUSALS: Final = 1000
"""Bounded, because clients choose their own names. `Refusals` bounds the lines."""


class LossyStream:
    """The stream of a node's log: a line that cannot be written is lost and counted, and the node goes on.

    The disk of the log may be full, or the reader of a pipe gone. Neither may end a controller.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._lost = 0
        self._why = ""

    def isatty(self) -> bool:
        """Return True if the stream is a terminal."""
        return self._stream.isatty()

    def write(self, text: str) -> None:
        """Write and flush a line; a failed one is counted."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError) as error:  #   # ValueError: the stream is closed
            self._lost += 1
            self._why = str(error)
        else:
            self._lost = 0

    def flush(self) -> None:
        """Do nothing: `write` has flushed the line."""

    def count_lost(self, _logger: object, _method: str, event: EventDict) -> EventDict:
        """Add to a line the number of lost lines before it, and the reason: a processor of structlog."""
        return {**event, "lost_lines": self._lost, "lost_because": self._why} if self._lost else event


def configure_logging(*, level: str = "INFO", as_json: bool = False, stream: TextIO | None = None) -> None:
    """Set up structlog for the process: text for people, or one JSON object a line.

    Raises:
        ValueError: `level` is not one of DEBUG, INFO, WARNING, ERROR.
    """
    known = {"DEBUG": logging.DEBUG, "INFO": logging.INFO, "WARNING": logging.WARNING, "ERROR": logging.ERROR}
    if level not in known:
        raise ValueError(f"log level {level!r} is not one of {', '.join(known)}")
    target = LossyStream(stream or sys.stderr)
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if as_json
        else structlog.dev.ConsoleRenderer(colors=target.isatty(), pad_event_to=0, sort_keys=False)
    )
    structlog.configure(
        processors=[
            target.count_lost,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(known[level]),
        logger_factory=structlog.WriteLoggerFactory(cast(TextIO, target)),
        cache_logger_on_first_use=False,
    )


def log_start(config: NodeConfig, opened: OpenedReplica, config_path: str) -> None:
    """Write the line that names the version and the state of the directory, once nothing can fail the start any
    more."""
    structlog.get_logger().info(
        "started",
        node_id=config.node_id,
        version=__version__,
        roles=",".join(config.roles),
        config=config_path,
        cluster_id=opened.meta.cluster_id,
        directory_id=id_text(opened.replica.directory_id),
        log_dirs=",".join(config.log_dirs),
        metadata_log_dir=config.metadata_log_dir,
        log_start_offset=opened.storage.log_start_offset,
        log_end_offset=opened.storage.end.offset,
        epoch=opened.storage.end.epoch,
    )
    log_config(config)
    warn_of_plaintext(config)
    state = opened.storage.quorum_state
    if state is not None:
        in_log = int(opened.storage.end.epoch)
        warn_of_last_epoch(int(state.leader_epoch), in_log=in_log, is_observer=not config.is_controller)


def log_config(config: NodeConfig) -> None:
    """Write the line with all unused keys, and one for each warning and note of the configuration."""
    log = structlog.get_logger().bind(node_id=config.node_id)
    for warning in config.warnings:
        log.warning("configuration", what=warning)
    for note in config.notes:
        log.info("configuration", what=note)
    if config.unused_keys:
        log.info(
            "keys not used",
            keys=",".join(config.unused_keys),
            what="Apache Kafka knows these keys of the configuration, this node does not use them",
        )


def warn_of_last_epoch(epoch: int, *, in_log: int, is_observer: bool) -> None:
    """Write a warning if few elections, or none, are possible above the epoch in which a node starts."""
    if is_near_last_epoch(epoch):
        structlog.get_logger().warning(
            "quorum-state is near the last epoch",
            epoch=epoch,
            what=meaning_of(epoch, in_log=in_log, is_observer=is_observer),
            advice=what_to_do(epoch, in_log=in_log, is_observer=is_observer),
        )


def warn_of_plaintext(config: NodeConfig) -> None:
    """Write a warning for each listener that other hosts can reach: no client authenticates there."""
    can = "take this quorum over" if config.is_controller else "read what this agent holds"
    for endpoint in config.listeners:
        if not is_loopback(endpoint.host):
            structlog.get_logger().warning(
                "plaintext listener",
                node_id=config.node_id,
                listener=str(endpoint),
                what=f"every host that reaches {endpoint} can {can}: kraft docs security",
            )


class LogWatcher:
    """Writes the events of one node to the log.

    A node without a quorum sends pre-votes many times a second, and alternates between the same states of one epoch. Of
    each such transition the first, second, fourth, eighth ... is written, with the count. If an omitted state lasts, it
    is written as settled, so that the log's last line about the role is right. An alternation without end leads to
    fewer and fewer lines.

    A node of another cluster, or a rejected broker, retries as often, without end. Its first refusal is written at
    once. If it goes on, a line follows after each minute, with the count since.
    """

    def __init__(
        self,
        node_id: int,
        now_s: Callable[[], float] = time.monotonic,
        later: Callable[[float, Callable[[], object]], object] = call_later,
        refusals: Refusals | None = None,
    ) -> None:
        self._log = structlog.get_logger().bind(node_id=node_id)
        self._now_s = now_s
        self._later = later
        self._changes = ChangeLines(self._log, now_s, later)
        self._budget = refusals or Refusals(node_id, now_s, later)
        self._left_out: RoleChanged | None = None
        self._settles_at_s = 0.0
        self._settle_s = SETTLED_S
        self._is_waiting = False
        self._refusals: dict[tuple[str, str, bool, str, bool], tuple[float, int]] = {}
        self._epoch = -1
        self._seen: Counter[tuple[str, int | None]] = Counter()

    def on_event(self, event: NodeEvent) -> None:
        """See `ports.Watcher`. The metrics count the image's moves; they are not logged."""
        if isinstance(event, MetadataChanged):
            self._changes.write(event.changes)
        elif isinstance(event, RoleChanged):
            self._on_role(event)
        elif isinstance(event, RequestRejected):
            self._on_refused(event)
        elif isinstance(event, HoldChanged):
            self._on_hold(event)
        elif isinstance(event, ControllerActivated):
            self._log.info("active controller", epoch=event.epoch)
        elif isinstance(event, SnapshotGenerated):
            self._log.info("snapshot taken", end=str(event.end), bytes=event.size)
        elif isinstance(event, SnapshotDamaged):
            self._log.error(
                "snapshot damaged",
                end=str(event.end),
                why=event.why,
                what="it is served to no node, and a new one is taken; look at this disk",
            )
        elif isinstance(event, SnapshotLoaded):
            self._log.info("snapshot installed", end=str(event.end), bytes=event.size)
        elif isinstance(event, ControllerDeactivated):
            self._log.info("standby controller", epoch=event.epoch, unknown_outcomes=event.unknown_outcomes)
        elif isinstance(event, VotersUnreached | LeaderUnreached | PeersReached):
            self._on_reach(event)
        elif isinstance(event, VotersKnown):
            self._log.info(
                "voters",
                voters=[str(voter) for voter in event.voters],
                offset=event.offset,
                kraft_version=event.kraft_version,
            )

    def _on_reach(self, event: VotersUnreached | LeaderUnreached | PeersReached) -> None:
        if isinstance(event, PeersReached):
            self._log.info("peers reached", leader_id=event.leader_id)
        elif isinstance(event, LeaderUnreached):
            self._log.warning(
                "no leader",
                why=unreached_lines(event.unreached),
                what="this node fetches from no leader, and learns of no change until one responds",
            )
        else:
            self._log.warning(
                "no majority",
                missing=[str(voter.peer) for voter in event.missing],
                why=unreached_lines(event.missing),
                voters=event.voters,
                what=f"{majority_of(event.voters)} of {event.voters} voters are needed: "
                "until then no write can be acknowledged",
            )

    def _on_refused(self, event: RequestRejected) -> None:
        key = (event.request, event.error.name, event.by_us, event.peer, event.passes)
        if key not in self._refusals and len(self._refusals) >= _MOST_REFUSALS:
            self._refusals.clear()
        silent_until_s, times = self._refusals.get(key, (0.0, 0))
        now_s = self._now_s()
        if now_s < silent_until_s:
            self._refusals[key] = (silent_until_s, times + 1)
            return
        self._refusals[key] = (now_s + REFUSAL_EVERY_S, 0)
        self._budget.write(
            "info" if event.passes else "warning",
            "refusal",
            request=event.request,
            error=event.error.name,
            by_us=event.by_us,
            peer=event.peer,
            why=event.why,
            times=times + 1,
        )

    def _on_hold(self, event: HoldChanged) -> None:
        hold = event.hold
        if hold is None:
            self._log.info("holds no longer: the leader's log fits", peer=event.peer)
            return
        self._log.error(
            "holds",
            reason=hold.reason.value,
            what=hold.what,
            own_metadata_topic_id=_id_or_none(hold.own_id),
            leaders_metadata_topic_id=_id_or_none(hold.other_id),
            peer=event.peer,
            look_at=f"{event.directory} here, and {METADATA_DIRECTORY} in metadata.log.dir of every controller",
            then="nothing is cut, staged or deleted here; which log to keep: kraft docs runbooks/another-quorum",
        )

    def _on_role(self, event: RoleChanged) -> None:
        if event.epoch != self._epoch:
            self._epoch = event.epoch
            self._seen.clear()
            self._settle_s = SETTLED_S
        self._seen[event.role, event.leader_id] += 1
        times = self._seen[event.role, event.leader_id]
        if times & (times - 1):
            self._left_out, self._settles_at_s = event, self._now_s() + self._settle_s
            self._wait_until_settled()
            return
        self._left_out = None
        self._write_role("transition", event)

    def _wait_until_settled(self) -> None:
        if not self._is_waiting:
            self._is_waiting = True
            self._later(max(self._settles_at_s - self._now_s(), 0.0), self._on_waited)

    def _on_waited(self) -> None:
        self._is_waiting = False
        if self._left_out is None:
            return
        if self._now_s() < self._settles_at_s:
            self._wait_until_settled()
            return
        self._settle_s *= 2
        self._write_role("settled", self._left_out)
        self._left_out = None

    def _write_role(self, what: str, event: RoleChanged) -> None:
        self._log.info(
            what,
            role=event.role,
            epoch=event.epoch,
            leader_id=event.leader_id,
            log_end_offset=event.log_end_offset,
            high_watermark=event.high_watermark,
            cause=event.cause,
            times=self._seen[event.role, event.leader_id],
        )


class Watchers:
    """Several watchers as one; each gets the events in this order."""

    def __init__(self, *watchers: Watcher) -> None:
        self._watchers = watchers

    def on_event(self, event: NodeEvent) -> None:
        """See `ports.Watcher`."""
        for watcher in self._watchers:
            watcher.on_event(event)


def _id_or_none(topic_id: TopicId | None) -> str:
    return "none known" if topic_id is None else id_text(topic_id)
