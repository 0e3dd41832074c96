"""Keys that contradict each other, although each value is valid on its own, and the role that a file is for.

Decides: which combinations of keys are wrong. Must not know: how a single value is parsed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from metadata_log.voters import VoterSet
from quorum.node.config.keys import ALIASES, LOG_DIRS, PROCESS_ROLES
from quorum.node.config.known_keys import missing_key
from quorum.node.config.shown import Shown

CONTROLLER_ROLE: Final = "controller"
BROKER_ROLE: Final = "broker"
_ROLES: Final = frozenset({CONTROLLER_ROLE, BROKER_ROLE})


def other_role(given: Mapping[str, str], shown: Shown, wanted: str | None) -> str | None:
    """Return what to do with a file of another role, or of both; None if the role fits, or is unknown.

    No other problem of such a file is reported: its keys are for another program.
    """
    given_roles = shown.pair(PROCESS_ROLES) if PROCESS_ROLES in given else ""
    roles = {part.strip() for part in given.get(PROCESS_ROLES, "").split(",")}
    if roles == _ROLES:
        return (
            f"{given_roles}: a node of both roles is not supported. Run two processes with a file each: "
            "Kafka's broker with this file, process.roles=broker and its node.id; and this controller, with "
            "process.roles=controller, a node.id that no broker has, another log.dirs, and the listener CONTROLLER. "
            "Take the controller listener out of the broker's listeners, and let its "
            "controller.quorum.bootstrap.servers name the controllers' CONTROLLER listeners"
        )
    if wanted is None or roles not in ({BROKER_ROLE}, {CONTROLLER_ROLE}) or roles == {wanted}:
        return None
    if wanted == BROKER_ROLE:
        return f"{given_roles}: this is no broker agent's file, but a controller's: kraft controller start"
    return (
        f"{given_roles}: this is no controller's file. Start Apache Kafka's broker with it, or, if it is an "
        "agent's, run kraft agent start. A controller needs its own file, with process.roles=controller, a "
        "node.id that no broker has, log.dirs, and a listener CONTROLLER that is named in controller.listener.names. "
        "The broker's controller.quorum.bootstrap.servers name the controllers' CONTROLLER listeners"
    )


def contradictions(
    given: Mapping[str, str], values: Mapping[str, Any], wrong: Mapping[str, str], near: str | None
) -> Iterator[str]:
    """Yield a problem for each set of keys that contradict each other.

    `near`: the key that was probably meant to be log.dirs.
    """
    if not {LOG_DIRS, "log.dir"} & wrong.keys() and not (values["log_dirs"] or values["log_dir"]):
        yield missing_key(LOG_DIRS, near)
    for alias, name in ALIASES.items():
        if given.get(alias, given.get(name)) != given.get(name):
            yield f"{alias}={given[alias]}: it is not {name}={given[name]}: remove {alias}"
    if PROCESS_ROLES not in wrong:
        yield from _role_problems(values, wrong)
    heartbeat_ms, session_ms = values["heartbeat_interval_ms"], values["session_timeout_ms"]
    if not {"broker.heartbeat.interval.ms", "broker.session.timeout.ms"} & wrong.keys() and heartbeat_ms >= session_ms:
        yield (
            f"broker.heartbeat.interval.ms={heartbeat_ms}: it must be below "
            f"broker.session.timeout.ms={session_ms}, or every broker is fenced between two heartbeats"
        )


def _role_problems(values: Mapping[str, Any], wrong: Mapping[str, str]) -> Iterator[str]:
    roles: tuple[str, ...] = values["roles"]
    voters: VoterSet = values["static_voters"]
    unknown = [role for role in roles if role not in _ROLES]
    for role in unknown:
        yield f"{PROCESS_ROLES}={','.join(roles)}: {role!r} is no role: write controller or broker"
    if not unknown and len(roles) != 1:
        yield f"{PROCESS_ROLES}={','.join(roles)}: a node has one role here: write one of the two"
    if roles == (BROKER_ROLE,):
        found = {"controller.quorum.bootstrap.servers", "controller.quorum.voters"} & wrong.keys()
        if not found and not values["bootstrap_servers"] and not len(voters):
            yield "controller.quorum.bootstrap.servers is missing: an agent finds the controllers by it"
        if values["auto_join"]:
            yield "controller.quorum.auto.join.enable=true: only a controller can join the voters"
    elif roles == (CONTROLLER_ROLE,) and len(voters) and "node.id" not in wrong and values["node_id"] not in voters:
        listed = ",".join(str(node_id) for node_id in voters.node_ids)
        yield (
            f"controller.quorum.voters={listed}: node {values['node_id']} is not among them, and a static quorum has "
            "no other controllers: name it in every node's configuration, or, for a quorum whose voters are in its "
            "log, set controller.quorum.bootstrap.servers instead"
        )
