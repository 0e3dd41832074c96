"""Invariants after a campaign, from the clients' history and from each node's disk.

Each check returns complaints as text; none means that it holds.
"""

from __future__ import annotations

import bisect
import re
import subprocess
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from metadata_log.files.os_files import OsFiles
from metadata_log.ids import METADATA_TOPIC_NAME, DirectoryId, NodeId, ReplicaKey, id_text
from metadata_log.tools.read.contents import read_contents
from metadata_log.tools.replicas.committed_bounds import ReplicaExtent, committed_bounds
from tests.chaos import checker
from tests.chaos.campaign import Summary
from tests.chaos.history import ABSENT, CREATE, DELETE, EXISTS, NOT_DONE, OK, UNKNOWN, Operation, read_operations
from tests.support.log_history import History, read_history

_LED: Final = re.compile(r" transition .*\brole=leader epoch=(\d+)\b")
_SHOWN: Final = 10


class Remains(msgspec.Struct, frozen=True, kw_only=True):
    """The remains of a campaign.

    Attributes:
        histories: the content of each node's log, by node id.
        committed: the end of the committed log.
        led: (epoch, node id) of each time that a node logged itself as leader.
    """

    summary: Summary
    operations: list[Operation]
    histories: dict[int, History]
    committed: int
    led: list[tuple[int, int]]
    logs: dict[int, str]


def remains(root: Path, summary: Summary) -> Remains:
    """Read all of it."""
    directories = {node: root / "kept" / f"controller-{node}" / "__cluster_metadata-0" for node in summary.statuses}
    extents = []
    for node, directory in directories.items():
        contents = read_contents(OsFiles(), str(directory))
        key = ReplicaKey(
            node_id=NodeId(node), directory_id=DirectoryId(bytes.fromhex(summary.directory_ids[node]))
        )  # fmt: skip
        extents.append(ReplicaExtent(key=key, epochs=contents.epochs, log_end_offset=contents.end_offset))
    logs = {node: (root / "cluster" / f"controller-{node}" / "node.log").read_text() for node in directories}
    return Remains(
        summary=summary,
        operations=list(read_operations(root / "history.jsonl")),
        histories={node: read_history(directory) for node, directory in directories.items()},
        committed=committed_bounds(extents, contents.voters or ()).lower,
        led=[(int(match[1]), node) for node, text in logs.items() for match in _LED.finditer(text)],
        logs=logs,
    )


def complaints(root: Path, summary: Summary) -> list[str]:
    """Return every complaint."""
    left = remains(root, summary)
    found = [*linearizability(root), *sound_directories(root)]
    for check in (acknowledged, nothing_else, answers, one_leader_an_epoch, equal_logs, good_ends):
        found += _first(check(left))
    return found


def linearizability(root: Path) -> Iterator[str]:
    """Check the whole history with Porcupine."""
    verdict = checker.check(root / "history.jsonl", pictures=root)
    for name in verdict.illegal:
        yield f"the history of {name} is not linearizable: see {root / name}.html"
    for name in verdict.undecided:
        yield f"whether the history of {name} is linearizable could not be decided in time"


