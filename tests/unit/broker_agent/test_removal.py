"""A staged directory goes when both clocks say so: the wall clock may be wrong, the agent's own is never ahead."""

from __future__ import annotations

import pytest
from structlog.testing import capture_logs

from broker_agent.changes import NO_TOPIC_CHANGES, TopicChanges
from broker_agent.journal import JOURNAL_FILE, Journal
from broker_agent.partitions import Partitions
from broker_agent.storage import staged_names
from metadata_log.files.port import replace_file
from metadata_log.files.simulated_files import SimulatedFiles
from metadata_log.ids import METADATA_TOPIC_NAME, NodeId, id_text
from metadata_log.offsets import Offset
from metadata_log.records import RemoveTopicRecord
from metadata_log.tools.times import time_text
from tests.support.image_records import directory, image_of, partition, topic, topic_id

HOUR = 3_600_000
YEAR = 365 * 24 * HOUR
DELAY = 4 * HOUR
START = 1_700_000_000_000
HELD = image_of(topic(900, METADATA_TOPIC_NAME), topic(1, "a"), partition(1))
GONE = image_of(RemoveTopicRecord(topic_id=topic_id(1)), base=HELD)
NAME = f"{id_text(topic_id(1))}_0"


class Machine:
    """A disk and two clocks; `start` begins a process of the agent."""

    def __init__(self) -> None:
        self.files = SimulatedFiles()
        self.files.mkdirs("/data")
        self.wall = START
        self.monotonic = 77
        self.agent = self.start()

    def start(self, delay_ms: int = DELAY) -> Partitions:
        self.agent = Partitions(
            self.files,
            NodeId(1),
            {directory(1): "/data"},
            Journal.open(self.files, "/data", NodeId(1), log_end=Offset(9), committed_end=Offset(9)),
            delete_delay_ms=delay_ms,
            wall_ms=lambda: self.wall,
            monotonic_ms=lambda: self.monotonic,
            new_token=lambda: bytes(16),
        )
        self.agent.open()
        return self.agent

    def restart(self, down_ms: int = 0, image: object = GONE) -> None:
        self.wall += down_ms
        self.monotonic = 5
        self.start()
        self.agent.reconcile(GONE, NO_TOPIC_CHANGES)

    def stage(self) -> None:
        self.agent.reconcile(HELD, NO_TOPIC_CHANGES)
        self.agent.reconcile(GONE, TopicChanges(changed=frozenset({topic_id(1)})))
        assert self.is_there

    def run(self, ms: int) -> None:
        """Time passes; the agent looks each minute, as its process does."""
        while ms > 0:
            step = min(ms, 60_000)
            self.wall, self.monotonic, ms = self.wall + step, self.monotonic + step, ms - step
            self.agent.remove_due()

    @property
    def is_there(self) -> bool:
        return NAME in staged_names(self.files, "/data")


def test_it_goes_after_the_delay_and_not_before() -> None:
    machine = Machine()
    machine.stage()
    machine.run(DELAY - 1)
    assert machine.is_there
    machine.run(1)
    assert machine.files.listdir("/data") == [JOURNAL_FILE]


def test_what_the_image_assigns_again_stays_until_it_does_not() -> None:
    machine = Machine()
    machine.stage()
    changed = TopicChanges(changed=frozenset({topic_id(1)}))
    machine.agent.reconcile(HELD, changed)
    machine.run(2 * DELAY)
    assert machine.is_there
    with capture_logs() as said:
        machine.start()
        machine.agent.reconcile(HELD, NO_TOPIC_CHANGES)
        machine.run(2 * DELAY)
    assert machine.is_there
    assert [line["log_level"] for line in said if line["event"] == "a staged directory is not removed"] == ["warning"]
    machine.agent.reconcile(GONE, changed)
    machine.run(DELAY - 60_000)
    assert machine.is_there, "its delay begins when it is stale again"
    machine.run(2 * 60_000)
    assert not machine.is_there


@pytest.mark.parametrize(
    ("written", "was"), [(str(START + 10 * YEAR), time_text(START + 10 * YEAR)), ("damaged", None), (None, None)]
)
def test_a_time_of_removal_that_is_changed_is_said(written: str | None, was: str | None) -> None:
    machine = Machine()
    machine.stage()
    path = f"/data/deleting/{NAME}/remove-at"
    if written is None:
        machine.files.unlink(path)
    else:
        replace_file(machine.files, path, written.encode())

    with capture_logs() as said:
        machine.start()

    changed, waits = [line for line in said if line.get("path") == f"/data/deleting/{NAME}"]
    assert (changed["event"], changed["log_level"]) == ("the time of a removal was changed", "warning")
    assert changed["was"] == was
    assert changed["remove_at"] == waits["remove_at"] == time_text(START + DELAY)


