"""Messages, writes and effects of the Raft core in few words, for transcripts."""

from __future__ import annotations

import msgspec

from metadata_log.format.batch import iter_batches
from metadata_log.ids import ReplicaKey
from metadata_log.voters import Voter, VoterSet
from quorum.api.error_codes import Error
from quorum.raft.ready import (
    AppendBatches,
    Effect,
    InstallSnapshot,
    QuorumStateData,
    Ready,
    SendRecords,
    SendRequest,
    SendResponse,
    SendSnapshotChunk,
    StoreChunk,
    TruncateLog,
    Write,
)

_SHORT = {"QuorumEpoch": "", "Request": "", "Response": " answer"}
_ERROR_FIELDS = ("error", "error_message", "why")
"""Fields that are printed before the leader hint."""


def say(value: object) -> str:
    """Return a message or an event in few words: its name and every field that is not at its default."""
    name = type(value).__name__
    for long, short in _SHORT.items():
        name = name.replace(long, short)
    assert isinstance(value, msgspec.Struct)
    defaults = dict(zip(reversed(value.__struct_fields__), reversed(value.__struct_defaults__), strict=False))
    parts = [name]
    for field in sorted(value.__struct_fields__, key=lambda field: field not in _ERROR_FIELDS):
        content = getattr(value, field)
        if field in defaults and content == defaults[field]:
            continue
        if "endpoints" not in field:
            parts.append(f"{field}={_text(content)}")
    return " ".join(parts)


def _text(content: object) -> str:
    if isinstance(content, VoterSet):
        content = tuple(_voter(voter) for voter in content)
    if isinstance(content, Voter):
        content = _voter(content)
    if isinstance(content, tuple):
        return ",".join(_text(part) for part in content) or "-"
    if isinstance(content, bytes):
        return batches_in(content)
    if isinstance(content, QuorumStateData):
        removed = " removed" if content.was_removed else ""
        voted = _or_none(content.voted)
        return f"(leader={_or_none(content.leader_id)} epoch={content.leader_epoch} voted={voted}{removed})"
    return _or_none(content)


def _voter(voter: Voter) -> str:
    """Return `2`, and the unusual fields: a directory, a port, a range of kraft.version."""
    key = voter.key
    words = str(key.node_id)
    if key.directory_id != bytes([key.node_id % 256]) * 16:
        words += f":{key.directory_id[0] or '-'}"
    ports = [endpoint.port for endpoint in voter.endpoints if endpoint.port != 9094]
    words += f"@{ports[0]}" if ports else ""
    return words if (voter.min_kraft_version, voter.max_kraft_version) == (0, 1) else f"{words}!"


def _or_none(content: object) -> str:
    if isinstance(content, ReplicaKey):
        return _voter(Voter(key=content))
    return "-" if content is None else content.name if isinstance(content, Error) else str(content)


def batches_in(data: bytes) -> str:
    """Return batches as `[control 0..3@1][3..4@1]`."""
    return "".join(
        f"[{'control ' if header.is_control else ''}{header.base_offset}..{header.next_offset}"
        f"@{header.partition_leader_epoch}]"
        for _, header in iter_batches(data)
    )


def lines_of(ready: Ready) -> list[str]:
    """Return a line for each write, then for each effect."""
    lines = [f"  write {_say_write(write)}" for write in ready.writes]
    lines += [f"  now {_say_effect(effect)}" for effect in ready.at_once]
    return lines + [f"  after #{token} {_say_effect(effect)}" for token, effect in ready.after]


def _say_write(write: Write) -> str:
    if isinstance(write, AppendBatches):
        return f"#{write.token} append {batches_in(write.data)}"
    if isinstance(write, TruncateLog):
        return f"#{write.token} truncate to {write.end_offset}@{write.epoch}"
    if isinstance(write, InstallSnapshot):
        return f"#{write.token} install {write.snapshot_id}"
    return f"#{write.token} quorum-state {_text(write.state)}"


def _say_effect(effect: Effect) -> str:
    if isinstance(effect, SendRequest):
        return f"ask {effect.destination.node_id} #{effect.correlation}: {say(effect.request)}"
    if isinstance(effect, SendResponse):
        return f"reply to {effect.request_id}: {say(effect.response)}"
    if isinstance(effect, SendRecords):
        return f"reply to {effect.request_id}: {say(effect.response)} + records from {effect.read_from}"
    if isinstance(effect, SendSnapshotChunk):
        return f"reply to {effect.request_id}: {say(effect.response)} + {effect.max_bytes} bytes at the most"
    if isinstance(effect, StoreChunk):
        at = f"{effect.position}..{effect.position + len(effect.data)}"
        return f"StoreChunk serial={effect.serial} snapshot_id={effect.snapshot_id} bytes {at}"
    return say(effect)