def sound_directories(root: Path) -> Iterator[str]:
    """Check that `kraft check` finds nothing: logs, checkpoints against their logs, votes, replicas against each
    other."""
    done = subprocess.run(
        [sys.executable, "-m", "quorum.cli.main", "check", str(root / "kept")],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    if done.returncode != 0:
        yield f"kraft check {root / 'kept'} ended with {done.returncode}:\n{done.stdout}{done.stderr}"


def acknowledged(left: Remains) -> Iterator[str]:
    """Check that every log has every acknowledged write once, below the committed end."""
    done = [each for each in left.operations if each.outcome == OK]
    for node, history in left.histories.items():
        created = {id_text(topic_id): name for topic_id, name in history.created}
        if len(created) != len(history.created):
            yield f"node {node}: a topic id twice"
        if len(set(history.removed)) != len(history.removed):
            yield f"node {node}: a topic removed twice"
        created_at = {id_text(key): offset for key, offset in history.created_at.items()}
        removed_at = {id_text(key): offset for key, offset in history.removed_at.items()}
        for each in done:
            if each.kind == CREATE and created.get(each.topic_id) != each.name:
                yield f"node {node}: the acknowledged creation of {each.name} as {each.topic_id} is lost"
            if each.kind in (CREATE, DELETE):
                at = (created_at if each.kind == CREATE else removed_at).get(each.topic_id)
                if at is None or at >= min(left.committed, each.offset):
                    yield f"node {node}: the acknowledged {each.kind} of {each.name} is at {at}, told at {each.offset}"


def nothing_else(left: Remains) -> Iterator[str]:
    """Check that a log has no record of an unrequested or rejected write, and that an id belongs to one topic."""
    told = {each.topic_id for each in left.operations if each.kind == CREATE and each.outcome == OK}
    unknown = Counter(each.name for each in left.operations if each.kind == CREATE and each.outcome == UNKNOWN)
    names: dict[str, str] = {}
    for node, history in left.histories.items():
        created = [(id_text(key), name) for key, name in history.created if name != METADATA_TOPIC_NAME]
        if len(history.created) - len(created) != 1:
            yield f"node {node}: the metadata topic has not one id"
        for name, count in Counter(name for topic_id, name in created if topic_id not in told).items():
            if count > unknown[name]:
                yield f"node {node}: {count} topics {name} of unknown origin, {unknown[name]} unknown outcomes"
        for topic_id, name in created:
            if names.setdefault(topic_id, name) != name:
                yield f"{topic_id} is {name} and {names[topic_id]}"


def answers(left: Remains) -> Iterator[str]:
    """Check each response against the log at its offset, also reads from standbys."""
    longest = max(left.histories.values(), key=lambda history: history.log_end_offset)
    lives = _lives(longest)
    for each in left.operations:
        if each.outcome in (UNKNOWN, NOT_DONE):
            continue
        there = _at(lives[each.name], each.offset)
        right = {OK: each.topic_id, EXISTS: there or "a topic", ABSENT: ""}[each.outcome]
        if each.kind == DELETE and each.outcome == OK:
            right = ""
        if there != right:
            said = f"{each.kind} of {each.name} by client {each.client} got {each.outcome} {each.topic_id}".strip()
            yield f"{said} at offset {each.offset}, where the log says {there or 'absent'}"


def _lives(history: History) -> dict[str, list[tuple[int, str]]]:
    """Return, by name, its topic id from each offset on, or nothing."""
    lives: dict[str, list[tuple[int, str]]] = defaultdict(list)
    for topic_id, name in history.created:
        lives[name].append((history.created_at[topic_id] + 1, id_text(topic_id)))
        if topic_id in history.removed_at:
            lives[name].append((history.removed_at[topic_id] + 1, ""))
    for life in lives.values():
        life.sort()
    return lives


def _at(life: list[tuple[int, str]], offset: int) -> str:
    """Return the topic id of the name in an image that ends at `offset`."""
    index = bisect.bisect_right(life, offset, key=lambda change: change[0])
    return life[index - 1][1] if index else ""


def one_leader_an_epoch(left: Remains) -> Iterator[str]:
    """Check the LeaderChange records in the logs, and the nodes' own log output."""
    leaders: dict[int, int] = {}
    for node, history in left.histories.items():
        if [epoch for epoch, _ in history.leaders] != [epoch for epoch, _ in history.epochs]:
            yield f"node {node}: an epoch that does not begin with its LeaderChange"
        for epoch, leader in (*history.leaders, *left.led):
            if leaders.setdefault(epoch, leader) != leader:
                yield f"epoch {epoch} had the leaders {leader} and {leaders[epoch]}"
    for epoch, count in Counter(epoch for epoch, _ in left.led).items():
        if count > 1:
            yield f"epoch {epoch} was led {count} times"


def equal_logs(left: Remains) -> Iterator[str]:
    """Check that the logs are equal byte for byte up to the committed end."""
    longest = max(left.histories.values(), key=lambda history: history.log_end_offset)
    for node, history in left.histories.items():
        shared = min(history.log_end_offset, left.committed)
        if history.prefix(shared) != longest.prefix(shared):
            yield f"node {node}: its log is not the others' below offset {shared}, which is committed"


def good_ends(left: Remains) -> Iterator[str]:
    """Check that every node stopped cleanly, and that none logged a traceback."""
    for node, status in left.summary.statuses.items():
        if status != 0:
            yield f"node {node} ended with {status}"
        if "Traceback" in left.logs[node]:
            yield f"node {node} left a traceback in its log"


def _first(found: Iterator[str]) -> list[str]:
    """Return some of them; one fault causes many."""
    everything = list(found)
    more = len(everything) - _SHOWN
    return everything if more <= 0 else [*everything[:_SHOWN], f"... and {more} more of this kind"]
