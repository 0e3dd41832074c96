"""The exact commands that follow a repair, on this host and on the others.

Decides: their words, for Apache Kafka's nodes and for this project's.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final

from metadata_log.directory import METADATA_DIRECTORY
from metadata_log.voters import CONTROLLER_LISTENER, GRPC_LISTENER, Endpoint, VoterSet
from quorum.recovery.copies.log_copy import Copy
from quorum.recovery.evidence.electable import contradicting
from quorum.recovery.evidence.repair_evidence import RepairEvidence
from quorum.recovery.journal.next_steps import Command, Step, command, step_of
from quorum.recovery.journal.repair_record import work_root_of

ACCEPT_LOST_VOTE: Final = "--accept-lost-vote"


def set_log_aside_line() -> Command:
    """Return the command that moves a node's metadata log away and leaves the rest of its directory."""
    return command("mv", f"DATA_DIR/{METADATA_DIRECTORY}", "DATA_DIR.metadata-log-before-recovery")


def undo_line(log_dir: str, root: str | None = None) -> Command:
    """Return the command that undoes the last repair of a directory. `root`: of its backup, if not next to it."""
    work = () if root is None or root == work_root_of(log_dir) else ("--work", root)
    return command("kraft", "recover", "undo", "--dir", log_dir, *work, "--apply")


def is_ours(voters: VoterSet | None) -> bool:
    """Return True if the voters are this project's controllers: those have a GRPC listener."""
    return voters is not None and any(voter.endpoint(GRPC_LISTENER) is not None for voter in voters)


def contact(endpoints: Sequence[Endpoint]) -> str | None:
    """Return HOST:PORT of a controller for other nodes and tools: its gRPC listener, or Kafka's only one."""
    ours = [endpoint for endpoint in endpoints if endpoint.name == GRPC_LISTENER]
    first = next(iter([*ours, *endpoints]), None)
    return None if first is None else str(first).partition("://")[2]


def absent_words(known: RepairEvidence) -> tuple[str, ...]:
    """Return `--missing 2,3,12` for all nodes that have no copy here, or none that a repair may name."""
    here = {copy.node_id for copy in named(known)}
    left_out = sorted({copy.node_id for copy in contradicting(known) if copy.node_id is not None} - here)
    absent = (*known.absent_voters, *known.absent_brokers, *left_out)
    return ("--missing", ",".join(map(str, absent))) if absent else ()


def asked_words(known: RepairEvidence) -> tuple[str, ...]:
    """Return `--bootstrap-controller` if no copy names an address at which a leader can be probed."""
    return () if known.endpoints() else ("--bootstrap-controller", "HOST:PORT")


def vote_words(known: RepairEvidence) -> tuple[str, ...]:
    """Return `--accept-lost-vote` if a copy's quorum-state, with its epoch and vote, cannot be used."""
    return (ACCEPT_LOST_VOTE,) if any(found.forgets for copy in named(known) for found in copy.unread) else ()


def named(known: RepairEvidence) -> list[Copy]:
    """Return the copies that a repair may name: without those that contradict a majority of the voters."""
    wrong = contradicting(known)
    return [copy for copy in known.copies if not any(copy is one for one in wrong)]


def copy_words(known: RepairEvidence, chosen: Sequence[Copy]) -> list[str]:
    """Return `--copy` for the named copies except the chosen ones, and for brokers' disks that prove commits."""
    copies = [copy.place.log_dir for copy in named(known) if copy not in chosen]
    return [word for log_dir in (*copies, *known.proving_disks) for word in ("--copy", log_dir)]


def cut_line(known: RepairEvidence, copy: Copy, to: int | None = None) -> Command:
    """Return the command, without --apply and --accept-data-loss, that drops all records from offset `to` on.

    By default these are all from the damage on.
    """
    end = int(copy.end.offset) if to is None else to
    words = ("--dir", copy.place.log_dir, "--to", end, *copy_words(known, [copy]))
    return command("kraft", "recover", "truncate", *words, *absent_words(known), *asked_words(known))