def test_what_waits_is_announced_as_removed_only_with_proof() -> None:
    """A later line that says that it is not removed contradicts no earlier one."""
    machine = Machine()
    machine.stage()

    with capture_logs() as said:
        machine.start()

    (waits,) = [line for line in said if line["event"] == "stale partition waits for removal"]
    assert waits["what"].endswith("proves that it was this broker's; else it is not removed")
    assert "the time of a removal was changed" not in {line["event"] for line in said}


@pytest.mark.parametrize("ahead", [5 * HOUR, 10 * YEAR])
def test_a_wall_clock_that_is_set_ahead_removes_nothing(ahead: int) -> None:
    machine = Machine()
    machine.stage()
    machine.run(60_000)
    machine.wall += ahead
    with capture_logs() as said:
        machine.run(DELAY - 120_000)
    assert machine.is_there
    [jump] = [line for line in said if line["event"] == "the wall clock was set"]
    assert (jump["log_level"], jump["by_s"]) == ("warning", ahead // 1000)
    machine.run(60_000)
    assert not machine.is_there


@pytest.mark.parametrize("is_restarted", [False, True])
def test_what_was_staged_while_the_clock_was_ten_years_ahead_is_not_kept_for_ten_years(is_restarted: bool) -> None:
    machine = Machine()
    machine.wall += 10 * YEAR
    machine.start()
    machine.stage()
    machine.run(HOUR)
    with capture_logs() as said:
        machine.wall -= 10 * YEAR
        if is_restarted:
            machine.restart()
        machine.run(60_000)
    assert {"the wall clock was set", "stale partition waits for removal"} <= {line["event"] for line in said}
    assert machine.agent.staged[0].remove_at_ms <= machine.wall + DELAY
    machine.run(2 * HOUR)
    assert machine.is_there
    machine.run(HOUR)
    assert not machine.is_there


def test_the_delay_is_summed_over_runs_and_time_that_it_was_down_does_not_count() -> None:
    machine = Machine()
    machine.stage()
    for _ in range(3):
        machine.run(HOUR)
        machine.restart(down_ms=30 * 24 * HOUR)
        machine.agent.remove_due()
        assert machine.is_there
    machine.run(HOUR - 1)
    assert machine.is_there
    machine.run(60_000)
    assert not machine.is_there


def test_a_crash_costs_a_minute_of_waiting_at_most() -> None:
    machine = Machine()
    machine.stage()
    machine.run(HOUR + 59_000)
    machine.restart(down_ms=DELAY)
    machine.run(3 * HOUR)
    assert not machine.is_there


@pytest.mark.parametrize(("written", "kept"), [(START + HOUR, START + HOUR), (START - YEAR, START - YEAR)])
def test_the_previous_releases_time_is_read_and_the_delay_is_waited_for_besides(written: int, kept: int) -> None:
    machine = Machine()
    machine.stage()
    path = f"/data/deleting/{NAME}"
    machine.files.unlink(f"{path}/remove-after")
    replace_file(machine.files, f"{path}/remove-at", b"%d\n" % written)
    machine.restart()
    assert [each.remove_at_ms for each in machine.agent.staged] == [kept]
    machine.run(DELAY - 1)
    assert machine.is_there
    machine.run(1)
    assert not machine.is_there


def test_a_time_that_the_previous_release_wrote_by_a_clock_ten_years_ahead_is_given_again() -> None:
    machine = Machine()
    machine.stage()
    path = f"/data/deleting/{NAME}"
    machine.files.unlink(f"{path}/remove-after")
    replace_file(machine.files, f"{path}/remove-at", b"%d\n" % (START + 10 * YEAR))
    machine.restart()
    assert [each.remove_at_ms for each in machine.agent.staged] == [START + DELAY]


def test_a_lost_journal_of_time_makes_no_wait_longer_than_the_delay() -> None:
    machine = Machine()
    machine.agent.reconcile(HELD, NO_TOPIC_CHANGES)
    machine.monotonic += 1_000 * HOUR
    machine.stage()
    text = machine.files.content(f"/data/deleting/{NAME}/remove-after").decode()
    assert f"due: {1_000 * HOUR + DELAY}" in text
    machine.files.unlink(f"/data/{JOURNAL_FILE}")
    machine.start()
    machine.agent.reconcile(HELD, NO_TOPIC_CHANGES)
    machine.agent.reconcile(GONE, TopicChanges(changed=frozenset({topic_id(1)})))
    assert f"due: {DELAY}\n" in machine.files.content(f"/data/deleting/{NAME}/remove-after").decode()
