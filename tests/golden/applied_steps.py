"""One function a command of `kraft recover`: its words, and the repair that these words ask for.

Decides: how words and arguments correspond. Must not know: the directories.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import msgspec

from metadata_log.ids import DirectoryId
from metadata_log.voters import Endpoint
from quorum.recovery.guards.liveness import ProbeResult
from quorum.recovery.guards.request import Request
from quorum.recovery.repairs.cluster_id import propose_cluster_id
from quorum.recovery.repairs.drop_snapshot import propose_drop_snapshot
from quorum.recovery.repairs.from_broker import NewController, propose_from_broker
from quorum.recovery.repairs.rebuild_indexes import propose_rebuild_indexes
from quorum.recovery.repairs.standalone import propose_standalone
from quorum.recovery.repairs.static_voters import parse_static_voter, propose_static_voters
from quorum.recovery.repairs.trim import propose_trim
from quorum.recovery.repairs.truncate import propose_truncate
from quorum.recovery.repairs.voters import parse_named_voter, propose_voters
from tests.golden.applied import Step
from tests.support.repairs import NOW_MS, Propose

NEW_CLUSTER: Final = "b3RoZXJjbHVzdGVyaWQwMQ"
NEW_DIRECTORY: Final = "/new"
_NEW_DIRECTORY_ID: Final = DirectoryId(bytes(range(100, 116)))
_GAP: Final = 1000
_HERE: Final = (Endpoint(name="CONTROLLER", host="here", port=9093),)
_HERE_WORDS: Final = "--endpoint CONTROLLER://here:9093"


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    """The options that several commands share."""

    loss: bool = False
    lost_vote: bool = False
    gap: int = _GAP
    work: str | None = None

    @property
    def words(self) -> str:
        """The options as words."""
        found = [
            "--accept-data-loss" if self.loss else "",
            "--accept-lost-vote" if self.lost_vote else "",
            f"--epoch-gap {self.gap}" if self.gap != _GAP else "",
            f"--work {self.work}" if self.work else "",
        ]
        return " ".join(filter(None, found))

    @property
    def request(self) -> Request:
        """The request: every node without a copy is missing, no endpoint answers, and the clock is fixed."""
        return Request(
            now_ms=NOW_MS,
            ask=_no_answer,
            all_missing=True,
            accept_data_loss=self.loss,
            accept_lost_vote=self.lost_vote,
            work_root=self.work,
            epoch_gap=self.gap,
        )


PLAIN: Final = Asked()
LOSS: Final = Asked(loss=True)


def standalone(target: str, *copies: str, asked: Asked = PLAIN, is_moved: bool = False) -> Step:
    """Make a node the only voter; `is_moved`: at another endpoint."""
    endpoints = _HERE if is_moved else ()
    return _step(
        "standalone",
        (target,),
        lambda files: propose_standalone(files, target, copies, asked.request, endpoints=endpoints),
        asked,
        [*_copies(copies), _HERE_WORDS if is_moved else ""],
    )


def from_broker(brokers: Sequence[str], *copies: str, node: int = 1, asked: Asked = PLAIN) -> Step:
    """Make the directory `/new` of a controller from brokers' copies."""
    new = NewController(
        log_dir=NEW_DIRECTORY, node_id=node, endpoints=_HERE, directory_id=_NEW_DIRECTORY_ID
    )  # fmt: skip
    words = [*(f"--broker-dir {path}" for path in brokers), f"--node-id {node} {_HERE_WORDS}", *_copies(copies)]
    return _step(
        "from-broker",
        (NEW_DIRECTORY,),
        lambda files: propose_from_broker(files, brokers, copies, new, asked.request),
        asked,
        words,
    )


def voters(targets: Sequence[str], members: Sequence[str], *copies: str, asked: Asked = PLAIN) -> Step:
    """Rewrite the voters in all their directories."""
    named = [*map(parse_named_voter, members)]
    return _step(
        "voters",
        tuple(targets),
        lambda files: propose_voters(files, targets, copies, named, asked.request),
        asked,
        [*_set(members), *_copies(copies)],
    )


def static_voters(targets: Sequence[str], members: Sequence[str], *copies: str, asked: Asked = PLAIN) -> Step:
    """Rewrite the static voters in all their directories."""
    named = [*map(parse_static_voter, members)]
    return _step(
        "static-voters",
        tuple(targets),
        lambda files: propose_static_voters(files, targets, copies, named, asked.request),
        asked,
        [*_set(members), *_copies(copies)],
    )


def truncate(target: str, to: int, *copies: str, asked: Asked = PLAIN) -> Step:
    """Cut a log's end off."""
    return _step(
        "truncate",
        (target,),
        lambda files: propose_truncate(files, target, copies, to, asked.request),
        asked,
        [f"--to {to}", *_copies(copies)],
    )


def trim(target: str, before: int, *copies: str, asked: Asked = PLAIN) -> Step:
    """Drop a log's beginning."""
    return _step(
        "truncate",
        (target,),
        lambda files: propose_trim(files, target, copies, before, asked.request),
        asked,
        [f"--before {before}", *_copies(copies)],
    )


def drop_snapshot(target: str, *copies: str, name: str | None = None, asked: Asked = PLAIN) -> Step:
    """Remove damaged checkpoints, or the one of this name."""
    return _step(
        "drop-snapshot",
        (target,),
        lambda files: propose_drop_snapshot(files, target, copies, asked.request, name=name),
        asked,
        ["" if name is None else f"--checkpoint {name}", *_copies(copies)],
    )


def rebuild_indexes(target: str, asked: Asked = PLAIN) -> Step:
    """Rebuild indexes and epochs."""
    return _step("rebuild-indexes", (target,), lambda files: propose_rebuild_indexes(files, target), asked, [])


def cluster_id(*targets: str, is_a_clone: bool = False, asked: Asked = PLAIN) -> Step:
    """Give directories another cluster id."""
    return _step(
        "cluster-id",
        targets,
        lambda files: propose_cluster_id(files, targets, NEW_CLUSTER, asked.request, is_a_clone=is_a_clone),
        asked,
        [f"--to {NEW_CLUSTER}", "--is-a-clone" if is_a_clone else ""],
    )


def _step(action: str, targets: tuple[str, ...], propose: Propose, asked: Asked, options: Sequence[str]) -> Step:
    missing = "" if action in ("rebuild-indexes", "cluster-id") else "--missing rest"
    words = [action, *(f"--dir {path}" for path in targets), *options, missing, asked.words]
    return Step(words=" ".join(filter(None, words)), propose=propose, log_dirs=targets, work=asked.work)


def _copies(paths: Sequence[str]) -> list[str]:
    return [f"--copy {path}" for path in paths]


def _set(members: Sequence[str]) -> list[str]:
    return [f"--set {member}" for member in members]


def _no_answer(_: Sequence[Endpoint]) -> Sequence[ProbeResult]:
    return ()
