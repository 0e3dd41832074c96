"""`quorum-state`: the epoch, leader and vote that a replica must not forget.

Decides: its JSON, in Kafka's two versions. Must not know: elections.

Version 0 belongs to kraft.version 0 and has no directory ids; version 1 belongs to kraft.version 1.
"""

from __future__ import annotations

import json
from typing import Any, Final

import msgspec

from metadata_log.errors import CorruptFileError, NewerFileError
from metadata_log.files.port import Files, read_small_file, replace_file
from metadata_log.ids import ZERO_DIRECTORY_ID, InvalidIdError, NodeId, ReplicaKey, id_text, parse_directory_id
from metadata_log.offsets import Epoch
from metadata_log.quoting import quoted

QUORUM_STATE_FILE: Final = "quorum-state"
NO_LEADER: Final = -1
_NO_VOTE: Final = -1
_WAS_REMOVED: Final = "wasRemoved"
_VOTE_ADVICE: Final = (
    "Never remove it and start the node: it may then vote twice in an epoch. Leave the node out of the quorum, or give "
    "it an empty directory and a new directory id; kraft recover brings a quorum back that lost its majority"
)


class _ImpossibleError(ValueError):
    """A value of the right type that is invalid; the message names it."""


class QuorumState(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """The content of the file.

    Attributes:
        leader_id: -1 if no leader is known in this epoch.
        leader_epoch: the greatest epoch that this replica knows of.
        voted_key: the candidate that it voted for in this epoch, or None. In version 0 without its directory id.
        data_version: 0 or 1.
        cluster_id: version 0 only; Kafka leaves it empty.
        applied_offset: version 0 only; always 0.
        current_voters: version 0 only; the static voters' ids.
        was_removed: version 1 only; a voter change removed this replica. The key is written only if True. Kafka's
            readers skip it, and its writers drop it.
    """

    leader_id: int = NO_LEADER
    leader_epoch: Epoch
    voted_key: ReplicaKey | None = None
    data_version: int = 1
    cluster_id: str = ""
    applied_offset: int = 0
    current_voters: tuple[NodeId, ...] = ()
    was_removed: bool = False

    @property
    def static_voters(self) -> tuple[ReplicaKey, ...]:
        """The voters of version 0, each once (the file may repeat one), without directory ids."""
        return tuple(ReplicaKey(node_id=voter) for voter in dict.fromkeys(self.current_voters))


def format_quorum_state(state: QuorumState) -> bytes:
    """Return the file's bytes: one line of JSON without spaces, its keys in Kafka's order."""
    voted_id = _NO_VOTE if state.voted_key is None else state.voted_key.node_id
    content: dict[str, Any]
    if state.data_version == 0:
        content = {
            "clusterId": state.cluster_id,
            "leaderId": state.leader_id,
            "leaderEpoch": state.leader_epoch,
            "votedId": voted_id,
            "appliedOffset": state.applied_offset,
            "currentVoters": [{"voterId": voter} for voter in state.current_voters],
        }
    else:
        directory = ZERO_DIRECTORY_ID if state.voted_key is None else state.voted_key.directory_id
        content = {
            "leaderId": state.leader_id,
            "leaderEpoch": state.leader_epoch,
            "votedId": voted_id,
            "votedDirectoryId": id_text(directory),
            **({_WAS_REMOVED: True} if state.was_removed else {}),
        }
    return json.dumps({**content, "data_version": state.data_version}, separators=(",", ":")).encode("utf-8")


def parse_quorum_state(data: bytes, path: str) -> QuorumState:
    """Return the content of the file's bytes. `path` is for messages.

    Raises:
        CorruptFileError: the bytes are not such a file.
        NewerFileError: the file has an unknown, later version.
    """
    try:
        content = json.loads(data.decode())
        version = _int(content["data_version"])
        if version > 1:
            raise NewerFileError(path, f"data_version {quoted(version)} is not known: it was written by newer software")
        if version not in (0, 1):
            raise ValueError(version)
        state = QuorumState(
            leader_id=_at_least(-1, content, "leaderId"),
            leader_epoch=Epoch(_at_least(0, content, "leaderEpoch")),
            voted_key=_voted_key(content, version),
            data_version=version,
            was_removed=content.get(_WAS_REMOVED) is True,
        )
        return state if version == 1 else _with_static_voters(state, content)
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, InvalidIdError) as error:
        raise CorruptFileError(path, f"it is no quorum state: {_fault(error)}", _VOTE_ADVICE) from error


