"""The results of probing controllers' endpoints, and when they forbid a repair.

Must not know: how the endpoints are probed.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from typing import Final

import msgspec

from metadata_log.voters import GRPC_LISTENER, VoterSet
from quorum.recovery.advice.commands import contact
from quorum.recovery.journal.errors import RefusedError


class EndpointState(enum.StrEnum):
    """The kind of process at an endpoint."""

    NOBODY = "nobody"
    """The connection is refused, the name is unknown, or nothing answered in time."""
    LEADER = "leader"
    CONTROLLER = "controller"
    """A controller that does not lead."""
    UNCLEAR = "unclear"
    """A process accepts connections and its responses are not understood: it may be a leader that requires TLS."""


class ProbeResult(msgspec.Struct, frozen=True, kw_only=True):
    """The result of probing one address. `node_id`, `cluster_id`: as the node reports them; None if it does not.

    `is_silent`: the name is unknown, or neither a response nor a refused connection came in time.
    `speaks_grpc`: one of this project's controllers responded by gRPC.
    """

    address: str
    heard: EndpointState
    said: str
    node_id: int | None = None
    cluster_id: str | None = None
    is_silent: bool = False
    speaks_grpc: bool = False

    def __str__(self) -> str:
        return f"{self.address}: {self.heard.value}, {self.said}"


def silence(answers: Iterable[ProbeResult]) -> tuple[str, ...]:
    """Return a sentence about addresses that gave no sign at all, or none: a leader may run there nevertheless."""
    silent = [answer.address for answer in answers if answer.is_silent]
    if not silent:
        return ()
    return (
        f"{', '.join(silent)} did not respond, nor refuse a connection: the name is unknown here, the host is down, or "
        "the network is cut. A leader may run there: make sure that none does",
    )


def change_voters(answers: Iterable[ProbeResult], voters: VoterSet | None) -> str:
    """Return the advice to change the voters of the quorum that answers, with the commands of its controllers."""
    leaders = [answer for answer in answers if answer.heard is EndpointState.LEADER]
    at = next((answer.address for answer in leaders if answer.speaks_grpc), None)
    ids = {answer.node_id for answer in leaders}
    known = [voter for voter in voters or () if voter.key.node_id in ids and voter.endpoint(GRPC_LISTENER) is not None]
    if at is None and known:
        at = contact(known[0].endpoints)
    tool = "kafka-metadata-quorum.sh add-controller and remove-controller"
    if at is not None:
        tool = f"`kraft quorum add-controller` and `kraft quorum remove-controller` with --bootstrap-controller {at}"
    return f"and a repair would split it. Use {tool}; or stop every controller first"


ONE_NODE: Final = (
    "so this node needs no repair: remove it from the voters, format its directory again, let it fetch the log, and "
    "add it again; or stop every controller first"
)


def refuse_live(
    answers: Iterable[ProbeResult], cluster_id: str | None, not_controllers: frozenset[str], instead: str
) -> None:
    """Refuse a repair while a controller of the cluster runs. `instead`: the advice if a leader responds.

    Raises:
        RefusedError: a controller runs, or may run.
    """
    grave = [EndpointState.LEADER, EndpointState.CONTROLLER, EndpointState.UNCLEAR, EndpointState.NOBODY]
    # The gravest result decides: a live leader is reported before any other reason to refuse.
    for answer in sorted(answers, key=lambda answer: grave.index(answer.heard)):
        if answer.cluster_id is not None and cluster_id is not None and answer.cluster_id != cluster_id:
            continue
        node = "a controller" if answer.node_id is None else f"controller {answer.node_id}"
        if answer.heard is EndpointState.LEADER:
            raise RefusedError(f"a leader answers at {answer.address} ({answer.said}): the quorum lives, {instead}")
        if answer.heard is EndpointState.CONTROLLER:
            raise RefusedError(
                f"{node} runs at {answer.address} ({answer.said}): stop it, and see to it that it does not come back "
                "with the old voters"
            )
        if answer.heard is EndpointState.UNCLEAR and answer.address not in not_controllers:
            raise RefusedError(
                f"something listens at {answer.address}, a controller's address, and is not understood "
                f"({answer.said}): it may be a leader behind TLS. Stop it, or say --not-a-controller {answer.address}"
            )