def new_controller_words(known: RepairEvidence) -> list[object]:
    """Return the options of the new controller: the id of a former voter, and listeners of the same names."""
    voters, image = known.best_with_metadata.voters, known.best_with_metadata.image
    ids = [int(voter.node_id) for voter in known.voters]
    ids += sorted(int(node_id) for node_id in image.cluster.controllers) if image is not None else []
    node_id: object = ids[0] if ids else "N"
    known_voters = () if voters is None else voters.voters
    lost = next((one for one in known_voters if one.key.node_id == node_id), next(iter(known_voters), None))
    names = [CONTROLLER_LISTENER] if lost is None else [endpoint.name for endpoint in lost.endpoints]
    return ["--dir", "NEW_DATA_DIR", "--node-id", node_id, *endpoint_words(names)]


def endpoint_words(listeners: Sequence[str]) -> list[str]:
    """Return `--endpoint` for each of these listeners, with placeholders for host and port."""
    ports = {GRPC_LISTENER: "GRPC-PORT"}
    return [word for name in listeners for word in ("--endpoint", f"{name}://HOST:{ports.get(name, 'PORT')}")]


def inspect_line(known: RepairEvidence) -> Command:
    """Return the command that inspects all copies again."""
    dirs = sorted((-1 if copy.node_id is None else copy.node_id, copy.place.log_dir) for copy in known.copies)
    return command("kraft", "recover", "inspect", *(log_dir for _, log_dir in dirs))


def start_line(*, ours: bool) -> Command:
    """Return the command that starts a controller."""
    if ours:
        return command("kraft", "controller", "start", "--config", "node.properties")
    return command("bin/kafka-server-start.sh", "server.properties")


def check_result(log_dirs: Sequence[str]) -> Step:
    """Return the step that verifies all directories that a repair changed."""
    return step_of(text="Check the result before anything starts", commands=(verify_line(log_dirs),))


def verify_line(log_dirs: Sequence[str]) -> Command:
    """Return the command that verifies repaired directories."""
    return command("kraft", "recover", "verify", *log_dirs)


def never_again(gone: Sequence[int], brokers: Collection[int] = (), of_old: str | None = None) -> str:
    """Return a phrase that controllers which a repair leaves behind must never start again.

    `of_old`: from what, by default their old directories. Nodes in `brokers` lose only the metadata log, since they go
    on with the topics in the same directory.
    """
    many = len(gone) > 1
    what = "metadata log" + "s" * many if set(gone) & set(brokers) else "director" + ("ies" if many else "y")
    old = of_old or f"from {'their' if many else 'its'} old {what}"
    return f"controller{'s' if many else ''} {', '.join(map(str, gone))} must never start again {old}"


def check_and_start(known: RepairEvidence, own: Copy, start: str) -> tuple[Step, ...]:
    """Return the steps after one node's directory was repaired in place. `start`: the text of the last one."""
    is_broker = own.image is not None and own.node_id in own.image.cluster.brokers
    ours = is_ours(known.best_with_metadata.voters) and not is_broker
    return (
        step_of(
            text="Check the result before the node starts",
            commands=(command("kraft", "check", own.place.log_dir),),
        ),
        step_of(text=start, commands=(start_line(ours=ours),)),
    )


def bring_back(ours: bool, controllers: int = 1) -> Step:
    """Return the step that starts the repaired controller, or all of them."""
    return step_of(
        text="Start the repaired controller, alone, and wait until it leads. Then restart brokers that ended meanwhile"
        if controllers == 1
        else "Start these controllers, and wait until one leads. Then restart brokers that ended meanwhile",
        commands=(start_line(ours=ours),),
    )


def brokers_of(known: RepairEvidence) -> frozenset[int]:
    """Return the registered brokers, by the best copy whose metadata is known.

    A controller among them has both roles, in one directory.
    """
    image = known.best_with_metadata.last_image
    return frozenset() if image is None else frozenset(map(int, image.cluster.brokers))


