"""Scenarios of voter changes: leaders that can make one, and their responses."""

from __future__ import annotations

from metadata_log.format.batch import batch_records, parse_header
from metadata_log.records import decode_control
from quorum.api.error_codes import Error
from quorum.api.voter_messages import (
    AddRaftVoterResponse,
    RemoveRaftVoterResponse,
    UpdateRaftVoterResponse,
    UpgradeKRaftVersionResponse,
)
from quorum.raft.ready import AppendBatches
from tests.support.scenario import Scenario, elect, leader

Answer = (
    type[AddRaftVoterResponse]
    | type[RemoveRaftVoterResponse]
    | type[UpdateRaftVoterResponse]
    | type[UpgradeKRaftVersionResponse]
)
ADD, REMOVE, UPDATE, UPGRADE = (
    AddRaftVoterResponse,
    RemoveRaftVoterResponse,
    UpdateRaftVoterResponse,
    UpgradeKRaftVersionResponse,
)


def fetch_up(scenario: Scenario, *node_ids: int) -> Scenario:
    """Let each node fetch up to the log's end."""
    epoch, end = scenario.core.epoch, scenario.core.log_end
    for node_id in node_ids:
        scenario.tell(f"fetch id={50 + node_id} from={node_id} epoch={epoch} at={end.offset}@{end.epoch} wait=0")
    return scenario


def committed_leader(*voters: int, committed: bool = True, caught_up: int | None = None) -> Scenario:
    """Return a leader of epoch 5; its first record is committed, and an observer has the whole log."""
    scenario = leader(voters=",".join(map(str, voters)), epoch=5)
    if committed:
        fetch_up(scenario, *voters[1:2])
        assert scenario.core.high_watermark == scenario.core.log_end_offset
    return scenario if caught_up is None else fetch_up(scenario, caught_up)


def static_leader(*voters: int) -> Scenario:
    """Return a leader of static voters with its first record committed; it knows no voter's directory yet."""
    scenario = Scenario(f"node me=1 voters={','.join(map(str, voters))} static", "start")
    elect(scenario, 1)
    return fetch_up(scenario, *voters[1:])


def answered(scenario: Scenario, kind: Answer, request_id: int = 7) -> Error | None:
    """Return the error in the response to the request, or None if there is no response yet."""
    found = [sent for sent in scenario.replies if sent.request_id == request_id]
    return scenario.reply(request_id, kind).error if found else None


def ask(scenario: Scenario, line: str, kind: Answer) -> Error | None:
    return answered(scenario.tell(f"{line} id=7"), kind)


def control_records(scenario: Scenario) -> list[object]:
    """Return the control records that the last step wrote."""
    records: list[object] = []
    for write in scenario.written:
        assert isinstance(write, AppendBatches)
        header = parse_header(write.data)
        assert header.is_control
        found = batch_records(write.data, header)
        records += [decode_control(record.key or b"", record.value or b"") for record in found]
    return records


def voter_ids(scenario: Scenario) -> list[int]:
    return list(scenario.core.voters.node_ids)