def epoch_of_newer(data: bytes) -> Epoch | None:
    """Return the epoch in a file of an unknown, later version, or None if `leaderEpoch` is missing or invalid."""
    try:
        content = json.loads(data.decode())
        return Epoch(_at_least(0, content, "leaderEpoch"))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _with_static_voters(state: QuorumState, content: dict[str, Any]) -> QuorumState:
    """Return the state with the fields of version 0. Kafka rejects a file that lacks one of them."""
    voters = content["currentVoters"]
    if not isinstance(voters, list):
        raise TypeError(voters)
    return msgspec.structs.replace(
        state,
        cluster_id=_text(content["clusterId"]),
        applied_offset=_int(content["appliedOffset"], bits=64),
        current_voters=tuple(NodeId(_int(voter["voterId"])) for voter in voters),
    )


def _int(value: object, bits: int = 32) -> int:
    """Return a whole number of so many bits. Like Kafka's readers, reject `true`, `1.5` and `"1"`."""
    if type(value) is not int:
        raise TypeError(value)
    if value.bit_length() >= bits:
        raise ValueError(value)
    return value


def _at_least(least: int, content: dict[str, Any], name: str) -> int:
    value = _int(content[name])
    if value < least:
        raise _ImpossibleError(f"its {name} is {quoted(value)}, which is below {least}")
    return value


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(value)
    return value


def _fault(error: Exception) -> str:
    """Return the fault as part of a sentence."""
    match error:
        case json.JSONDecodeError():
            return f"no JSON from its byte {error.pos} on"
        case UnicodeDecodeError():
            return f"no text from its byte {error.start} on"
        case KeyError():
            return f"it lacks {error.args[0]}"
        case InvalidIdError() | _ImpossibleError():
            return str(error)
        case RecursionError():
            return "what is in it is nested too deep"
        case _:
            return "a field in it has a value of the wrong kind"


def _voted_key(content: dict[str, Any], version: int) -> ReplicaKey | None:
    """Return the vote, or None.

    Kafka writes a zero directory id if there is no vote. Another directory id without a voted id means that half of a
    vote is lost.
    """
    voted_id = _at_least(_NO_VOTE, content, "votedId")
    directory = ZERO_DIRECTORY_ID if version == 0 else parse_directory_id(_text(content["votedDirectoryId"]))
    if voted_id != _NO_VOTE:
        return ReplicaKey(node_id=NodeId(voted_id), directory_id=directory)
    if directory != ZERO_DIRECTORY_ID:
        raise _ImpossibleError(
            f"its votedId is {_NO_VOTE}, which is no vote, but its votedDirectoryId is {id_text(directory)}"
        )
    return None


def read_quorum_state(files: Files, directory: str) -> QuorumState | None:
    """Return the state in a metadata log's directory, or None if there is no such file.

    Raises:
        CorruptFileError: the file is corrupt. It may have held a vote: never replace it by an empty state.
    """
    path = f"{directory}/{QUORUM_STATE_FILE}"
    return parse_quorum_state(read_small_file(files, path), path) if files.exists(path) else None


def write_quorum_state(files: Files, directory: str, state: QuorumState) -> None:
    """Replace the state durably. A crash leaves the old or the new file, complete.

    Raises:
        OSError: a call failed. The content on disk is then unknown, so the node must stop.
    """
    replace_file(files, f"{directory}/{QUORUM_STATE_FILE}", format_quorum_state(state))
