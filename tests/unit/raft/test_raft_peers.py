"""The core answers or ignores every message of a peer. None reaches the core's own assertions (DESIGN 1.3)."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from metadata_log.format.batch import build_batch, build_control_batch
from metadata_log.ids import DirectoryId, NodeId, ReplicaKey
from metadata_log.offsets import Epoch, Offset, OffsetAndEpoch
from metadata_log.records import encode_control
from metadata_log.voters import VoterSet
from quorum.api.error_codes import Error
from quorum.api.raft_messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchRequest,
    FetchResponse,
    VoteRequest,
    VoteResponse,
)
from quorum.raft.inputs import Elapsed, Flushed, Input, Persisted, RequestFailed, RequestReceived, ResponseReceived
from quorum.raft.ready import PersistQuorumState
from quorum.raft.transitions import Role
from tests.support.raft_table import SCENES
from tests.support.raft_transcript import Transcript, endpoints_of, key_of

EPOCHS = st.one_of(st.integers(-1, 9), st.sampled_from([-(1 << 31), (1 << 31) - 2, (1 << 31) - 1, 1 << 40])).map(Epoch)
OFFSETS = st.one_of(st.integers(-1, 20), st.sampled_from([-(1 << 63), (1 << 63) - 1])).map(Offset)
NODE_IDS = st.sampled_from([-2, -1, 0, 1, 2, 3, 9, 1 << 31]).map(NodeId)
DIRECTORIES = st.sampled_from([bytes(16), b"\x01" * 16, b"\x02" * 16, b"\x03" * 16, b"?" * 16]).map(DirectoryId)
KEYS = st.builds(ReplicaKey, node_id=NODE_IDS, directory_id=DIRECTORIES)
ENDS = st.builds(OffsetAndEpoch, offset=OFFSETS, epoch=EPOCHS)
ENDPOINTS = st.sampled_from([(), endpoints_of(2), endpoints_of(3), endpoints_of(2) * 2])
ERRORS = st.sampled_from([Error.NONE, *Error])

REQUESTS = st.one_of(
    st.builds(
        VoteRequest,
        candidate=KEYS,
        voter=KEYS,
        candidate_epoch=EPOCHS,
        last_epoch=EPOCHS,
        last_epoch_end_offset=OFFSETS,
        pre_vote=st.booleans(),
    ),
    st.builds(BeginQuorumEpochRequest, leader_id=NODE_IDS, leader_epoch=EPOCHS, voter=KEYS, leader_endpoints=ENDPOINTS),
    st.builds(
        EndQuorumEpochRequest,
        leader_id=NODE_IDS,
        leader_epoch=EPOCHS,
        preferred_candidates=st.lists(KEYS, max_size=3).map(tuple),
        leader_endpoints=ENDPOINTS,
    ),
    st.builds(
        FetchRequest,
        replica=KEYS,
        current_leader_epoch=EPOCHS,
        fetch_offset=OFFSETS,
        last_fetched_epoch=EPOCHS,
        max_bytes=st.sampled_from([-1, 0, 1 << 20]),
        max_wait_ms=st.sampled_from([-1, 0, 500, 1 << 31]),
        high_watermark=OFFSETS,
    ),
)


@st.composite
def records(draw: st.DrawFn) -> bytes:
    """Batches, sound or cut or changed, at any offset and of any epoch that fits a batch."""
    parts = []
    for _ in range(draw(st.integers(0, 3))):
        base, epoch = Offset(draw(st.integers(0, 12))), Epoch(draw(st.integers(0, 7)))
        if draw(st.booleans()):
            parts.append(
                build_batch(base_offset=base, epoch=epoch, timestamp_ms=0, values=[b"v"] * draw(st.integers(1, 3)))
            )
        else:
            pair = draw(st.sampled_from([encode_control(VoterSet().to_record()), (b"", b""), (b"\0\0\0\6", b"\0\0?")]))
            parts.append(build_control_batch(base_offset=base, epoch=epoch, timestamp_ms=0, records=[pair]))
    whole = b"".join(parts)
    return whole[: draw(st.integers(0, len(whole)))] if draw(st.booleans()) else whole


_COMMON = {"error": ERRORS, "leader_id": NODE_IDS, "leader_epoch": EPOCHS, "leader_endpoints": ENDPOINTS}
RESPONSES = st.one_of(
    st.builds(VoteResponse, vote_granted=st.booleans(), **_COMMON),
    st.builds(BeginQuorumEpochResponse, **_COMMON),
    st.builds(EndQuorumEpochResponse, **_COMMON),
    st.builds(
        FetchResponse,
        high_watermark=OFFSETS,
        log_start_offset=OFFSETS,
        diverging=st.none() | ENDS,
        snapshot_id=st.none() | ENDS,
        records=records(),
        **_COMMON,
    ),
)
STEPS = st.one_of(
    REQUESTS,
    RESPONSES,
    st.sampled_from(["elapsed", "flush", "failed", "reset"]),
)


@settings(max_examples=400)
@given(role=st.sampled_from(Role), steps=st.lists(STEPS, min_size=1, max_size=25))
def test_no_message_of_a_peer_raises(role: Role, steps: list[object]) -> None:
    transcript = Transcript()
    for line in SCENES[role]:
        transcript.run(line)
    for at, step in enumerate(steps):
        before = _position(transcript)
        for received in _inputs(transcript, at, step):
            transcript.feed(received)
        _check(transcript, before, elapsed=step == "elapsed")


def _inputs(transcript: Transcript, at: int, step: object) -> list[Input]:
    draw = at
    if step == "flush":
        done, transcript.pending = transcript.pending, []
        return [
            Persisted(token=write.token)
            if isinstance(write, PersistQuorumState)
            else Flushed(token=write.token, epoch=write.epoch, end_offset=write.end_offset)
            for write in done
        ]
    if step == "elapsed":
        assert transcript.machine is not None
        transcript.now_ms = max(transcript.now_ms, transcript.machine.next_deadline_ms() or 0)
        return [Elapsed(draw=draw)]
    if isinstance(step, VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | FetchRequest):
        return [RequestReceived(request_id=at, request=step, draw=draw)]
    correlation = max(transcript.asked, default=1)
    destination = transcript.asked[correlation].destination.node_id if transcript.asked else 2
    if isinstance(step, VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | FetchResponse):
        return [ResponseReceived(destination_id=destination, correlation=correlation, response=step, draw=draw)]
    is_reset = step == "reset"
    return [RequestFailed(destination_id=destination, correlation=correlation, disconnected=is_reset, draw=draw)]


def _position(transcript: Transcript) -> tuple[int, int]:
    assert transcript.machine is not None
    return transcript.machine.epoch, transcript.machine.high_watermark


def _check(transcript: Transcript, before: tuple[int, int], *, elapsed: bool) -> None:
    """Neither epoch nor high watermark goes back, and no deadline stays in the past."""
    machine = transcript.machine
    assert machine is not None
    assert machine.epoch >= before[0]
    assert before[1] <= machine.high_watermark <= machine.log_end_offset
    assert machine.flushed_offset <= machine.log_end_offset
    deadline_ms = machine.next_deadline_ms()
    if elapsed and deadline_ms is not None:
        assert deadline_ms > transcript.now_ms


def test_a_replica_is_found_by_its_key() -> None:
    """The keys of the strategies above are those of the scenes."""
    assert key_of(2) == ReplicaKey(node_id=NodeId(2), directory_id=DirectoryId(b"\x02" * 16))