def rejoin(
    *,
    ours: bool,
    cluster_id: str | None,
    others: Sequence[int],
    brokers: Collection[int],
    leader: str | None,
    dynamic: bool = True,
    of: str = "",
) -> list[Step]:
    """Return the steps by which the other controllers join again, without their old metadata log and its old voters.

    `brokers`: nodes that are brokers. One of `others` among them keeps the topics' data in the same directory. `of`:
    text after their ids that names the cluster, if there are several.
    """
    if not others:
        return []
    cluster, at = "CLUSTER_ID" if cluster_id is None else cluster_id or "''", leader or "HOST:PORT"
    combined = [] if ours else [one for one in others if one in brokers]
    alone = [one for one in others if one not in combined]
    steps = [_set_aside(alone, of), _format(ours, cluster, at, dynamic)] if alone else []
    if combined:
        steps.append(_set_log_aside(combined, of, () if not dynamic else (start_line(ours=False), _see(ours, at))))
    return [*steps, _add(ours, at) if dynamic else _take_back()]


def _set_aside(others: Sequence[int], of: str) -> Step:
    return step_of(
        text=f"On each other controller ({', '.join(map(str, others))}{of}): keep its old directory, and never start "
        "from it again: it holds the old voters",
        commands=(command("mv", "DATA_DIR", "DATA_DIR.before-recovery"),),
    )


def _set_log_aside(combined: Sequence[int], of: str, start: tuple[Command, ...]) -> Step:
    """Return the step for nodes that are brokers, too: a directory that is formatted again loses its topics."""
    then = "then start it as an observer, and wait until it has caught up" if start else "and do not start it yet"
    return step_of(
        text=f"On each other node that is controller and broker ({', '.join(map(str, combined))}{of}): move only its "
        f"{METADATA_DIRECTORY} away, which holds the old voters. Its topics' data lies beside it and must stay: do not "
        f"move or format the directory; {then}",
        commands=(set_log_aside_line(), *start),
    )


def _see(ours: bool, at: str) -> Command:
    if ours:
        return command("kraft", "quorum", "describe", "--bootstrap-controller", at, "--replication")
    return command("bin/kafka-metadata-quorum.sh", "--bootstrap-controller", at, "describe", "--replication")


def _format(ours: bool, cluster: str, at: str, dynamic: bool) -> Step:
    kafka = ("bin/kafka-storage.sh", "format", "-t", cluster, "-c", "server.properties")
    if not dynamic:
        return step_of(
            text="Then name it in controller.quorum.voters of its configuration, format it again, and do not start it: "
            "empty voters could elect each other",
            commands=(command(*kafka),),
        )
    words = ("kraft", "storage", "format", "--config", "node.properties", "--cluster-id", cluster) if ours else kafka
    return step_of(
        text="Then format it again, without voters, start it as an observer, and wait until it has caught up",
        commands=(command(*words, "--no-initial-controllers"), start_line(ours=ours), _see(ours, at)),
    )


def _add(ours: bool, at: str) -> Step:
    to = ("--bootstrap-controller", at)
    if ours:
        line = command("kraft", "quorum", "add-controller", *to, "--command-config", "node.properties")
    else:
        line = command("bin/kafka-metadata-quorum.sh", *to, "--command-config", "server.properties", "add-controller")
    return step_of(
        text="Then make it a voter, one controller after the other; go on once it is shown as a follower without lag",
        commands=(line, _see(ours, at)),
    )


def _take_back() -> Step:
    again = ("kraft", "recover", "static-voters", "--dir", "DATA_DIR", "--dir", "OTHER_DATA_DIR", "--missing", "rest")
    return step_of(
        text="To have several voters again: stop the controller, bring the directories to one host, and give all "
        "the same log; then take them back, and start all with the new configuration",
        commands=(command(*again, "--set", "ID@HOST:PORT", "--set", "OTHER_ID@HOST:PORT", "--apply"),),
    )
